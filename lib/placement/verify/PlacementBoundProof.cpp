#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/BalancedStepBound.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/PlacementSuffixes.h"
#include "lib/placement/verify/PlacementWorkBound.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/ScheduleRules.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// On `groups` groups, what the cuts leave open, and how low it may be.
struct UnprovenConfiguration {
  size_t configuration;
  int64_t groups;
  double lowerBound;
};

class BoundProver {
  using State = PlacementSuffixes::State;
  using Table = PlacementSuffixes::Table;

public:
  BoundProver(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
              const std::vector<PathBound> &paths)
      : p(problem), bound(bound), passes(passes), cuts(problem), costs(problem, cuts),
        suffixes(problem, cuts, costs, bound, effort, work) {
    for (const PathBound &one : paths)
      pathsOf[{one.microbatches, one.virtualStages, one.groups, one.parallelConfig}] = &one;
  }

  BoundProof run() {
    bool all = configurations(p, list);
    out.configurations = list.size();
    std::vector<UnprovenConfiguration> open;
    std::vector<size_t> beyond; // configurations that the work limit keeps from 2.
    for (size_t c = 0; c < list.size(); ++c) {
      work += p.layers.size();
      if (reaches(lowerBoundByWork(p, list[c], cuts.chain()))) {
        ++out.byWork;
        continue;
      }
      size_t before = open.size();
      if (!unprovenOf(c, open))
        open.resize(before), beyond.push_back(c);
      else if (open.size() == before)
        ++out.byCuts;
    }
    std::sort(open.begin(), open.end(), [](const UnprovenConfiguration &a, const UnprovenConfiguration &b) {
      return std::tie(a.lowerBound, a.configuration, a.groups) < std::tie(b.lowerBound, b.configuration, b.groups);
    });
    std::vector<char> closed(list.size(), 1);
    std::vector<size_t> left = beyond;
    for (const UnprovenConfiguration &one : open) {
      bool proved = plans(one);
      if (out.better)
        return std::move(out);
      if (!proved && closed[one.configuration])
        closed[one.configuration] = 0, left.push_back(one.configuration);
    }
    out.byPlans = out.configurations - out.byWork - out.byCuts - left.size();
    if (!all)
      out.trusted.push_back("the planner's search: configurations beyond the first million are not "
                            "bounded again");
    if (!left.empty())
      out.trusted.push_back(fmt::format(
          "the planner's search: {} of {} configurations are not {} again; the first is {}", left.size(),
          out.configurations, std::isinf(bound) ? "shown to fit no plan" : "bounded", describe(list[left[0]])));
    return std::move(out);
  }

  UnprovenPlacements open() {
    UnprovenPlacements left{{}, INFINITY};
    bool all = configurations(p, list);
    std::vector<char> open(p.parallelConfigs.size(), !all); // or not looked at
    for (size_t c = 0; c < list.size(); ++c) {
      double lowerBound = lowerBoundByWork(p, list[c], cuts.chain());
      std::vector<UnprovenConfiguration> groups;
      if (!reaches(lowerBound) && list[c].virtualStages == 1 && unprovenOf(c, groups))
        lowerBound = std::max(
            lowerBound,
            groups.empty() ? bound : std::ranges::min(groups, {}, &UnprovenConfiguration::lowerBound).lowerBound);
      for (Id parallelConfig : list[c].parallelConfigs)
        open[parallelConfig] |= !reaches(lowerBound);
      left.lowerBound = std::min(left.lowerBound, all ? lowerBound : 0);
    }
    for (Id parallelConfig = 0; parallelConfig < open.size(); ++parallelConfig)
      left.parallelConfigs.insert(left.parallelConfigs.end(), open[parallelConfig] ? 1 : 0, parallelConfig);
    return left;
  }

private:
  bool reaches(double value) const { return suffixes.reaches(value); }
  bool spent() const { return suffixes.spent(); }
  double valueOf(const State &state) const { return suffixes.valueOf(state); }

  int64_t maxGroups(const Configuration &c) const { return accord::maxGroups(p, c); }
  bool allowed(const Configuration &c, int64_t groups) const { return mayHave(p, c, groups); }

  // --- 2. Cuts ---

  bool unprovenOf(size_t at, std::vector<UnprovenConfiguration> &open) {
    const Configuration &c = list[at];
    int64_t max = maxGroups(c);
    if (!cuts.known() || max > 1'000'000)
      return false;
    auto leave = [&](int64_t groups, const std::vector<State> &states) {
      double lowerBound = INFINITY;
      for (const State &state : states)
        lowerBound = std::min(lowerBound, valueOf(state));
      if (allowed(c, groups) && !reaches(lowerBound))
        open.push_back({at, groups, lowerBound});
    };
    if (c.virtualStages > 1) {
      for (int64_t groups = 1; groups <= max; ++groups)
        if (allowed(c, groups)) {
          State state{std::vector<int64_t>(p.deviceTypes.size()), 0, 0, 0};
          if (ruleOf(c.schedule).inRounds && cuts.chain() && cuts.isBalanced(groups * c.virtualStages) &&
              (c.parallelConfigs.size() == 1 || (p.uniformConfigPerDeviceType && c.parallelConfigs.size() <= 8))) {
            // Of several forms each is in some group.
            int64_t min = c.parallelConfigs.size() == 1 ? groups : 1;
            for (Id parallelConfig : c.parallelConfigs)
              state.used[p.parallelConfigs[parallelConfig].deviceType] +=
                  min * p.parallelConfigs[parallelConfig].devices();
            auto enough = [&](double step, double joules) {
              state.ends = static_cast<int64_t>(std::min(step, 4e18)), state.joules = joules;
              return std::isinf(step) || reaches(valueOf(state));
            };
            auto with = pathsOf.find({c.microbatches, c.virtualStages, groups, c.parallelConfigs[0]});
            BalancedStepBound even = balancedStepBound(p, c, groups, with == pathsOf.end() ? nullptr : with->second,
                                                       enough, passes, known, work);
            if (!even.error.empty())
              out.wrong.push_back(fmt::format("paths of {} on {} groups: {}", describe(c), groups, even.error));
            if (even.proved)
              continue;
            enough(even.step, state.joules);
          }
          leave(groups, {state});
        }
      return true;
    }
    Table table;
    if (ruleOf(c.schedule).delaysWeights || cuts.numbered()) {
      for (int64_t groups = 1; groups <= max; ++groups) {
        if (!allowed(c, groups))
          continue;
        if (!suffixes.tabulate(c, groups, table, 0.5))
          return false;
        leave(groups, table[groups][0]);
      }
      return true;
    }
    if (!suffixes.tabulate(c, max, table, 0.5))
      return false;
    for (int64_t groups = 1; groups <= max; ++groups)
      leave(groups, table[groups][0]);
    return true;
  }

  // --- 3. Plans ---

  struct Cut {
    size_t from, to;
    Id parallelConfig;
  };

  /// False: some plan may be better, or there is too much work.
  bool plans(const UnprovenConfiguration &one) {
    const Configuration &c = list[one.configuration];
    Table table;
    if (c.virtualStages == 1 && !suffixes.tabulate(c, one.groups, table, 1))
      return false;
    std::vector<Cut> chosen;
    bool proved = true;
    std::vector<int64_t> used(p.deviceTypes.size());
    descend(c, one.groups, table, 0, used, chosen, proved);
    return proved && !spent();
  }

  void descend(const Configuration &c, int64_t groups, const Table &table, size_t from, std::vector<int64_t> &used,
               std::vector<Cut> &chosen, bool &proved) {
    auto stages = static_cast<size_t>(groups * c.virtualStages), at = chosen.size();
    if (at == stages)
      return leaf(c, groups, chosen, proved);
    size_t all = cuts.size() - 1;
    bool first = at < static_cast<size_t>(groups);
    std::vector<Id> parallelConfigs =
        first ? c.parallelConfigs
              : std::vector<Id>{chosen[ruleOf(c.schedule).groupOf(at, static_cast<size_t>(groups))].parallelConfig};
    for (Id parallelConfig : parallelConfigs) {
      if (first && !suffixes.roomFor(used, parallelConfig))
        continue;
      for (size_t to = at + 1 == stages ? all : from + 1; to <= all && !out.better && !spent(); ++to) {
        ++work;
        if (!cuts.contains(to, from) || !cuts.mayCut(to, static_cast<int64_t>(at) + 1, stages) ||
            (c.virtualStages > 1 && !even(from, to, stages)) ||
            (c.virtualStages == 1 && table[stages - at - 1][to].empty()))
          continue;
        chosen.push_back({from, to, parallelConfig});
        if (c.virtualStages == 1 ? mayBeat(c, groups, table, chosen) : mayInterleave(c, groups, chosen)) {
          if (first)
            used[p.parallelConfigs[parallelConfig].deviceType] += p.parallelConfigs[parallelConfig].devices();
          descend(c, groups, table, to, used, chosen, proved);
          if (first)
            used[p.parallelConfigs[parallelConfig].deviceType] -= p.parallelConfigs[parallelConfig].devices();
        }
        chosen.pop_back();
      }
    }
  }

  /// Interleaved stages differ by one layer at most.
  bool even(size_t from, size_t to, size_t stages) const {
    if (p.uniformClass)
      return true;
    size_t size = cuts.layers(from, to).size(), each = p.layers.size() / stages;
    return size == each || (size == each + 1 && p.layers.size() % stages != 0);
  }

  bool mayBeat(const Configuration &c, int64_t groups, const Table &table, const std::vector<Cut> &chosen) {
    size_t behind = static_cast<size_t>(groups) - chosen.size();
    for (const State &rest : table[behind][chosen.back().to]) {
      State state = rest;
      bool fits = true;
      for (size_t i = chosen.size(); i-- > 0 && fits;) {
        const auto &parallelConfig = p.parallelConfigs[chosen[i].parallelConfig];
        bool room = suffixes.roomFor(state.used, chosen[i].parallelConfig);
        state.used[parallelConfig.deviceType] += parallelConfig.devices();
        fits = room && suffixes.prepend(c, chosen[i].from, chosen[i].to, chosen[i].parallelConfig, groups,
                                        groups - static_cast<int64_t>(i), state);
        ++work;
      }
      if (fits && !reaches(valueOf(state)))
        return true;
    }
    return false;
  }

  /// A group is busy with all its chunks.
  bool mayInterleave(const Configuration &c, int64_t groups, const std::vector<Cut> &chosen) {
    auto n = static_cast<size_t>(groups), left = n * static_cast<size_t>(c.virtualStages) - chosen.size();
    if (cuts.chain() && cuts.size() - 1 - chosen.back().to < left)
      return false;
    State state{std::vector<int64_t>(p.deviceTypes.size()), 0, 0, 0};
    auto groupOf = [&](size_t stage) { return ruleOf(c.schedule).groupOf(stage, n); };
    for (size_t g = groupOf(chosen.size() - 1), i = 0; i < chosen.size(); ++i) {
      const StageMinCosts &stage = costs.of(chosen[i].from, chosen[i].to, chosen[i].parallelConfig, true);
      if (!stage.can)
        return false;
      state.joules += stage.joules;
      if (i < n)
        state.used[p.parallelConfigs[chosen[i].parallelConfig].deviceType] +=
            p.parallelConfigs[chosen[i].parallelConfig].devices();
      if (groupOf(i) == g)
        state.ends += c.microbatches * (stage.pass() + stage.recomputeTime);
      ++work;
    }
    return !reaches(valueOf(state));
  }

  void leaf(const Configuration &c, int64_t groups, const std::vector<Cut> &chosen, bool &proved) {
    Placement plan{c.schedule, c.virtualStages, c.microbatches, {}};
    State lowerBound{std::vector<int64_t>(p.deviceTypes.size()), 0, 0, 0};
    bool choice = false;
    std::vector<std::vector<uint32_t>> smallest;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Cut &cut = chosen[i];
      PlacedStage stage{cuts.layers(cut.from, cut.to), cut.parallelConfig, {}};
      smallest.emplace_back();
      for (Id l : stage.layers) {
        const auto &recomputeChoices = p.cost(l, cut.parallelConfig)->recomputeChoices;
        auto by = [&](auto less) {
          return static_cast<uint32_t>(std::min_element(recomputeChoices.begin(), recomputeChoices.end(), less) -
                                       recomputeChoices.begin());
        };
        stage.recomputeChoices.push_back(by([](auto &a, auto &b) { return a.recomputeTime < b.recomputeTime; }));
        smallest.back().push_back(by([](auto &a, auto &b) { return a.activations < b.activations; }));
        choice |= recomputeChoices.size() > 1;
      }
      lowerBound.joules += costs.of(cut.from, cut.to, cut.parallelConfig, chosen.size() == 1).joules;
      if (i < static_cast<size_t>(groups))
        lowerBound.used[p.parallelConfigs[cut.parallelConfig].deviceType] +=
            p.parallelConfigs[cut.parallelConfig].devices();
      if (c.virtualStages == 1)
        stage.recomputeChoices =
            costs.recomputeChoices(stage.layers, cut.parallelConfig,
                                   PlacementSuffixes::inFlightOf(c, groups, groups - static_cast<int64_t>(i)));
      plan.stages.push_back(std::move(stage));
    }
    auto metrics = reevaluate(p, plan, passes);
    work += static_cast<uint64_t>(c.microbatches) * chosen.size() / 4 + 1;
    if (!metrics) {
      proved = false;
      return;
    }
    lowerBound.ends = metrics->step - p.hostOverheadPerStep;
    bool exact = !ruleOf(c.schedule).delaysWeights || !choice;
    if (exact && reaches(valueOf(lowerBound)))
      return;
    if (better(plan, *metrics))
      return;
    if (!choice && (!metrics->fits || (exact && !within(*metrics))))
      return; // there is no other plan of these cuts
    proved = false;
    for (size_t i = 0; i < smallest.size(); ++i)
      plan.stages[i].recomputeChoices = smallest[i];
    if (auto other = reevaluate(p, plan, passes))
      better(plan, *other);
  }

  bool within(const PlanMetrics &metrics) const {
    double watts = metrics.step > 0 ? metrics.joules / (metrics.step * 1e-12) : 0;
    auto passed = [](double is, double max) { return max > 0 && is > max; };
    return !passed(metrics.step, p.limits.step) && !passed(watts, p.limits.watts) &&
           !passed(metrics.joules, p.limits.joules) && !passed(metrics.price, p.limits.price) &&
           !passed(metrics.devices, p.limits.devices);
  }

  bool better(const Placement &plan, const PlanMetrics &metrics) {
    if (!metrics.fits || !within(metrics) || (!std::isinf(bound) && metrics.value >= bound - 1e-9 * std::abs(bound)) ||
        !placementViolations(p, plan).empty())
      return false;
    out.better = plan;
    out.value = metrics.value;
    return true;
  }

  const PlacementProblem &p;
  double bound;
  uint64_t work = 0;
  BalancedStepCache known;
  std::map<std::array<int64_t, 4>, const PathBound *> pathsOf;
  double passes;
  PlacementCuts cuts;
  StageCosts costs;
  PlacementSuffixes suffixes;
  std::vector<Configuration> list;
  BoundProof out;
};

} // namespace

UnprovenPlacements unprovenPlacements(const PlacementProblem &problem, double bound, uint64_t effort) {
  return BoundProver(problem, bound, effort, 0, {}).open();
}

BoundProof proveTimedBound(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
                           const std::vector<PathBound> &paths) {
  return BoundProver(problem, bound, effort, passes, paths).run();
}

BoundProof proveBound(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
                      const std::vector<PathBound> &paths) {
  if (!ruleOf(problem.objective).isMemory)
    return proveTimedBound(problem, bound, effort, passes, paths);
  if (bound <= 0)
    return {};
  PlacementProblem less = problem;
  less.objective = PlacementObjective::StepTime;
  for (auto &deviceType : less.deviceTypes)
    if (deviceType.memory >= bound)
      deviceType.memory = static_cast<int64_t>(std::ceil(bound)) - 1;
  BoundProof proof = proveTimedBound(less, INFINITY, effort, passes);
  if (proof.better)
    if (auto metrics = reevaluate(problem, *proof.better, passes))
      proof.value = metrics->value;
  return proof;
}

} // namespace accord
