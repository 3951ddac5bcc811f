#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/partitioning/output/PartitioningCertificate.h"
#include "lib/report/ReportPage.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include "llvm/Support/Path.h"
#include <fmt/format.h>
#include <map>
#include <set>

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

struct PartitioningDocument : AnswerDocument {
  struct Stage {
    std::string device;
    PartitioningStage stage;
    std::vector<std::string> nodes;
  };
  /// Results that cross from a stage to another; `time`: picoseconds of all of them, one after another.
  struct Traffic {
    int64_t from = 0, to = 0, results = 0, time = 0;
  };
  PartitioningProblem::Rule rule = PartitioningProblem::Rule::Sum;
  int64_t accelerators = 0, processors = 0, memory = 0, nodes = 0;
  std::vector<Stage> stages;
  std::vector<Traffic> traffic;
  std::optional<double> latency;
  int64_t work = 0;
  std::string certificate; ///< SHA-256
};

void describeTime(JsonVisitor &v, int64_t &picoseconds) {
  double value = seconds(picoseconds);
  v.number(value);
}

void describeStage(JsonFields &f, PartitioningDocument::Stage &shown) {
  PartitioningStage &stage = shown.stage;
  f.about("accelerator 1, accelerators 2-5, processor 1")
      .field("device", shown.device)
      .field("replicas", stage.replicas, IntegerRange{1})
      .field("load_s", stage.load, describeTime)
      .about("of its nodes, on one replica")
      .field("compute_s", stage.compute, describeTime)
      .about("of results that come in or go out; of a profile the longer of those that come in and the all-reduce")
      .field("communication_s", stage.communication, describeTime)
      .about("of one accelerator; of a processor what its nodes would take of one")
      .field("memory_bytes", stage.memory)
      .field("nodes", shown.nodes);
}

void describe(JsonFields &f, PartitioningDocument &document) {
  describeAnswer(f, document, "partition", {"load"}, {"s"});
  f.when("status", "unknown", {});
  f.about(
       "what loads a stage: the sum of its computation and its transfers, or, where they overlap, the longest of them")
      .field("rule", document.rule,
             [](JsonVisitor &v, PartitioningProblem::Rule &rule) { v.oneOf(rule, {"sum", "overlap"}, "no such rule"); })
      .field("accelerators", document.accelerators)
      .field("processors", document.processors)
      .about("of each accelerator, where it has a limit")
      .maybeIf(document.memory > 0 && document.memory < kUnlimitedMemory, "accelerator_memory_bytes", document.memory)
      .about("nodes of the graph")
      .field("nodes", document.nodes)
      .about("of one sample on its own through these stages, of inference; it is not the objective")
      .maybe("latency_s", document.latency);
  f.about("in the order of the pipeline")
      .field("stages", document.stages, describeStage)
      .about("results that stages send each other, the first stage being 0; backward nodes send them back")
      .maybe("traffic", document.traffic,
             [](JsonFields &g, PartitioningDocument::Traffic &traffic) {
               g.field("from_stage", traffic.from)
                   .field("to_stage", traffic.to)
                   .field("results", traffic.results)
                   .about("of all of them, one after another")
                   .field("time_s", traffic.time, describeTime);
             })
      .about("stages that were looked at")
      .field("work", document.work)
      .about("of certificate/partitioning.json, from which this follows")
      .field("certificate_sha256", document.certificate);
}

std::string conflictOf(const PartitioningResult &result) {
  return result.conflict + (result.minMemory > 0 ? fmt::format("; {} B ({}) of each accelerator would suffice",
                                                               result.minMemory, formatBytes(double(result.minMemory)))
                                                 : "");
}

std::vector<PartitioningDocument::Traffic> trafficOf(const PartitioningProblem &problem,
                                                     const PartitioningResult &result) {
  std::vector<int64_t> stageOf(problem.nodes.size(), -1);
  for (size_t s = 0; s < result.stages.size(); ++s)
    for (PartitioningProblem::Id id : result.stages[s].nodes)
      stageOf[id] = static_cast<int64_t>(s);
  std::map<std::pair<int64_t, int64_t>, PartitioningDocument::Traffic> all;
  for (const PartitioningProblem::Transfer &transfer : problem.transfers) {
    std::set<int64_t> readers;
    for (PartitioningProblem::Id reader : transfer.to)
      readers.insert(stageOf[reader]);
    for (int64_t to : readers)
      if (int64_t from = stageOf[transfer.from]; from >= 0 && to >= 0 && from != to) {
        PartitioningDocument::Traffic &traffic = all[{from, to}];
        traffic = {from, to, traffic.results + 1, traffic.time + transfer.time};
      }
  }
  std::vector<PartitioningDocument::Traffic> list;
  for (const auto &[stages, traffic] : all)
    list.push_back(traffic);
  return list;
}

/// Picoseconds of one sample on its own: a stage starts when all that it reads is there, and takes its load. Nothing of
/// graphs with backward nodes, and of profiles, whose times hold both passes.
std::optional<int64_t> latencyOf(const PartitioningProblem &problem, const PartitioningResult &result) {
  std::vector<size_t> stageOf(problem.nodes.size(), SIZE_MAX);
  for (size_t s = 0; s < result.stages.size(); ++s)
    for (PartitioningProblem::Id id : result.stages[s].nodes)
      stageOf[id] = s;
  bool known =
      problem.rule == PartitioningProblem::Rule::Sum && result.status == Status::Feasible && problem.contiguous;
  for (size_t id = 0; id < stageOf.size(); ++id)
    known &= !problem.nodes[id].backward && stageOf[id] != SIZE_MAX;
  if (!known)
    return std::nullopt;
  std::vector<std::set<size_t>> before(result.stages.size());
  for (const PartitioningProblem::Transfer &transfer : problem.transfers)
    for (PartitioningProblem::Id to : transfer.to)
      before[stageOf[to]].insert(stageOf[transfer.from]);
  std::vector<int64_t> end(result.stages.size(), 0);
  int64_t latency = 0;
  for (size_t s = 0; s < end.size(); ++s) { // no edge points back
    for (size_t one : before[s])
      end[s] = std::max(end[s], one < s ? end[one] : 0);
    end[s] += result.stages[s].load;
    latency = std::max(latency, end[s]);
  }
  return latency;
}

/// (load - bound) / load.
double gapOf(const PartitioningResult &result) {
  return result.load > 0 ? double(result.load - result.bound) / result.load : 0;
}

} // namespace

llvm::json::Value partitioningJson(const PartitioningProblem &problem, const PartitioningResult &result) {
  PartitioningDocument document;
  document.status = statusOf(result.status == Status::Feasible, gapOf(result), result.status == Status::Infeasible);
  document.work = result.stagesTried;
  document.name = llvm::sys::path::stem(problem.location.file).str();
  document.rule = problem.rule;
  document.accelerators = problem.accelerators;
  document.processors = problem.processors;
  document.memory = problem.memory;
  document.nodes = static_cast<int64_t>(problem.nodes.size());
  document.traffic = trafficOf(problem, result);
  if (auto latency = latencyOf(problem, result))
    document.latency = seconds(*latency);
  document.stopped = result.stopped;
  document.certificate = sha256Of(partitioningCertificate({problem, result}));
  std::vector<std::string> devices = devicesOf(result);
  for (const PartitioningStage &stage : result.stages) {
    PartitioningDocument::Stage &shown = document.stages.emplace_back();
    shown = {devices[document.stages.size() - 1], stage, {}};
    for (PartitioningProblem::Id id : stage.nodes)
      shown.nodes.push_back(problem.nodes[id].name);
  }
  if (result.status == Status::Infeasible)
    document.conflicts.push_back({conflictOf(result), problem.location.file, 1, {}, result.minMemory});
  if (result.status != Status::Feasible)
    return toDocument(document);
  document.value.seconds = seconds(result.load);
  document.bound.seconds = seconds(result.bound);
  document.proof = result.proof;
  document.gap = gapOf(result);
  return toDocument(document);
}

llvm::json::Value partitionSchema() { return schemaOf<PartitioningDocument>(); }

std::string partitioningReport(const PartitioningProblem &problem, const PartitioningResult &result) {
  const llvm::json::Value document = partitioningJson(problem, result);
  return pageOf(Page::Partition, document.getAsObject()->getString("name").value_or("partition"),
                jsonText(document) + "\n", document);
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
  text +=
      table.text(style) +
      wrapped(gapLine("load", time(result.load), time(result.bound), result.proof, gapOf(result)) + stopped, "", style);
  if (auto latency = latencyOf(problem, result))
    text +=
        wrapped(fmt::format("the objective is the load, which limits the throughput; one sample on its own takes {} "
                            "through these stages, which is not minimized",
                            time(*latency)),
                "", style);
  return text;
}

} // namespace accord
