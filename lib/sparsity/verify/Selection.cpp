#include "lib/sparsity/verify/Selection.h"
#include "lib/sparsity/verify/SelectionInfeasibilityProof.h"
#include "lib/sparsity/verify/SelectionLimits.h"
#include <algorithm>
#include <fmt/format.h>

namespace accord {
namespace {

constexpr int64_t kUnlimited = SelectionProblem::kUnlimited;

class SelectionChecker {
public:
  SelectionChecker(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort)
      : problem(problem), result(result), effort(effort) {}

  SelectionProof run() {
    if (std::string wrong = check(problem); !wrong.empty())
      find(Code::MemoryExceeded, wrong);
    else if (result.feasible)
      choice();
    if (out.holds())
      bound();
    return std::move(out);
  }

private:
  const SelectionProblem &problem;
  const SelectionResult &result;
  uint64_t effort;
  SelectionProof out;

  void find(Code code, std::string text) { out.findings.push_back({code, std::move(text), {}, {}}); }

  void choice() {
    if (result.choice.size() != problem.operations.size())
      return find(Code::MemoryExceeded,
                  fmt::format("{} options chosen for {} operations", result.choice.size(), problem.operations.size()));
    SelectionSums sums;
    std::map<unsigned, int64_t> stages;
    for (size_t o = 0; o < result.choice.size(); ++o) {
      const SelectionOperation &operation = problem.operations[o];
      if (result.choice[o] >= operation.options.size())
        return find(Code::MemoryExceeded, fmt::format("operation '{}' takes option {} of {}", operation.name,
                                                      result.choice[o], operation.options.size()));
      const SelectionOption &option = operation.options[result.choice[o]];
      sums.picoseconds += option.picoseconds;
      sums.picojoules += option.picojoules;
      sums.bytes += option.bytes;
      sums.loss += option.loss;
      stages[operation.stage] += option.picoseconds;
    }
    for (const auto &stage : stages)
      sums.slowest = std::max(sums.slowest, stage.second);
    if (!(sums == result.sums))
      find(Code::WrongObjective,
           fmt::format("the sums are {} ps, {} pJ, {} bytes and {} of losses, slowest "
                       "stage {} ps; stated are {}, {}, {}, {} and {}",
                       sums.picoseconds, sums.picojoules, sums.bytes, sums.loss, sums.slowest, result.sums.picoseconds,
                       result.sums.picojoules, result.sums.bytes, result.sums.loss, result.sums.slowest));
    int64_t value = problem.objective == SelectionObjective::Time     ? sums.picoseconds
                    : problem.objective == SelectionObjective::Energy ? sums.picojoules
                    : problem.objective == SelectionObjective::Memory ? sums.bytes
                                                                      : sums.slowest;
    if (value != result.value)
      find(Code::WrongObjective, fmt::format("the value is {}, stated is {}", value, result.value));
    limits();
    out.checked.push_back(fmt::format("{} choices, their sums and limits", result.choice.size()));
  }

  void limits() {
    SelectionLimits all(problem, kUnlimited);
    std::vector<int64_t> sums(all.rows.size());
    for (unsigned o = 0; o < result.choice.size(); ++o)
      for (auto [r, number] : all.adds(o, result.choice[o]))
        sums[r] += number;
    for (size_t r = 0; r < sums.size(); ++r)
      if (sums[r] > all.rows[r].limit)
        find(Code::MemoryExceeded, fmt::format("{}: {} of at most {}", all.rows[r].what, sums[r], all.rows[r].limit));
    for (const std::vector<unsigned> &group : problem.groups)
      for (unsigned o : group) {
        const SelectionOperation &operation = problem.operations[o];
        const SelectionOperation &first = problem.operations[group.front()];
        const std::string &label = operation.options[result.choice[o]].label;
        const std::string &other = first.options[result.choice[group.front()]].label;
        if (label != other)
          find(Code::MemoryExceeded, fmt::format("operations '{}' and '{}' of a group take '{}' and '{}'", first.name,
                                                 operation.name, other, label));
      }
  }

  void bound() {
    if (result.feasible && result.bound > result.value)
      return find(Code::BoundNotProved, fmt::format("the bound {} is above the value {}", result.bound, result.value));
    if (result.bound <= 0) {
      out.checked.push_back("bound: nothing is below 0");
      return;
    }
    bool none = result.bound == kUnlimited;
    SelectionInfeasibilityProof proof =
        proveInfeasible(SelectionLimits(problem, none ? kUnlimited : result.bound - 1), effort);
    std::string claim = none ? "no choice keeps all limits" : fmt::format("no choice is below {}", result.bound);
    if (proof.outcome == SelectionInfeasibilityProof::Outcome::Feasible)
      find(Code::BoundNotProved, claim + " is stated, but one does");
    else if (proof.outcome == SelectionInfeasibilityProof::Outcome::Unknown)
      out.trusted.push_back(fmt::format("{} (not proved in {} branches)", claim, effort));
    else
      out.checked.push_back(fmt::format("{} ({} branches)", claim, proof.branches));
  }
};

} // namespace

SelectionProof verify(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort) {
  return SelectionChecker(problem, result, effort).run();
}

} // namespace accord
