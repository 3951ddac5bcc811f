#include "lib/placement/verify/BalancedStepBound.h"
#include "lib/placement/verify/PipelineReplay.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {

namespace {

class BalancedStepProver {
public:
  BalancedStepProver(const PlacementProblem &problem, const Configuration &configuration,
                     const std::vector<BalancedStages> &parallelConfigs, int64_t groups)
      : p(problem), c(configuration), parallelConfigs(parallelConfigs), heads{0}, backs{0},
        ends(parallelConfigs.size(), std::vector(groups, std::vector<double>(parallelConfigs[0].max() + 1))) {
    for (int64_t g = 0; g < groups; ++g) {
      double head = INFINITY, back = INFINITY;
      for (const BalancedStages &stages : parallelConfigs) {
        head = std::min(head, stages.forward(g) + stages.sends(g));
        back = std::min(back, stages.backward(g) + stages.sends(g));
      }
      heads.push_back(heads.back() + head), backs.push_back(backs.back() + back);
    }
  }

  /// With the micro-batches of each virtual stage that a group holds, or a mean of such.
  void hold(int64_t group, const std::vector<double> &held) {
    size_t g = group;
    std::vector<double> all(c.virtualStages, c.microbatches);
    std::vector<int8_t> either(all.size(), -1);
    for (size_t f = 0; f < parallelConfigs.size(); ++f) {
      auto &mine = ends[f][g];
      for (bool last : {false, true}) {
        std::vector<double> takes = parallelConfigs[f].group(group, {all, all, last ? 1.0 : 0.0}, held, either);
        for (size_t n = 0; n < takes.size(); ++n)
          mine[n] = std::max(mine[n], (heads[g] + takes[n] + (last ? 0 : backs[g])) * kLess);
      }
      for (size_t n = mine.size(); n-- > 1;) // so that larger ones never end earlier
        mine[n - 1] = std::min(mine[n - 1], mine[n]);
    }
  }

  double step() const {
    std::vector<double> tried;
    for (const auto &of : ends)
      for (const auto &mine : of)
        tried.insert(tried.end(), mine.begin(), mine.end());
    std::sort(tried.begin(), tried.end());
    tried.erase(std::unique(tried.begin(), tried.end()), tried.end());
    size_t low = 0, high = tried.size(); // the least that is long enough
    while (low < high) {
      size_t middle = (low + high) / 2;
      if (std::isinf(tried[middle]) || longEnough(tried[middle]))
        high = middle;
      else
        low = middle + 1;
    }
    return low < tried.size() ? tried[low] : INFINITY;
  }

  /// Of each group the most larger stages before it is enough. Of one parallel configuration.
  template <typename Enough> std::vector<int64_t> max(const Enough &enough) const {
    std::vector<int64_t> max;
    for (const auto &mine : ends[0]) {
      max.push_back(std::ranges::find_if(mine, enough) - mine.begin() - 1);
    }
    return max;
  }

private:
  bool longEnough(double step) const {
    int64_t room = 0, groups = ends[0].size();
    std::vector<int64_t> alone(parallelConfigs.size()); // groups that can have no other parallel configuration
    std::vector<char> some(parallelConfigs.size());
    std::vector<int64_t> gains; // of the second parallel configuration, where both can be
    for (size_t g = 0; g < ends[0].size(); ++g) {
      std::vector<int64_t> can;
      for (const auto &of : ends)
        can.push_back(std::upper_bound(of[g].begin(), of[g].end(), step) - of[g].begin() - 1);
      auto best = std::max_element(can.begin(), can.end());
      if (*best < 0)
        return false;
      size_t able = 0;
      for (size_t f = 0; f < parallelConfigs.size(); ++f)
        able += can[f] >= 0, some[f] |= can[f] >= 0;
      if (able == 1)
        ++alone[best - can.begin()];
      bool two = parallelConfigs.size() == 2 && able == 2;
      room += two ? can[0] : *best;
      if (two)
        gains.push_back(can[1] - can[0]);
    }
    auto max = [&](size_t f) {
      const auto &parallelConfig = p.parallelConfigs[c.parallelConfigs[f]];
      return p.deviceTypes[parallelConfig.deviceType].devices / parallelConfig.devices();
    };
    int64_t others = p.uniformConfigPerDeviceType ? parallelConfigs.size() - 1 : 0;
    for (size_t f = 0; f < parallelConfigs.size(); ++f)
      if (alone[f] > std::min(max(f), groups - others) || (p.uniformConfigPerDeviceType && !some[f]))
        return false;
    // As many with the second parallel configuration as may be, and as are better with it.
    if (parallelConfigs.size() == 2) {
      int64_t min = std::max(groups - max(0), others) - alone[1],
              largest = std::min(max(1), groups - others) - alone[1];
      std::sort(gains.rbegin(), gains.rend());
      for (size_t i = 0; i < gains.size(); ++i)
        if (int64_t n = i; n < min || (n < largest && gains[i] > 0))
          room += gains[i];
    }
    return room >= parallelConfigs[0].more();
  }

  static constexpr double kLess = 1 - 1e-10; ///< for sums of doubles
  const PlacementProblem &p;
  const Configuration &c;
  const std::vector<BalancedStages> &parallelConfigs;
  std::vector<double> heads, backs;
  std::vector<std::vector<std::vector<double>>> ends; ///< by parallel configuration, group, number of larger stages
};

/// Micro-batches in memory by virtual stage: a mean of moments of the group's order.
const std::vector<double> &meanHeld(BalancedStepCache &known, const Configuration &c, int64_t groups, int64_t group,
                                    uint64_t &work) {
  // Rounds after the fourth are like those before.
  int64_t m = std::min(c.microbatches, 4 * groups);
  auto [found, isNew] = known.held.try_emplace({groups, c.virtualStages, m, group});
  if (!isNew)
    return found->second;
  ReplayInput shape{c.schedule, groups, c.virtualStages, m, {}, {}};
  size_t v = c.virtualStages;
  std::vector<double> mean(v);
  for (size_t weighed = 0; weighed < v; ++weighed) {
    std::vector<int64_t> activations(v, 4);
    activations[weighed] = 5;
    auto [bytes, held] = peakOf(shape, group, activations);
    work += m * c.virtualStages / 16 + 1;
    for (size_t virtualStage = 0; virtualStage < v; ++virtualStage)
      mean[virtualStage] += 1.0 * held[virtualStage] / v;
  }
  return found->second = std::move(mean);
}

} // namespace

BalancedStepBound balancedStepBound(const PlacementProblem &problem, const Configuration &c, int64_t groups,
                                    const PathBound *paths, const std::function<bool(double, double)> &enough,
                                    double passes, BalancedStepCache &known, uint64_t &work) {
  BalancedStepBound answer{INFINITY, true, {}};
  std::vector<BalancedStages> parallelConfigs;
  double joules = INFINITY;
  for (auto parallelConfig : c.parallelConfigs) {
    parallelConfigs.emplace_back(problem, c, parallelConfig, groups, work);
    if (!parallelConfigs.back().can() && c.parallelConfigs.size() > 1) // a layer is on other devices
      return {0, false, {}};
    if (!parallelConfigs.back().can())
      return answer;
    joules = c.parallelConfigs.size() > 1 ? 0 : parallelConfigs.back().joules();
  }
  const BalancedStages &stages = parallelConfigs[0];
  auto reaches = [&](double step) { return enough(step, joules); };
  BalancedStepProver even(problem, c, parallelConfigs, groups);
  for (bool full : {false, true}) {
    for (int64_t g = 0; g < groups; ++g) {
      std::vector<double> held = meanHeld(known, c, groups, g, work);
      if (full) {
        ReplayInput shape{c.schedule, groups, c.virtualStages, c.microbatches, {}, {}};
        std::vector<int64_t> first = heldAfter(shape, g, ruleOf(shape.schedule).window(shape, g));
        held.assign(first.begin(), first.end());
      }
      even.hold(g, held);
    }
    answer.step = even.step();
    answer.proved = reaches(answer.step);
    if (answer.proved)
      return answer;
  }
  if (!paths || parallelConfigs.size() > 1 || 2.0 * (c.microbatches * stages.stages()) > passes)
    return answer;
  auto [orders, isNew] =
      known.orders.try_emplace({groups, c.virtualStages, c.microbatches}, groups, c.virtualStages, c.microbatches);
  work += isNew ? c.microbatches * stages.stages() : 0;
  std::vector<int64_t> max = even.max(reaches);
  answer.proved = checkPathMeans(*paths, stages, orders->second, max, reaches, answer.error) == PathsVerdict::Enough;
  return answer;
}

PathOrders::PathOrders(int64_t groups, int64_t virtualStages, int64_t microbatches)
    : p(groups), v(virtualStages), m(microbatches), at(2 * groups * virtualStages * microbatches) {
  ReplayInput shape{PipelineSchedule::Interleaved, p, v, m, {}, {}};
  for (int64_t g = 0; g < p; ++g) {
    order.emplace_back(), which.emplace_back();
    for (const ReplayPass &pass : orderOf(shape, g)) {
      size_t kind = 2 * pass.stage + pass.backward;
      at[kind * m + pass.microbatch] = order.back().size();
      order.back().push_back(kind);
      which.back().push_back(pass.microbatch);
    }
  }
}

std::optional<PathOrders::Counts> PathOrders::follow(const PathBound::Path &path, std::string &error) const {
  size_t stages = p * v;
  Counts counts{std::vector<double>(2 * stages), std::vector<double>(stages), 0};
  size_t group = 0, next = 0; // pass of the group
  bool begun = false;
  for (auto [run, times] : path)
    for (uint32_t i = 0; i < times; ++i) {
      if (begun) { // goes over from the pass before `next`
        uint32_t kind = order[group][next - 1], microbatch = which[group][next - 1];
        size_t stage = kind / 2;
        if (kind % 2 ? stage == 0 : stage + 1 == stages) {
          error = fmt::format("nothing waits for a pass {} of stage {}", kind % 2 ? "backward" : "forward", stage);
          return std::nullopt;
        }
        counts.sends[kind % 2 ? stage - 1 : stage] += 1;
        kind = kind % 2 ? kind - 2 : kind + 2;
        group = kind / 2 % p;
        next = at[kind * m + microbatch];
      }
      begun = true;
      if (run == 0 || run > order[group].size() - next) {
        error = fmt::format("{} passes along group {}, which has {} left", run, group, order[group].size() - next);
        return std::nullopt;
      }
      for (uint32_t k = 0; k < run; ++k)
        counts.passes[order[group][next++]] += 1;
    }
  if (!begun || next != order[group].size()) {
    error = fmt::format("group {} has passes behind the end", group);
    return std::nullopt;
  }
  counts.end = group;
  return counts;
}

const std::vector<int64_t> &PathOrders::held(int64_t group, uint32_t passes) {
  auto [found, isNew] = known.try_emplace({group, passes});
  if (isNew)
    found->second = heldAfter({PipelineSchedule::Interleaved, p, v, m, {}, {}}, group, passes);
  return found->second;
}

namespace {

class PathMeanChecker {
public:
  PathMeanChecker(const PathBound &bound, const BalancedStages &stages, PathOrders &orders,
                  const std::vector<int64_t> &max, const std::function<bool(double)> &enough, std::string &error)
      : bound(bound), stages(stages), orders(orders), enough(enough), error(error), fixed(stages.stages(), -1) {
    for (int64_t n : max)
      ranges.push_back({0, n});
  }

  PathsVerdict run() {
    for (size_t i = 0; i < bound.paths.size(); ++i) {
      auto counts = orders.follow(bound.paths[i], error);
      if (!counts) {
        error = fmt::format("path {}: {}", i, error);
        return PathsVerdict::Wrong;
      }
      paths.push_back(std::move(*counts));
    }
    bool all = part(0);
    if (all && error.empty() && at != bound.parts.size())
      error = fmt::format("{} parts, there are {}", bound.parts.size(), at);
    return !error.empty() ? PathsVerdict::Wrong : all ? PathsVerdict::Enough : PathsVerdict::TooLittle;
  }

private:
  using Part = PathBound::Part;

  bool wrong(std::string text) {
    error = fmt::format("part {}: {}", at - 1, text);
    return false;
  }

  /// The next part, and those it falls into; false: wrong, or some plan may be better.
  bool part(int depth) {
    if (at >= bound.parts.size()) {
      error = fmt::format("part {} is left out", at);
      return false;
    }
    const Part &here = bound.parts[at++];
    if (here.fork == Part::Split::None)
      return leaf(here);
    if (depth > 4'000)
      return wrong("too many parts in each other");
    if (here.fork == Part::Split::Stage) {
      if (here.of >= fixed.size() || fixed[here.of] >= 0)
        return wrong(fmt::format("stage {} is none to choose", here.of));
      fixed[here.of] = 0;
      bool low = part(depth + 1);
      fixed[here.of] = 1;
      bool all = low && part(depth + 1);
      fixed[here.of] = -1;
      return all;
    }
    if (here.of >= ranges.size())
      return wrong(fmt::format("there is no group {}", here.of));
    auto before = ranges[here.of];
    ranges[here.of].second = std::min(before.second, here.max);
    bool low = part(depth + 1);
    ranges[here.of] = {std::max(before.first, here.max + 1), before.second};
    bool all = low && part(depth + 1);
    ranges[here.of] = before;
    return all;
  }

  /// 1, or nothing where the weights are no mean.
  std::optional<double> sumOf(const std::vector<PathBound::Share> &shares, size_t max) {
    double sum = 0;
    for (const auto &share : shares) {
      if (!(share.weight > 0) || share.of > max) {
        wrong(fmt::format("weight {} of number {}", share.weight, share.of));
        return std::nullopt;
      }
      sum += share.weight;
    }
    if (!(std::abs(sum - 1) <= 1e-6)) {
      wrong(fmt::format("weights of a mean are {} together", sum));
      return std::nullopt;
    }
    return sum;
  }

  bool leaf(const Part &here) {
    if (here.moments.size() != ranges.size())
      return wrong(fmt::format("moments of {} groups, there are {}", here.moments.size(), ranges.size()));
    if (paths.empty())
      return wrong("no path");
    auto sum = sumOf(here.paths, paths.size() - 1);
    if (!sum)
      return false;
    std::vector<double> passes(2 * fixed.size()), ends(ranges.size());
    double sends = 0;
    for (const auto &share : here.paths) {
      const PathOrders::Counts &counts = paths[share.of];
      double weight = share.weight / *sum;
      for (size_t i = 0; i < passes.size(); ++i)
        passes[i] += weight * counts.passes[i];
      for (size_t s = 0; s < counts.sends.size(); ++s)
        if (counts.sends[s] > 0)
          sends += weight * counts.sends[s] * stages.sends(s);
      ends[counts.end] += weight;
    }
    size_t more = stages.more();
    std::vector<double> best(more + 1, INFINITY); // of the groups so far, by larger stages
    best[0] = 0;
    size_t p = ranges.size(), v = fixed.size() / p;
    for (size_t g = 0; g < p; ++g) {
      size_t passesOf = bound.microbatches * bound.virtualStages;
      auto all = sumOf(here.moments[g], passesOf);
      if (!all)
        return false;
      std::vector<double> held(v);
      for (const auto &share : here.moments[g]) {
        if (share.of == 0)
          return wrong("a moment before any pass");
        const auto &now = orders.held(g, share.of);
        for (size_t virtualStage = 0; virtualStage < v; ++virtualStage)
          held[virtualStage] += share.weight / *all * now[virtualStage];
      }
      GroupShare share{{}, {}, ends[g]};
      std::vector<int8_t> chosen;
      for (size_t s = g; s < fixed.size(); s += p) {
        share.forward.push_back(passes[2 * s]), share.backward.push_back(passes[2 * s + 1]);
        chosen.push_back(fixed[s]);
      }
      std::vector<double> mine = stages.group(g, share, held, chosen);
      std::vector<double> next(more + 1, INFINITY);
      for (size_t n = 0; n < mine.size(); ++n)
        if (int64_t k = n; k >= ranges[g].first && k <= ranges[g].second)
          for (size_t have = 0; have + n <= more; ++have)
            next[have + n] = std::min(next[have + n], best[have] + mine[n]);
      best = std::move(next);
    }
    return enough((best[more] + sends) * (1 - 1e-10));
  }

  const PathBound &bound;
  const BalancedStages &stages;
  PathOrders &orders;
  const std::function<bool(double)> &enough;
  std::string &error;
  size_t at = 0;
  std::vector<PathOrders::Counts> paths;
  std::vector<int8_t> fixed;                       ///< by stage
  std::vector<std::pair<int64_t, int64_t>> ranges; ///< by group
};

} // namespace

PathsVerdict checkPathMeans(const PathBound &bound, const BalancedStages &stages, PathOrders &orders,
                            const std::vector<int64_t> &max, const std::function<bool(double)> &enough,
                            std::string &error) {
  return PathMeanChecker(bound, stages, orders, max, enough, error).run();
}

} // namespace accord
