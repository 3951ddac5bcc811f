#include "lib/driver/exploration/Ranks.h"
#include "lib/driver/ExitStatus.h"
#include "lib/exploration/distributed/LeaderExecutor.h"
#include "lib/exploration/distributed/ServerExecutor.h"
#include "lib/exploration/distributed/Sockets.h"
#include "lib/support/CommandHost.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>

namespace accord {
namespace {

/// Rank by OpenMPI's mpirun, by PMIx, by PMI.
constexpr const char *kRankNames[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK"};

/// What tools/accord-mpi offers.
struct Meeting {
  bool (*meet)(int *rank, int *ranks) = nullptr;
  bool (*part)(char *text, int size) = nullptr;
};
constexpr int kInvitation = 4096;

std::variant<Meeting, std::string> meeting() {
  // Found where libaccord.so is. MPI's own plugins look for its symbols.
  constexpr const char *kName = "libaccord-mpi.so";
  void *library = dlopen(kName, RTLD_NOW | RTLD_GLOBAL);
  if (!library)
    return fmt::format("started by MPI, and built or installed without: {}", dlerror());
  Meeting found;
  found.meet = reinterpret_cast<bool (*)(int *, int *)>(dlsym(library, "accordMpiInitialize"));
  found.part = reinterpret_cast<bool (*)(char *, int)>(dlsym(library, "accordMpiBroadcast"));
  if (!found.meet || !found.part)
    return fmt::format("{} is of another version of accord", kName);
  return found;
}

/// mpirun binds a rank to one core unless told otherwise; threads that are asked for get more.
void unbind(unsigned threads) {
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof set, &set) != 0 || static_cast<unsigned>(CPU_COUNT(&set)) >= threads)
    return;
  for (size_t i = 0; i < CPU_SETSIZE; ++i)
    CPU_SET(i, &set);
  sched_setaffinity(0, sizeof set, &set); // what the system does not leave us it takes out
}

/// A process of this run that stands still would keep mpirun waiting for ever. Its number may be
/// that of another process in another container: only one of this run is ended.
bool endOurs(uint64_t process) {
  const char *job = std::getenv("PMIX_NAMESPACE");
  auto environment = llvm::MemoryBuffer::getFileAsStream(fmt::format("/proc/{}/environ", process));
  if (!job || !environment)
    return false;
  std::string own = fmt::format("PMIX_NAMESPACE={}", job);
  llvm::StringRef rest = (*environment)->getBuffer();
  for (llvm::StringRef one; !rest.empty();) {
    std::tie(one, rest) = rest.split('\0');
    if (one == own)
      return kill(static_cast<pid_t>(process), SIGKILL) == 0;
  }
  return false;
}

void tell(const LeaderExecutor &executor, size_t ranks) {
  LeaderStatistics statistics = executor.statistics();
  auto others = [](const std::vector<uint64_t> &all) {
    uint64_t sum = 0;
    for (size_t i = 1; i < all.size(); ++i)
      sum += all[i];
    return sum;
  };
  for (const LeaderStatistics::Rank &lost : statistics.lost)
    standardError() << fmt::format("accord: warning: rank {}{} was lost; others did its work\n", lost.rank,
                                   lost.host.empty() ? "" : " on " + lost.host);
  standardError() << fmt::format("accord: {} processes: {} of {} values and {} of {} bounds by others, {} messages\n",
                                 ranks, others(statistics.values), statistics.values[0] + others(statistics.values),
                                 others(statistics.bounds), statistics.bounds[0] + others(statistics.bounds),
                                 statistics.messages);
}

int lead(const MineOptions &options, LeaderLink &link) {
  LeaderOptions leading;
  leading.threads = options.session.threads;
  LeaderExecutor executor(link, leading);
  MineOptions ours = options;
  ours.executor = &executor;
  int status = mine(ours);
  standardOutput().flush();
  if (status == kWrongInput)
    return status;
  std::vector<LeaderStatistics::Rank> left = executor.dismiss();
  tell(executor, link.ranks() + 1);
  for (const LeaderStatistics::Rank &silent : left) {
    bool ended = silent.host == hostName() && endOurs(silent.process);
    standardError() << fmt::format("accord: warning: rank {} on {} does not answer{}\n", silent.rank, silent.host,
                                   ended ? " and was ended" : "; what started it may wait for it");
  }
  return status;
}

int unsaid = -1; ///< of a rank above 0: a file in memory

/// What this rank would have printed, as far as a message takes it.
std::string unsaidText() {
  standardOutput().flush();
  std::fflush(nullptr);
  std::string text(4096, '\0');
  ssize_t size = unsaid < 0 ? 0 : pread(unsaid, text.data(), text.size(), 0);
  text.resize(size > 0 ? static_cast<size_t>(size) : 0);
  return llvm::StringRef(text).trim().str();
}

/// Status 0 whatever comes: of an error the first rank tells, and mpirun ends all at another one.
int serve(const MineOptions &options, const std::string &invitation, size_t rank) {
  auto joined = joinLeader(invitation, rank);
  auto *link = std::get_if<std::unique_ptr<ServerLink>>(&joined);
  if (!link)
    return kDone;
  ServerExecutor executor(**link, options.session.threads, hostName(), getpid());
  MineOptions ours = options;
  ours.executor = &executor;
  ours.writes = false;
  if (mine(ours) != kDone)
    executor.fail(unsaidText());
  return kDone;
}

} // namespace

std::optional<size_t> startedAsRank() {
  for (const char *name : kRankNames) {
    size_t rank = 0;
    if (const char *text = std::getenv(name); text && !llvm::StringRef(text).getAsInteger(10, rank))
      return rank;
  }
  return std::nullopt;
}

bool silenceOtherRanks() {
  if (startedAsRank().value_or(0) == 0)
    return false;
  unsaid = memfd_create("accord", MFD_CLOEXEC);
  for (int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (unsaid >= 0)
      dup2(unsaid, stream);
  return true;
}

int mineOnRanks(const MineOptions &options) {
  const char *size = std::getenv("OMPI_COMM_WORLD_SIZE");
  if (currentHost() || !startedAsRank() || (size && llvm::StringRef(size) == "1"))
    return mine(options);
  auto refused = [&](const std::string &error) {
    return refuse(Code::BadCommandLine, error, options.session.json, "mine");
  };
  auto started = meeting();
  if (auto *error = std::get_if<std::string>(&started))
    return refused(*error);
  Meeting &mpi = std::get<Meeting>(started);
  int rank = 0, ranks = 1;
  if (!mpi.meet(&rank, &ranks))
    return refused("MPI does not start");
  std::string invitation;
  std::variant<std::unique_ptr<LeaderLink>, std::string> listening;
  if (rank == 0 && ranks > 1)
    listening = listenForRanks(static_cast<size_t>(ranks) - 1, invitation);
  invitation.resize(kInvitation, '\0');
  bool sent = mpi.part(invitation.data(), kInvitation);
  invitation.resize(std::strlen(invitation.c_str()));
  unbind(options.session.threads);
  if (ranks == 1)
    return mine(options);
  if (rank > 0)
    return serve(options, invitation, rank);
  if (auto *error = std::get_if<std::string>(&listening))
    return refused(*error);
  if (!sent)
    return refused("MPI does not reach the other ranks");
  return lead(options, *std::get<std::unique_ptr<LeaderLink>>(listening));
}

} // namespace accord
