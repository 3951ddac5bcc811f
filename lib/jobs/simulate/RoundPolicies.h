// Policies that give each job a share of the time on each type of device, and rounds that come close to the shares.
#pragma once
#include "lib/jobs/simulate/SteadyProgress.h"
#include "lib/support/SplitMix.h"
#include <functional>
#include <map>

namespace accord::jobs {

struct RoundOptions {
  double round = 360;        ///< seconds of a round; half of it is what a new job counts as received on each type
  double refresh = 1920;     ///< seconds from one computation of shares to the next, or more
  bool shuffleTypes = false; ///< types are filled in an order drawn for each round, not in the order of the cluster
  bool fillsIdle = true;     ///< jobs without a share run where devices are left
  uint64_t seed = 0;         ///< of what is drawn
  /// Draw a number below their argument: a type for a job, and the order of types; empty: from `seed`. They serve to
  /// replay the draws of another program.
  std::function<uint64_t(uint64_t)> typeDraws = {}, orderDraws = {};
};

/// Rounds after Narayanan et al., "Heterogeneity-Aware Cluster Scheduling Policies for Deep Learning Workloads", OSDI
/// 2020, section 5, and the program published with it. When jobs came or went, and the last time is `refresh` ago or
/// no job would run, shares X are computed: X[j][t] is the part of the time that job j is to have its gang on type t.
/// In a round, jobs are taken for one type after the other by descending X[j][t] / (time that j received on t / time
/// that all did), then by the time that they lack from before, and run where their gang is still free. A job that came
/// after the shares were computed waits until they are computed again. The progress of jobs is a `SteadyProgress`, and
/// a gang is on one type. `jobs` are those of the simulation, and outlive the policy.
class FractionPolicy : public Policy {
public:
  FractionPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const RoundOptions &options)
      : jobs(jobs), capacity(cluster.capacity()), options(options), received(cluster.types.size(), 0),
        random(options.seed) {}

  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &views) override;

protected:
  struct ActiveJob {
    size_t job = 0;       ///< index into `jobs`
    double remaining = 0; ///< steps
    double age = 0;       ///< seconds since its arrival
  };
  static std::vector<size_t> numbersOf(const std::vector<ActiveJob> &active);
  /// The shares of jobs, which are in the order of arrival: 0 or more, at most 1 in sum over types.
  virtual TypeMatrix shares(const std::vector<ActiveJob> &active) = 0;

  const std::vector<SteadyJob> &jobs;
  const std::vector<int64_t> capacity; ///< devices of each type
  const RoundOptions options;

  uint64_t drawType(uint64_t below) { return options.typeDraws ? options.typeDraws(below) : random.below(below); }

private:
  struct State {
    std::vector<double> time, lacking; ///< on each type: seconds received, and lacking from before the last refresh
    std::vector<double> share;         ///< empty: not yet computed
    int type = -1;                     ///< where it ran in the last round; -1: it waited
    double attained = 0, remaining = 0;
    bool seen = false;
  };
  void account(double now, const Cluster &cluster, const std::vector<JobView> &views);
  void refresh(double now, const std::vector<JobView> &views);
  std::vector<int> choose(const std::vector<JobView> &views);
  std::vector<size_t> orderOfTypes();
  double priority(const State &state, size_t job, size_t type) const;

  std::map<size_t, State> states;
  std::vector<double> received; ///< on each type by all jobs, since the last refresh
  bool changed = false;         ///< jobs came or went since the last refresh
  double lastDecision = 0, lastRefresh = 0;
  SplitMix random;
};

/// Servers for jobs that run on a type each (-1: none); gangs fit. Large gangs first; a job stays where it was if that
/// is free, else it goes to the server with the fewest devices that suffice, else over servers with the most free.
std::vector<JobPlacement> placeGangs(const Cluster &cluster, const std::vector<JobView> &views,
                                     const std::vector<int> &types);

/// Jobs keep the type that they get until they are complete; none overtakes an earlier one. The type is drawn among
/// those that have the gang free.
class FifoPolicy : public FractionPolicy {
public:
  FifoPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const RoundOptions &options = {});

protected:
  TypeMatrix shares(const std::vector<ActiveJob> &active) override;

private:
  std::map<size_t, size_t> assigned; ///< the type of each job that has one
};

/// Gavel's `fifo` as its program is (scheduler/policies/fifo.py), for replays of its figures. It is not what is meant
/// by first in, first out: a job is given the type whose name is last of those with a free device even if its gang is
/// not free there, so that a type may be given to more jobs than it holds, which then take turns, while other types are
/// idle; and when the type is given to the last device, not it but one drawn is given no longer.
class PublishedFifoPolicy : public FractionPolicy {
public:
  PublishedFifoPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const RoundOptions &options = {});

protected:
  TypeMatrix shares(const std::vector<ActiveJob> &active) override;

private:
  void give(size_t job, size_t type, std::vector<int64_t> &left);
  void giveFreed(const std::vector<ActiveJob> &active, std::vector<size_t> &queue, std::vector<int64_t> &left);
  void giveQueue(const std::vector<size_t> &queue, std::vector<int64_t> &left);

  std::vector<size_t> byName;        ///< types
  std::map<size_t, size_t> assigned; ///< the type of each job that has one
};

} // namespace accord::jobs
