#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include <fmt/format.h>

namespace accord {
namespace {

using Status = PartitioningResult::Status;

double seconds(int64_t picoseconds) { return picoseconds * 1e-12; }
std::string time(int64_t picoseconds) { return fmt::format("{:.4f} ms", picoseconds * 1e-9); }

/// "accelerator 2", "accelerators 2-5", "processor 1".
std::vector<std::string> devicesOf(const PartitioningResult &result) {
  std::vector<std::string> names;
  int64_t accelerators = 0, processors = 0;
  for (const PartitioningStage &stage : result.stages) {
    int64_t first = stage.processor ? ++processors : accelerators + 1;
    accelerators += stage.processor ? 0 : stage.replicas;
    names.push_back(stage.processor       ? fmt::format("processor {}", first)
                    : stage.replicas == 1 ? fmt::format("accelerator {}", first)
                                          : fmt::format("accelerators {}-{}", first, accelerators));
  }
  return names;
}

/// The first node and the last; all of them where they are few.
std::string nodesOf(const PartitioningProblem &problem, const PartitioningStage &stage) {
  const auto &ids = stage.nodes;
  auto name = [&](size_t i) { return problem.nodes[ids[i]].name; };
  std::string text = name(0);
  if (ids.size() == 2)
    text += ", " + name(1);
  else if (ids.size() > 2)
    text += " .. " + name(ids.size() - 1);
  return text;
}

std::string conflictOf(const PartitioningResult &result) {
  return result.conflict + (result.minMemory > 0 ? fmt::format("; {} B ({}) of each accelerator would suffice",
                                                               result.minMemory, formatBytes(double(result.minMemory)))
                                                 : "");
}

} // namespace

double gapOf(const PartitioningResult &result) {
  return result.load > 0 ? static_cast<double>(result.load - result.bound) / result.load : 0;
}

llvm::json::Value partitioningJson(const PartitioningProblem &problem, const PartitioningResult &result) {
  llvm::json::Array stages;
  std::vector<std::string> devices = devicesOf(result);
  for (size_t s = 0; s < result.stages.size(); ++s) {
    const PartitioningStage &stage = result.stages[s];
    llvm::json::Array nodes;
    for (PartitioningProblem::Id id : stage.nodes)
      nodes.push_back(jsonString(problem.nodes[id].name));
    stages.push_back(llvm::json::Object{{"device", devices[s]},
                                        {"replicas", stage.replicas},
                                        {"load_s", seconds(stage.load)},
                                        {"compute_s", seconds(stage.compute)},
                                        {"communication_s", seconds(stage.communication)},
                                        {"memory_bytes", stage.memory},
                                        {"nodes", std::move(nodes)}});
  }
  llvm::json::Object document{{"command", "partition"},
                              {"version", kVersion},
                              {"status", result.status == Status::Feasible     ? "done"
                                         : result.status == Status::Infeasible ? "infeasible"
                                                                               : "unknown"},
                              {"stages", std::move(stages)},
                              {"work", static_cast<int64_t>(result.stagesTried)}};
  if (result.status == Status::Infeasible) {
    llvm::json::Object conflict{
        {"constraint", jsonString(conflictOf(result))}, {"file", jsonString(problem.location.file)}, {"line", 1}};
    if (result.minMemory > 0)
      conflict["min_memory_bytes"] = result.minMemory;
    document["conflict"] = llvm::json::Array{std::move(conflict)};
  }
  if (result.status == Status::Feasible) {
    document["objective"] = llvm::json::Object{{"name", "load"}, {"value", seconds(result.load)}, {"unit", "s"}};
    document["bound"] =
        llvm::json::Object{{"value", seconds(result.bound)}, {"unit", "s"}, {"proof", jsonString(result.proof)}};
    document["gap"] = gapOf(result);
  }
  if (!result.stopped.empty())
    document["stopped"] = result.stopped;
  return document;
}

std::string partitioningText(const PartitioningProblem &problem, const PartitioningResult &result,
                             const TextStyle &style) {
  std::string text = fmt::format("{} nodes on {} accelerator{}{}\n", problem.nodes.size(), problem.accelerators,
                                 problem.accelerators == 1 ? "" : "s",
                                 problem.processors > 0 ? fmt::format(" and {} processor{}", problem.processors,
                                                                      problem.processors == 1 ? "" : "s")
                                                        : "");
  std::string stopped = result.stopped.empty() ? "" : fmt::format(" (stopped: {})", result.stopped);
  if (result.status == Status::Infeasible)
    return text + "infeasible: " + conflictOf(result) + "\n";
  if (result.status == Status::Unknown)
    return text + fmt::format("no stages were found, and none were proven not to exist{}\n", stopped);
  TextTable table("lrlrrrr", {"device", "nodes", "from .. to", "compute", "moved", "load", "memory"});
  std::vector<std::string> devices = devicesOf(result);
  for (size_t s = 0; s < result.stages.size(); ++s) {
    const PartitioningStage &stage = result.stages[s];
    table.row({devices[s], std::to_string(stage.nodes.size()), shortened(nodesOf(problem, stage), 26, style),
               time(stage.compute), time(stage.communication), time(stage.load),
               stage.processor ? "-" : formatBytes(stage.memory)});
  }
  return text + table.text(style) +
         wrapped(gapLine("load", time(result.load), time(result.bound), result.proof, gapOf(result)) + stopped, "",
                 style);
}

} // namespace accord
