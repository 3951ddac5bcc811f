// accord schedule: operators on the cores of one accelerator, as slots.
#include "lib/emit/JsonText.h"
#include "lib/emit/PlanJson.h"
#include "lib/support/Version.h"
#include "tools/accord/Commands.h"
#include "tools/accord/Session.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace accord {
namespace {

llvm::json::Value scheduleJson(const Plan &plan) {
  llvm::json::Array slots;
  for (const RegionSchedule &region : plan.schedule.regions)
    for (const Slot &slot : region.slots) {
      const Operation &op = plan.graph.operations[slot.operation];
      slots.push_back(llvm::json::Object{
          {"operation", jsonString(op.name)},
          {"region", jsonString(plan.graph.regions[op.region].name)},
          {"core", slot.core < 0
                       ? llvm::json::Value(nullptr)
                       : jsonString(plan.machine.cores[static_cast<size_t>(slot.core)].name)},
          {"start", slot.start.seconds().value},
          {"duration", slot.duration.seconds().value}});
    }
  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value;
  return llvm::json::Object{
      {"command", "schedule"},
      {"version", kVersion},
      {"status", "done"},
      {"objective", llvm::json::Object{{"name", "makespan"}, {"value", step}, {"unit", "s"}}},
      {"bound",
       llvm::json::Object{{"value", bound}, {"unit", "s"}, {"proof", plan.schedule.proof}}},
      {"gap", step > 0 ? 1 - bound / step : 0},
      {"slots", std::move(slots)}};
}

std::string scheduleTable(const Plan &plan) {
  std::string text =
      fmt::format("{:<44} {:<14} {:>14} {:>14}\n", "operation", "core", "start", "duration");
  for (RegionId r = 0; r < plan.graph.regions.size(); ++r) {
    const Region &region = plan.graph.regions[r];
    int64_t times = r == kMicrobatchRegion ? plan.graph.microbatches : region.count;
    text += fmt::format("-- {} (x {}), {} each\n", region.name, times,
                        formatSi(plan.schedule.regions[r].length.seconds().value, "s"));
    for (const Slot &slot : plan.schedule.regions[r].slots)
      text += fmt::format(
          "{:<44} {:<14} {:>14} {:>14}\n", plan.graph.operations[slot.operation].name,
          slot.core < 0 ? "" : plan.machine.cores[static_cast<size_t>(slot.core)].name,
          formatSi(slot.start.seconds().value, "s"), formatSi(slot.duration.seconds().value, "s"));
  }
  double step = plan.schedule.step.seconds().value, bound = plan.schedule.bound.seconds().value;
  text += fmt::format("step {}, at least {} ({}), gap {:.2f} %\n", formatSi(step, "s"),
                      formatSi(bound, "s"), plan.schedule.proof,
                      step > 0 ? 100 * (1 - bound / step) : 0);
  return text;
}

int schedule(const Options &options) {
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "schedule");
  auto plan = session.plan();
  if (!plan)
    return session.finish(kWrongInput, "schedule");
  if (options.json)
    llvm::outs() << jsonText(scheduleJson(*plan)) << "\n";
  else
    llvm::outs() << scheduleTable(*plan);
  return session.finish(kDone, "schedule");
}

} // namespace

void addSchedule(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  CLI::App *command = app.add_subcommand("schedule", "When each operation runs on which core");
  addProgramOptions(*command, *options);
  command->footer("Example: accord schedule gpt2.dnn --target tpu_like");
  command->callback([options, &status] { status = schedule(*options); });
}

} // namespace accord
