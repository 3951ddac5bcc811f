#include "lib/service/engines/local/TaskSupervisor.h"
#include "lib/service/engines/local/ProcessTree.h"
#include "lib/service/engines/local/TaskFolder.h"
#include "llvm/ADT/StringRef.h"
#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace accord::service {
namespace {

constexpr double kLockSeconds = 5, kKillSeconds = 5, kWriteSeconds = 600;
constexpr int kPollMilliseconds = 200;

/// Variables that a task gets from the scheduler: what programs need to run at all, and none that may be secret.
bool isPassedOn(llvm::StringRef variable) {
  llvm::StringRef name = variable.split('=').first;
  constexpr std::array<llvm::StringLiteral, 11> kNames{
      "PATH", "HOME", "USER", "LOGNAME", "SHELL", "LANG", "TZ", "LD_LIBRARY_PATH", "TMPDIR", "CUDA_HOME", "TERM"};
  return name.starts_with("LC_") || std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

std::vector<std::string> environmentOf(const TaskRank &rank, const std::string &taskFolder) {
  std::vector<std::pair<std::string, std::string>> all;
  auto set = [&](const std::string &name, const std::string &value) {
    auto at = std::find_if(all.begin(), all.end(), [&](const auto &one) { return one.first == name; });
    if (at == all.end())
      all.emplace_back(name, value);
    else
      at->second = value;
  };
  for (char **one = environ; one && *one; ++one)
    if (isPassedOn(*one)) {
      auto [name, value] = llvm::StringRef(*one).split('=');
      set(name.str(), value.str());
    }
  for (const auto &[name, value] : rank.environment)
    set(name, value);
  set(kTaskVariable, taskFolder);
  std::vector<std::string> texts;
  for (const auto &[name, value] : all)
    texts.push_back(name + "=" + value);
  return texts;
}

/// How a rank ended, or that it runs.
struct RankProcess {
  pid_t number = -1;
  bool hasEnded = false;
  int exitCode = -1;
};

class Supervisor {
public:
  Supervisor(std::string taskFolder, TaskAssignment assignment)
      : folder_(std::move(taskFolder)), assignment_(std::move(assignment)) {}

  /// After `began`.
  int run() {
    started_ = wallTime();
    prepare();
    startRanks();
    while (!haveAllEnded()) {
      waitForNews();
      reap();
      followStop();
      endOthersAfterFailure();
    }
    endLeftOver();
    return writeDown();
  }

private:
  void prepare() {
    setsid();
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t news;
    sigemptyset(&news);
    for (int signal : {SIGCHLD, SIGTERM, SIGINT, SIGHUP, SIGUSR1, SIGUSR2, SIGPIPE})
      sigaddset(&news, signal);
    sigprocmask(SIG_BLOCK, &news, nullptr);
    news_ = FileDescriptor(signalfd(-1, &news, SFD_CLOEXEC | SFD_NONBLOCK));
  }

  void startRanks() {
    ranks_.resize(assignment_.ranks.size());
    for (size_t i = 0; i < ranks_.size(); ++i) {
      ranks_[i].number = startRank(assignment_.ranks[i]);
      if (ranks_[i].number < 0) {
        fail(int(i), 126, fmt::format("its process cannot be started: {}", std::strerror(errno)));
        ranks_[i].hasEnded = true;
      }
    }
  }

  pid_t startRank(const TaskRank &rank) {
    std::vector<std::string> words = rank.words, environment = environmentOf(rank, folder_);
    std::vector<char *> argv, envp;
    for (std::string &word : words)
      argv.push_back(word.data());
    for (std::string &variable : environment)
      envp.push_back(variable.data());
    argv.push_back(nullptr);
    envp.push_back(nullptr);
    pid_t child = fork(); // this process has one thread
    if (child == 0)
      becomeRank(argv, envp);
    return child;
  }

  [[noreturn]] void becomeRank(const std::vector<char *> &argv, const std::vector<char *> &envp) {
    setsid();
    std::string output = assignment_.folder + "/output";
    int file = open(output.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOCTTY, 0644);
    if (file < 0)
      file = open("/dev/null", O_WRONLY | O_CLOEXEC);
    int nothing = open("/dev/null", O_RDONLY | O_CLOEXEC);
    dup2(nothing, STDIN_FILENO);
    dup2(file, STDOUT_FILENO);
    dup2(file, STDERR_FILENO);
    for (int signal = 1; signal < NSIG; ++signal)
      ::signal(signal, SIG_DFL);
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, nullptr);
    int reason = 0;
    if (chdir(assignment_.directory.c_str()) != 0)
      reason = errno;
    if (reason == 0) {
      environ = const_cast<char **>(envp.data()); // PATH of the task counts
      execvp(argv[0], argv.data());
      reason = errno;
    }
    std::string said = fmt::format("accord: '{}' cannot be started in '{}': {}\n", argv[0], assignment_.directory,
                                   std::strerror(reason));
    [[maybe_unused]] ssize_t count = ::write(STDERR_FILENO, said.data(), said.size());
    _exit(reason == ENOENT ? 127 : 126);
  }

  bool haveAllEnded() const {
    return std::all_of(ranks_.begin(), ranks_.end(), [](const RankProcess &rank) { return rank.hasEnded; });
  }

  void waitForNews() {
    pollfd news{news_.number(), POLLIN, 0};
    poll(&news, 1, kPollMilliseconds);
    signalfd_siginfo info;
    while (::read(news_.number(), &info, sizeof info) == ssize_t(sizeof info))
      if ((info.ssi_signo == SIGTERM || info.ssi_signo == SIGINT) && !ownStop_)
        ownStop_ = TaskStop{uptime() + std::clamp(assignment_.notice, 0.0, 1e9), assignment_.notice > 0};
  }

  void reap() {
    int status = 0;
    for (pid_t ended; (ended = waitpid(-1, &status, WNOHANG)) > 0;)
      for (size_t i = 0; i < ranks_.size(); ++i)
        if (ranks_[i].number == ended && !ranks_[i].hasEnded) { // later ones have the number of an ended one again
          ranks_[i].hasEnded = true;
          ranks_[i].exitCode = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
          if (WIFSIGNALED(status))
            fail(int(i), ranks_[i].exitCode, fmt::format("ended by signal {}", WTERMSIG(status)));
          else if (ranks_[i].exitCode != 0)
            fail(int(i), ranks_[i].exitCode, fmt::format("ended with {}", ranks_[i].exitCode));
        }
  }

  /// The first failure counts.
  void fail(int rank, int exitCode, const std::string &how) {
    if (exitCode_ != 0)
      return;
    exitCode_ = exitCode;
    reason_ = fmt::format("rank {} on '{}' {}", rank, assignment_.ranks[size_t(rank)].node, how);
  }

  /// Does what somebody asked for whose turn has come: to save, to end, to be ended.
  void followStop() {
    if (!ownStop_ && access((folder_ + "/lock").c_str(), F_OK) != 0 && errno == ENOENT)
      ownStop_ = TaskStop{}; // nobody will ever ask for it again
    std::optional<TaskStop> stop = ownStop_;
    if (auto asked = readStop(folder_); asked && *asked && (!stop || (*asked)->deadline < stop->deadline))
      stop = **asked;
    if (!stop || haveAllEnded()) // it ended by itself before this was seen
      return;
    wasStopped_ = true;
    if (!wasAskedToSave_ && stop->hasNotice && uptime() < stop->deadline)
      signalHandlers(descendantsOf(getpid()), SIGUSR1); // who cannot save goes on
    wasAskedToSave_ = true;
    if (uptime() >= stop->deadline)
      endAll();
  }

  /// As srun does with --kill-on-bad-exit: the others would wait for it for ever.
  void endOthersAfterFailure() {
    if (exitCode_ != 0 && !haveAllEnded())
      endAll();
  }

  /// SIGTERM to all that is left, and SIGKILL 5 s later.
  void endAll() {
    if (ending_ == 0) {
      ending_ = uptime();
      signalAll(descendantsOf(getpid()), SIGTERM);
    } else if (uptime() >= ending_ + kKillSeconds) {
      signalAll(descendantsOf(getpid()), SIGKILL);
    }
  }

  /// What the ranks left behind has its devices, too.
  void endLeftOver() {
    while (!descendantsOf(getpid()).empty()) {
      endAll();
      pollfd news{news_.number(), POLLIN, 0};
      const double since = uptime() - ending_; // one that no signal reaches may stay for hours
      poll(&news, 1, since >= 2 * kKillSeconds ? 1000 : since >= kKillSeconds ? 5 : 50);
      waitForSignals();
      reapLeftOver();
    }
    reapLeftOver();
  }

  static void reapLeftOver() {
    while (waitpid(-1, nullptr, WNOHANG) > 0)
      ;
  }

  void waitForSignals() {
    signalfd_siginfo info;
    while (::read(news_.number(), &info, sizeof info) == ssize_t(sizeof info))
      ;
  }

  int writeDown() {
    TaskEnd end{exitCode_ == 0 ? EngineTask::State::Succeeded : EngineTask::State::Failed, exitCode_, started_,
                wallTime(), reason_};
    if (wasStopped_) // also with 0: it saved, and is not complete
      end.state = EngineTask::State::Stopped;
    for (double last = uptime() + kWriteSeconds;;) {
      if (Result<void> done = writeEnd(folder_, assignment_.folder, end); done)
        return 0;
      if (uptime() >= last || access(folder_.c_str(), F_OK) != 0)
        return 1;
      sleep(1);
    }
  }

  std::string folder_;
  TaskAssignment assignment_;
  FileDescriptor news_;
  std::vector<RankProcess> ranks_;
  double started_ = 0;
  double ending_ = 0; ///< when SIGTERM was sent; 0: not yet
  int exitCode_ = 0;
  std::string reason_;
  /// Somebody sent a signal to this process, as at the end of a machine, or its folder was removed.
  std::optional<TaskStop> ownStop_;
  bool wasStopped_ = false, wasAskedToSave_ = false;
};

/// In the place of `main`.
[[gnu::constructor]] void superviseIfAsked() {
  const char *asked = std::getenv("ACCORD_SUPERVISE");
  if (!asked)
    return;
  std::string folder = asked;
  unsetenv("ACCORD_SUPERVISE");
  _exit(superviseTask(folder));
}

} // namespace

int superviseTask(const std::string &taskFolder) {
  auto lock = takeLock(taskFolder + "/lock", kLockSeconds);
  if (!lock || !*lock)
    return lock ? 0 : 1;
  for (const char *name : {"/began", "/end"})
    if (access((taskFolder + name).c_str(), F_OK) == 0)
      return 0;
  auto record = readRecord(taskFolder + "/assigned");
  std::optional<TaskAssignment> assignment = record && *record ? assignmentOf(**record) : std::nullopt;
  if (!assignment)
    return 1;
  if (!writeRecord(taskFolder + "/began", {"began", bootId(), fmt::format("{}", wallTime())}, taskFolder + "/.began"))
    return 1;
  syncFolder(taskFolder);
  return Supervisor(taskFolder, std::move(*assignment)).run();
}

} // namespace accord::service
