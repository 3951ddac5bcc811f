#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/BalancedStepBound.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/PlanReevaluation.h"
#include "lib/placement/verify/ScheduleRules.h"
#include "lib/placement/verify/StageMinCosts.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

// The dynamic program over suffixes of a pipeline: for bounds of placements.

/// Of one problem, whose cuts and costs outlive it. What is worth `bound` or more does not count.
class PlacementSuffixes {
public:
  using Id = PlacementProblem::Id;
  /// What the groups of a suffix take at least.
  struct State {
    explicit State(const PlacementProblem &p) : used(p.deviceTypes.size()) {}
    std::vector<int64_t> used;    ///< devices by type
    int64_t leaves = 0, ends = 0; ///< E and T of `proveBound`
    double joules = 0;

    /// Counts the devices of some groups.
    void use(const PlacementProblem &p, Id config, int64_t groups = 1) {
      used[p.parallelConfigs[config].deviceType] += groups * p.parallelConfigs[config].devices();
    }
  };
  /// [groups behind][set that they begin after].
  using Table = std::vector<std::vector<std::vector<State>>>;

  /// `work`: steps taken, which more than `effort` of are too many.
  PlacementSuffixes(const PlacementProblem &problem, const PlacementCuts &cuts, StageCosts &costs, double bound,
                    uint64_t effort, uint64_t &work, const std::atomic<bool> *stop)
      : p(problem), cuts(cuts), costs(costs), bound(bound), effort(effort), work(work), stop(stop) {}

  /// False: too much work. `groups` matters to ZB-H1 and to layers that are constrained to a stage alone.
  bool tabulate(const Configuration &c, int64_t groups, Table &table, double share);
  /// The stage before a suffix, whose devices are counted; false: it does not fit.
  bool prepend(const Configuration &c, size_t from, size_t to, Id parallelConfig, int64_t groups, int64_t behind,
               State &state);
  double valueOf(const State &state) const { return valueOf(state.used, state.ends, state.joules); }
  bool roomFor(const std::vector<int64_t> &used, Id parallelConfig) const;
  bool reaches(double value) const { return std::isinf(bound) ? std::isinf(value) : value >= bound * (1 - 1e-9); }
  bool spent(double share = 1) const { return (work + costs.work) > share * effort || (stop && *stop); }
  /// Micro-batches that a group with `behind` groups from itself on holds.
  static int64_t inFlightOf(const Configuration &c, int64_t groups, int64_t behind);

private:
  /// What layers before a place in a chain take at least, over the parallel configurations of a configuration.
  struct PrefixBound {
    double busy = 0; ///< of a micro-batch
    double paid = 0; ///< the same times the rate of the groups that are busy
  };
  std::vector<PrefixBound> prefixBounds(const Configuration &c);
  /// What a suffix of a chain is worth at least with what is before it on `left` groups at most: these are busy for all
  /// micro-batches, each is paid for all of the step, and the last backward pass goes through all of them.
  double valueWith(const Configuration &c, const PrefixBound &before, int64_t left, const State &state) const;
  /// `ofLayers`: joules without what is idle.
  double valueOf(const std::vector<int64_t> &used, int64_t ends, double ofLayers) const;
  void merge(std::vector<State> &states, const State &state);

  const PlacementProblem &p;
  const PlacementCuts &cuts;
  StageCosts &costs;
  double bound;
  uint64_t effort;
  uint64_t &work;
  const std::atomic<bool> *stop; ///< null: only the effort ends the proof
};

using Id = PlacementProblem::Id;

double PlacementSuffixes::valueOf(const std::vector<int64_t> &used, int64_t ends, double ofLayers) const {
  double step = std::max<double>(1.0 * ends + p.hostOverheadPerStep, p.minStep);
  double seconds = step * 1e-12, idle = 0, price = 0, tdp = 0;
  int64_t devices = 0;
  for (size_t k = 0; k < p.deviceTypes.size(); ++k) {
    double count = used[k];
    idle += count * p.deviceTypes[k].restWatts();
    price += count * p.deviceTypes[k].pricePerHour / 3600;
    tdp += count * p.deviceTypes[k].tdpWatts;
    devices += used[k];
  }
  if (p.limits.watts > 0) { // the layers' energy takes its time
    double room = p.limits.watts * (1 + 1e-9) - idle;
    if (room <= 0)
      return INFINITY;
    seconds = std::max(seconds, ofLayers / room), step = std::max(step, seconds * 1e12);
  }
  double joules = ofLayers + idle * seconds;
  auto passed = [](double is, double max) { return max > 0 && is > max * (1 + 1e-9); };
  if (passed(step, p.limits.step) || passed(joules, p.limits.joules) || passed(price * seconds, p.limits.price) ||
      (p.limits.devices > 0 && devices > p.limits.devices))
    return INFINITY;
  return ruleOf(p.objective).value(p, {step, joules, price * seconds, tdp * seconds, 0});
}

int64_t PlacementSuffixes::inFlightOf(const Configuration &c, int64_t groups, int64_t behind) {
  return ruleOf(c.schedule).held(c.microbatches, groups, behind);
}

bool PlacementSuffixes::prepend(const Configuration &c, size_t from, size_t to, Id parallelConfig, int64_t groups,
                                int64_t behind, State &state) {
  const StageMinCosts &stage = costs.of(from, to, parallelConfig, from == 0 && to + 1 == cuts.size());
  if (!stage.can)
    return false;
  auto recomputeTime = costs.recomputeTime(from, to, parallelConfig, inFlightOf(c, groups, behind));
  if (!recomputeTime)
    return false;
  int64_t m = c.microbatches, back = stage.backward + *recomputeTime;
  int64_t pass = stage.forward + back + stage.weight, stepTail = stage.stepTail(p, *recomputeTime);
  bool delays = ruleOf(c.schedule).delaysWeights;
  int64_t leaves = delays ? m * (stage.forward + back) + std::max<int64_t>(0, m - groups) * stage.weight : m * pass;
  int64_t ends;
  if (cuts.chain()) {
    leaves = std::max(leaves, (delays ? stage.forward + back : pass) + state.leaves);
    ends = std::max(leaves + stepTail + (delays ? stage.weight : 0), stage.forward + state.ends);
    if (delays)
      ends = std::max(ends, m * pass + stepTail);
  } else {
    ends = std::max({state.ends, stage.before + m * pass + stepTail, stage.before + leaves + stage.after});
  }
  state.leaves = leaves, state.ends = ends;
  state.joules += stage.joules;
  return true;
}

bool PlacementSuffixes::roomFor(const std::vector<int64_t> &used, Id parallelConfig) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  int64_t all = f.devices();
  for (int64_t devices : used)
    all += devices;
  return used[f.deviceType] + f.devices() <= p.deviceTypes[f.deviceType].devices &&
         (p.limits.devices == 0 || all <= p.limits.devices);
}

bool PlacementSuffixes::tabulate(const Configuration &c, int64_t groups, Table &table, double share) {
  size_t sets = cuts.size();
  // Hopeless ones would use up what proves others.
  if (1.0 * (sets * sets) * groups > effort / 8.0)
    return false;
  table.assign(groups + 1, std::vector<std::vector<State>>(sets));
  if (cuts.mayCut(sets - 1, groups, groups))
    table[0][sets - 1].emplace_back(p);
  std::vector<PrefixBound> before = prefixBounds(c);
  for (size_t k = 1; k < table.size(); ++k) {
    int64_t left = groups - k;
    for (size_t to = sets; to-- > 1;) {
      if (!table[k - 1][to].empty() && !cuts.mayCut(to, left + 1, groups))
        table[k - 1][to].clear();
      for (const State &rest : table[k - 1][to])
        for (Id parallelConfig : c.parallelConfigs) {
          if (!roomFor(rest.used, parallelConfig))
            continue;
          State with = rest;
          with.use(p, parallelConfig);
          for (size_t from = to; from-- > 0;) {
            if (!cuts.contains(to, from) || !cuts.mayCut(from, left, groups))
              continue;
            if (++work, spent(share))
              return false;
            if (cuts.chain()) {
              auto busy = costs.busy(from, to, parallelConfig);
              if (!busy)
                break;
              with.ends = c.microbatches * *busy, with.joules = rest.joules;
              if (reaches(valueOf(with)))
                break; // more layers take longer
              with.leaves = 0, with.ends = std::max(with.ends, rest.ends);
              if (reaches(valueWith(c, before[from], left, with)))
                continue; // nor do those before it
            }
            with.leaves = rest.leaves, with.ends = rest.ends, with.joules = rest.joules;
            if (prepend(c, from, to, parallelConfig, groups, k, with) &&
                !reaches(cuts.chain() ? valueWith(c, before[from], left, with) : valueOf(with)))
              merge(table[k][from], with);
          }
        }
    }
  }
  return true;
}

std::vector<PlacementSuffixes::PrefixBound> PlacementSuffixes::prefixBounds(const Configuration &c) {
  std::vector<PrefixBound> list(1);
  for (size_t l = 0; cuts.chain() && l + 1 < cuts.size(); ++l) {
    double busy = INFINITY, paid = INFINITY;
    for (Id parallelConfig : c.parallelConfigs)
      if (auto takes = costs.busy(l, l + 1, parallelConfig)) {
        busy = std::min<double>(busy, *takes);
        paid = std::min(paid, (*takes) * ratePerSecond(p, parallelConfig));
      }
    list.push_back({list.back().busy + busy, list.back().paid + paid});
  }
  return list;
}

double PlacementSuffixes::valueWith(const Configuration &c, const PrefixBound &before, int64_t left,
                                    const State &state) const {
  if (!(before.busy > 0))
    return valueOf(state);
  if (left == 0)
    return INFINITY;
  double m = c.microbatches, ends = m * before.busy / left;
  if (!ruleOf(c.schedule).delaysWeights)
    ends = std::max(ends, state.leaves + before.busy);
  int64_t min = std::max<int64_t>(state.ends, std::min(ends, 0x1p61));
  return valueOf(state.used, min, state.joules) + m * before.paid * 1e-12;
}

void PlacementSuffixes::merge(std::vector<State> &states, const State &state) {
  for (State &other : states)
    if (other.used == state.used) {
      other.leaves = std::min(other.leaves, state.leaves);
      other.ends = std::min(other.ends, state.ends);
      other.joules = std::min(other.joules, state.joules);
      return;
    }
  work += states.size();
  states.push_back(state);
}

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
              const std::vector<PathBound> &paths, const std::atomic<bool> *stop = nullptr, bool alsoOfMore = false)
      : p(problem), bound(bound), passes(passes), stop(stop), alsoOfMore(alsoOfMore), cuts(problem),
        costs(problem, cuts), suffixes(problem, cuts, costs, bound, effort, work, stop) {
    for (const PathBound &one : paths)
      pathsOf[{one.microbatches, one.virtualStages, one.groups, one.parallelConfig}] = &one;
  }

  BoundProof run() {
    prove();
    out.work = work + costs.work;
    return std::move(out);
  }

  void prove() {
    bool all = configurations(p, list);
    out.configurations = list.size();
    std::vector<UnprovenConfiguration> open;
    std::vector<size_t> beyond; // configurations that the work limit keeps from 2.
    // Of other objectives a step is no value. That nothing fits does not follow from how long it takes.
    double until = std::isinf(bound) ? 0 : p.objective == PlacementObjective::StepTime ? bound : INFINITY;
    for (size_t c = 0; c < list.size(); ++c) {
      work += p.layers.size();
      if (stop && *stop) {
        beyond.push_back(c);
        continue;
      }
      if (reaches(lowerBoundByWork(p, list[c], cuts.chain(), spent() ? 0 : until, &work))) {
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
        return;
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

  // --- 2. Cuts ---

  bool unprovenOf(size_t at, std::vector<UnprovenConfiguration> &open) {
    const Configuration &c = list[at];
    int64_t max = maxGroups(p, c);
    if (!cuts.known() || max > 1'000'000)
      return false;
    auto leave = [&](int64_t groups, const std::vector<State> &states) {
      double lowerBound = INFINITY;
      for (const State &state : states)
        lowerBound = std::min(lowerBound, valueOf(state));
      if (mayHave(p, c, groups) && !reaches(lowerBound))
        open.push_back({at, groups, lowerBound});
    };
    if (c.virtualStages > 1) {
      for (int64_t groups = 1; groups <= max; ++groups)
        if (mayHave(p, c, groups)) {
          State state(p);
          if (ruleOf(c.schedule).inRounds && cuts.chain() && cuts.isBalanced(groups * c.virtualStages) &&
              (c.parallelConfigs.size() == 1 || (p.uniformConfigPerDeviceType && c.parallelConfigs.size() <= 8))) {
            // Of several parallel configurations each is in some group.
            int64_t min = c.parallelConfigs.size() == 1 ? groups : 1;
            for (Id parallelConfig : c.parallelConfigs)
              state.use(p, parallelConfig, min);
            auto enough = [&](double step, double joules) {
              state.ends = std::min(step, 4e18), state.joules = joules;
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
        if (!mayHave(p, c, groups))
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
    descend(c, one.groups, table, 0, State(p), chosen, proved);
    return proved && !spent();
  }

  void descend(const Configuration &c, int64_t groups, const Table &table, size_t from, const State &before,
               std::vector<Cut> &chosen, bool &proved) {
    size_t stages = groups * c.virtualStages, at = chosen.size();
    if (at == stages)
      return leaf(c, groups, chosen, proved);
    size_t all = cuts.size() - 1;
    bool first = at < size_t(groups);
    std::vector<Id> parallelConfigs =
        first ? c.parallelConfigs : std::vector<Id>{chosen[ruleOf(c.schedule).groupOf(at, groups)].parallelConfig};
    for (Id parallelConfig : parallelConfigs) {
      if (first && !suffixes.roomFor(before.used, parallelConfig))
        continue;
      for (size_t to = at + 1 == stages ? all : from + 1; to <= all && !out.better && !spent(); ++to) {
        ++work;
        if (!cuts.contains(to, from) || !cuts.mayCut(to, at + 1, stages) ||
            (c.virtualStages > 1 && !even(from, to, stages)) ||
            (c.virtualStages == 1 && table[stages - at - 1][to].empty()))
          continue;
        chosen.push_back({from, to, parallelConfig});
        if (c.virtualStages == 1 ? mayBeat(c, groups, table, chosen) : mayInterleave(c, groups, chosen)) {
          State with = before;
          if (first)
            with.use(p, parallelConfig);
          descend(c, groups, table, to, with, chosen, proved);
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
    size_t behind = groups - chosen.size();
    for (const State &rest : table[behind][chosen.back().to]) {
      State state = rest;
      bool fits = true;
      for (size_t i = chosen.size(); i-- > 0 && fits;) {
        bool room = suffixes.roomFor(state.used, chosen[i].parallelConfig);
        state.use(p, chosen[i].parallelConfig);
        fits = room &&
               suffixes.prepend(c, chosen[i].from, chosen[i].to, chosen[i].parallelConfig, groups, groups - i, state);
        ++work;
      }
      if (fits && !reaches(valueOf(state)))
        return true;
    }
    return false;
  }

  /// A group is busy with all its virtual stages.
  bool mayInterleave(const Configuration &c, int64_t groups, const std::vector<Cut> &chosen) {
    size_t n = groups, left = n * c.virtualStages - chosen.size();
    if (cuts.chain() && cuts.size() - 1 - chosen.back().to < left)
      return false;
    State state(p);
    auto groupOf = [&](size_t stage) { return ruleOf(c.schedule).groupOf(stage, n); };
    for (size_t g = groupOf(chosen.size() - 1), i = 0; i < chosen.size(); ++i) {
      const StageMinCosts &stage = costs.of(chosen[i].from, chosen[i].to, chosen[i].parallelConfig, true);
      if (!stage.can)
        return false;
      state.joules += stage.joules;
      if (i < n)
        state.use(p, chosen[i].parallelConfig);
      if (groupOf(i) == g)
        state.ends += c.microbatches * (stage.pass() + stage.recomputeTime);
      ++work;
    }
    return !reaches(valueOf(state));
  }

  void leaf(const Configuration &c, int64_t groups, const std::vector<Cut> &chosen, bool &proved) {
    Placement plan{c.schedule, c.virtualStages, c.microbatches, {}};
    State lowerBound(p);
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
      if (i < size_t(groups))
        lowerBound.use(p, cut.parallelConfig);
      if (c.virtualStages == 1)
        stage.recomputeChoices = costs.recomputeChoices(stage.layers, cut.parallelConfig,
                                                        PlacementSuffixes::inFlightOf(c, groups, groups - i));
      plan.stages.push_back(std::move(stage));
    }
    auto metrics = reevaluate(p, plan, passes);
    work += c.microbatches * chosen.size() / 4 + 1;
    if (!metrics) {
      proved = false;
      return;
    }
    lowerBound.ends = metrics->step - p.hostOverheadPerStep;
    // A group that waits for others in its last pass may recompute more in another one, to hide more gradients: no more
    // than if each of its layers recomputed the most that it can.
    if (choice && c.virtualStages > 1 && p.overlapFraction > 0 && p.maxOverlap > 0) {
      if (!hidingMore)
        hidingMore = p;
      hidingMore->overlapFraction = p.overlapFraction * maxBackwardRatio(plan);
      if (auto replayed = reevaluate(*hidingMore, plan, passes))
        lowerBound.ends = replayed->step - p.hostOverheadPerStep;
    }
    bool exact = !ruleOf(c.schedule).delaysWeights || (!choice && !alsoOfMore);
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

  /// How much longer a layer's backward pass may be than with what the plan recomputes, at most over its layers.
  double maxBackwardRatio(const Placement &plan) const {
    double max = 1;
    for (const PlacedStage &stage : plan.stages)
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const PlacementProblem::Cost &cost = *p.cost(stage.layers[i], stage.parallelConfig);
        const double fixed = static_cast<double>(cost.backward) + static_cast<double>(cost.weight);
        const double mine = fixed + static_cast<double>(p.choiceOf(stage, i).recomputeTime);
        for (const RecomputeChoice &other : cost.recomputeChoices)
          if (const double its = fixed + static_cast<double>(other.recomputeTime); its > mine)
            max = std::max(max, its / std::max(mine, 1.0));
      }
    return max;
  }

  const PlacementProblem &p;
  double bound;
  uint64_t work = 0;
  BalancedStepCache known;
  std::map<std::array<int64_t, 4>, const PathBound *> pathsOf;
  double passes;
  const std::atomic<bool> *stop; ///< null: only the effort ends the proof
  bool alsoOfMore;
  PlacementCuts cuts;
  StageCosts costs;
  PlacementSuffixes suffixes;
  std::vector<Configuration> list;
  std::optional<PlacementProblem> hidingMore; ///< the same but for the overlap; made when a replay needs it
  BoundProof out;
};

} // namespace

UnprovenPlacements unprovenPlacements(const PlacementProblem &problem, double bound, uint64_t effort) {
  return BoundProver(problem, bound, effort, 0, {}).open();
}

BoundProof proveBound(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
                      const std::vector<PathBound> &paths, const std::atomic<bool> *stop, bool alsoOfMore) {
  if (!ruleOf(problem.objective).isMemory)
    return BoundProver(problem, bound, effort, passes, paths, stop, alsoOfMore).run();
  if (bound <= 0)
    return {};
  PlacementProblem less = problem;
  less.objective = PlacementObjective::StepTime;
  for (auto &deviceType : less.deviceTypes)
    if (deviceType.memory >= bound)
      deviceType.memory = static_cast<int64_t>(std::ceil(bound)) - 1;
  BoundProof proof = BoundProver(less, INFINITY, effort, passes, {}, stop, alsoOfMore).run();
  if (proof.better)
    if (auto metrics = reevaluate(problem, *proof.better, passes))
      proof.value = metrics->value;
  return proof;
}

} // namespace accord
