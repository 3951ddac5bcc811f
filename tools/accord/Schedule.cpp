// accord schedule: operators on the cores of one accelerator, as slots.
#include "lib/planning/output/PlanJson.h"
#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "tools/accord/Commands.h"
#include "tools/accord/PlanInterruptibly.h"
#include "tools/accord/ScheduleProject.h"
#include "tools/accord/Session.h"
#include "llvm/Support/raw_ostream.h"
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

/// What cannot hold together, instead of a schedule that breaks it.
llvm::json::Value conflictJson(const Plan &plan) {
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

std::string conflictText(const Plan &plan) {
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

int schedule(const Options &options, const PlanSearchLimits &limits) {
  Session session(options);
  if (!session.prepare())
    return session.finish(kWrongInput, "schedule");
  std::optional<Plan> plan = planInterruptibly(session, limits);
  if (!plan)
    return session.finish(kWrongInput, "schedule");
  if (!plan->feasible) {
    llvm::outs() << (options.json ? jsonText(conflictJson(*plan)) + "\n" : conflictText(*plan));
    return session.finish(kInfeasible, "schedule");
  }
  if (options.json)
    llvm::outs() << jsonText(scheduleJson(*plan)) << "\n";
  else
    llvm::outs() << scheduleTable(*plan);
  return session.finish(kDone, "schedule");
}

/// What was asked for that says nothing about this kind of file, or "".
std::string foreign(const CLI::App &command, bool project) {
  static const std::set<std::string> kBoth = {"help", "effort", "threads", "json", "gap", "time-limit"},
                                     kProject = {"output"};
  for (const CLI::Option *option : command.get_options()) {
    std::string name = option->get_lnames().empty() ? "" : option->get_lnames()[0];
    if (!name.empty() && option->count() > 0 && !kBoth.count(name) && (kProject.count(name) > 0) != project)
      return "--" + name;
  }
  return "";
}

} // namespace

void addSchedule(CLI::App &app, int &status) {
  auto options = std::make_shared<Options>();
  auto project = std::make_shared<ProjectOptions>();
  CLI::App *command =
      app.add_subcommand("schedule", "When each operation runs on which core, or each job of a project");
  addProgramOptions(*command, *options);
  command->get_option("file")->description("A .dnn file, or a project of PSPLIB: .sm, .mm");
  command->get_option("--effort")
      ->description("Rounds of schedule improvement (.dnn), or work limit: each step about doubles "
                    "it, 10 unless given, at most 40 (.sm, .mm)");
  command->add_option("--gap", project->gap,
                      "Stop when the makespan, or that of a region, reaches this relative gap "
                      "best: 2%");
  command->add_option("--time-limit", project->timeLimit,
                      "none, or a time such as '30 s', at which the best schedule so far is "
                      "printed; it then depends on the machine (default: none)");
  command->add_option("-o,--output", project->output,
                      "Of .sm, .mm: folder for problem.mlir and what `accord verify` needs");
  command->footer("Examples: accord schedule gpt2.dnn --target tpu_like\n"
                  "          accord schedule j301_1.sm --gap 2%\n"
                  "Ctrl-C prints the best schedule so far, with its gap.");
  command->callback([command, options, project, &status] {
    bool isOne = isProject(options->file);
    if (std::string option = foreign(*command, isOne); !option.empty()) {
      status =
          refuse(Code::BadCommandLine,
                 option + (isOne ? " says nothing about a project (.sm, .mm)" : " is for projects (.sm, .mm) only"),
                 options->json, "schedule");
      return;
    }
    if (!isOne) {
      status = schedule(*options, {project->gap, project->timeLimit});
      return;
    }
    project->file = options->file;
    project->json = options->json;
    if (command->count("--effort") > 0)
      project->effort = options->effort;
    status = scheduleProject(*project);
  });
}

} // namespace accord
