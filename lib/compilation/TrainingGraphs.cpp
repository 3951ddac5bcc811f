#include "lib/compilation/TrainingGraphs.h"
#include "lib/compilation/PipelineRun.h"
#include <fmt/format.h>

namespace accord {

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

TrainingGraphs::Built &TrainingGraphs::get(const TrainingOptions &options, std::optional<int64_t> sequence) {
  auto [slot, isNew] = graphs.try_emplace({options, sequence});
  Built &built = slot->second;
  if (!isNew)
    return built;
  dnn::ModelOp made = model(sequence);
  if (!made)
    return built;
  built.module = mlir::ModuleOp::create(made.getLoc());
  made->remove();
  built.module->getBody()->push_back(made);
  PipelineRun run = runPipeline(*built.module, "accord-pipeline{until=shard " + options.text() + "}");
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
