// Runs a tuning: which trial is trained next, on how many devices, and when it is stopped.
//
// Trials: asynchronous successive halving (Li et al., ASHA, MLSys 2020): a trial that is among the best 1/reduction of
// those that reached its rung goes on to the next one; where none does, a new one begins. New configurations are drawn
// evenly, or by the densities of `DensityModel.h`, of the highest rung that has enough values.
//
// Populations: all members run for one generation after the other; behind each the worst are replaced by children of
// the best, which begin with their parents' state (`Population.h`). Members take turns where devices are few.
//
// Branches: where hyper-parameters act from a rung on, up to `branches` trials go on behind it from one state. The
// first is the trial that came there itself; the others are new ones, with its earlier hyper-parameters and other later
// ones. They begin before trials that begin at unit 0, those of the furthest and best states first.
//
// Devices: `Sharing::Fixed` gives each trial as many. `Sharing::Joint` decides the search and its devices together:
// whenever a trial reaches a rung, the devices are divided anew among all that run or may run, those that came further
// first (`DeviceShares.h`). A trial that runs changes its devices at the end of a unit, and loses the time of a
// restart.
#pragma once
#include "lib/support/Result.h"
#include "lib/tuning/problem/Tuning.h"
#include <atomic>

namespace accord::tuning {

/// What a trial said after a unit, or why it said nothing: its program ended before, which costs this trial alone.
struct TrialValue {
  std::optional<double> value;
  std::string reason = {};
  bool isStopped = false; ///< it was not waited for any more: the tuning ends
};

/// What trains: a table of what was measured before, or programs on a cluster.
class TrialRunner {
public:
  virtual ~TrialRunner() = default;
  /// The configuration that is really run, near to the one that is proposed: a row of a table. Nothing: there is none
  /// any more.
  virtual std::optional<Configuration> accept(Configuration proposed) = 0;
  /// The same for a branch: what acts before the unit stays as it is proposed.
  virtual std::optional<Configuration> acceptBranch(Configuration proposed, int64_t /*unit*/) {
    return accept(std::move(proposed));
  }
  /// Whether a configuration may be tried at all. Where it may not, another one is proposed.
  virtual bool admits(const Configuration & /*proposed*/) { return true; }
  /// Points that may be proposed; empty: all of the space.
  virtual std::vector<CubePoint> candidates() { return {}; }
  /// Seconds of a unit on one device, of a configuration that runs or may run; nothing: what the problem says. Priced
  /// proposals rest on it, so it is what is expected before a configuration runs.
  virtual std::optional<double> unitSeconds(const Configuration &) { return std::nullopt; }
  /// On how much the configuration may run, ascending, and how fast it is there; empty: as the problem says.
  virtual std::vector<Width> widths(const Configuration &) { return {}; }
  /// The state of a trial that stands still behind a unit is kept: branches begin with it once the trial has gone on.
  /// An error ends the tuning.
  virtual Result<void> keep(unsigned /*trial*/, int64_t /*unit*/) { return {}; }
  /// A trial that was accepted begins with the state of another one: that which was kept, else that which it has now,
  /// standing still: it has ended a unit and has not been started again. An error ends the tuning.
  virtual Result<void> inherit(unsigned /*trial*/, const Origin &) { return {}; }
  /// A trial runs from now on, as its segment says, whose end is not known yet; it is asked for values up to a unit.
  virtual Result<void> start(const Segment & /*segment*/, const Configuration &, int64_t /*until*/) { return {}; }
  /// It runs no more, after the units of which it was asked.
  virtual void pause(unsigned /*trial*/) {}
  /// The value after a unit, for which a program is waited for. An error ends the tuning.
  virtual Result<TrialValue> value(unsigned trial, const Configuration &configuration, int64_t unit) = 0;
};

/// Runs until all trials have ended, or `stop` is set. The same problem and the same values give the same result, so a
/// tuning that was interrupted goes on where the runner still knows the values.
Result<TuningResult> tune(const TuningProblem &problem, TrialRunner &runner, const std::atomic<bool> *stop = nullptr);

} // namespace accord::tuning
