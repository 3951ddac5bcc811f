// Parameters of a server, tuned by safe Bayesian optimization while a training runs.
//
// Progress is a ratio to that of the baseline; its logarithm is a Gaussian process over the parameters, which is 0 at
// the baseline. A setting is tried only if its lower confidence bound is above the floor (safe upper confidence bounds,
// Sui et al., Safe exploration for optimization with Gaussian processes, ICML 2015): mean - z deviation >= log(floor),
// where z is the quantile of 1 - (1 - confidence) / intervals, so that, if progress is such a process, no interval is
// below the floor with the stated confidence. Of those, the one with the largest upper bound of the objective is tried,
// which is at the edge of what is known to be safe as long as little is known. Each trial is watched, rolled back as
// soon as its windows say that it is below the floor, and then never tried again.
//
// All decisions follow from the problem and the record of intervals, so a tuning that was stopped goes on from there.
#pragma once
#include "lib/support/Result.h"
#include "lib/tuning/problem/ServerTuning.h"
#include <atomic>
#include <functional>

namespace accord::tuning {

/// What is run next: an interval without its windows.
using ServerChoice = ServerInterval;

/// Measures intervals: a training, or a table.
class ServerRunner {
public:
  virtual ~ServerRunner() = default;
  /// Asks after each window whether to roll back.
  using Watch = std::function<bool(const std::vector<ServerWindow> &windows)>;
  struct Measured {
    ServerInterval::Outcome outcome = ServerInterval::Outcome::Complete;
    std::vector<ServerWindow> windows;
    std::string reason;    ///< of one that failed
    bool hasEnded = false; ///< the training is over, or somebody stopped it: the interval does not count
  };
  /// Applies a setting and measures kWindows windows, fewer where the watch rolls back or the program fails.
  virtual Result<Measured> run(const Setting &setting, const Watch &watch) = 0;
};

class SafeTuner {
public:
  explicit SafeTuner(const ServerProblem &problem);

  /// Nothing where all intervals were run, or too many failed, or one at the baseline did.
  std::optional<ServerChoice> next(const std::vector<ServerInterval> &record) const;
  /// Sums of a record, and the best setting.
  ServerResult resultOf(std::vector<ServerInterval> record) const;

private:
  struct Model;
  const ServerProblem &problem_;
  std::vector<std::vector<double>> points_; ///< by number of the setting
  std::vector<bool> isWord_;
};

/// Runs intervals behind those of `record` until all are done, the training is over or fails, or `stop` is set. Shows
/// each to `done`, after which it may end the process: the record goes on from there.
Result<ServerResult> tuneServer(const ServerProblem &problem, ServerRunner &runner, std::vector<ServerInterval> record,
                                const std::function<Result<void>(const std::vector<ServerInterval> &)> &done,
                                const std::atomic<bool> *stop = nullptr);

/// Whether a record has ended early because of failures, and why; empty: it has not.
std::string failureOf(const std::vector<ServerInterval> &record);

} // namespace accord::tuning
