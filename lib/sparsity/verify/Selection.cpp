#include "lib/sparsity/verify/Selection.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <map>

namespace accord {
namespace {

constexpr int64_t kUnlimited = SelectionProblem::kUnlimited;
constexpr int kSteps = 600; ///< of the search for multipliers

/// A sum over what is taken that has a limit.
struct LimitRow {
  std::string what;
  int64_t limit = 0;
};
/// What an option adds, by row.
using Amounts = std::map<size_t, int64_t>;
/// The options of what is decided at once, an operation or a group.
using Unit = std::vector<Amounts>;

/// All rows of a choice that keeps budgets and rules, and whose value, or each stage of it, is at most `max`
/// (`kUnlimited`: any).
class SelectionLimits {
public:
  SelectionLimits(const SelectionProblem &problem, int64_t max) : problem(problem) {
    if (problem.lossBudget != kUnlimited)
      loss = row("losses", problem.lossBudget);
    if (problem.byteBudget != kUnlimited)
      bytes = row("bytes", problem.byteBudget);
    for (size_t r = 0; r < problem.rules.size(); ++r) {
      size_t number = row(fmt::format("rule {}", r), problem.rules[r].max);
      for (const auto &option : problem.rules[r].options)
        ruled[option].push_back(number);
    }
    for (const SelectionOperation &operation : problem.operations)
      if (max != kUnlimited && !stages.contains(stageOf(operation)))
        stages[stageOf(operation)] = row(fmt::format("value of stage {}", stageOf(operation)), max);
    addUnits();
  }

  std::vector<LimitRow> rows;
  std::vector<Unit> units;

  Amounts adds(unsigned o, unsigned i) const {
    const SelectionOption &option = problem.operations[o].options[i];
    Amounts out;
    if (loss != kNone)
      out[loss] += option.loss;
    if (bytes != kNone)
      out[bytes] += option.bytes;
    if (auto found = ruled.find({o, i}); found != ruled.end())
      for (size_t r : found->second)
        out[r] += 1;
    if (auto stage = stages.find(stageOf(problem.operations[o])); stage != stages.end())
      out[stage->second] += problem.objective == SelectionObjective::Energy   ? option.picojoules
                            : problem.objective == SelectionObjective::Memory ? option.bytes
                                                                              : option.picoseconds;
    return out;
  }

private:
  static constexpr size_t kNone = SIZE_MAX;
  const SelectionProblem &problem;
  size_t loss = kNone, bytes = kNone;
  std::map<std::pair<unsigned, unsigned>, std::vector<size_t>> ruled;
  std::map<unsigned, size_t> stages; ///< the row of a stage

  /// All is one where the value is a sum.
  unsigned stageOf(const SelectionOperation &operation) const {
    return problem.objective == SelectionObjective::SlowestStage ? operation.stage : 0;
  }
  size_t row(std::string what, int64_t limit) {
    rows.push_back({std::move(what), limit});
    return rows.size() - 1;
  }
  void addUnits() {
    std::vector<std::vector<unsigned>> members; // operations of units
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
      std::map<std::string, std::pair<size_t, Amounts>> byLabel;
      for (unsigned o : of)
        for (unsigned i = 0; i < problem.operations[o].options.size(); ++i) {
          auto &[count, sum] = byLabel[problem.operations[o].options[i].label];
          ++count;
          for (auto [r, number] : adds(o, i))
            sum[r] += number;
        }
      Unit &unit = units.emplace_back();
      for (auto &[label, entry] : byLabel)
        if (entry.first == of.size())
          unit.push_back(std::move(entry.second));
    }
  }
};

enum class Outcome : uint8_t { Infeasible, Feasible, Unknown }; ///< unknown: more branches than allowed

int64_t added(const Amounts &option, size_t row) {
  auto found = option.find(row);
  return found == option.end() ? 0 : found->second;
}

/// Branches over the options of one unit after another. A branch ends where a limit, or a sum of limits with
/// multipliers, is passed whatever the units that follow take. The multipliers are whole numbers: any prove, good ones
/// prove soon.
class InfeasibilityProver {
public:
  InfeasibilityProver(const SelectionLimits &limits, uint64_t effort)
      : rows(limits.rows), units(limits.units), effort(effort) {}

  Outcome run() {
    for (bool changed = true; changed;) {
      changed = false;
      if (!tighten(changed))
        return Outcome::Infeasible;
    }
    drop();
    multiply();
    arrange();
    sums.assign(rows.size(), 0);
    weighted.assign(multipliers.size(), 0);
    if (broken(0))
      return Outcome::Infeasible;
    return branch(0);
  }
  uint64_t branched = 0;

private:
  std::vector<LimitRow> rows;
  std::vector<Unit> units;
  uint64_t effort;
  std::vector<std::vector<__int128>> multipliers; ///< by set, by row
  std::vector<__int128> max;                      ///< of sets: multipliers * limits
  std::vector<std::vector<int64_t>> min;          ///< from a unit on, by row
  std::vector<std::vector<__int128>> minWeighted;
  std::vector<int64_t> sums;
  std::vector<__int128> weighted;

  static int64_t minOf(const Unit &unit, size_t r) {
    int64_t out = kUnlimited;
    for (const auto &option : unit)
      out = std::min(out, added(option, r));
    return out;
  }

  /// Drops options that break a row whatever the others take. False: a unit has none left.
  bool tighten(bool &changed) {
    std::vector<int64_t> all(rows.size());
    for (const Unit &unit : units) {
      if (unit.empty())
        return false;
      for (size_t r : used(unit))
        all[r] += minOf(unit, r);
    }
    for (Unit &unit : units) {
      Amounts low;
      for (size_t r : used(unit))
        low[r] = minOf(unit, r);
      size_t before = unit.size();
      std::erase_if(unit, [&](const auto &option) {
        return std::any_of(low.begin(), low.end(), [&](const auto &entry) {
          auto [r, min] = entry;
          return added(option, r) - min > rows[r].limit - all[r];
        });
      });
      if (unit.empty())
        return false;
      changed |= unit.size() != before;
    }
    for (size_t r = 0; r < rows.size(); ++r)
      if (all[r] > rows[r].limit)
        return false;
    return true;
  }

  /// Rows that no choice passes any more need no proof.
  void drop() {
    std::vector<int64_t> high(rows.size());
    for (const Unit &unit : units)
      for (size_t r : used(unit)) {
        int64_t largest = 0;
        for (const auto &option : unit)
          largest = std::max(largest, added(option, r));
        high[r] += largest;
      }
    std::map<size_t, size_t> numbers;
    std::vector<LimitRow> open;
    for (size_t r = 0; r < rows.size(); ++r)
      if (high[r] > rows[r].limit) {
        numbers[r] = open.size();
        open.push_back(rows[r]);
      }
    rows = std::move(open);
    for (Unit &unit : units)
      for (auto &option : unit) {
        Amounts kept;
        for (auto [r, number] : option)
          if (auto found = numbers.find(r); found != numbers.end())
            kept[found->second] = number;
        option = std::move(kept);
      }
  }

  static std::vector<size_t> used(const Unit &unit) {
    std::vector<size_t> out;
    for (const auto &option : unit)
      for (const auto &entry : option)
        out.push_back(entry.first);
    std::sort(out.begin(), out.end());
    out.erase(std::unique(out.begin(), out.end()), out.end());
    return out;
  }

  double weightedSum(const std::vector<double> &by, std::vector<double> &over) const {
    double total = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      over[r] = -double(rows[r].limit);
      total += by[r] * over[r];
    }
    for (const Unit &unit : units) {
      const Amounts *best = nullptr;
      double low = 0;
      for (const auto &option : unit) {
        double sum = 0;
        for (auto [r, number] : option)
          sum += by[r] * number;
        if (!best || sum < low) {
          best = &option;
          low = sum;
        }
      }
      total += low;
      for (auto [r, number] : *best)
        over[r] += number;
    }
    return total;
  }

  void keep(const std::vector<double> &by) {
    double largest = *std::max_element(by.begin(), by.end());
    if (!(largest > 0) || !std::isfinite(largest))
      return;
    int shift = 52 - std::ilogb(largest);
    std::vector<__int128> set;
    __int128 limit = 0;
    for (size_t r = 0; r < rows.size(); ++r) {
      set.push_back(int64_t(std::ldexp(by[r], shift)));
      limit += set.back() * rows[r].limit;
    }
    multipliers.push_back(std::move(set));
    max.push_back(limit);
  }

  /// Each row in units of its limit: the last one (the value, where there is one) with each of the others, by halving
  /// until its sum turns; then with all of them along the slope, in ever smaller steps.
  void multiply() {
    constexpr size_t kMaxRows = 40; ///< sums of more might not fit
    if (rows.empty() || rows.size() > kMaxRows)
      return;
    std::vector<double> unit;
    for (const LimitRow &row : rows)
      unit.push_back(1 / std::max<double>(1, row.limit));
    std::vector<double> over(rows.size()), best(rows.size());
    double highest = -HUGE_VAL;
    auto tryOut = [&](const std::vector<double> &by) {
      double total = weightedSum(by, over);
      if (total > highest) {
        highest = total;
        best = by;
      }
    };
    const size_t base = rows.size() - 1;
    for (size_t r = 0; r < base; ++r) {
      std::vector<double> by(rows.size());
      double low = -60, high = 60;
      for (int i = 0; i < 70; ++i) {
        double middle = (low + high) / 2;
        by[base] = unit[base];
        by[r] = unit[r] * std::exp2(middle);
        tryOut(by);
        (over[r] > 0 ? low : high) = middle;
      }
      keep(by);
    }
    if (base == 0) {
      best[base] = unit[base];
    } else if (base > 1) {
      std::vector<double> by(rows.size());
      double size = 0;
      for (size_t r = 0; r <= base; ++r) {
        by[r] = best[r] > 0 ? best[r] : unit[r] / 16;
        size += by[r] / unit[r];
      }
      for (int i = 0; i < kSteps; ++i) {
        tryOut(by);
        double length = 0;
        for (size_t r = 0; r < base; ++r)
          length = std::max(length, std::abs(over[r] * unit[r]));
        if (length == 0)
          break;
        double step = size * 0.3 / (1 + i) / length;
        for (size_t r = 0; r < base; ++r)
          by[r] = std::max(0.0, by[r] + step * unit[r] * unit[r] * over[r]);
      }
    }
    keep(best);
  }

  __int128 weightedOf(const Amounts &option, size_t set) const {
    __int128 sum = 0;
    for (auto [r, number] : option)
      sum += multipliers[set][r] * number;
    return sum;
  }

  /// Units whose options differ most are branched first.
  void arrange() {
    if (!multipliers.empty()) {
      size_t set = multipliers.size() - 1;
      std::vector<std::pair<__int128, size_t>> leads;
      for (size_t u = 0; u < units.size(); ++u) {
        std::vector<__int128> prices;
        for (const auto &option : units[u])
          prices.push_back(weightedOf(option, set));
        std::sort(prices.begin(), prices.end());
        leads.push_back({prices.size() > 1 ? prices[0] - prices[1] : -(__int128(1) << 126), u});
      }
      std::sort(leads.begin(), leads.end());
      std::vector<Unit> sorted;
      for (const auto &entry : leads)
        sorted.push_back(std::move(units[entry.second]));
      units = std::move(sorted);
    }
    min.assign(units.size() + 1, std::vector<int64_t>(rows.size()));
    minWeighted.assign(units.size() + 1, std::vector<__int128>(multipliers.size()));
    for (size_t u = units.size(); u-- > 0;) {
      min[u] = min[u + 1];
      for (size_t r : used(units[u]))
        min[u][r] += minOf(units[u], r);
      for (size_t set = 0; set < multipliers.size(); ++set) {
        __int128 low = weightedOf(units[u].front(), set);
        for (const auto &option : units[u])
          low = std::min(low, weightedOf(option, set));
        minWeighted[u][set] = minWeighted[u + 1][set] + low;
      }
    }
  }

  /// Whether a row, or a sum of rows, is broken whatever the units from `u` on take.
  bool broken(size_t u) const {
    for (size_t r = 0; r < rows.size(); ++r)
      if (sums[r] + min[u][r] > rows[r].limit)
        return true;
    for (size_t set = 0; set < multipliers.size(); ++set)
      if (weighted[set] + minWeighted[u][set] > max[set])
        return true;
    return false;
  }

  Outcome branch(size_t u) {
    if (u == units.size())
      return Outcome::Feasible;
    for (const auto &option : units[u]) {
      if (++branched > effort)
        return Outcome::Unknown;
      add(option, 1);
      Outcome outcome = broken(u + 1) ? Outcome::Infeasible : branch(u + 1);
      add(option, -1);
      if (outcome != Outcome::Infeasible)
        return outcome;
    }
    return Outcome::Infeasible;
  }
  void add(const Amounts &option, int sign) {
    for (auto [r, number] : option)
      sums[r] += sign * number;
    for (size_t set = 0; set < multipliers.size(); ++set)
      weighted[set] += sign * weightedOf(option, set);
  }
};

class SelectionChecker {
public:
  SelectionChecker(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort)
      : problem(problem), result(result), effort(effort) {}

  Verification run() {
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
  Verification out;

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
           fmt::format("the sums are {} ps, {} pJ, {} bytes and {} of losses, slowest stage {} ps; stated are {}, {}, "
                       "{}, {} and {}",
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
    InfeasibilityProver prover(SelectionLimits(problem, none ? kUnlimited : result.bound - 1), effort);
    Outcome outcome = prover.run();
    std::string claim = none ? "no choice keeps all limits" : fmt::format("no choice is below {}", result.bound);
    if (outcome == Outcome::Feasible)
      find(Code::BoundNotProved, claim + " is stated, but one does");
    else if (outcome == Outcome::Unknown)
      out.trusted.push_back(fmt::format("{} (not proved in {} branches)", claim, effort));
    else
      out.checked.push_back(fmt::format("{} ({} branches)", claim, prover.branched));
  }
};

} // namespace

Verification verify(const SelectionProblem &problem, const SelectionResult &result, uint64_t effort) {
  return SelectionChecker(problem, result, effort).run();
}

} // namespace accord
