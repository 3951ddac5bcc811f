#include "lib/compilation/TrainingGraphs.h"
#include "lib/compilation/Vocabulary.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include "lib/support/EmitError.h"
#include "lib/training/architecture/Architecture.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Pass/PassRegistry.h"
#include <fmt/format.h>

namespace accord {
/// Runs `work` on a module and keeps what it says.
static PassRun collect(mlir::ModuleOp module, llvm::function_ref<mlir::LogicalResult()> work) {
  PassRun run;
  mlir::ScopedDiagnosticHandler handler(module.getContext(), [&](mlir::Diagnostic &d) {
    if (d.getSeverity() == mlir::DiagnosticSeverity::Remark)
      run.remarks.push_back(d.str());
    if (d.getSeverity() != mlir::DiagnosticSeverity::Error)
      return mlir::success();
    Error error{codeOf(d, Code::InternalError), d.str(), sourceOf(d.getLocation()), {}};
    for (mlir::Diagnostic &note : d.getNotes())
      error.notes.push_back({sourceOf(note.getLocation()), note.str()});
    run.errors.push_back(std::move(error));
    return mlir::success();
  });
  if (mlir::failed(work()) && run.errors.empty())
    run.errors.push_back({Code::InternalError, "a pass failed without saying why", {}, {}});
  return run;
}

PassRun runPasses(mlir::ModuleOp module, mlir::PassManager &passes) {
  return collect(module, [&] { return passes.run(module); });
}

/// Adds the passes of a pipeline; says why that is not possible.
static std::string addPasses(mlir::PassManager &passes, const std::string &pipeline) {
  std::string error;
  llvm::raw_string_ostream stream(error);
  if (mlir::succeeded(mlir::parsePassPipeline(pipeline, passes, stream)))
    return {};
  return error.empty() ? "it is no pipeline" : llvm::StringRef(error).trim().str();
}

/// `verifiesEach`: the module is verified after every pass, else once behind the last one.
static PassRun runPipeline(mlir::ModuleOp module, const std::string &pipeline, bool verifiesEach) {
  mlir::PassManager passes(module.getContext());
  passes.enableVerifier(verifiesEach);
  if (std::string error = addPasses(passes, pipeline); !error.empty())
    return {{{Code::InternalError, fmt::format("'{}': {}", pipeline, error), {}, {}}}, {}};
  return collect(module, [&] {
    const mlir::LogicalResult result = passes.run(module);
    return mlir::failed(result) || verifiesEach ? result : mlir::verify(module);
  });
}

PassRun runPipeline(mlir::ModuleOp module, const std::string &pipeline) {
  return runPipeline(module, pipeline, /*verifiesEach=*/true);
}

std::string pipelineError(mlir::MLIRContext &context, const std::string &pipeline) {
  mlir::PassManager passes(&context);
  return pipeline.empty() ? std::string() : addPasses(passes, pipeline);
}

std::string TrainingOptions::text() const {
  std::string all;
  auto add = [&](const std::string &option) { all += (all.empty() ? "" : " ") + option; };
  if (recompute != "none")
    add("recompute=" + recompute);
  if (keepGathered)
    add("keep-gathered");
  if (tensor > 1)
    add(fmt::format("tensor={}", tensor));
  if (sequence)
    add("sequence");
  if (context > 1)
    add(fmt::format("context={} exchange={}", context, exchange));
  if (data > 1)
    add(fmt::format("data={}", data));
  if (experts)
    add("experts=divided");
  if (!tables.empty())
    add("tables=" + tables);
  if (fuse)
    add("fuse");
  if (!modelPasses.empty())
    add("model-passes={" + modelPasses + "}");
  if (!passes.empty())
    add("passes={" + passes + "}");
  return all;
}

mlir::OwningOpRef<mlir::ModuleOp> TrainingGraphs::moduleOf(std::optional<int64_t> sequence,
                                                           int64_t vocabularyMultiple) {
  dnn::ModelOp made = model(sequence);
  if (!made)
    return nullptr;
  mlir::OwningOpRef<mlir::ModuleOp> module = mlir::ModuleOp::create(made.getLoc());
  if (vocabularyMultiple > 1)
    padVocabulary(made, vocabularyMultiple);
  made->remove();
  module->getBody()->push_back(made);
  return module;
}

std::optional<ModelArchitecture> TrainingGraphs::architecture(const TrainingOptions &options) {
  auto module = moduleOf({}, 1);
  if (!module || (!options.modelPasses.empty() && !runPipeline(*module, options.modelPasses).errors.empty()))
    return std::nullopt;
  auto models = module->getOps<dnn::ModelOp>();
  return models.empty() ? std::nullopt : std::optional(architectureOf(*models.begin()));
}

TrainingGraphs::Built &TrainingGraphs::get(const TrainingOptions &options, std::optional<int64_t> sequence) {
  auto [slot, isNew] = graphs.try_emplace({options, sequence});
  Built &built = slot->second;
  if (!isNew)
    return built;
  built.module = moduleOf(sequence, options.vocabularyMultiple);
  if (!built.module)
    return built;
  // Passes of the user are verified one by one, so that an error names the pass; of the others that takes six times as
  // long as their work, which counts where thousands of networks are built.
  const bool hasOwn = !options.modelPasses.empty() || !options.passes.empty();
  PassRun run = runPipeline(*built.module, "accord-pipeline{until=shard " + options.text() + "}", hasOwn);
  built.remarks = std::move(run.remarks);
  built.errors = std::move(run.errors);
  if (!built.errors.empty())
    return built;
  auto graphs = built.module->getOps<dnn::TrainingGraphOp>();
  if (graphs.empty())
    built.errors.push_back({Code::PassFailed, "the passes left no training graph", {}, {}});
  else
    built.graph = *graphs.begin();
  return built;
}

} // namespace accord
