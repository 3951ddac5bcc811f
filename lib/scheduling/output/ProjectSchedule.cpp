#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleChart.h"
#include "lib/support/Version.h"
#include "lib/support/documents/JsonText.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {

using Id = SchedulingProblem::Id;

namespace {

constexpr size_t kMaxBars = 60, kMaxLoads = 16;

using Status = SchedulingResult::Status;

std::string count(size_t number, const char *what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

/// "1, 5, 9", the middle left out of long lists.
std::string names(const SchedulingProblem &problem, const std::vector<Id> &tasks) {
  std::string text;
  for (size_t i = 0; i < tasks.size(); ++i)
    if (i < 12 || i + 1 == tasks.size())
      text += (i == 0 ? "" : ", ") + problem.nameOf(tasks[i]);
    else if (i == 12)
      text += ", ..";
  return text;
}

llvm::json::Array slotsOf(const SchedulingProblem &problem, const SchedulingSolution &solution) {
  llvm::json::Array slots;
  for (Id t : sortTasksByStart(solution)) {
    const auto &mode = problem.tasks[t].modes[solution.mode[t]];
    if (mode.absent)
      continue;
    std::string on;
    for (const auto &use : mode.usage)
      on += (on.empty() ? "" : ", ") + problem.resources[use.of].name;
    llvm::json::Object slot{{"operation", jsonString(problem.nameOf(t))},
                            {"core", on.empty() ? llvm::json::Value(nullptr) : jsonString(on)},
                            {"start", solution.start[t]},
                            {"duration", mode.duration}};
    if (problem.tasks[t].modes.size() > 1)
      slot["mode"] = jsonString(mode.name);
    slots.push_back(std::move(slot));
  }
  return slots;
}

} // namespace

std::string gapLine(const std::string &what, const std::string &value, const std::string &bound,
                    const std::string &proof, double gap) {
  return fmt::format("{} {}, at least {} ({}), gap {:.2f} %", what, value, bound, proof, 100 * gap);
}

std::string describeBound(const SchedulingProblem &problem, const SchedulingBound &bound) {
  if (bound.value == 0)
    return "no time is negative";
  switch (bound.kind) {
  case SchedulingBound::Kind::Nothing:
    return "nothing";
  case SchedulingBound::Kind::Path:
    if (bound.tasks.size() < 2)
      return fmt::format("critical path: {} alone", names(problem, bound.tasks));
    return fmt::format("critical path: {} follow one another", names(problem, bound.tasks));
  case SchedulingBound::Kind::Set:
    return fmt::format("{}: the work of {} on {} after the shortest way there and before the "
                       "shortest way to the end",
                       bound.proof, count(bound.tasks.size(), "task"),
                       bound.resource < problem.resources.size() ? problem.resources[bound.resource].name : "it");
  case SchedulingBound::Kind::Windows:
    return fmt::format("for any smaller makespan the time windows are infeasible, after {}",
                       count(bound.steps.size(), "step"));
  case SchedulingBound::Kind::Solver:
    return "a shorter schedule is unsatisfiable, by Z3";
  }
  return bound.proof;
}

std::vector<std::string> conflictsOf(const SchedulingProblem &problem, const SchedulingResult &result) {
  if (!result.conflict.empty())
    return result.conflict;
  std::vector<std::string> conflicts;
  std::string all;
  for (Id b = 0; b < problem.budgets.size(); ++b) {
    __int128 minTotal = 0;
    for (const auto &task : problem.tasks) {
      int64_t minSpent = INT64_MAX;
      for (const auto &mode : task.modes) {
        int64_t spends = 0;
        for (const auto &use : mode.spends)
          spends += use.of == b ? use.amount : 0;
        minSpent = std::min(minSpent, spends);
      }
      minTotal += task.modes.empty() ? 0 : minSpent;
    }
    const auto &budget = problem.budgets[b];
    if (minTotal > budget.capacity)
      conflicts.push_back(fmt::format("the tasks spend {} of {} at least, and there are {}",
                                      static_cast<int64_t>(minTotal), budget.name, budget.capacity));
    all += fmt::format("{}{} of {}", all.empty() ? "" : " and ", budget.capacity, budget.name);
  }
  if (conflicts.empty())
    conflicts.push_back(all.empty() ? "no schedule meets all constraints"
                                    : fmt::format("no choice of modes spends at most {}", all));
  return conflicts;
}

llvm::json::Value projectScheduleJson(const SchedulingProblem &problem, const SchedulingResult &result) {
  bool done = result.status == Status::Feasible;
  llvm::json::Object document{{"command", "schedule"},
                              {"version", kVersion},
                              {"status", done                                  ? "done"
                                         : result.status == Status::Infeasible ? "infeasible"
                                                                               : "unknown"},
                              {"slots", done ? slotsOf(problem, result.solution) : llvm::json::Array()},
                              {"work", result.work}};
  if (result.status == Status::Infeasible) {
    llvm::json::Array conflict;
    std::string file = problem.tasks.empty() ? problem.name : problem.tasks[0].location.file;
    for (const std::string &text : conflictsOf(problem, result))
      conflict.push_back(llvm::json::Object{{"constraint", jsonString(text)}, {"file", jsonString(file)}, {"line", 0}});
    document["conflict"] = std::move(conflict);
    return document;
  }
  document["bound"] = llvm::json::Object{
      {"value", result.bound.value}, {"unit", "period"}, {"proof", jsonString(describeBound(problem, result.bound))}};
  if (done) {
    document["objective"] =
        llvm::json::Object{{"name", "makespan"}, {"value", result.solution.makespan}, {"unit", "period"}};
    document["gap"] = result.gap();
  }
  if (!result.stopped.empty())
    document["stopped"] = jsonString(result.stopped);
  return document;
}

std::string projectScheduleText(const SchedulingProblem &problem, const SchedulingResult &result,
                                const TextStyle &style) {
  size_t resources = problem.resources.size(), budgets = problem.budgets.size();
  std::string text =
      fmt::format("{}: {} on {}{}\n", problem.name, count(problem.tasks.size(), "task"), count(resources, "resource"),
                  budgets > 0 ? fmt::format(" within {}", count(budgets, "budget")) : "");
  if (result.status == Status::Infeasible) {
    text += "infeasible: these cannot hold together\n";
    for (const std::string &conflict : conflictsOf(problem, result))
      text += wrapped(conflict, "  ", style);
    return text;
  }
  std::string proof = describeBound(problem, result.bound);
  std::string stopped = result.stopped.empty() ? "" : fmt::format(" (stopped: {})", result.stopped);
  if (result.status == Status::Unknown)
    return text + wrapped(fmt::format("no schedule was found, and none was proven not to exist{}; "
                                      "if there is one, it takes at least {} ({})",
                                      stopped, result.bound.value, proof),
                          "", style);
  ScheduleChart chart(problem, result.solution, style);
  if (!problem.tasks.empty() && problem.tasks.size() <= kMaxBars)
    text += chart.tasks();
  if (resources <= kMaxLoads)
    text += chart.loads();
  if (problem.tasks.size() > kMaxBars)
    text += fmt::format("(--json has the start of each of the {} tasks)\n", problem.tasks.size());
  return text + wrapped(gapLine("makespan", std::to_string(result.solution.makespan),
                                std::to_string(result.bound.value), proof, result.gap()) +
                            fmt::format("{}, work {}", stopped, result.work),
                        "", style);
}

} // namespace accord
