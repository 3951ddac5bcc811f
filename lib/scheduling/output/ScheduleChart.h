// Charts of a schedule for the terminal: bars of tasks, loads of resources.
#pragma once
#include "lib/scheduling/problem/SchedulingProblem.h"
#include "lib/support/documents/TextStyle.h"

namespace accord {

/// All tasks; those that start together by their ids.
std::vector<SchedulingProblem::Id> sortTasksByStart(const SchedulingSolution &solution);

/// What of a schedule is drawn, and in how many characters: either whole characters for each
/// period, or less than one.
class ScheduleChart {
public:
  ScheduleChart(const SchedulingProblem &problem, const SchedulingSolution &solution, const TextStyle &style);

  /// A heading with the times, then a line for each task that happens, by start.
  std::string tasks() const;
  /// A line for each resource: the most that is in use of its capacity in each character's time.
  std::string loads() const;

private:
  int64_t column(int64_t time) const; ///< 0..width
  std::string axis() const;
  std::vector<int64_t> load(SchedulingProblem::Id resource) const;
  const SchedulingProblem::Mode &modeOf(SchedulingProblem::Id task) const {
    return problem.tasks[task].modes[solution.mode[task]];
  }

  const SchedulingProblem &problem;
  const SchedulingSolution &solution;
  TextStyle style;
  bool modes;         ///< some task has several
  size_t labels;      ///< characters before the chart
  int64_t width = 10; ///< of the chart
  std::vector<size_t> cells;
};

} // namespace accord
