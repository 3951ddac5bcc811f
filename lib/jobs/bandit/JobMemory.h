// What a cluster saw of the jobs so far, and other traces that would have looked alike: on them a policy can be
// replayed without waiting for its completions. Nothing of the work that a job has goes in before it is complete.
#pragma once
#include "lib/jobs/problem/WorkHistory.h"
#include "lib/jobs/simulate/GoodputPolicies.h"
#include "lib/support/SplitMix.h"
#include <map>
#include <vector>

namespace accord::jobs {

/// A job that was seen.
struct RememberedJob {
  SimulatedJob description;          ///< without its progress
  std::vector<DeviceOption> options; ///< with the mean of the rates that were seen on each
  double work = 0;                   ///< of a complete job all of its work, else what it has done
  bool isComplete = false;
  size_t rounds = 0, looks = 0; ///< in which it was here; of these, those whose rates were taken

  double bestRate() const; ///< work a second where it is fastest; 0: it has no option
};

/// A trace of jobs as the cluster believes them to be, and the complete jobs that a policy knows when it begins.
struct BelievedTrace {
  std::vector<SimulatedJob> jobs; ///< by arrival
  WorkHistory history;
};

class JobMemory {
public:
  /// `minExpected`: seconds that a job is expected to have left where nothing is known, at least
  /// (`AllocationOptions::minExpected`). `history`: jobs that were complete before.
  explicit JobMemory(double minExpected, const WorkHistory &history = {})
      : minExpected(minExpected), history(history), known(history) {}

  /// The jobs that are here in a round. Rates are taken in rounds 1, 2, 4, 8, … of a job, for gradients make them
  /// change slowly. Jobs whose speed is not known yet are left out.
  void look(const Cluster &cluster, const std::vector<JobView> &jobs);
  void complete(const JobView &job, double work);

  size_t numJobs() const { return remembered.size(); }
  size_t numComplete() const { return completions; }
  const std::map<size_t, RememberedJob> &jobs() const { return remembered; }
  /// The complete jobs, on top of those that were complete before.
  WorkHistory completeJobs() const;

  /// A trace of as many jobs as are remembered, at most `maxJobs` (more than 0), which arrive at random with the rate
  /// of the past (`drawTrace`). The remembered jobs are split in two halves at random: the jobs of the trace are drawn
  /// with replacement from one, and the complete jobs of the other are the history, on top of those before. So a policy
  /// knows as many jobs as it will have seen soon, and none of those that it is replayed on. Jobs that are not complete
  /// get a work that is drawn: that of a complete job of their application which had more, or one more case that stands
  /// for what these do not say: the same of all applications, in seconds where the job is fastest, where once more one
  /// case stands for the unknown: an exponential time whose mean is what is done, at least `minExpected`. That is the
  /// model of `WorkHistory`.
  BelievedTrace believe(SplitMix &random, size_t maxJobs) const;

private:
  double drawWork(const RememberedJob &job, SplitMix &random) const;

  double minExpected;
  WorkHistory history, known;                 ///< of jobs that were complete before; with those since
  std::map<size_t, RememberedJob> remembered; ///< by number
  size_t completions = 0;
};

} // namespace accord::jobs
