// What a mining claims to have proved, as plain data: the certificate of `accord mine`.
#pragma once
#include "lib/exploration/problem/Design.h"
#include "lib/exploration/problem/MinedZeros.h"
#include "lib/machine/model/WorkGraph.h"
#include "lib/placement/problem/Placement.h"
#include <map>
#include <tuple>

namespace accord {

/// Shares of a layer with zeros: of the arithmetic of its forward product, of its weights in memory, and of their
/// gradients and the states of the optimizer.
struct StatedZeroShares {
  double compute = 1, weights = 1, states = 1;
};

/// One way in which a job's step may run.
struct CertificateAlternative {
  std::string label; ///< "micro-batch 4, recompute full"
  WorkGraph graph;   ///< with what zeros leave in memory
  /// With zeros: which alternative of the job is the same without them, and by layer what they leave.
  std::optional<size_t> dense = std::nullopt;
  StepZeros zeros = {};
  std::vector<StatedZeroShares> shares = {};
};

/// The step of one device that layers of some placements take their times from: one micro-batch after the other.
struct CertificateStep {
  int64_t tensor = 1;
  bool sequence = false;
  int64_t microbatch = 1;
  std::string recompute = "none";
  int64_t data = 1, experts = 1; ///< replicas that divide experts or tables; else 1
  PlacementProblem::Tables tables = PlacementProblem::Tables::Whole;
  WorkGraph graph; ///< what its devices exchange is on no core, and has given seconds
};

/// Where a job's placements may be: on so many devices of the space, in which forms.
struct CertificateCluster {
  /// All but what follows from the design: what layers cost, the device's memory and power, what
  /// its host takes, limits of energy, pins. Its layers are as fine as those of any design.
  PlacementProblem problem;
  std::map<std::string, uint32_t> classOf; ///< of layers, by name of a forward operation
  WorkGraph structure;                     ///< of one device, one sample at a time: which layers there are
  std::vector<CertificateStep> steps;      ///< of a form those that take the least time first
  /// Bytes of device memory that may be used, by its capacity; none: all of it.
  struct MemoryBudget {
    double capacity = 0;
    int64_t bytes = 0;
  };
  std::vector<MemoryBudget> memoryBudgets;
  bool offloads = false; ///< activations may be in the host's memory
  size_t first = 0;      ///< number of its first step among those of all clusters of its job
};

struct CertificateJob {
  std::string name;
  int64_t batch = 1;                                ///< samples of a step
  double weight = 1;                                ///< of a sum
  double best = 0;                                  ///< value of its own best design, which ratios are to; 0: none
  std::vector<CertificateAlternative> alternatives; ///< on one device, or:
  std::vector<CertificateCluster> clusters;         ///< on many; several where numbers of theirs are open
  /// By point of these numbers, the last one counting fastest, a cluster; nothing: no form of a
  /// stage is in it. Empty: all is in the first cluster.
  std::vector<std::optional<size_t>> points = {};
  std::vector<std::string> descriptions = {}; ///< by point, its cluster as a file describes it; empty: on one device
  bool placed() const { return !clusters.empty(); }
};

/// Sets `first` of the job's clusters.
inline void numberSteps(CertificateJob &job) {
  size_t first = 0;
  for (CertificateCluster &cluster : job.clusters) {
    cluster.first = first;
    first += cluster.steps.size();
  }
}

/// A plan of a way's step that the certificate has, whose bound holds for all of its schedules; of
/// a job on a cluster a placement problem, of all schedules and stages.
struct CertificatePlan {
  size_t job = 0, alternative = 0;
  unsigned number = 0;  ///< of its file
  bool ordered = false; ///< what is proved of its regions is of schedules whose repeats are units of their iterations
};

/// A design that is not ruled out by what its operations take at least: what the search found.
struct CertificateSurvivor {
  Design design;
  double value = 0; ///< infinite: no step fits; on a cluster, none below the answer's bound
  std::vector<CertificatePlan> plans;
};

/// The answer of one search.
struct CertificateAnswer {
  std::string name;         ///< "common", or the job's
  std::vector<size_t> jobs; ///< that count
  std::optional<Design> winner;
  double value = 0; ///< of the winner; infinite without one
  double bound = 0; ///< no design of the space is worth less
  std::vector<CertificateSurvivor> survivors;
  /// The search was stopped before the survivors were looked for: what a verifier cannot rule out rests on the search.
  bool stopped = false;
};

struct MiningCertificate {
  std::string space; ///< the accelerator with its choices, in the accel dialect
  /// "step_time", "tdp_time", "energy", "area_time", or the expression that `space` states.
  std::string metric;
  std::string aggregation;                 ///< of the last answer: "sum", "minimax_regret"; empty: one job
  std::vector<DesignParameter> parameters; ///< in the order of designs; without places
  size_t clusterParameters = 0;            ///< the last ones are not the accelerator's but its clusters'
  /// Choices of those parameters that jobs have a cluster for, where there are too many: those of the answers' designs.
  /// Of others nothing is said. Empty: jobs have one for each choice.
  std::vector<Design> listedClusters;
  std::vector<CertificateJob> jobs;
  std::vector<CertificateAnswer> answers; ///< of jobs alone, then of all
  std::string version;
};

/// All that tells parallel configurations of one device type from each other, but for what their networks take.
inline auto degreesOf(const PlacementProblem::ParallelConfig &config) {
  return std::tie(config.tensor, config.sequence, config.data, config.zero, config.microbatch, config.expert,
                  config.expertTensor, config.tables, config.ringOverlap, config.hostStates, config.hostWeights,
                  config.order, config.oneGroup);
}
/// The same with the device type.
inline auto identityOf(const PlacementProblem::ParallelConfig &config) {
  return std::tuple_cat(std::tie(config.deviceType), degreesOf(config));
}

} // namespace accord
