// A thread beside a command that searches: shows how far it is, and stops it by a signal or after a time.
#pragma once
#include "lib/search/SearchLimits.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

namespace accord {
struct PlanSearchLimits;

/// While it lives, SIGINT and SIGTERM are taken by its thread alone: a solver within a library of others cannot take
/// them away. The first asks all that polls `stop` to end, a second, if it is not part of the
/// same request, ends the process. A signal that the process
/// ignores, as a shell's background job does SIGINT, changes nothing. It lives as long as its command, so that the time
/// counts from the command's start and no signal breaks off what is being written.
///
/// Until `found` is called there is nothing to write: a command that has not come to its first answer within
/// `kGraceSeconds` of processor time after the stop ends with `limits.unanswered`, which must not return.
///
/// In a program that embeds Accord it takes no signals and ends no process: the host is asked ten times a second
/// whether to stop, and a command without an answer goes on to its first one.
///
/// On a terminal that can, a line on standard error is kept up to date, ten times a second at most.
class SolverMonitor {
public:
  struct Limits {
    double gap = 0;
    std::optional<double> seconds = {};
    bool picoseconds = false; ///< what progress counts in; else in periods
    /// Tells that there is no answer, and why, and ends the process; called by the thread of the monitor.
    std::function<void(const std::string &reason)> unanswered = {};
    /// The process only prints and ends after it: signals stay blocked, so that none comes between an answer that is
    /// written and the status that says so.
    bool isLast = false;
  };
  /// Of the process, all threads together; and no less of a clock on the wall.
  static constexpr double kGraceSeconds = 0.6;
  /// Signals so close together are one request: `timeout` sends its own to the process and to its group.
  static constexpr double kSameRequestSeconds = 0.3;

  SolverMonitor(std::string what, Limits limits);
  ~SolverMonitor();
  SolverMonitor(const SolverMonitor &) = delete;

  const std::atomic<bool> *stop() const { return &stopping; }
  double gap() const { return limits.gap; } ///< at which the search may end
  void reportProgress(const SolveProgress &progress);
  /// There is an answer from here on, which will be written however soon the command has to end.
  void found();
  /// "interrupted", "time limit", or "" where nothing stopped the solver.
  std::string reason() const;

  /// The monitor of a whole command with these limits; null after an error (A0801), which is printed.
  static std::unique_ptr<SolverMonitor> ofCommand(llvm::StringRef command, const char *what,
                                                  const PlanSearchLimits &limits, bool json, bool picoseconds = true);

  /// What `--gap` ("2%" or "0.02", from 0 to below 1) and `--time-limit` ("none" or "30 s") ask
  /// for, or what is wrong with them.
  struct ParsedLimits {
    double gap = 0;
    std::optional<double> seconds;
  };
  static std::variant<ParsedLimits, std::string> parsedLimits(const std::string &gap, const std::string &timeLimit);

private:
  using Clock = std::chrono::steady_clock;

  void run();
  int nextSignal();
  void signalled(int signal);
  void endIfUnanswered();
  void draw();
  void clear();

  std::string what;
  Limits limits;
  Clock::time_point began = Clock::now();
  std::atomic<bool> stopping = false, over = false, interrupted = false;
  Clock::time_point signalledAt; ///< the first time
  const bool isEmbedded;
  bool terminal = false, drawn = false;
  std::vector<int> ignored; ///< signals
  /// When the search was asked to stop: by the processor's and by the wall's clock.
  std::optional<std::pair<double, Clock::time_point>> asked;
  std::mutex mutex;
  std::condition_variable ending;
  bool hasAnswer = false; ///< with `mutex`
  SolveProgress last;
  std::thread thread;
};

} // namespace accord
