#include "lib/comparison/output/ComparisonOutput.h"
#include "lib/comparison/output/Shares.h"
#include "lib/report/ReportPage.h"
#include "lib/support/documents/Fields.h"
#include "lib/support/documents/JsonText.h"

using namespace llvm;
namespace accord::comparison {
namespace {

/// A row with what follows from it.
struct RowDocument {
  std::string name, part, workClass, match, call, kernel, bound;
  std::vector<std::string> operations;
  double planned = 0, measured = 0, exposed = 0, flops = 0, bytes = 0, efficiency = 0, plannedEfficiency = 0;
  int64_t executions = 0, calls = 0, kernels = 0, missing = 0;
};

struct Document {
  std::string model, machine, job, trace, step, device;
  bool onProcessor = false, hasShapes = false;
  double planned = 0, measured = 0, explained = 0, unexplained = 0;
  std::vector<Share> parts, classes, repeats;
  std::vector<RowDocument> rows;
  std::vector<MeasuredGroup> groups;
  std::vector<Extra> extra;
  std::vector<std::string> notes;
};

void describeShare(JsonFields &f, Share &share) {
  f.field("name", share.name)
      .about("may be less than 0 outside of operations: they run side by side")
      .field("planned_s", share.planned, kAnyNumber)
      .about("what belongs to it alone, where several run at a time")
      .field("measured_s", share.measured);
}
void describeGroup(JsonFields &f, MeasuredGroup &group) {
  f.field("name", group.name)
      .about("what it means")
      .field("about", group.about)
      .field("seconds_s", group.seconds)
      .field("events", group.events);
}
void describeExtra(JsonFields &f, Extra &extra) {
  std::string workClass = nameOf(extra.workClass), part = nameOf(extra.part);
  f.about("as the trace names it")
      .field("name", extra.name)
      .field("class", workClass)
      .field("part", part)
      .about("annotation or module around the first")
      .maybe("scope", extra.scope)
      .field("seconds_s", extra.exposed)
      .field("calls", extra.calls);
}
void describeRow(JsonFields &f, RowDocument &row) {
  f.field("name", row.name)
      .about("of the plan; several where one call of the trace does the work of all")
      .field("operations", row.operations)
      .field("part", row.part)
      .field("class", row.workClass)
      .about("how it was recognized, of the least sure execution: name (an annotation), sequence (gradient of a "
             "recognized "
             "call), shapes (same work, in order), order (same class, by place), none (the trace does not have it)")
      .field("match", row.match, Words{{"name", "sequence", "shapes", "order", "none"}})
      .about("of a step")
      .field("planned_s", row.planned)
      .about("sum of its kernels, of a step")
      .field("measured_s", row.measured)
      .about("of measured_s, what belongs to it alone, where several run at a time")
      .field("exposed_s", row.exposed)
      .about("of a step, by the plan")
      .field("flops", row.flops)
      .about("of a step, by the plan, in the memory of the device")
      .field("bytes", row.bytes)
      .about("share of the peak of its core, while it is measured to run")
      .maybe("efficiency", row.efficiency)
      .about("the same, as planned")
      .maybe("planned_efficiency", row.plannedEfficiency)
      .about("what limits it in the plan")
      .maybe("bound", row.bound)
      .about("of the plan, in a step")
      .field("executions", row.executions)
      .about("of the trace, in a step")
      .field("calls", row.calls)
      .field("kernels", row.kernels)
      .about("executions that the trace does not have")
      .maybe("missing", row.missing)
      .about("the first call")
      .maybe("call", row.call)
      .about("its longest kernel")
      .maybe("kernel", row.kernel);
}
void describeDocument(JsonFields &f, Document &d) {
  f.head("compare")
      .field("model", d.model)
      .field("machine", d.machine)
      .field("job", d.job)
      .about("path of the trace")
      .field("trace", d.trace)
      .about("mark of the profiler; absent where the trace has none")
      .maybe("step", d.step)
      .about("as the trace names it")
      .maybe("device", d.device)
      .about("the trace has no kernels: calls are timed")
      .field("on_processor", d.onProcessor)
      .field("has_shapes", d.hasShapes)
      .about("the step")
      .field("planned_s", d.planned)
      .about("the step")
      .field("measured_s", d.measured)
      .about("share of the measured step that rows and groups explain")
      .field("explained", d.explained, kShare)
      .field("unexplained_s", d.unexplained)
      .about("their sums are the planned and the measured step")
      .field("parts", d.parts, describeShare)
      .field("classes", d.classes, describeShare)
      .field("repeats", d.repeats, describeShare)
      .about("in the order of the plan")
      .field("operations", d.rows, describeRow)
      .about("time of the trace that belongs to no operation of the plan, and has a name")
      .field("groups", d.groups, describeGroup)
      .about("calls that no operation of the plan is, longest first")
      .field("extra", d.extra, describeExtra)
      .field("notes", d.notes);
}

RowDocument documentOf(const Comparison &comparison, const Row &row) {
  RowDocument made;
  made.name = nameOf(comparison, row), made.part = partOf(comparison, row);
  made.workClass = made.part == "update" ? "update" : nameOf(classOf(comparison, row));
  made.match = nameOf(row.match);
  made.call = row.call, made.kernel = row.kernel;
  for (uint32_t id : row.operations)
    made.operations.push_back(comparison.plan.operations[id].name);
  if (row.operations.size() == 1)
    made.bound = comparison.plan.operations[row.operations.front()].bound;
  made.planned = row.planned, made.measured = row.measured, made.exposed = row.exposed;
  made.flops = row.flops, made.bytes = row.bytes;
  if (row.peak > 0 && row.measured > 0 && !comparison.measured.onProcessor)
    made.efficiency = row.flops / row.measured / row.peak;
  if (row.peak > 0 && row.planned > 0)
    made.plannedEfficiency = row.flops / row.planned / row.peak;
  made.executions = row.executions, made.calls = row.calls, made.kernels = row.kernels, made.missing = row.missing;
  return made;
}

} // namespace

json::Value toJson(const Comparison &comparison) {
  Document d;
  d.model = comparison.plan.model, d.machine = comparison.plan.machine, d.job = comparison.plan.job;
  d.trace = comparison.measured.source, d.step = comparison.measured.step, d.device = comparison.measured.device;
  d.onProcessor = comparison.measured.onProcessor, d.hasShapes = comparison.measured.hasShapes;
  d.planned = comparison.plan.seconds, d.measured = comparison.measured.seconds;
  d.explained = explainedShare(comparison), d.unexplained = comparison.unexplained;
  d.parts = sharesByPart(comparison), d.classes = sharesByClass(comparison), d.repeats = sharesByRepeat(comparison);
  for (const Row &row : comparison.rows)
    d.rows.push_back(documentOf(comparison, row));
  d.groups = comparison.groups, d.extra = comparison.extra, d.notes = comparison.notes;
  return toDocument(d, describeDocument);
}

std::string comparisonPage(const Comparison &comparison) {
  json::Value document = toJson(comparison);
  return pageOf(Page::Comparison, comparison.plan.job + " on " + comparison.plan.machine, jsonText(document) + "\n",
                document);
}

json::Value comparisonSchema() { return schemaOf<Document>(describeDocument); }

} // namespace accord::comparison
