#include "lib/driver/SolverMonitor.h"
#include "lib/planning/output/Summary.h"
#include "lib/support/Number.h"
#include "lib/support/Quantity.h"
#include "llvm/Support/Process.h"
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <fmt/format.h>
#include <unistd.h>

namespace accord {
namespace {

sigset_t interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  return set;
}

/// Short work shows nothing.
constexpr double kQuiet = 0.4;

} // namespace

SolverMonitor::SolverMonitor(std::string what, Limits limits) : what(std::move(what)), limits(limits) {
  const char *term = std::getenv("TERM");
  terminal = isatty(STDERR_FILENO) && term && llvm::StringRef(term) != "dumb";
  struct sigaction old{};
  ignoring = sigaction(SIGINT, nullptr, &old) == 0 && old.sa_handler == SIG_IGN;
  sigset_t set = interrupts();
  pthread_sigmask(SIG_BLOCK, &set, nullptr); // and in all threads that are started from here on
  thread = std::thread([this] { run(); });
}

SolverMonitor::~SolverMonitor() {
  over = true;
  pthread_kill(thread.native_handle(), SIGINT); // wakes it
  thread.join();
  clear();
  sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

std::string SolverMonitor::reason() const { return !stopping ? "" : interrupted ? "interrupted" : "time limit"; }

void SolverMonitor::reportProgress(const SolveProgress &progress) {
  std::lock_guard lock(mutex);
  last = progress;
}

void SolverMonitor::run() {
  sigset_t set = interrupts();
  const timespec tenth{0, 100'000'000};
  while (true) {
    int signal = sigtimedwait(&set, nullptr, &tenth);
    if (over)
      return;
    if (signal == SIGINT)
      signalled();
    double passed = std::chrono::duration<double>(Clock::now() - began).count();
    if (limits.seconds && passed >= *limits.seconds)
      stopping = true;
    if (terminal && passed >= kQuiet)
      draw();
  }
}

void SolverMonitor::signalled() {
  if (ignoring)
    return;
  if (limits.interruptible && !interrupted) {
    interrupted = true;
    stopping = true;
    return;
  }
  clear();
  std::signal(SIGINT, SIG_DFL);
  sigset_t set = interrupts();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
  std::raise(SIGINT);
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
  fmt::print(stderr, "\r{}\x1b[K", line);
  std::fflush(stderr);
  drawn = true;
}

void SolverMonitor::clear() {
  if (drawn)
    std::fputs("\r\x1b[K", stderr);
  std::fflush(stderr);
  drawn = false;
}

} // namespace accord
