#include "lib/scheduling/output/ProjectSchedule.h"
#include "lib/scheduling/output/ScheduleDocument.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

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

std::string repeated(const std::string &cell, int64_t times) {
  std::string text;
  for (int64_t i = 0; i < times; ++i)
    text += cell;
  return text;
}

std::string padded(const std::string &text, size_t width) {
  return std::string(width - std::min(width, columnsOf(text)), ' ') + text;
}

/// The least of 1, 2, 5, 10, 20, … that is `least` or more.
int64_t roundStep(int64_t min) {
  for (int64_t power = 1;; power *= 10)
    for (int64_t digit : {1, 2, 5})
      if (digit * power >= min)
        return digit * power;
}

/// All tasks; those that start together by their ids.
std::vector<Id> sortTasksByStart(const SchedulingSolution &solution) {
  std::vector<Id> order(solution.start.size());
  std::iota(order.begin(), order.end(), 0);
  llvm::sort(order, [&](Id a, Id b) { return std::pair(solution.start[a], a) < std::pair(solution.start[b], b); });
  return order;
}

/// What of a schedule is drawn, and in how many characters: either whole characters for each
/// period, or less than one.
class ScheduleChart {
public:
  ScheduleChart(const SchedulingProblem &problem, const SchedulingSolution &solution, const TextStyle &style)
      : problem(problem), solution(solution), style(style), modes(!problem.singleMode()) {
    size_t name = 4, time = std::max<size_t>(5, std::to_string(solution.makespan).size());
    for (Id t = 0; t < problem.tasks.size(); ++t)
      name = std::max(name, columnsOf(problem.nameOf(t)));
    cells = {std::min<size_t>(name, 24), modes ? size_t(4) : 0, time, time};
    labels = cells[0] + (modes ? 2 + cells[1] : 0) + 2 * (2 + time) + 2;
    // One character is left for what happens at the very end.
    int64_t room = std::max<int64_t>(10, int64_t(style.width) - int64_t(labels) - 1);
    int64_t length = solution.makespan;
    width = length == 0 ? 1 : length <= room ? length * std::min<int64_t>(room / length, 4) : room;
  }

  /// A heading with the times, then a line for each task that happens, by start.
  std::string tasks() const {
    std::string mark = style.unicode ? "│" : "|", full = style.unicode ? "█" : "#";
    auto line = [&](const std::string &name, const std::string &mode, const std::string &start, const std::string &end,
                    const std::string &chart) {
      std::string text = padded(shortened(name, cells[0], style), cells[0]) + "  ";
      if (modes)
        text += padded(mode, cells[1]) + "  ";
      text += padded(start, cells[2]) + "  " + padded(end, cells[3]) + "  " + chart;
      text.erase(text.find_last_not_of(' ') + 1);
      return text;
    };
    std::string text = inked(style, Ink::Dim, line("task", "mode", "start", "end", axis())) + "\n";
    for (Id t : sortTasksByStart(solution)) {
      const auto &mode = modeOf(t);
      if (mode.absent)
        continue;
      int64_t start = solution.start[t], end = start + mode.duration;
      int64_t from = column(start), to = std::max(column(end), from + 1);
      text += line(problem.nameOf(t), mode.name, std::to_string(start), std::to_string(end),
                   repeated(" ", from) + (mode.duration == 0 ? mark : repeated(full, to - from))) +
              "\n";
    }
    return text;
  }

  /// A line for each resource: the most that is in use of its capacity in each character's time.
  std::string loads() const {
    static const char *const kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    static const char *const kLetters[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
    std::string text;
    for (Id r = 0; r < problem.resources.size(); ++r) {
      int64_t capacity = problem.resources[r].capacity;
      std::string head = fmt::format("{} of {}", problem.resources[r].name, capacity);
      std::string line = padded(shortened(head, labels - 2, style), labels - 2) + "  ";
      for (int64_t level : load(r)) {
        size_t eighths = capacity == 0 ? 0 : (__int128{level} * 8 + capacity - 1) / capacity;
        line += (style.unicode ? kBlocks : kLetters)[std::min<size_t>(eighths, 8)];
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
    return text;
  }

private:
  /// 0..width
  int64_t column(int64_t time) const { return solution.makespan == 0 ? 0 : __int128{time} * width / solution.makespan; }

  /// Round times over the chart, each over its character.
  std::string axis() const {
    int64_t length = solution.makespan;
    int64_t digits = std::to_string(length).size();
    // Labels need their digits and a blank between them.
    int64_t step = roundStep(std::max<int64_t>(1, __int128{length} * (digits + 3) / width));
    std::string line;
    for (int64_t time = 0; time <= length; time += step) {
      size_t at = column(time);
      if (line.empty() || at > line.size()) {
        line.resize(at, ' ');
        line += std::to_string(time);
      }
      if (step > length - time)
        break;
    }
    return line;
  }

  /// The most of each character's time.
  std::vector<int64_t> load(Id resource) const {
    std::map<int64_t, int64_t> change;
    for (Id t = 0; t < problem.tasks.size(); ++t)
      for (const auto &use : modeOf(t).usage)
        if (use.of == resource && modeOf(t).duration > 0) {
          change[solution.start[t]] += use.amount;
          change[solution.start[t] + modeOf(t).duration] -= use.amount;
        }
    std::vector<int64_t> max(width);
    int64_t level = 0;
    for (auto at = change.begin(); at != change.end(); ++at) {
      level += at->second;
      auto next = std::next(at);
      int64_t end = next == change.end() ? at->first : next->first;
      for (int64_t c = column(at->first); c < std::min(std::max(column(end), column(at->first) + 1), width); ++c)
        max[c] = std::max(max[c], level);
    }
    return max;
  }

  const SchedulingProblem::Mode &modeOf(Id task) const { return problem.tasks[task].modes[solution.mode[task]]; }

  const SchedulingProblem &problem;
  const SchedulingSolution &solution;
  TextStyle style;
  bool modes;         ///< some task has several
  size_t labels;      ///< characters before the chart
  int64_t width = 10; ///< of the chart
  std::vector<size_t> cells;
};

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
    return "a shorter schedule is unsatisfiable";
  case SchedulingBound::Kind::Budgets:
    return "no choice of modes keeps the budgets";
  case SchedulingBound::Kind::Subsets:
    return fmt::format("what can run at once, by weights of {}", count(bound.tasks.size(), "task"));
  case SchedulingBound::Kind::Cycle:
    return "tasks would start after themselves";
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
      for (const auto &mode : task.modes)
        minSpent = std::min(minSpent, mode.consumes(b));
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

std::vector<Id> criticalChain(const SchedulingProblem &problem, const SchedulingSolution &solution) {
  const size_t count = std::min(problem.tasks.size(), solution.start.size());
  auto modeOf = [&](Id t) -> const SchedulingProblem::Mode & { return problem.tasks[t].modes[solution.mode[t]]; };
  auto endOf = [&](Id t) { return solution.start[t] + modeOf(t).duration; };
  std::vector<std::vector<SchedulingProblem::Precedence>> before(count);
  for (const SchedulingProblem::Precedence &precedence : problem.precedences)
    if (!modeOf(precedence.before).absent)
      before[precedence.after].push_back(precedence);
  std::map<int64_t, std::vector<Id>> ending;                             // tasks that take time, by their end
  std::vector<std::map<int64_t, int64_t>> use(problem.resources.size()); // of each, from a time on
  for (Id t = 0; t < count; ++t) {
    if (modeOf(t).absent || modeOf(t).duration == 0)
      continue;
    ending[endOf(t)].push_back(t);
    for (const auto &one : modeOf(t).usage)
      use[one.of][solution.start[t]] += one.amount, use[one.of][endOf(t)] -= one.amount;
  }
  for (auto &changes : use)
    for (int64_t now = 0; auto &[time, amount] : changes)
      amount = now += amount;
  // A task that ends when `task` starts, without which `task` could start earlier.
  auto waitedFor = [&](Id task) {
    const int64_t start = solution.start[task];
    for (const auto &precedence : before[task])
      if (endOf(precedence.before) + precedence.delay == start)
        return precedence.before;
    for (const auto &lag : problem.lags)
      if (lag.after == task && !modeOf(lag.before).absent && solution.start[lag.before] < start &&
          solution.start[lag.before] + lag.lag == start)
        return lag.before;
    for (const auto &need : modeOf(task).usage) {
      auto at = use[need.of].lower_bound(start);
      if (at == use[need.of].begin() || std::prev(at)->second + need.amount <= problem.resources[need.of].capacity)
        continue;
      for (Id t : ending[start])
        if (modeOf(t).uses(need.of) > 0)
          return t;
    }
    return SchedulingProblem::kNoTask;
  };
  std::vector<Id> chain;
  for (Id t = 0; t < count; ++t)
    if (!modeOf(t).absent && endOf(t) == solution.makespan &&
        (chain.empty() || solution.start[t] < solution.start[chain[0]]))
      chain = {t};
  while (!chain.empty() && solution.start[chain.back()] > 0) {
    Id earlier = waitedFor(chain.back());
    if (earlier == SchedulingProblem::kNoTask)
      break;
    chain.push_back(earlier);
  }
  std::reverse(chain.begin(), chain.end());
  return chain;
}

llvm::json::Value projectScheduleJson(const SchedulingProblem &problem, const SchedulingResult &result) {
  ScheduleDocument document;
  document.status = statusOf(result.status == Status::Feasible, result.gap(), result.status == Status::Infeasible);
  document.work = result.work;
  document.name = problem.name;
  for (const auto &resource : problem.resources)
    document.resources.push_back({resource.name, resource.capacity});
  if (result.status == Status::Infeasible) {
    std::string file = problem.tasks.empty() ? problem.name : problem.tasks[0].location.file;
    for (const std::string &text : conflictsOf(problem, result))
      document.conflicts.push_back({text, file, 0, {}});
    return toDocument(document);
  }
  document.bound.periods = result.bound.value;
  document.proof = describeBound(problem, result.bound);
  document.stopped = result.stopped;
  if (result.status == Status::Unknown)
    return toDocument(document);
  document.value.periods = result.solution.makespan;
  document.gap = result.gap();
  std::vector<bool> critical(problem.tasks.size());
  for (Id t : criticalChain(problem, result.solution))
    critical[t] = true;
  for (Id t : sortTasksByStart(result.solution)) {
    const auto &task = problem.tasks[t];
    const auto &mode = task.modes[result.solution.mode[t]];
    if (mode.absent)
      continue;
    ScheduleDocument::Slot &slot = document.slots.emplace_back();
    slot.operation = problem.nameOf(t);
    std::string on;
    for (const auto &use : mode.usage) {
      on += (on.empty() ? "" : ", ") + problem.resources[use.of].name;
      if (use.amount > 0)
        slot.uses.push_back({problem.resources[use.of].name, use.amount});
    }
    if (!on.empty())
      slot.core = on;
    if (task.modes.size() > 1)
      slot.mode = mode.name;
    slot.start.periods = result.solution.start[t];
    slot.duration.periods = mode.duration;
    slot.critical = critical[t];
  }
  return toDocument(document);
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
