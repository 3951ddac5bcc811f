#include "lib/driver/SolverMonitor.h"
#include "lib/driver/AnswerManifest.h"
#include "lib/driver/ExitStatus.h"
#include "lib/driver/Options.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/CommandHost.h"
#include "lib/support/Number.h"
#include "lib/support/Quantity.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Process.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fmt/format.h>
#include <unistd.h>

namespace accord {
namespace {

constexpr int kSignals[] = {SIGINT, SIGTERM};

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  for (int signal : kSignals)
    sigaddset(&set, signal);
  return set;
}

/// Of all threads of the process.
double processorSeconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return time.tv_sec + 1e-9 * time.tv_nsec;
}

/// Short work shows nothing.
constexpr double kQuiet = 0.4;

} // namespace

SolverMonitor::SolverMonitor(std::string what, Limits limits)
    : what(std::move(what)), limits(std::move(limits)), isEmbedded(currentHost()) {
  if (isEmbedded) {
    thread = std::thread([this] { run(); });
    return;
  }
  const char *term = std::getenv("TERM");
  terminal = isatty(STDERR_FILENO) && term && llvm::StringRef(term) != "dumb";
  for (int signal : kSignals)
    if (struct sigaction old{}; sigaction(signal, nullptr, &old) == 0 && old.sa_handler == SIG_IGN)
      ignored.push_back(signal);
  sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr); // and in all threads that are started from here on
  thread = std::thread([this] { run(); });
}

SolverMonitor::~SolverMonitor() {
  {
    std::lock_guard lock(mutex);
    over = true;
  }
  ending.notify_all();
  if (!isEmbedded)
    pthread_kill(thread.native_handle(), SIGINT); // wakes it
  thread.join();
  clear();
  if (isEmbedded || limits.isLast)
    return;
  sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::string SolverMonitor::reason() const { return !stopping ? "" : interrupted ? "interrupted" : "time limit"; }

void SolverMonitor::reportProgress(const SolveProgress &progress) {
  std::lock_guard lock(mutex);
  last = progress;
}

/// The next signal within a tenth of a second, 0 if there is none; a host that wants to stop stands for SIGINT.
int SolverMonitor::nextSignal() {
  if (!isEmbedded) {
    sigset_t set = interrupts();
    const timespec tenth{0, 100'000'000};
    return sigtimedwait(&set, nullptr, &tenth);
  }
  std::unique_lock lock(mutex);
  ending.wait_for(lock, std::chrono::milliseconds(100), [this] { return over.load(); });
  lock.unlock();
  const CommandHost *host = currentHost();
  return !over && !interrupted && host && host->stop && host->stop() ? SIGINT : 0;
}

void SolverMonitor::run() {
  while (true) {
    int signal = nextSignal();
    if (over)
      return;
    if (signal > 0)
      signalled(signal);
    double passed = std::chrono::duration<double>(Clock::now() - began).count();
    if (limits.seconds && passed >= *limits.seconds)
      stopping = true, rememberStop();
    if (stopping)
      endIfUnanswered();
    if (terminal && passed >= kQuiet)
      draw();
  }
}

void SolverMonitor::signalled(int signal) {
  if (llvm::is_contained(ignored, signal))
    return;
  if (!interrupted) {
    interrupted = true;
    stopping = true, rememberStop();
    signalledAt = Clock::now();
    return;
  }
  if (std::chrono::duration<double>(Clock::now() - signalledAt).count() < kSameRequestSeconds)
    return;
  clear();
  std::signal(signal, SIG_DFL);
  sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(signal);
}

void SolverMonitor::found() {
  std::lock_guard lock(mutex);
  hasAnswer = true;
}

void SolverMonitor::endIfUnanswered() {
  if (!asked)
    asked = {processorSeconds(), Clock::now()};
  std::chrono::duration<double> passed = Clock::now() - asked->second;
  if (isEmbedded || !limits.unanswered || processorSeconds() - asked->first < kGraceSeconds ||
      passed.count() < kGraceSeconds)
    return;
  std::lock_guard lock(mutex);
  if (hasAnswer || over)
    return;
  clear();
  limits.unanswered(reason());
}

namespace {

/// "2%" or "0.02", from 0 to below 1.
std::optional<double> gapFrom(llvm::StringRef text) {
  llvm::StringRef number = text.trim();
  bool percent = number.consume_back("%");
  auto read = parseReal(number.trim());
  if (!read)
    return std::nullopt;
  double value = *read / (percent ? 100 : 1);
  return value >= 0 && value < 1 ? std::optional(value) : std::nullopt;
}

/// "30 s"; in seconds.
std::optional<double> timeFrom(llvm::StringRef text) {
  auto given = parseQuantity(text), none = parseQuantity("0 s");
  if (!given || !none)
    return std::nullopt;
  auto order = compare(*given, *none); // of different dimensions: a problem
  if (!order || *order <= 0)
    return std::nullopt;
  return given->toDouble();
}

} // namespace

std::variant<SolverMonitor::ParsedLimits, std::string> SolverMonitor::parsedLimits(const std::string &gap,
                                                                                   const std::string &timeLimit) {
  ParsedLimits out;
  if (auto share = gapFrom(gap))
    out.gap = *share;
  else
    return "--gap: expected a share below 1, as in 2% or 0.02, found '" + gap + "'";
  if (timeLimit != "none" && !(out.seconds = timeFrom(timeLimit)))
    return "--time-limit: expected none or a time, as in '30 s', found '" + timeLimit + "'";
  return out;
}

std::unique_ptr<SolverMonitor> SolverMonitor::ofCommand(llvm::StringRef command, const char *what,
                                                        const PlanSearchLimits &limits, bool json, bool picoseconds) {
  auto parsed = parsedLimits(limits.gap, limits.timeLimit);
  if (auto *message = std::get_if<std::string>(&parsed)) {
    refuse(Code::BadCommandLine, *message, json, command);
    return nullptr;
  }
  auto [gap, seconds] = std::get<ParsedLimits>(parsed);
  auto unanswered = [name = command.str(), json](const std::string &reason) {
    int status = finishUnanswered(name, reason, json);
    standardOutput().flush();
    std::_Exit(status);
  };
  return std::make_unique<SolverMonitor>(what, Limits{gap, seconds, picoseconds, unanswered, true});
}

void SolverMonitor::draw() {
  SolveProgress now;
  {
    std::lock_guard lock(mutex);
    now = last;
  }
  auto seconds = std::chrono::duration_cast<std::chrono::seconds>(Clock::now() - began).count();
  auto shown = [&](double time) {
    return limits.picoseconds ? formatSi(time * 1e-12, "s") : fmt::format("{:.0f}", time);
  };
  std::string line = what;
  if (now.incumbent > 0)
    line += fmt::format(": {}, at least {}, gap {:.2f} %,", shown(now.incumbent), shown(now.bound),
                        100 * (now.incumbent - now.bound) / now.incumbent);
  else if (now.bound > 0)
    line += fmt::format(": at least {},", shown(now.bound));
  line += fmt::format(" {} s", seconds);
  if (interrupted)
    line += ", stopping";
  else if (!now.phase.empty())
    line += ", " + now.phase;
  unsigned columns = llvm::sys::Process::StandardErrColumns();
  if (columns > 1 && line.size() >= columns)
    line.resize(columns - 1);
  standardError() << fmt::format("\r{}\x1b[K", line);
  drawn = true;
}

void SolverMonitor::clear() {
  if (drawn)
    standardError() << "\r\x1b[K";
  drawn = false;
}

} // namespace accord
