// A thread beside a solver: shows how far it is, and stops it on Ctrl-C or after a time.
#pragma once
#include "lib/search/SearchLimits.h"
#include "llvm/ADT/StringRef.h"
#include <chrono>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>

namespace accord {

/// While it lives, SIGINT is taken by its thread alone: a solver within a library of others cannot
/// take it away. The first asks the solver to stop, a second ends the process; without an
/// interruptible solver the first does. A shell's background job, which ignores SIGINT, goes on.
/// On a terminal that can, a line on standard error is kept up to date, ten times a second at most.
class SolverMonitor {
public:
  struct Limits {
    bool interruptible = true;
    std::optional<double> seconds;
    bool picoseconds = false; ///< what progress counts in; else in periods
  };
  SolverMonitor(std::string what, Limits limits);
  ~SolverMonitor();
  SolverMonitor(const SolverMonitor &) = delete;

  const std::atomic<bool> *stop() const { return &stopping; }
  void reportProgress(const SolveProgress &progress);
  /// "interrupted", "time limit", or "" where nothing stopped the solver.
  std::string reason() const;

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
  void signalled();
  void draw();
  void clear();

  std::string what;
  Limits limits;
  Clock::time_point began = Clock::now();
  std::atomic<bool> stopping = false, over = false, interrupted = false;
  bool terminal = false, ignoring = false, drawn = false;
  std::mutex mutex;
  SolveProgress last;
  std::thread thread;
};

} // namespace accord
