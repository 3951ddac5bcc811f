#include "lib/planning/output/ScheduleOutput.h"
#include "lib/planning/output/Metrics.h"
#include "lib/planning/output/PlanJson.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include <fmt/format.h>

namespace accord {

namespace {

double gapOfStep(const Schedule &schedule) {
  double step = schedule.step.seconds().value;
  return step > 0 ? 1 - schedule.bound.seconds().value / step : 0;
}

/// Runs of a region in the one around it; of the micro-batch in a step.
int64_t timesOf(const Plan &plan, RegionId region) {
  return region == kMicrobatchRegion ? plan.graph.microbatches : plan.graph.regions[region].count;
}

std::string conflictText(const Plan &plan) {
  std::string text =
      statusOf(plan) == SearchStatus::Infeasible
          ? std::string("infeasible: there is no schedule for these together\n")
          : fmt::format("unknown: no schedule for these together was found, and bounds do not exclude one{}\n",
                        plan.schedule.stopped.empty() ? "" : fmt::format(" (stopped: {})", plan.schedule.stopped));
  for (const Conflict &c : plan.conflicts)
    text += fmt::format("  {}{}{}\n", c.constraint, c.file.empty() ? "" : fmt::format(" ({}:{})", c.file, c.line),
                        c.detail.empty() ? "" : ": " + c.detail);
  if (plan.graph.recompute == "none" && plan.memory.peak > 0)
    text += "  help: recompute = {none, selective, full} may recompute tensors instead of saving "
            "them\n";
  return text;
}

} // namespace

llvm::json::Value scheduleJson(const Plan &plan) {
  ScheduleDocument document;
  document.status = statusOf(plan);
  document.name = plan.graph.model + " on " + plan.machine.name;
  document.stopped = plan.schedule.stopped;
  if (!plan.feasible) {
    for (const Conflict &c : plan.conflicts)
      document.conflicts.push_back({c.constraint, c.file, c.line, c.detail});
    return toDocument(document);
  }
  for (RegionId r = 0; r < plan.graph.regions.size() && r < plan.schedule.regions.size(); ++r) {
    const RegionSchedule &region = plan.schedule.regions[r];
    document.regions.push_back(
        {plan.graph.regions[r].name, timesOf(plan, r), region.length.seconds().value, region.overhang.seconds().value});
    for (const Slot &slot : region.slots) {
      const Operation &op = plan.graph.operations[slot.operation];
      ScheduleDocument::Slot &shown = document.slots.emplace_back();
      shown.operation = op.name;
      shown.region = plan.graph.regions[op.region].name;
      if (slot.core >= 0)
        shown.core = plan.machine.cores[slot.core].name;
      shown.start.seconds = slot.start.seconds().value;
      shown.duration.seconds = slot.duration.seconds().value;
      if (op.body != kNone)
        shown.repeats = plan.graph.regions[op.body].name;
      shown.critical = isCritical(plan, slot.operation) && slot.duration.value > 0;
    }
  }
  document.value.seconds = plan.schedule.step.seconds().value;
  document.bound.seconds = plan.schedule.bound.seconds().value;
  document.proof = plan.schedule.proof;
  document.gap = gapOfStep(plan.schedule);
  document.status = statusOf(true, document.gap, false); // of the schedule, whatever the objective
  return toDocument(document);
}

std::string scheduleTable(const Plan &plan) {
  if (!plan.feasible)
    return conflictText(plan);
  std::string text = fmt::format("{:<44} {:<14} {:>14} {:>14}\n", "operation", "core", "start", "duration");
  for (RegionId r = 0; r < plan.graph.regions.size(); ++r) {
    const Region &region = plan.graph.regions[r];
    const RegionSchedule &scheduled = plan.schedule.regions[r];
    std::string length = formatSi(scheduled.length.seconds().value, "s");
    text += scheduled.overhang.value == 0
                ? fmt::format("-- {} (x {}), {} each\n", region.name, timesOf(plan, r), length)
                : fmt::format("-- {} (x {}), the next starts after {}, one takes {}\n", region.name, timesOf(plan, r),
                              length, formatSi(scheduled.iteration().seconds().value, "s"));
    for (const Slot &slot : plan.schedule.regions[r].slots)
      text += fmt::format("{:<44} {:<14} {:>14} {:>14}\n", plan.graph.operations[slot.operation].name,
                          slot.core < 0 ? "" : plan.machine.cores[slot.core].name,
                          formatSi(slot.start.seconds().value, "s"), formatSi(slot.duration.seconds().value, "s"));
  }
  return text +
         gapLine("step", formatSi(plan.schedule.step.seconds().value, "s"),
                 formatSi(plan.schedule.bound.seconds().value, "s"), plan.schedule.proof, gapOfStep(plan.schedule)) +
         (plan.schedule.stopped.empty() ? "" : fmt::format(" (stopped: {})", plan.schedule.stopped)) + "\n";
}

} // namespace accord
