#include "lib/scheduling/output/ScheduleChart.h"
#include "lib/support/documents/TextTable.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>

namespace accord {

using Id = SchedulingProblem::Id;

namespace {

std::string repeated(const std::string &cell, int64_t times) {
  std::string text;
  for (int64_t i = 0; i < times; ++i)
    text += cell;
  return text;
}

std::string padded(const std::string &text, size_t width, bool right) {
  std::string pad(width - std::min(width, columnsOf(text)), ' ');
  return right ? pad + text : text + pad;
}

/// The least of 1, 2, 5, 10, 20, … that is `least` or more.
int64_t roundStep(int64_t min) {
  for (int64_t power = 1;; power *= 10)
    for (int64_t digit : {1, 2, 5})
      if (digit * power >= min)
        return digit * power;
}

} // namespace

std::vector<Id> sortTasksByStart(const SchedulingSolution &solution) {
  std::vector<Id> order(solution.start.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](Id a, Id b) { return std::pair(solution.start[a], a) < std::pair(solution.start[b], b); });
  return order;
}

ScheduleChart::ScheduleChart(const SchedulingProblem &problem, const SchedulingSolution &solution,
                             const TextStyle &style)
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

int64_t ScheduleChart::column(int64_t time) const {
  return solution.makespan == 0 ? 0 : static_cast<int64_t>(static_cast<__int128>(time) * width / solution.makespan);
}

/// Round times over the chart, each over its character.
std::string ScheduleChart::axis() const {
  int64_t length = solution.makespan;
  auto digits = static_cast<int64_t>(std::to_string(length).size());
  // Labels need their digits and a blank between them.
  int64_t step =
      roundStep(std::max<int64_t>(1, static_cast<int64_t>(static_cast<__int128>(length) * (digits + 3) / width)));
  std::string line;
  for (int64_t time = 0; time <= length; time += step) {
    auto at = static_cast<size_t>(column(time));
    if (line.empty() || at > line.size()) {
      line.resize(at, ' ');
      line += std::to_string(time);
    }
    if (step > length - time)
      break;
  }
  return line;
}

std::string ScheduleChart::tasks() const {
  std::string mark = style.unicode ? "│" : "|", full = style.unicode ? "█" : "#";
  auto line = [&](std::string name, const std::string &mode, const std::string &start, const std::string &end,
                  const std::string &chart) {
    std::string text = padded(shortened(name, cells[0], style), cells[0], true) + "  ";
    if (modes)
      text += padded(mode, cells[1], true) + "  ";
    text += padded(start, cells[2], true) + "  " + padded(end, cells[3], true) + "  " + chart;
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

/// The most of each character's time.
std::vector<int64_t> ScheduleChart::load(Id resource) const {
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

std::string ScheduleChart::loads() const {
  static const char *const kBlocks[] = {" ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
  static const char *const kLetters[] = {" ", ".", ":", "-", "=", "+", "*", "%", "#"};
  std::string text;
  for (Id r = 0; r < problem.resources.size(); ++r) {
    int64_t capacity = problem.resources[r].capacity;
    std::string head = fmt::format("{} of {}", problem.resources[r].name, capacity);
    std::string line = padded(shortened(head, labels - 2, style), labels - 2, true) + "  ";
    for (int64_t level : load(r)) {
      auto eighths =
          capacity == 0 ? 0 : static_cast<size_t>((static_cast<__int128>(level) * 8 + capacity - 1) / capacity);
      line += (style.unicode ? kBlocks : kLetters)[std::min<size_t>(eighths, 8)];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

} // namespace accord
