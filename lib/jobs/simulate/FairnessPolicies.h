// Policies whose shares are fair, or end all jobs soonest.
#pragma once
#include "lib/jobs/simulate/RoundPolicies.h"

namespace accord::jobs {

/// Max-min fairness: the smallest share of the speed that a job has with an equal part of all devices, times its gang
/// and over its weight, is maximized. Type-blind, every device counts as equally fast: then the next smallest is
/// maximized too (which is a formula), and a job has the same part of each type, as the program has many solutions.
/// Gavel's `max_min_fairness` and `max_min_fairness_perf`.
class MaxMinFairnessPolicy : public FractionPolicy {
public:
  MaxMinFairnessPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, bool typeBlind,
                       const RoundOptions &options = {});

protected:
  TypeMatrix shares(const std::vector<ActiveJob> &active) override;

private:
  TypeMatrix blindShares(const std::vector<ActiveJob> &active) const;

  bool typeBlind;
};

/// Finish-time fairness (Mahajan et al., Themis, NSDI 2020, in the form of Gavel, section 4.2): the largest ratio of a
/// job's time to completion to that with an equal part of the cluster of its own is minimized. With a ratio rho given,
/// job j needs the speed remaining / (rho * alone_j - age_j); whether all have it is a linear program, whose
/// multipliers give a larger rho below which no shares do. Gavel's `finish_time_fairness_perf`.
class FinishTimeFairnessPolicy : public FractionPolicy {
public:
  FinishTimeFairnessPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs,
                           const RoundOptions &options = {});

protected:
  TypeMatrix shares(const std::vector<ActiveJob> &active) override;

private:
  struct Alone {
    double seconds = 0;   ///< that the steps done so far would have taken on the equal parts of their time
    double speed = 0;     ///< with the equal part of the last refresh
    double remaining = 0; ///< steps, at the last refresh
  };
  std::map<size_t, Alone> alone;
};

/// The time to the completion of all jobs is minimized: an exact linear program in place of Gavel's bisection to 5 %.
/// Gavel's `min_total_duration_perf`.
class MinTotalDurationPolicy : public FractionPolicy {
public:
  MinTotalDurationPolicy(const Cluster &cluster, const std::vector<SteadyJob> &jobs, const RoundOptions &options = {})
      : FractionPolicy(cluster, jobs, options) {}

protected:
  TypeMatrix shares(const std::vector<ActiveJob> &active) override;
};

} // namespace accord::jobs
