#include "lib/tuning/solve/ParameterImportance.h"
#include "lib/support/StableSort.h"

namespace accord::tuning {
namespace {

using Indices = std::vector<size_t>;

/// Variance with n - 1 degrees of freedom; 0 of fewer than two values.
double varianceOf(const std::vector<double> &values, const Indices &of) {
  if (of.size() < 2)
    return 0;
  const auto count = static_cast<double>(of.size());
  double mean = 0, squares = 0;
  for (size_t i : of)
    mean += values[i] / count;
  for (size_t i : of)
    squares += (values[i] - mean) * (values[i] - mean);
  return squares / (count - 1);
}

/// The variance that a hyper-parameter does not explain, of trials that are in its order.
double varianceOfNeighbours(const std::vector<double> &values, const Indices &ordered) {
  double squares = 0;
  for (size_t i = 1; i < ordered.size(); ++i)
    squares += (values[ordered[i]] - values[ordered[i - 1]]) * (values[ordered[i]] - values[ordered[i - 1]]);
  return squares / 2 / static_cast<double>(ordered.size() - 1);
}

/// The same of groups: what their members differ in; nothing where all groups have one member.
std::optional<double> varianceWithinGroups(const std::vector<double> &values, const std::vector<size_t> &groups,
                                           const Indices &of, std::vector<std::pair<double, double>> &sums) {
  std::ranges::fill(sums, std::pair(0.0, 0.0));
  for (size_t i : of)
    sums[groups[i]].first += values[i], ++sums[groups[i]].second;
  double squares = 0;
  for (size_t i : of) {
    const double off = values[i] - sums[groups[i]].first / sums[groups[i]].second;
    squares += off * off;
  }
  const auto filled = std::ranges::count_if(sums, [](const auto &one) { return one.second > 0; });
  const auto freedom = static_cast<double>(of.size()) - static_cast<double>(filled);
  return freedom > 0 ? std::optional(squares / freedom) : std::nullopt;
}

/// One hyper-parameter over the trials.
class Effect {
public:
  Effect(bool isChoice, std::vector<double> at, const std::vector<double> &responses, SplitMix &random)
      : responses_(responses), order_(at.size()), place_(at.size()), groups_(at.size()) {
    std::iota(order_.begin(), order_.end(), size_t(0));
    for (size_t i = order_.size(); i > 1; --i) // equal ones at random
      std::swap(order_[i - 1], order_[random.below(i)]);
    stableSort(order_, [&](size_t a, size_t b) { return at[a] < at[b]; });
    size_t groups = 0;
    for (size_t i = 0; i < order_.size(); ++i) {
      groups += i == 0 || at[order_[i]] != at[order_[i - 1]];
      groups_[order_[i]] = groups - 1, place_[order_[i]] = i;
    }
    isGrouped_ = isChoice || 3 * groups <= at.size();
    isVaried_ = groups > 1;
    sums_.resize(groups);
  }

  /// The share of these trials, by number.
  double shareOf(Indices of) {
    const double all = varianceOf(responses_, of);
    if (!isVaried_ || !(all > 0))
      return 0;
    if (isGrouped_) {
      const auto within = varianceWithinGroups(responses_, groups_, of, sums_);
      return within ? 1 - *within / all : 0;
    }
    std::ranges::sort(of, {}, [&](size_t i) { return place_[i]; });
    return 1 - varianceOfNeighbours(responses_, of) / all;
  }

private:
  const std::vector<double> &responses_;
  Indices order_, place_;      ///< trials by the hyper-parameter, and where a trial is among them
  std::vector<size_t> groups_; ///< of each trial: the number of its value
  std::vector<std::pair<double, double>> sums_;
  bool isGrouped_ = false, isVaried_ = false;
};

/// Ranks from 0 on, the best first; equal values have their mean.
std::vector<double> ranksOf(const TuningProblem &problem, const std::vector<double> &values) {
  std::vector<double> ranks(values.size());
  Indices order(values.size());
  std::iota(order.begin(), order.end(), size_t(0));
  stableSort(order, [&](size_t a, size_t b) { return isBetter(problem, values[a], values[b]); });
  for (size_t i = 0, next; i < order.size(); i = next) {
    for (next = i + 1; next < order.size() && !isBetter(problem, values[order[i]], values[order[next]]);)
      ++next;
    for (size_t k = i; k < next; ++k)
      ranks[order[k]] = static_cast<double>(i + next - 1) / 2;
  }
  return ranks;
}

} // namespace

std::vector<ParameterShare> explainedShares(const SearchSpace &space, const std::vector<Configuration> &configurations,
                                            const std::vector<double> &responses) {
  std::vector<ParameterShare> out(space.size());
  const size_t count = configurations.size(), half = count / 2;
  if (count < 4)
    return out;
  // Enough halves for a standard deviation, fewer where there are very many trials.
  const size_t halves = std::clamp<size_t>(2'000'000 / count, 50, 300);
  for (size_t p = 0; p < space.size(); ++p) {
    SplitMix random(p + 1);
    std::vector<double> at;
    for (const Configuration &one : configurations)
      at.push_back(one[p]);
    Effect effect(space[p].kind == HyperParameter::Kind::Choice, std::move(at), responses, random);
    Indices all(count);
    std::iota(all.begin(), all.end(), size_t(0));
    out[p].share = effect.shareOf(all);
    double sum = 0, squares = 0;
    for (size_t h = 0; h < halves; ++h) {
      for (size_t i = 0; i < half; ++i)
        std::swap(all[i], all[i + random.below(count - i)]);
      const double share = effect.shareOf(Indices(all.begin(), all.begin() + static_cast<ptrdiff_t>(half)));
      sum += share, squares += share * share;
    }
    const auto n = static_cast<double>(halves);
    const double deviation = std::sqrt(std::max(0.0, (squares - sum * sum / n) / (n - 1)));
    out[p].low = out[p].share - 1.96 * deviation, out[p].high = out[p].share + 1.96 * deviation;
  }
  return out;
}

std::vector<RungImportance> parameterImportance(const TuningProblem &problem, const TuningResult &result) {
  std::vector<RungImportance> out;
  if (problem.population)
    return out;
  int64_t before = 0;
  for (int64_t rung : rungs(problem)) {
    std::vector<Configuration> configurations;
    std::vector<double> values;
    for (const Trial &trial : result.trials) {
      // The value there, or that of a training that diverged on the way from the rung before.
      const auto found = std::ranges::find_if(trial.reports, [&](const Report &one) {
        return one.unit == rung || (one.unit > before && one.unit < rung && !std::isfinite(one.value));
      });
      if (found != trial.reports.end())
        configurations.push_back(trial.configuration), values.push_back(found->value);
    }
    before = rung;
    if (values.size() < kMinImportanceTrials)
      continue;
    out.push_back({rung, static_cast<int64_t>(values.size()),
                   explainedShares(problem.space, configurations, ranksOf(problem, values))});
    for (size_t p = 0; p < problem.space.size(); ++p)
      if (problem.space[p].from >= rung) // what it seems to explain is chance
        out.back().parameters[p] = {};
  }
  return out;
}

} // namespace accord::tuning
