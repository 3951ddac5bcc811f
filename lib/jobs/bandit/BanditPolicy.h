// A contextual bandit over the planner's parameters: by which values jobs are allocated, and what a move is charged.
//
// What a cluster sees of an arm on-line is late and noisy: the jobs that it delays complete hours later, and their mean
// completion moves by more between two draws of jobs than between two arms. So no arm is tried on the jobs of users. A
// pull is a replay: the jobs that the cluster saw so far, with the work of those that are complete and a drawn work of
// the others (lib/jobs/bandit/JobMemory.h), are simulated under the arm and under the first one, and the reward is by
// how much the mean completion is shorter. Both have the same jobs, so most of the chance cancels. Replays cost
// processor time alone, and the bandit chooses by upper confidence bounds which arms are worth it. The arm in use is
// the first one, unless the lower confidence bound of another says that it is better (as in conservative bandits; Wu et
// al., ICML 2016).
#pragma once
#include "lib/jobs/bandit/JobMemory.h"
#include "lib/jobs/bandit/LinearBandit.h"
#include "lib/jobs/simulate/AllocationPolicy.h"

namespace accord::jobs {

/// The parameters of the planner that an arm stands for. A policy is made anew whenever the arm comes into use; it
/// begins with what is known of jobs that are complete. `effort` is that of each allocation, where the arm has one.
struct BanditArm {
  std::string name;
  std::function<std::unique_ptr<Policy>(const WorkHistory &history, unsigned effort)> make;
  /// What its reward is expected to be before any replay: a number for each of a context, or none for 0.
  std::vector<double> prior = {};
};

/// The arms of `accord jobs --policy bandit`: `learned` first, then what docs/learning.md says. Their priors are ridge
/// regressions on simulations of drawn jobs (lib/jobs/actor/SyntheticJobs.h), none of a trace that anybody measured.
std::vector<BanditArm> plannerArms();

struct BanditOptions {
  std::vector<BanditArm> arms = plannerArms(); ///< two or more
  WorkHistory history = {};                    ///< of jobs that were complete before
  SimulationOptions simulation = {};           ///< rounds of the cluster; its events and noise are not looked at
  uint64_t seed = 0;                           ///< of replays
  double minExpected = AllocationOptions().minExpected;
  size_t firstReplay = 4; ///< complete jobs before which nothing is replayed
  double growth = 1.4;    ///< of the number of complete jobs from one series of replays to the next
  size_t draws = 2;       ///< traces of a series
  size_t pulls = 2;       ///< arms, besides the first, that are replayed on each of them
  size_t maxJobs = 64;    ///< of a trace
  double maxRounds = 100; ///< that a trace may take until its last arrival; rounds are longer where it takes more
  double noise = 0.08;    ///< standard deviation of the reward of a replay
  double prior = 0.02;    ///< of each number of theta, before any replay
  double explore = 1;     ///< deviations above the mean by which arms are chosen for replays
  double caution = 0.5;   ///< deviations below the mean by which an arm has to be better than the first
};

/// What the bandit did, for reports and tests.
struct BanditCounts {
  size_t replays = 0, switches = 0;
  std::vector<size_t> rounds; ///< in which each arm was in use
};

class BanditPolicy : public Policy {
public:
  explicit BanditPolicy(BanditOptions options);
  std::vector<JobPlacement> decide(double now, const Cluster &cluster, const std::vector<JobView> &jobs) override;
  void completed(const JobView &job, double work) override;
  std::optional<double> maxGap() const override;
  std::optional<Error> failure() const override { return error; }

  /// The numbers of a context; each is from 0 to about 2.
  static const std::vector<std::string> &contextNames();
  const BanditCounts &counts() const { return count; }

private:
  std::vector<double> context(const Cluster &cluster, size_t waiting) const;
  void replay(const Cluster &cluster);
  /// The mean completion of a believed trace under an arm; nothing where it cannot be simulated.
  std::optional<double> replayed(const Cluster &cluster, const BelievedTrace &trace, size_t arm) const;
  void use(size_t arm);
  std::vector<bool> onlyFirst() const; ///< of each arm, whether it is the first

  BanditOptions options;
  JobMemory memory;
  LinearBandit bandit;
  SplitMix random;
  Cluster whole; ///< the largest that was seen
  size_t current = 0, next;
  std::unique_ptr<Policy> policy; ///< of the current arm
  std::vector<double> seen;       ///< the last context
  double worstGap = 0;
  BanditCounts count;
  std::optional<Error> error;
};

} // namespace accord::jobs
