#include "lib/sparsity/verify/SelectionLimits.h"
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kUnlimited = SelectionProblem::kUnlimited;

} // namespace

SelectionLimits::SelectionLimits(const SelectionProblem &problem, int64_t max) : problem(problem) {
  if (problem.lossBudget != kUnlimited)
    loss = row("losses", problem.lossBudget);
  if (problem.byteBudget != kUnlimited)
    bytes = row("bytes", problem.byteBudget);
  for (size_t r = 0; r < problem.rules.size(); ++r) {
    size_t number = row(fmt::format("rule {}", r), problem.rules[r].max);
    for (const auto &option : problem.rules[r].options)
      ruled[option].push_back(number);
  }
  if (max != kUnlimited)
    values(max);
  branches();
}

std::map<size_t, int64_t> SelectionLimits::adds(unsigned o, unsigned i) const {
  const SelectionOption &option = problem.operations[o].options[i];
  std::map<size_t, int64_t> out;
  if (loss != kNone)
    out[loss] += option.loss;
  if (bytes != kNone)
    out[bytes] += option.bytes;
  if (auto found = ruled.find({o, i}); found != ruled.end())
    for (size_t r : found->second)
      out[r] += 1;
  auto stage = stages.find(problem.objective == SelectionObjective::SlowestStage ? problem.operations[o].stage : 0);
  if (stage != stages.end())
    out[stage->second] += problem.objective == SelectionObjective::Energy   ? option.picojoules
                          : problem.objective == SelectionObjective::Memory ? option.bytes
                                                                            : option.picoseconds;
  return out;
}

size_t SelectionLimits::row(std::string what, int64_t limit) {
  rows.push_back({std::move(what), limit});
  return rows.size() - 1;
}

void SelectionLimits::values(int64_t max) {
  for (const SelectionOperation &operation : problem.operations) {
    unsigned stage = problem.objective == SelectionObjective::SlowestStage ? operation.stage : 0;
    if (!stages.count(stage))
      stages[stage] = row(fmt::format("value of stage {}", stage), max);
  }
}

void SelectionLimits::branches() {
  std::vector<bool> grouped(problem.operations.size());
  for (const std::vector<unsigned> &group : problem.groups)
    if (!group.empty()) {
      members.push_back(group);
      for (unsigned o : group)
        grouped[o] = true;
    }
  for (unsigned o = 0; o < grouped.size(); ++o)
    if (!grouped[o])
      members.push_back({o});
  for (const std::vector<unsigned> &of : members) {
    std::map<std::string, std::pair<size_t, std::map<size_t, int64_t>>> byLabel;
    for (unsigned o : of)
      for (unsigned i = 0; i < problem.operations[o].options.size(); ++i) {
        auto &[count, sum] = byLabel[problem.operations[o].options[i].label];
        ++count;
        for (auto [r, number] : adds(o, i))
          sum[r] += number;
      }
    Branches &unit = units.emplace_back();
    for (auto &[label, entry] : byLabel)
      if (entry.first == of.size())
        unit.options.push_back(std::move(entry.second));
  }
}

} // namespace accord
