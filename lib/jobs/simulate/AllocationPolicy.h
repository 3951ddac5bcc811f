// The policy of Accord: in each round the exact allocation of the devices, then the packing with the fewest moves.
#pragma once
#include "lib/jobs/problem/Allocation.h"
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/jobs/simulate/Simulator.h"
#include <map>
#include <memory>

namespace accord::jobs {

/// What the policy knows of the work that a job still has.
enum class KnownWork {
  Left,   ///< all of it
  Done,   ///< what is done alone: as much again is expected, at least `AllocationOptions::minExpected`
  Learned ///< the same, and all of it of jobs that are complete (lib/jobs/problem/WorkHistory.h)
};

/// What the policy expects of a job, before it is weighed. Nothing of the work that a job has goes into it, unless
/// `KnownWork::Left` is asked for.
struct JobEstimate {
  double work = 0;               ///< that it is expected to have left, in its own unit
  double bestRate = 0;           ///< work a second where it is fastest; 0: it can run nowhere now
  std::vector<double> typeRates; ///< the same on each type
};

/// A round, as those see it who weigh jobs.
struct RoundView {
  double now = 0;
  const Cluster &cluster;
  const std::vector<JobView> &jobs;
  const std::vector<JobEstimate> &estimates; ///< of each job
  size_t complete = 0;                       ///< jobs of the history
};

/// Weighs the jobs of each round: the value of a job, in all its configurations, is multiplied by its weight.
class JobWeigher {
public:
  virtual ~JobWeigher() = default;
  /// A finite number above 0 for each job. An error ends the simulation.
  virtual Result<std::vector<double>> weigh(const RoundView &round) = 0;
};

struct AllocationOptions {
  KnownWork knows = KnownWork::Left;
  /// Seconds on the fastest configuration that a job is expected to need, at least; where speeds are fitted, on the
  /// fastest that it may have now. Chosen on four workloads of Pollux, and better than 600 on four others too.
  double minExpected = 1800;
  /// Restarts that one move is charged as: who moves once is likely to be moved again, and all of its devices wait for
  /// it. Chosen on four workloads of Pollux, and as good on four others (docs/jobs.md).
  double moveCharge = 16;
  WorkHistory history = {}; ///< of jobs that were complete before, elsewhere too; where the work is learned
  unsigned effort = 6;      ///< of each allocation (lib/search/SearchLimits.h)
  /// Who weighs the jobs; null: nobody, and each counts the same.
  std::shared_ptr<JobWeigher> weigher = {};
  /// Of weighed jobs: the planner's allocation is taken in the place of the weighed one where the value of that, under
  /// the values without weights, is below (1 - shield) times the proved bound. 1: never, and no bound is computed.
  double shield = 1;
};

/// Sizes that a job may run in on servers of `serverDevices` devices: its devices if it is rigid (min = max); else
/// powers of two below one server, then whole servers.
std::vector<unsigned> deviceCounts(const SimulatedJob &job, unsigned serverDevices, unsigned max);

/// Work a second of a job where it is fastest, of these sizes; 0 where it has no speed.
double fastestRate(const Cluster &cluster, const SimulatedJob &job);

/// Each job is worth 1 / (seconds until it is complete in a configuration): the rate at which completions arrive. The
/// sum over the jobs is maximized, so short jobs come first and devices go where they shorten most. A change of devices
/// adds the charge of a move to the seconds, so it happens only where it pays. The number of devices of each type
/// bounds the allocation; `ServerPacking` then names the servers.
class AllocationPolicy : public Policy {
public:
  explicit AllocationPolicy(const AllocationOptions &options) : options(options), history(options.history) {}
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

  /// The two halves of `decide`: what the policy expects of the jobs, which is valid until the next call; and the
  /// placements of the same jobs, weighed with a finite number above 0 each, and shielded.
  RoundView look(double now, const Cluster &cluster, const std::vector<JobView> &jobs);
  std::vector<JobPlacement> place(const RoundView &round, const std::vector<double> &weights);

  void completed(const JobView &job, double work) override;

  std::optional<double> maxGap() const override { return worstGap; }
  std::optional<ShieldCount> shield() const override {
    return options.weigher ? std::optional(shieldCount) : std::nullopt;
  }
  /// The same, whoever weighs the jobs.
  const ShieldCount &shields() const { return shieldCount; }
  std::optional<Error> failure() const override { return error; }

private:
  struct Option {
    unsigned type = 0, devices = 0;
    double rate = 0;  ///< work in a second, more than 0
    double value = 0; ///< completions in a second
  };
  static std::vector<Option> optionsOf(const JobView &job, const Cluster &cluster,
                                       const std::vector<int64_t> &capacity);
  double secondsLeft(const JobView &job, const Cluster &cluster, const Option &option, double work) const;
  AllocationProblem problemOf(const Cluster &cluster, const std::vector<double> &weights) const;
  AllocationSolution solve(const AllocationProblem &problem);
  AllocationSolution shielded(const AllocationProblem &planned, AllocationSolution weighed);

  AllocationOptions options;
  WorkHistory history;
  std::map<size_t, double> bestRates; ///< of each job that was placed, in the last round
  double worstGap = 0;
  std::vector<std::vector<Option>> choices; ///< of each job of this round
  std::vector<JobEstimate> estimates;       ///< likewise
  ShieldCount shieldCount;
  std::optional<Error> error; ///< of the weigher
};

} // namespace accord::jobs
