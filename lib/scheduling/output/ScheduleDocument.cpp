#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/report/ReportPage.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"

namespace accord {

void describe(JsonVisitor &v, DocumentTime &time) {
  if (time.periods)
    visitValue(v, *time.periods);
  else
    v.number(time.seconds);
}

void describeAnswer(JsonFields &f, AnswerDocument &answer, llvm::StringLiteral command,
                    llvm::ArrayRef<llvm::StringRef> objectives, llvm::ArrayRef<llvm::StringRef> units) {
  bool done = answer.status == SearchStatus::Optimal || answer.status == SearchStatus::Feasible;
  auto unit = [&](JsonVisitor &v) {
    size_t isProject = answer.bound.periods.has_value();
    v.word(isProject, units, "expected the unit of time");
  };
  f.constant("command", command, "a document of another command")
      .about("version of accord that wrote this")
      .computed("version", [] { return std::string(kVersion); })
      .about("of the project, of the graph, or of the training and its machine")
      .maybe("name", answer.name)
      .about("unknown: no answer was found, and none was proven not to exist")
      .field("status", answer.status);
  f.visit("objective", false, done, [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.visit("name", true, true, [&](JsonVisitor &w) { w.word(answer.objective, objectives, "another objective"); });
      g.field("value", answer.value).visit("unit", true, true, unit);
    });
  });
  f.about("no answer is better").visit("bound", false, !answer.proof.empty(), [&](JsonVisitor &v) {
    v.object([&](JsonFields &g) {
      g.field("value", answer.bound)
          .about("what the bound follows from")
          .field("proof", answer.proof)
          .visit("unit", true, true, unit);
    });
  });
  f.about("distance to the bound as a share")
      .maybeIf(done, "gap", answer.gap, kShare)
      .about("what cannot hold together")
      .maybe("conflict", answer.conflicts,
             [](JsonFields &g, AnswerDocument::Obstacle &obstacle) {
               g.field("constraint", obstacle.constraint)
                   .field("file", obstacle.file)
                   .about("0: the file as a whole")
                   .field("line", obstacle.line)
                   .about("of a training: what is needed and what there is")
                   .maybe("detail", obstacle.detail)
                   .about("of each accelerator, with which there are stages")
                   .maybe("min_memory_bytes", obstacle.minMemory);
             })
      .about("why there may be better")
      .maybe("stopped", answer.stopped, Words{{"work limit", "time limit", "interrupted"}})
      .when("status", "optimal", {"objective", "bound", "gap"})
      .when("status", "feasible", {"objective", "bound", "gap"})
      .when("status", "infeasible", {"conflict"});
}

void describe(JsonFields &f, ScheduleDocument &document) {
  describeAnswer(f, document, "schedule", {"makespan"}, {"s", "period"});
  f.when("status", "unknown", {"bound"});
  f.about("region after region, in the order of their starts")
      .field("slots", document.slots,
             [](JsonFields &g, ScheduleDocument::Slot &slot) {
               g.about("or the number of a job")
                   .field("operation", slot.operation)
                   .about("not of a job")
                   .maybe("region", slot.region)
                   .about("null: a view or a repeat, which needs none of its own; of a job its resources")
                   .field("core", slot.core)
                   .about("of a job that has several")
                   .maybe("mode", slot.mode)
                   .field("start", slot.start)
                   .field("duration", slot.duration)
                   .about("the region whose operations run then, of a training")
                   .maybe("repeats", slot.repeats)
                   .about("of the resources of a project, while it runs")
                   .maybe("uses", slot.uses,
                          [](JsonFields &h, ScheduleDocument::Usage &use) {
                            h.field("resource", use.resource).field("amount", use.amount);
                          })
                   .about("on a chain of slots without a gap that ends with the makespan; of a training: without slack")
                   .maybe("critical", slot.critical);
             })
      .about("of a training: runs of one step, and the time from the start of one to that of the next")
      .maybe("regions", document.regions,
             [](JsonFields &g, ScheduleDocument::Region &region) {
               g.field("name", region.name)
                   .field("count", region.count)
                   .field("length_s", region.length)
                   .about("how long one goes on after the next has started, where they overlap")
                   .maybeIf(region.overhang != 0, "overhang_s", region.overhang);
             })
      .about("of a project: how much of each there is at any time")
      .maybe("resources", document.resources,
             [](JsonFields &g, ScheduleDocument::Usage &resource) {
               g.field("name", resource.resource).field("capacity", resource.amount);
             })
      .about("of the solver; the same on every machine")
      .maybe("work", document.work);
}

llvm::json::Value scheduleSchema() { return schemaOf<ScheduleDocument>(); }

std::string scheduleReport(const llvm::json::Value &document) {
  const llvm::json::Object *fields = document.getAsObject();
  auto name = fields ? fields->getString("name") : std::nullopt;
  return pageOf(Page::Schedule, name.value_or("schedule"), jsonText(document) + "\n", document);
}

} // namespace accord
