// Policies that take rigid jobs in an order, and let later jobs pass where an earlier one does not fit.
#pragma once
#include "lib/jobs/simulate/Simulator.h"
#include <map>

namespace accord::jobs {

/// In each round, jobs are taken in ascending order of a key (ties by arrival, then number) and run on all the devices
/// that they ask for, of one type, where those are still free; a job that does not fit lets later ones pass
/// (backfilling). Of the types with free devices, a job takes the one on which it is complete first; a change of type
/// counts the seconds of a restart. A job that did not progress since it started or restarted is taken first, so that
/// restarts as long as a round do not keep jobs from progress.
class OrderedPolicy : public Policy {
public:
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

protected:
  /// A key for each job; the smallest runs first.
  virtual std::vector<double> keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) = 0;

private:
  std::vector<bool> withoutProgress(const std::vector<JobView> &jobs);

  struct Start {
    JobPlacement placement;
    double workDone = 0; ///< when it was placed there
  };
  std::map<size_t, Start> starts; ///< by job, of those that run
};

/// Seconds that a job still needs on all the devices that it asks for, of the type that is fastest; infinity where no
/// type has a known rate.
double remainingSeconds(const Cluster &cluster, const JobView &job);

/// Shortest remaining processing time first (Schrage, Operations Research 16, 1968): optimal in mean completion on one
/// device where restarts take no time.
class ShortestRemainingTime : public OrderedPolicy {
protected:
  std::vector<double> keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;
};

/// Shortest remaining service first: remaining seconds times devices (Gu et al., Tiresias, NSDI 2019, section 3.1).
class ShortestRemainingService : public OrderedPolicy {
protected:
  std::vector<double> keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;
};

/// Least attained service in its continuous form: the fewest device-seconds held so far first, without queues (Gu et
/// al., Tiresias, NSDI 2019, section 3.1; Nuyens, Wierman, Performance Evaluation 65, 2008).
class AttainedServiceOrder : public OrderedPolicy {
protected:
  std::vector<double> keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;
};

/// Earliest deadline first with admission. When a job with a deadline is first seen, it is admitted if the admitted
/// jobs and it all meet their deadlines when they run in the order of their deadlines from now on, each on the fastest
/// type with free devices, after a restart and a round; otherwise it is not. Admitted jobs run first, by deadline; then
/// the others, shortest remaining time first. Restarts by preemption are not foreseen, so that an admitted job may
/// still be late.
class EarliestDeadline : public OrderedPolicy {
public:
  explicit EarliestDeadline(double round = 60) : round(round) {}
  /// Of the jobs seen so far with a deadline, whether each was admitted.
  const std::map<size_t, bool> &admissions() const { return admitted; }

protected:
  std::vector<double> keys(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;

private:
  double round;
  std::map<size_t, bool> admitted;
};

} // namespace accord::jobs
