#include "passes/Pipelines.h"
#include "lib/compilation/TrainingGraphs.h"
#include "mlir/Pass/PassOptions.h"
#include "mlir/Pass/PassRegistry.h"
#include "passes/Passes.h"
#include "passes/analyze/Passes.h"
#include "passes/interpret/Passes.h"
#include "passes/schedule/Passes.h"
#include "passes/shard/Passes.h"
#include "passes/simplify/Passes.h"
#include "passes/train/Passes.h"

using namespace mlir;

namespace accord {
namespace {

std::map<PipelinePhase, std::vector<std::function<void(OpPassManager &)>>> &additions() {
  static std::map<PipelinePhase, std::vector<std::function<void(OpPassManager &)>>> all;
  return all;
}

LogicalResult addText(OpPassManager &passes, const std::string &pipeline, const char *option,
                      llvm::raw_ostream &errors) {
  if (pipeline.empty() || succeeded(parsePassPipeline(pipeline, passes, errors)))
    return success();
  errors << "\n'" << option << "' is no pipeline: '" << pipeline << "'";
  return failure();
}

LogicalResult addPhase(PipelinePhase phase, OpPassManager &passes, const PipelineOptions &options,
                       llvm::raw_ostream &errors) {
  const TrainingOptions &training = options.training;
  switch (phase) {
  case PipelinePhase::Train: {
    passes.addPass(createInstantiateModels());
    if (failed(addText(passes, training.modelPasses, "model-passes", errors)))
      return failure();
    passes.addPass(createRunRequestedPasses({/*onModels=*/true}));
    passes.addPass(createQuantizeProducts());
    passes.addPass(createExpandRecurrent());
    RecomputeOptions recompute;
    recompute.policy = training.recompute == "none" ? "" : training.recompute;
    passes.addPass(createRecompute(recompute));
    passes.addPass(createInlineSingleRepeats());
    passes.addPass(createBuildTrainingGraph());
    break;
  }
  case PipelinePhase::Simplify:
    passes.addNestedPass<dnn::TrainingGraphOp>(createGatherGradients());
    break;
  case PipelinePhase::Shard:
    if (training.tensor > 1) {
      ShardOptions shard;
      shard.devices = training.tensor;
      shard.sequence = training.sequence;
      shard.keepGathered = training.keepGathered;
      shard.expertReplicas = training.experts ? training.data : 1;
      passes.addPass(createShard(shard));
    }
    if (training.context > 1) {
      DivideSequenceOptions divide;
      divide.devices = training.context;
      divide.exchange = training.exchange;
      passes.addPass(createDivideSequence(divide));
    }
    if (training.data > 1) {
      ReplicateOptions replicate;
      replicate.devices = training.data;
      replicate.experts = training.experts ? "divided" : "whole";
      replicate.tables = training.tables.empty() ? "whole" : training.tables;
      passes.addPass(createReplicate(replicate));
    }
    if (failed(addText(passes, training.passes, "passes", errors)))
      return failure();
    if (training.fuse)
      passes.addNestedPass<dnn::TrainingGraphOp>(createFuse());
    passes.addPass(createRunRequestedPasses());
    break;
  case PipelinePhase::Cost:
    passes.addPass(createCostPass(options.planning));
    break;
  case PipelinePhase::Place:
    passes.addPass(createPlacePass(options.planning));
    break;
  case PipelinePhase::Schedule:
    passes.addPass(createSchedulePass(options.planning));
    break;
  case PipelinePhase::Emit:
    passes.addPass(createEmitPlan());
    break;
  }
  for (const auto &add : additions()[phase])
    add(passes);
  return success();
}

/// The options of `accord-pipeline`.
struct PipelineText : PassPipelineOptions<PipelineText> {
  static llvm::cl::ValuesClass phases() {
    return llvm::cl::values(clEnumValN(PipelinePhase::Train, "train", "models become training graphs"),
                            clEnumValN(PipelinePhase::Simplify, "simplify", "compute once what is computed more often"),
                            clEnumValN(PipelinePhase::Shard, "shard", "what each device runs"),
                            clEnumValN(PipelinePhase::Cost, "cost", "what each operation costs"),
                            clEnumValN(PipelinePhase::Place, "place", "where each layer runs on a cluster"),
                            clEnumValN(PipelinePhase::Schedule, "schedule", "when each operation runs on one machine"),
                            clEnumValN(PipelinePhase::Emit, "emit", "the plan alone"));
  }
  Option<PipelinePhase> from{*this, "from", llvm::cl::desc("first phase"), llvm::cl::init(PipelinePhase::Train),
                             phases()};
  Option<PipelinePhase> until{*this, "until", llvm::cl::desc("last phase"), llvm::cl::init(PipelinePhase::Emit),
                              phases()};
  Option<std::string> recompute{*this, "recompute", llvm::cl::desc("none, selective or full"), llvm::cl::init("none")};
  Option<bool> keepGathered{*this, "keep-gathered",
                            llvm::cl::desc("keep what is gathered in the forward pass for the backward pass")};
  Option<int64_t> tensor{*this, "tensor", llvm::cl::desc("degree of tensor parallelism"), llvm::cl::init(1)};
  Option<bool> sequence{*this, "sequence", llvm::cl::desc("sequence parallelism among the same devices")};
  Option<int64_t> context{*this, "context", llvm::cl::desc("degree of context parallelism"), llvm::cl::init(1)};
  Option<std::string> exchange{*this, "exchange", llvm::cl::desc("of keys and values: ring, all_gather or all_to_all"),
                               llvm::cl::init("ring")};
  Option<int64_t> data{*this, "data", llvm::cl::desc("degree of data parallelism"), llvm::cl::init(1)};
  Option<std::string> experts{*this, "experts", llvm::cl::desc("whole or divided among the replicas"),
                              llvm::cl::init("whole")};
  Option<std::string> tables{*this, "tables", llvm::cl::desc("embedding tables: whole, rows or columns"),
                             llvm::cl::init("whole")};
  Option<bool> fuse{*this, "fuse", llvm::cl::desc("run element-wise work where its tensor is made")};
  Option<std::string> modelPasses{*this, "model-passes", llvm::cl::desc("{pipeline} that runs on the models first")};
  Option<std::string> passes{*this, "passes", llvm::cl::desc("{pipeline} that runs on the sharded graphs")};

  PipelineOptions options() const {
    PipelineOptions made;
    TrainingOptions &training = made.training; // whoever makes a model pads its vocabulary
    training.recompute = recompute;
    training.keepGathered = keepGathered;
    training.tensor = tensor, training.sequence = sequence;
    training.context = context, training.exchange = exchange;
    training.data = data;
    training.experts = experts == "divided";
    training.tables = tables == "whole" ? "" : tables.getValue();
    training.fuse = fuse;
    training.modelPasses = modelPasses, training.passes = passes;
    return made;
  }
};

} // namespace

const char *name(PipelinePhase phase) {
  static constexpr const char *names[] = {"train", "simplify", "shard", "cost", "place", "schedule", "emit"};
  return names[static_cast<size_t>(phase)];
}

std::optional<PipelinePhase> phaseNamed(llvm::StringRef text) {
  for (PipelinePhase phase : kPipelinePhases)
    if (text == name(phase))
      return phase;
  return std::nullopt;
}

LogicalResult buildPipeline(OpPassManager &passes, const PipelineOptions &options, PipelinePhase from,
                            PipelinePhase until, llvm::raw_ostream &errors) {
  for (PipelinePhase phase : kPipelinePhases)
    if (phase >= from && phase <= until && failed(addPhase(phase, passes, options, errors)))
      return failure();
  return success();
}

void addToPhase(PipelinePhase phase, std::function<void(OpPassManager &)> add) {
  additions()[phase].push_back(std::move(add));
}

void registerPipelines() {
  registerPassPipeline(
      "accord-pipeline", "the phases train, simplify, shard, cost, place, schedule and emit, or some of them",
      [](OpPassManager &passes, StringRef text, function_ref<LogicalResult(const Twine &)> fail) -> LogicalResult {
        PipelineText options;
        if (failed(options.parseFromString(text)))
          return failure();
        std::string error;
        llvm::raw_string_ostream errors(error);
        if (succeeded(buildPipeline(passes, options.options(), options.from, options.until, errors)))
          return success();
        return fail(error);
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> see) { see(PipelineText()); });
}

void registerAllPasses() {
  registerAnalyzePasses();
  registerInterpretPasses();
  registerSchedulePasses();
  registerShardPasses();
  registerSimplifyPasses();
  registerTrainPasses();
  registerPipelines();
}

} // namespace accord
