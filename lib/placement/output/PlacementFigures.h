// The numbers of a placement that people read, computed once for every emitter.
#pragma once
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/problem/PlacementPlan.h"
#include "llvm/ADT/STLForwardCompat.h"
#include <algorithm>
#include <array>

namespace accord {

/// Where the time of a device group goes in one step; picoseconds that sum to the step.
/// - `Forward`, `Backward`: the layers, with the collectives inside of them; `Backward` has both
///   gradients
/// - `Recompute`: forward work done again for the backward passes
/// - `Transfer`: waiting for activations and gradients of other stages, where transfers block, and
///   gathering weights (ZeRO 3)
/// - `GradientSync`: what of the exchange of gradients is not hidden; `Host`: launching micro-batches
/// - `Bubble`: the rest; nothing to do
enum class StepComponent : uint8_t { Forward, Backward, Recompute, Transfer, GradientSync, Update, Host, Bubble };
constexpr size_t kStepComponents = 8;
const char *name(StepComponent); ///< "forward", "backward", …

/// Peak bytes of one device.
enum class StageMemory : uint8_t { Weights, Gradients, States, Activations, Workspace };
constexpr size_t kStageMemories = 5;
const char *name(StageMemory); ///< "weights", "gradients", "optimizer_states", …

/// The devices that run stages s, p + s, ….
struct GroupFigures {
  PlacementProblem::Id parallelConfig = 0;
  int64_t first = 0;         ///< rank within its device type
  int64_t devices = 0;       ///< tensor * data
  int64_t stride = 1;        ///< from a device of one replica to that of the next
  int64_t last = 0;          ///< rank
  int64_t host = 0;          ///< bytes of the host's memory for one device
  std::string ranks() const; ///< "16..31", or "2..3, every 16 to 115" where others are between
  std::array<int64_t, kStepComponents> step{};
  std::array<int64_t, kStageMemories> memory{};
  int64_t capacity = 0;
  int64_t exchange = 0;            ///< picoseconds of the whole exchange, hidden or not
  int64_t gradientBytes = 0;       ///< that one device exchanges
  int64_t expertGradientBytes = 0; ///< besides, with devices that have the same experts
  int64_t replicasPerNode = 1;     ///< replicas in one server
  int64_t peak() const;
  int64_t of(StepComponent share) const { return step[llvm::to_underlying(share)]; }
  int64_t of(StageMemory part) const { return memory[llvm::to_underlying(part)]; }
  int64_t &of(StepComponent share) { return step[llvm::to_underlying(share)]; }
  int64_t &of(StageMemory part) { return memory[llvm::to_underlying(part)]; }
};

struct PlacementFigures {
  int64_t tensor = 1, pipeline = 1, data = 1; ///< of the first group; `pipeline` groups in a row
  int64_t context = 1; ///< of the first group: devices that share each sample along its sequence, beside `data`
  int64_t microbatch = 1;
  int zero = 0;
  bool sequence = false;
  bool hasUniformConfig = true; ///< all groups have one parallel configuration
  double seconds = 0, throughput = 0;
  double mfu = 0;            ///< model FLOPs / (step * peak of the devices used, of products); 0: not known
  double bubble = 0;         ///< share of all devices' time
  size_t maxMemoryGroup = 0; ///< group whose memory is fullest
  std::vector<GroupFigures> groups;
  std::vector<StageTransfer> transfers;
};

/// What a rank is within its device group.
struct RankPlace {
  size_t group = 0;
  int64_t replica = 0, tensor = 0;
};
/// The ranks of a plan, which count from 0 through all device types, in the order of `deviceTypes`.
std::vector<RankPlace> rankPlaces(const PlacementProblem &problem, const PlacementFigures &figures);
/// The same the other way round: ranks by group, replica after replica.
std::vector<std::vector<int64_t>> ranksByGroup(const PlacementProblem &problem, const PlacementFigures &figures);
/// The rank that rank number `index` of a group of `count` exchanges with in another group: groups of different sizes
/// are joined in proportion.
int64_t peerOf(int64_t index, int64_t count, const std::vector<int64_t> &ranksOfOther);

/// The type of the products of a precision: "bf16" of "mixed(bf16, gradients = fp32)", "fp32" of "fp32".
std::string productTypeOf(const std::string &precision);

/// Of a plan that is there and has no violations, with its metrics as `evaluate` gives them.
PlacementFigures figuresOf(const PlacementPlan &plan);
/// The same of any plan of its problem.
PlacementFigures figuresOf(const PlacementProblem &problem, const Placement &placement, const PlanMetrics &metrics);

/// Names of layers in their order, with runs that count up as one: "embedding", "block[0..11]".
std::vector<std::string> layerRuns(const PlacementProblem &problem, const std::vector<PlacementProblem::Id> &layers);

/// What is computed again, by policy, in the order of the first layer that has it.
struct RecomputeRun {
  std::string policy;
  std::vector<PlacementProblem::Id> layers;
};
std::vector<RecomputeRun> recomputeRuns(const PlacementProblem &problem, const PlacedStage &stage);

/// The transfers that move any bytes: those between devices.
std::vector<StageTransfer> sentTransfers(const PlacementFigures &figures);

/// All the steps that the job states; 0 steps where it does not.
struct TrainingFigures {
  double steps = 0, seconds = 0, joules = 0, price = 0;
};
TrainingFigures trainingOf(const PlacementPlan &plan);
/// Watts of the devices used with their shares of their hosts, and of the latter alone. `atTdp`: if every device took
/// its thermal design power throughout, no step takes more; 0 where one states none. Nothing without a plan.
struct PlanPower {
  double average = 0, hosts = 0, atTdp = 0;
};
PlanPower powerOf(const PlacementPlan &plan);

/// What of a parallel configuration is not said by degrees: "ring overlap, optimizer on the host"; empty: nothing.
std::string featuresText(const ParallelConfig &parallelConfig);

/// "tensor 8, pipeline 8 x 3 virtual stages, data 16": the degrees in a few words.
std::string degreesText(const PlacementProblem &problem, const Placement &placement);

/// The zeros of a placement, as documents, summaries and reports show them.
struct SparsityFigures {
  /// Layers that are decided together, with what they have.
  struct Row {
    std::vector<std::string> layers;
    std::string option; ///< "dense", "weights nm(2, 4)"
    bool isDense = true;
    size_t options = 1;         ///< to choose from
    std::vector<int64_t> takes; ///< of each budget
  };
  std::vector<Row> rows; ///< in the order of the model
  struct Budget {
    std::string what;
    int64_t used = 0, max = 0;
  };
  std::vector<Budget> budgets; ///< that are limited
  /// The objective without zeros over that of the plan, less 1; nothing where no dense plan is known.
  std::optional<double> gain;

  bool hasAny() const {
    return std::ranges::any_of(rows, [](const Row &row) { return !row.isDense; });
  }
};
/// Of a plan that has zeros to choose from.
SparsityFigures sparsityFiguresOf(const PlacementPlan &plan);

/// "weights nm(2, 4) in 4 of 6 layers"; "dense" where it has none.
std::string sparsityText(const SparsityFigures &figures);

} // namespace accord
