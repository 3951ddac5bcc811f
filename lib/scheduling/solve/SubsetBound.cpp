#include "lib/scheduling/solve/SubsetBound.h"
#include <algorithm>
#include <cmath>
#include <tuple>

namespace accord {
namespace {

using Mode = SchedulingProblem::Mode;

/// Reduced costs and values are told apart down to this part.
constexpr double kNearOne = 1e-6;
/// Rounding of doubles in a sum of shares is far below it.
constexpr double kRounding = 1e-12;
/// Cells of the inverse that pivots look at: some tenths of a second.
constexpr size_t kMaxPivotWork = 30'000'000;
/// Below, whole numbers of a schedule's unit are too coarse for weights.
constexpr int64_t kCoarse = int64_t{1} << 30, kFineUnit = int64_t{1} << 20;

/// One way in which a task can be one of those that run at once.
struct Item {
  uint32_t task;
  const Mode *mode;
  double value; ///< weight / duration
};

bool fits(const Mode &mode, const std::vector<int64_t> &room) {
  return llvm::all_of(mode.usage, [&](const auto &use) { return use.amount <= room[use.of]; });
}

/// The feasible subset of the largest value.
class SubsetSearch {
public:
  SubsetSearch(const ConcurrentWork &work, int64_t limit) : work_(work), limit_(limit) {}

  /// False: the limit ended it.
  bool run(const std::vector<double> &weights, const std::vector<char> &counts) {
    items_.clear();
    for (uint32_t t = 0; t < work_.tasks.size(); ++t)
      for (const Mode &mode : *work_.tasks[t].modes)
        if (counts[t] && weights[t] > 0 && fits(mode, work_.capacities))
          items_.push_back({t, &mode, weights[t] / double(mode.duration)});
    std::sort(items_.begin(), items_.end(), [](const Item &a, const Item &b) {
      return std::tuple(-a.value, a.task, a.mode) < std::tuple(-b.value, b.task, b.mode);
    });
    rankByDensity();
    best_.clear(), bestValue_ = 0, chosen_.clear();
    free_ = work_.capacities;
    used_.assign(work_.tasks.size(), 0);
    std::vector<uint32_t> all(items_.size());
    for (uint32_t i = 0; i < all.size(); ++i)
      all[i] = i;
    extend(all, 0);
    return looked_ <= limit_;
  }
  double value() const { return bestValue_; }
  const std::vector<Item> &subset() const { return best_; }

private:
  /// By resource: items that use it by value for each unit of it, and what each takes.
  void rankByDensity() {
    ranked_.assign(work_.capacities.size(), {});
    amounts_.assign(work_.capacities.size(), std::vector<int64_t>(items_.size()));
    for (uint32_t r = 0; r < ranked_.size(); ++r) {
      for (uint32_t i = 0; i < items_.size(); ++i)
        amounts_[r][i] = items_[i].mode->uses(r);
      for (uint32_t i = 0; i < items_.size(); ++i)
        if (amounts_[r][i] > 0)
          ranked_[r].push_back(i);
      std::sort(ranked_[r].begin(), ranked_[r].end(), [&](uint32_t a, uint32_t b) {
        return std::pair(-items_[a].value / double(amounts_[r][a]), a) <
               std::pair(-items_[b].value / double(amounts_[r][b]), b);
      });
    }
  }

  /// The least over resources of what would be added if items could be had in parts.
  double atMost(const std::vector<uint32_t> &candidates) {
    member_.assign(items_.size(), 0);
    double all = 0;
    for (uint32_t i : candidates)
      member_[i] = work_.apart[items_[i].task][items_[i].task] ? 1 : work_.tasks[items_[i].task].times;
    for (uint32_t i : candidates)
      all += items_[i].value * double(member_[i]);
    double min = all;
    for (uint32_t r = 0; r < ranked_.size(); ++r) {
      double without = 0, with = 0;
      int64_t room = free_[r];
      for (uint32_t i : candidates)
        if (amounts_[r][i] == 0)
          without += items_[i].value * double(member_[i]);
      for (uint32_t i : ranked_[r]) {
        if (member_[i] == 0)
          continue;
        double copies = std::min(double(member_[i]), double(room) / double(amounts_[r][i]));
        with += items_[i].value * copies;
        if (copies < double(member_[i]))
          break;
        room -= member_[i] * amounts_[r][i];
      }
      min = std::min(min, with + without);
    }
    return min;
  }

  bool joins(uint32_t i) const {
    const Item &item = items_[i];
    return fits(*item.mode, free_) && used_[item.task] < work_.tasks[item.task].times &&
           llvm::none_of(chosen_, [&](uint32_t other) { return work_.apart[item.task][items_[other].task]; });
  }

  void extend(const std::vector<uint32_t> &candidates, double value) {
    if (value > bestValue_ * (1 + kRounding)) {
      bestValue_ = value;
      best_.clear();
      for (uint32_t i : chosen_)
        best_.push_back(items_[i]);
    }
    if (candidates.empty() || ++looked_ > limit_ || value + atMost(candidates) <= bestValue_ * (1 + kRounding))
      return;
    for (size_t k = 0; k < candidates.size() && looked_ <= limit_; ++k) {
      const Item &item = items_[candidates[k]];
      chosen_.push_back(candidates[k]);
      ++used_[item.task];
      for (const auto &use : item.mode->usage)
        free_[use.of] -= use.amount;
      std::vector<uint32_t> rest;
      for (size_t j = k; j < candidates.size(); ++j)
        if (joins(candidates[j]))
          rest.push_back(candidates[j]);
      extend(rest, value + item.value);
      for (const auto &use : item.mode->usage)
        free_[use.of] += use.amount;
      --used_[item.task];
      chosen_.pop_back();
    }
  }

  const ConcurrentWork &work_;
  int64_t limit_, looked_ = 0;
  std::vector<Item> items_, best_;
  std::vector<std::vector<uint32_t>> ranked_;
  std::vector<std::vector<int64_t>> amounts_; ///< by resource and item
  std::vector<int64_t> member_, free_, used_;
  std::vector<uint32_t> chosen_;
  double bestValue_ = 0;
};

/// min sum x subject to sum of column * x >= needs, x >= 0: the revised simplex method with a dense inverse.
class CoveringProgram {
public:
  /// Each row has a column of its own that covers `unit[row]` of it.
  CoveringProgram(std::vector<double> needs, const std::vector<double> &unit) : rows_(needs.size()) {
    inverse_.assign(rows_ * rows_, 0);
    for (size_t r = 0; r < rows_; ++r) {
      inverse_[r * rows_ + r] = 1 / unit[r];
      level_.push_back(needs[r] / unit[r]);
    }
    costs_.assign(rows_, 1);
  }

  std::vector<double> duals() const {
    std::vector<double> y(rows_);
    for (size_t r = 0; r < rows_; ++r)
      for (size_t c = 0; c < rows_ && costs_[r] != 0; ++c)
        y[c] += costs_[r] * inverse_[r * rows_ + c];
    return y;
  }

  /// Takes the column into the basis, a surplus one where `cost` is 0.
  void enter(const std::vector<double> &column, double cost) {
    std::vector<double> step(rows_);
    for (size_t r = 0; r < rows_; ++r)
      for (size_t c = 0; c < rows_; ++c)
        if (column[c] != 0)
          step[r] += inverse_[r * rows_ + c] * column[c];
    size_t leaves = rows_;
    for (size_t r = 0; r < rows_; ++r)
      if (step[r] > 1e-9 && (leaves == rows_ || level_[r] / step[r] < level_[leaves] / step[leaves]))
        leaves = r;
    if (leaves == rows_)
      return; // no basis changes: numbers are too near to each other
    double pivot = step[leaves];
    double *out = &inverse_[leaves * rows_];
    for (size_t c = 0; c < rows_; ++c)
      out[c] /= pivot;
    level_[leaves] /= pivot;
    for (size_t r = 0; r < rows_; ++r) {
      if (r == leaves || step[r] == 0)
        continue;
      for (size_t c = 0; c < rows_; ++c)
        inverse_[r * rows_ + c] -= step[r] * out[c];
      level_[r] = std::max(0.0, level_[r] - step[r] * level_[leaves]);
    }
    costs_[leaves] = cost;
  }

private:
  size_t rows_;
  std::vector<double> inverse_, level_, costs_; ///< by place in the basis
};

/// Whole numbers whose shares stay within 1, by the value of the heaviest subset at these duals.
SubsetWeights wholeWeights(const ConcurrentWork &work, const std::vector<double> &duals, double heaviest) {
  double scale = (1 - kRounding) / std::max(heaviest, 1e-300), sum = 0;
  for (size_t t = 0; t < duals.size(); ++t)
    sum += duals[t] * scale * double(work.tasks[t].times);
  SubsetWeights out{{}, sum < double(kCoarse) ? kFineUnit : 1, 0};
  __int128 total = 0;
  for (size_t t = 0; t < duals.size(); ++t) {
    out.weights.push_back(static_cast<int64_t>(std::floor(duals[t] * scale * double(out.unit))));
    total += static_cast<__int128>(out.weights[t]) * work.tasks[t].times;
  }
  out.value = static_cast<int64_t>((total + out.unit - 1) / out.unit);
  return out;
}

} // namespace

SubsetWeights subsetBound(const ConcurrentWork &work, const SubsetLimits &limits) {
  size_t n = work.tasks.size();
  std::vector<char> counts(n);
  std::vector<uint32_t> rows; // task by row
  std::vector<double> needs, unit;
  for (uint32_t t = 0; t < n; ++t) {
    int64_t shortest = INT64_MAX;
    for (const Mode &mode : *work.tasks[t].modes)
      if (mode.absent || fits(mode, work.capacities))
        shortest = std::min(shortest, mode.absent ? 0 : mode.duration);
    counts[t] = shortest > 0 && shortest < INT64_MAX && work.tasks[t].times > 0;
    if (!counts[t])
      continue;
    rows.push_back(t);
    needs.push_back(double(work.tasks[t].times));
    unit.push_back(1 / double(shortest));
  }
  SubsetWeights best{std::vector<int64_t>(n), 1, 0};
  if (rows.empty())
    return best;
  std::vector<uint32_t> rowOf(n);
  for (uint32_t r = 0; r < rows.size(); ++r)
    rowOf[rows[r]] = r;
  CoveringProgram program(needs, unit);
  SubsetSearch search(work, limits.subsets);
  for (size_t round = 0; round * rows.size() * rows.size() < kMaxPivotWork; ++round) {
    std::vector<double> duals = program.duals(), column(rows.size()), weights(n);
    size_t lowest = std::min_element(duals.begin(), duals.end()) - duals.begin();
    if (duals[lowest] < -1e-9) { // less than nothing: more of it than is needed may be done
      column[lowest] = -1;
      program.enter(column, 0);
      continue;
    }
    for (uint32_t r = 0; r < rows.size(); ++r)
      weights[rows[r]] = std::max(0.0, duals[r]);
    if (!search.run(weights, counts))
      break;
    if (SubsetWeights found = wholeWeights(work, weights, search.value()); found.value > best.value)
      best = std::move(found);
    if (search.value() <= 1 + kNearOne || best.value >= limits.goal)
      break;
    for (const Item &item : search.subset())
      column[rowOf[item.task]] += 1 / double(item.mode->duration);
    program.enter(column, 1);
  }
  return best;
}

SchedulingBound boundOf(const SubsetWeights &weights) {
  SchedulingBound bound{
      weights.value, SchedulingBound::Kind::Subsets, {}, 0, {}, "what can run at once", weights.unit, {}};
  for (SchedulingProblem::Id t = 0; t < weights.weights.size(); ++t)
    if (weights.weights[t] > 0) {
      bound.tasks.push_back(t);
      bound.weights.push_back(weights.weights[t]);
    }
  return bound;
}

ConcurrentWork concurrentWorkOf(const SchedulingProblem &problem) {
  ConcurrentWork work;
  size_t n = problem.tasks.size();
  for (const auto &resource : problem.resources)
    work.capacities.push_back(resource.capacity);
  for (const auto &task : problem.tasks)
    work.tasks.push_back({&task.modes, 1});
  work.apart.assign(n, llvm::BitVector(n));
  std::vector<std::vector<SchedulingProblem::Id>> after(n);
  for (const auto &edge : problem.precedences)
    if (!problem.optional(edge.before) && !problem.optional(edge.after))
      after[edge.before].push_back(edge.after);
  std::vector<SchedulingProblem::Id> order = problem.topologicalOrder();
  for (auto t : llvm::reverse(order))
    for (auto next : after[t]) {
      work.apart[t].set(next);
      work.apart[t] |= work.apart[next];
    }
  for (size_t t = 0; t < n; ++t)
    for (unsigned other : llvm::to_vector(work.apart[t].set_bits()))
      work.apart[other].set(t);
  for (size_t t = 0; t < n; ++t)
    work.apart[t].set(t);
  return work;
}

} // namespace accord
