#include "lib/partitioning/output/PartitioningCertificate.h"
#include "lib/partitioning/output/PartitioningOutput.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonParse.h"
#include "lib/support/documents/JsonText.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;
namespace accord {
namespace {

void describeNode(JsonFields &f, PartitioningProblem::Node &node) {
  f.field("name", node.name)
      .maybe("time", node.time)
      .field("on_accelerator", node.onAccelerator)
      .maybe("processor_time", node.processorTime)
      .maybe("memory", node.memory)
      .maybe("gradients", node.gradients)
      .maybeIf(node.colocationGroup != -1, "colocation_group", node.colocationGroup, kAnyInteger)
      .maybe("backward", node.backward);
}

void describeProblem(JsonFields &f, PartitioningProblem &problem) {
  f.field("rule", problem.rule,
          [](JsonVisitor &v, PartitioningProblem::Rule &rule) { v.oneOf(rule, {"sum", "overlap"}, "no such rule"); })
      .field("nodes", problem.nodes, describeNode)
      .field("transfers", problem.transfers,
             [](JsonFields &g, PartitioningProblem::Transfer &transfer) {
               g.field("from", transfer.from).field("to", transfer.to).field("time", transfer.time);
             })
      .field("accelerators", problem.accelerators)
      .field("processors", problem.processors)
      .field("memory", problem.memory)
      .field("time_per_byte", problem.timePerByte)
      .field("allow_replicas", problem.allowReplicas)
      .maybeIf(!problem.contiguous, "contiguous", problem.contiguous);
  describeLocation(f, problem.location);
  size_t nodes = problem.nodes.size();
  f.check("transfers",
          !f.reads() || all_of(problem.transfers,
                               [&](auto &one) {
                                 return one.from < nodes && all_of(one.to, [&](auto to) { return to < nodes; });
                               }),
          "no such node");
}

void describeResult(JsonFields &f, PartitioningResult &result, size_t nodes) {
  f.field("status", result.status,
          [](JsonVisitor &v, PartitioningResult::Status &status) {
            v.oneOf(status, {"feasible", "infeasible", "unknown"}, "unknown status");
          })
      .field("stages", result.stages,
             [&](JsonFields &g, PartitioningStage &stage) {
               g.field("processor", stage.processor)
                   .field("replicas", stage.replicas)
                   .field("nodes", stage.nodes, IntegerRange{0, static_cast<int64_t>(nodes) - 1})
                   .check("nodes", !stage.nodes.empty(), "expected at least one")
                   .field("compute", stage.compute)
                   .field("communication", stage.communication)
                   .field("load", stage.load)
                   .field("memory", stage.memory);
             })
      .field("load", result.load)
      .field("bound", result.bound, kAnyInteger)
      .field("proof", result.proof)
      .maybe("conflict", result.conflict)
      .maybe("min_memory", result.minMemory)
      .maybe("stopped", result.stopped)
      .field("stages_tried", result.stagesTried);
}

void describeAnswer(JsonFields &f, PartitioningAnswer &answer) {
  f.constant("kind", "partitioning", "expected partitioning")
      .field("problem", answer.problem, describeProblem)
      .field("result", answer.result, [&](JsonFields &g, PartitioningResult &result) {
        describeResult(g, result, answer.problem.nodes.size());
      });
}

} // namespace

std::string partitioningCertificate(const PartitioningAnswer &answer) {
  return jsonText(toDocument(answer, describeAnswer)) + "\n";
}

Expected<PartitioningAnswer> partitioningFromCertificate(StringRef text, StringRef path) {
  return readJsonDocument<PartitioningAnswer>(text, path, "partitioning",
                                              [](const json::Value &value, PartitioningAnswer &answer, json::Path at) {
                                                return readDocument(value, answer, at, describeAnswer);
                                              });
}

AnswerFiles filesOf(const PartitioningAnswer &answer) {
  return {{"stages.json", jsonText(partitioningJson(answer.problem, answer.result)) + "\n"},
          {"report.html", partitioningReport(answer.problem, answer.result)},
          {kPartitioningCertificate, partitioningCertificate(answer)}};
}

} // namespace accord
