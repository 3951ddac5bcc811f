// What `accord mine` mines for: a space, the jobs of its files, on one device or placed on a
// cluster, and designs in words.
#pragma once
#include "lib/driver/Session.h"
#include "lib/driver/exploration/Mine.h"
#include "lib/exploration/clusters/PlacedProblem.h"
#include "lib/exploration/problem/MiningPlan.h"
#include "lib/exploration/steps/StepProblem.h"
#include "llvm/ADT/Sequence.h"

namespace accord {
class SolverMonitor;

class MineJobs {
public:
  explicit MineJobs(const MineOptions &options) : options_(options) {}

  /// Reads the files. Not `kDone`: the exit status, of what was reported. The monitor stops all searches of the jobs.
  int prepare(const SolverMonitor &monitor);
  DesignSpace &space() { return *space_; }
  MiningMetric metric() const { return metric_; }
  size_t size() const { return jobs_.size(); }
  const std::vector<MiningJob> &jobs() const { return jobs_; }
  bool placed(size_t job) const { return !works_[job].empty(); }
  /// Null: the job is on one device, or none of its placements is in that design.
  const PlacedWork *placements(size_t job, const Design &design) const;
  /// By point of what its cluster leaves open, of which there is at least one: null where there is no placement. Empty:
  /// the job is on one device.
  const PlacedWorks &placements(size_t job) const { return works_[job]; }
  std::vector<size_t> all() const {
    auto all = llvm::seq(jobs_.size());
    return {all.begin(), all.end()};
  }
  /// Whether numbers of a cluster are among the parameters.
  bool minesClusters() const { return !space_->clusterParameters().empty(); }
  /// The cluster of a job that is placed is that of the design from now on.
  void chooseCluster(size_t job, const Design &design);
  /// Whether there are zeros to choose from.
  bool hasZeros() const;
  /// What was assumed of zeros.
  const std::vector<std::string> &assumptions() const { return assumptions_; }
  /// What the job is worth on its own best design.
  void best(size_t job, double value) { jobs_[job].best = value; }
  Session &session(size_t job) { return *sessions_[job]; }
  Session &first() { return *sessions_.front(); }

  /// Of these jobs. `anew`: nothing is known of their steps' prices on one device.
  std::unique_ptr<MiningProblem> problemOf(const std::vector<size_t> &of, ObjectiveAggregation aggregation,
                                           bool anew = false, unsigned effort = 0);
  /// Of all jobs on one device where nothing is zero.
  std::unique_ptr<MiningProblem> denseProblem(ObjectiveAggregation aggregation) const;
  /// A design of a problem of these jobs.
  MinedDesign designed(const std::string &name, MiningProblem &problem, const std::vector<size_t> &of,
                       const Design &design);
  /// By job: what its longest path waits for.
  std::vector<JobLimits> limits(MiningProblem &problem, const Design &design);
  /// Of a design that keeps all requirements and is worth nothing to all jobs: why.
  std::string unfit(MiningProblem &problem, const Design &design);
  /// What no design keeps; nothing: it is not known.
  std::optional<Conflict> conflict();
  /// The jobs on a machine of that name. Nothing: the exit status is in `status`.
  std::optional<MinedDesign> on(const std::string &machine, int &status);

private:
  bool addJob(Session &session);
  /// The last of a design's choices, which are those of its cluster.
  Design clusterOf(const Design &design) const;
  bool addAlternatives(Session &session, std::vector<MiningAlternative> &alternatives);
  bool addZeros(Session &session, std::vector<MiningAlternative> &alternatives);
  /// Of the problem's job `i`, which is ours of number `j`.
  std::optional<MinedStep> stepOf(MiningProblem &problem, size_t i, size_t j, const Design &design);

  const MineOptions &options_;
  std::vector<std::unique_ptr<Options>> own_;
  std::vector<std::unique_ptr<Session>> sessions_; ///< the first one's space is mined
  std::unique_ptr<DesignSpace> space_;
  MiningMetric metric_ = MiningMetric::StepTime;
  std::vector<MiningJob> jobs_;
  std::vector<PlacedWorks> works_; ///< by job; see `placements`
  std::vector<std::string> assumptions_;
};

} // namespace accord
