// Simulations of jobs that share a cluster, whose decisions the caller takes: what trainers of policies need. In each
// round it weighs the jobs, and Accord places them by its exact allocation, as under `accord jobs --policy actor`. This
// header needs nothing of LLVM.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace accord::inline embedding {

/// What is simulated; times are seconds. Without a trace, jobs and clusters are synthetic
/// (lib/jobs/actor/SyntheticJobs).
struct EnvironmentOptions {
  std::string trace;                    ///< as of `accord jobs --simulate`; ""
  std::string profiles, servers;        ///< as there; of a trace
  std::string speeds;                   ///< "", "measured" or "fitted"
  unsigned draw = 0;                    ///< jobs that each reset draws from the trace; 0: the trace as it is
  double load = 1;                      ///< with `draw`
  std::optional<double> round, restart; ///< of a trace
  unsigned jobs = 40;                   ///< synthetic ones of a simulation
  double shield = 1;                    ///< share of the proved bound that weights may lose in a round; 1: all of it
};

/// The state at the start of a round, or at the end.
struct EnvironmentState {
  std::vector<float> jobs;    ///< a row of features for each job that is here, by arrival
  std::vector<float> cluster; ///< features of the cluster
  size_t count = 0;           ///< jobs that are here
  double now = 0;             ///< seconds
  double reward = 0;          ///< minus the integral of the number of jobs over time, since the last state
  bool isOver = false;        ///< all jobs are complete
  bool wasShielded = false;   ///< the planner's allocation was taken in the last round
};

class JobsEnvironment {
public:
  /// Reads the trace. Throws std::invalid_argument with what is wrong.
  explicit JobsEnvironment(const EnvironmentOptions &options);
  ~JobsEnvironment();
  JobsEnvironment(const JobsEnvironment &) = delete;

  /// Begins a simulation. The seed draws jobs; the same one gives the same simulation. The sum of all rewards is minus
  /// the sum of completion - arrival over all jobs. Throws std::invalid_argument where jobs cannot be drawn or run.
  const EnvironmentState &reset(uint64_t seed);
  /// Runs a round. `logWeights` has a number for each job that is here; each weight is its exp, clamped to exp(+-1).
  /// Throws std::invalid_argument where there are as many as that not, or one is none, and before a reset or at the
  /// end.
  const EnvironmentState &step(const std::vector<double> &logWeights);

  static const std::vector<std::string> &jobFeatures();
  static const std::vector<std::string> &clusterFeatures();

private:
  struct State;
  std::unique_ptr<State> state;
};

/// A trained actor (`accord jobs --train`), which weighs jobs by what an environment shows of them.
class JobsActor {
public:
  /// Reads an .onnx file. Throws std::invalid_argument with what is wrong of it.
  explicit JobsActor(const std::string &path);
  ~JobsActor();
  JobsActor(const JobsActor &) = delete;

  /// A number for each of `count` jobs, before it is clamped: the log of its weight. Throws std::invalid_argument where
  /// the features are not as many as expected, or a number is infinite or none.
  std::vector<double> logWeights(const std::vector<float> &jobs, const std::vector<float> &cluster, size_t count) const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace accord::inline embedding
