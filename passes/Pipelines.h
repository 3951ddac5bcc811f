// The pipeline of the compiler: the only place where the order of its phases stands.
//
//   mlir::PassManager passes(&context);
//   PipelineOptions options;
//   options.training.recompute = "full";
//   if (mlir::failed(buildPipeline(passes, options, PipelinePhase::Train, PipelinePhase::Shard, llvm::errs()))) …
//   passes.run(module); // a dnn.model becomes what each device runs in one step
//
// The same as text, for `accord-opt` and `parsePassPipeline`: accord-pipeline{until=shard recompute=full}.
#pragma once
#include "lib/compilation/TrainingGraphs.h"
#include "mlir/Pass/PassManager.h"

namespace accord {
struct Planning;

/// - train: models become training graphs: forward, both gradients, updates.
/// - simplify: what the graph computes more often than it has to.
/// - shard: what each device runs; then passes of the user and `fuse`.
/// - cost: what each operation costs on the machine of the request, beside it.
/// - place: where each layer runs on the cluster of the request.
/// - schedule: when each operation runs on its one machine.
/// - emit: what is left is the plan.
enum class PipelinePhase : uint8_t { Train, Simplify, Shard, Cost, Place, Schedule, Emit };
inline constexpr PipelinePhase kPipelinePhases[] = {
    PipelinePhase::Train, PipelinePhase::Simplify, PipelinePhase::Shard, PipelinePhase::Cost,
    PipelinePhase::Place, PipelinePhase::Schedule, PipelinePhase::Emit};
const char *name(PipelinePhase phase);
std::optional<PipelinePhase> phaseNamed(llvm::StringRef name);

struct PipelineOptions {
  /// Of modules that hold a model without a request: a request says itself which graphs and passes there are.
  TrainingOptions training;
  /// Of the phases that decide: how they search, and where what they find is put for the caller; null: defaults.
  Planning *planning = nullptr;
};

/// Adds the phases from one to another, both included, to a manager of passes on modules. Of a module with
/// `plan.request` the request says which training graphs there are. Fails, and says why, where a pipeline in the
/// options is none.
mlir::LogicalResult buildPipeline(mlir::OpPassManager &passes, const PipelineOptions &options, PipelinePhase from,
                                  PipelinePhase until, llvm::raw_ostream &errors);

/// Passes that a plugin adds to every pipeline, behind the last pass of a phase.
void addToPhase(PipelinePhase phase, std::function<void(mlir::OpPassManager &)> add);

/// Registers `accord-pipeline`.
void registerPipelines();

} // namespace accord
