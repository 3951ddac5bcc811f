#include "lib/planning/output/ScheduleOutput.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/planning/output/Summary.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include <fmt/format.h>

namespace accord {

llvm::json::Value scheduleConflictJson(const Plan &plan) {
  llvm::json::Array conflicts;
  for (const Conflict &c : plan.conflicts)
    conflicts.push_back(llvm::json::Object{{"constraint", jsonString(c.constraint)},
                                           {"file", jsonString(c.file)},
                                           {"line", c.line},
                                           {"detail", jsonString(c.detail)}});
  return llvm::json::Object{{"command", "schedule"},
                            {"version", kVersion},
                            {"status", "infeasible"},
                            {"slots", llvm::json::Array()},
                            {"conflict", std::move(conflicts)}};
}

std::string scheduleConflictText(const Plan &plan) {
  std::string text = "infeasible: there is no schedule for these together\n";
  for (const Conflict &c : plan.conflicts)
    text += fmt::format("  {}{}{}\n", c.constraint, c.file.empty() ? "" : fmt::format(" ({}:{})", c.file, c.line),
                        c.detail.empty() ? "" : ": " + c.detail);
  if (plan.graph.recompute == "none" && plan.memory.peak > 0)
    text += "  help: recompute = {none, selective, full} may recompute tensors instead of saving "
            "them\n";
  return text;
}

llvm::json::Value scheduleJson(const Plan &plan) {
  llvm::json::Array slots;
  for (const RegionSchedule &region : plan.schedule.regions)
    for (const Slot &slot : region.slots) {
      const Operation &op = plan.graph.operations[slot.operation];
      slots.push_back(llvm::json::Object{
          {"operation", jsonString(op.name)},
          {"region", jsonString(plan.graph.regions[op.region].name)},
          {"core", slot.core < 0 ? llvm::json::Value(nullptr) : jsonString(plan.machine.cores[slot.core].name)},
          {"start", slot.start.seconds().value},
          {"duration", slot.duration.seconds().value}});
    }
  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value;
  llvm::json::Object document{
      {"command", "schedule"},
      {"version", kVersion},
      {"status", "done"},
      {"objective", llvm::json::Object{{"name", "makespan"}, {"value", step}, {"unit", "s"}}},
      {"bound", llvm::json::Object{{"value", bound}, {"unit", "s"}, {"proof", plan.schedule.proof}}},
      {"gap", step > 0 ? 1 - bound / step : 0},
      {"slots", std::move(slots)}};
  if (!plan.schedule.stopped.empty())
    document["stopped"] = plan.schedule.stopped;
  return document;
}

std::string scheduleTable(const Plan &plan) {
  std::string text = fmt::format("{:<44} {:<14} {:>14} {:>14}\n", "operation", "core", "start", "duration");
  for (RegionId r = 0; r < plan.graph.regions.size(); ++r) {
    const Region &region = plan.graph.regions[r];
    int64_t times = r == kMicrobatchRegion ? plan.graph.microbatches : region.count;
    text += fmt::format("-- {} (x {}), {} each\n", region.name, times,
                        formatSi(plan.schedule.regions[r].length.seconds().value, "s"));
    for (const Slot &slot : plan.schedule.regions[r].slots)
      text += fmt::format("{:<44} {:<14} {:>14} {:>14}\n", plan.graph.operations[slot.operation].name,
                          slot.core < 0 ? "" : plan.machine.cores[slot.core].name,
                          formatSi(slot.start.seconds().value, "s"), formatSi(slot.duration.seconds().value, "s"));
  }
  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value;
  return text +
         gapLine("step", formatSi(step, "s"), formatSi(bound, "s"), plan.schedule.proof,
                 step > 0 ? 1 - bound / step : 0) +
         (plan.schedule.stopped.empty() ? "" : fmt::format(" (stopped: {})", plan.schedule.stopped)) + "\n";
}

} // namespace accord
