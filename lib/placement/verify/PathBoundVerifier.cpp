#include "lib/placement/verify/PathBoundVerifier.h"
#include "lib/placement/verify/PipelineReplay.h"
#include <cmath>
#include <fmt/format.h>

namespace accord {

PathOrders::PathOrders(int64_t groups, int64_t virtualStages, int64_t microbatches)
    : p(groups), v(virtualStages), m(microbatches), at(2 * static_cast<size_t>(groups * virtualStages * microbatches)) {
  ReplayInput shape{PipelineSchedule::Interleaved, p, v, m, {}, {}};
  for (int64_t g = 0; g < p; ++g) {
    order.emplace_back(), which.emplace_back();
    for (const ReplayPass &pass : orderOf(shape, g)) {
      size_t kind = 2 * pass.stage + pass.backward;
      at[kind * static_cast<size_t>(m) + static_cast<size_t>(pass.microbatch)] =
          static_cast<uint32_t>(order.back().size());
      order.back().push_back(static_cast<uint32_t>(kind));
      which.back().push_back(static_cast<uint32_t>(pass.microbatch));
    }
  }
}

std::optional<PathOrders::Counts> PathOrders::follow(const PathBound::Path &path, std::string &error) const {
  auto stages = static_cast<size_t>(p * v);
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
        group = kind / 2 % static_cast<size_t>(p);
        next = at[kind * static_cast<size_t>(m) + microbatch];
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
    auto more = static_cast<size_t>(stages.more());
    std::vector<double> best(more + 1, INFINITY); // of the groups so far, by larger stages
    best[0] = 0;
    size_t p = ranges.size(), v = fixed.size() / p;
    for (size_t g = 0; g < p; ++g) {
      auto passesOf = static_cast<size_t>(bound.microbatches * bound.virtualStages);
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
        if (auto k = static_cast<int64_t>(n); k >= ranges[g].first && k <= ranges[g].second)
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
