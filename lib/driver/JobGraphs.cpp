#include "lib/driver/JobGraphs.h"
#include "lib/compilation/PlacementPlanner.h"
#include "lib/compilation/TrainingGraphs.h"
#include "lib/machine/translate/FromDnn.h"
#include "lib/machine/translate/SourceLocationOf.h"
#include <fmt/format.h>

namespace accord {

bool JobGraphs::prepare() {
  const std::vector<std::string> &policies = workspace.job().recomputes;
  recompute = policies.front();
  return checkPasses() && llvm::none_of(policies, [this](const std::string &policy) { return !graph(policy); });
}

/// Whether what the user wants to run are pipelines.
bool JobGraphs::checkPasses() {
  const Options &options = workspace.options;
  for (auto [option, pipeline] : {std::pair{"--model-passes", &options.modelPasses}, {"--passes", &options.passes}})
    if (std::string error = pipelineError(workspace.context(), *pipeline); !error.empty()) {
      workspace.diagnostics().error(Code::BadCommandLine, {}, fmt::format("{} '{}': {}", option, *pipeline, error));
      return false;
    }
  return true;
}

dnn::ModelOp JobGraphs::modelAt(std::optional<int64_t> sequence) {
  std::map<std::string, int64_t> overrides;
  if (sequence)
    overrides["seq"] = *sequence;
  return workspace.program().model(workspace.job(), overrides);
}

TrainingOptions JobGraphs::optionsAt(const std::string &policy, const std::optional<Degrees> &given) const {
  TrainingOptions base;
  // Patterns of zeros are of single operations.
  bool joins = workspace.job().inference && workspace.job().inference->compiled && !workspace.options.elaborate.prunes;
  base.fuse = workspace.options.fuse || joins;
  base.modelPasses = workspace.options.modelPasses, base.passes = workspace.options.passes;
  return PlacementPlanner::optionsAt(base, given ? *given : workspace.job().degrees, policy);
}

dnn::TrainingGraphOp JobGraphs::graph(const std::string &policy, std::optional<int64_t> sequence,
                                      const std::optional<Degrees> &given) {
  TrainingGraphs::Built &built = graphs.get(optionsAt(policy, given), sequence);
  report(std::exchange(built.errors, {}));
  // What of a shared step stays whole changes every number that follows.
  if (built.graph && !given)
    for (const std::string &remark : built.remarks)
      target.assume(remark);
  return built.graph;
}

void JobGraphs::report(Errors errors) {
  bool own = workspace.options.modelPasses.empty() && workspace.options.passes.empty();
  for (Error &error : errors) {
    if (error.code == Code::InternalError && !own)
      error.code = Code::PassFailed;
    workspace.report(error);
  }
}

/// The graph's work, with the names that the plan has: those of the job.
std::optional<WorkGraph> JobGraphs::extract(dnn::TrainingGraphOp graph, const std::string &policy, int64_t microbatch,
                                            int64_t microbatches, std::string &error) const {
  auto work = workGraphFrom(graph, microbatch, microbatches, error);
  if (work) {
    work->model = workspace.job().name;
    work->recompute = policy;
  }
  return work;
}

std::optional<WorkGraph> JobGraphs::workAt(int64_t microbatch, int64_t microbatches, std::optional<int64_t> sequence,
                                           const std::optional<Degrees> &degrees) {
  dnn::TrainingGraphOp made = graph(recompute, sequence, degrees);
  if (!made)
    return std::nullopt;
  std::string error;
  auto work = extract(made, recompute, microbatch, microbatches, error);
  if (!work) {
    const auto *declaration = workspace.job().declaration;
    workspace.diagnostics().error(Code::NumberTooLarge, declaration ? declaration->name.range : SourceRange{}, error);
  }
  return work;
}

Result<WorkGraph> JobGraphs::preparedWork(const std::string &policy, int64_t microbatch, int64_t microbatches) const {
  std::string error;
  dnn::TrainingGraphOp graph = graphs.at(optionsAt(policy, {})).graph;
  if (auto work = extract(graph, policy, microbatch, microbatches, error))
    return std::move(*work);
  return Error{Code::NumberTooLarge, error, sourceOf(graph->getLoc()), {}};
}

std::optional<std::vector<std::string>> JobGraphs::unshardedAt(const Degrees &degrees) {
  if (!graph(recompute, std::nullopt, degrees))
    return std::nullopt;
  return graphs.at(optionsAt(recompute, degrees)).remarks;
}

} // namespace accord
