#include "lib/verify/PlacementBound.h"
#include "lib/verify/PlacementConfigurations.h"
#include "lib/verify/PlacementEven.h"
#include "lib/verify/PlacementStages.h"
#include "lib/verify/PlacementWork.h"
#include "lib/verify/PlacementWorth.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

using Id = PlacementProblem::Id;

/// On `groups` groups, what the cuts leave open, and how low it may be.
struct OpenOne {
  size_t configuration;
  int64_t groups;
  double least;
};

class Proving {
public:
  Proving(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
          const std::vector<PathBound> &paths)
      : p(problem), bound(bound), effort(effort), passes(passes), cuts(problem),
        costs(problem, cuts) {
    for (const PathBound &one : paths)
      pathsOf[{one.microbatches, one.chunks, one.groups, one.form}] = &one;
  }

  BoundProof run() {
    bool all = configurations(p, list);
    out.configurations = list.size();
    std::vector<OpenOne> open;
    std::vector<size_t> beyond; // configurations that the work limit keeps from 2.
    for (size_t c = 0; c < list.size(); ++c) {
      work += p.layers.size();
      if (reaches(leastByWork(p, list[c], cuts.chain()))) {
        ++out.byWork;
        continue;
      }
      size_t before = open.size();
      if (!openOf(c, open))
        open.resize(before), beyond.push_back(c);
      else if (open.size() == before)
        ++out.byCuts;
    }
    std::sort(open.begin(), open.end(), [](const OpenOne &a, const OpenOne &b) {
      return std::tie(a.least, a.configuration, a.groups) <
             std::tie(b.least, b.configuration, b.groups);
    });
    std::vector<char> closed(list.size(), 1);
    std::vector<size_t> left = beyond;
    for (const OpenOne &one : open) {
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
          "the planner's search: {} of {} configurations are not {} again; the first is {}",
          left.size(), out.configurations, std::isinf(bound) ? "shown to fit no plan" : "bounded",
          describe(list[left[0]])));
    return std::move(out);
  }

  OpenPlacements open() {
    OpenPlacements left{{}, INFINITY};
    bool all = configurations(p, list);
    std::vector<char> open(p.forms.size(), !all); // or not looked at
    for (size_t c = 0; c < list.size(); ++c) {
      double least = leastByWork(p, list[c], cuts.chain());
      std::vector<OpenOne> groups;
      if (!reaches(least) && list[c].chunks == 1 && openOf(c, groups))
        least = std::max(
            least, groups.empty() ? bound : std::ranges::min(groups, {}, &OpenOne::least).least);
      for (Id form : list[c].forms)
        open[form] |= !reaches(least);
      left.least = std::min(left.least, all ? least : 0);
    }
    for (Id form = 0; form < open.size(); ++form)
      left.forms.insert(left.forms.end(), open[form] ? 1 : 0, form);
    return left;
  }

private:
  bool reaches(double value) const {
    return std::isinf(bound) ? std::isinf(value) : value >= bound * (1 - 1e-9);
  }
  bool spent(double share = 1) const {
    return static_cast<double>(work + costs.work) > share * static_cast<double>(effort);
  }

  int64_t mostGroups(const Configuration &c) const { return accord::mostGroups(p, c); }
  bool allowed(const Configuration &c, int64_t groups) const { return mayHave(p, c, groups); }

  // --- 2. Cuts ---

  struct State {
    std::vector<int64_t> used; ///< devices by kind
    int64_t leaves, ends;      ///< E and T
    double joules;
  };
  /// [groups behind][set that they begin after].
  using Table = std::vector<std::vector<std::vector<State>>>;

  double valueOf(const State &state) const {
    double step = std::max(static_cast<double>(state.ends) + static_cast<double>(p.perStep),
                           static_cast<double>(p.leastStep));
    double seconds = step * 1e-12, idle = 0, price = 0, tdp = 0;
    int64_t devices = 0;
    for (size_t k = 0; k < p.kinds.size(); ++k) {
      double used = static_cast<double>(state.used[k]);
      idle += used * p.kinds[k].idleWatts;
      price += used * p.kinds[k].pricePerHour / 3600;
      tdp += used * p.kinds[k].tdpWatts;
      devices += state.used[k];
    }
    double joules = state.joules + idle * seconds;
    auto passed = [](double is, double most) { return most > 0 && is > most * (1 + 1e-9); };
    if (passed(step, static_cast<double>(p.limits.step)) || passed(joules, p.limits.joules) ||
        passed(price * seconds, p.limits.price) ||
        (p.limits.devices > 0 && devices > p.limits.devices))
      return INFINITY;
    switch (p.objective) {
    case PlacementObjective::StepTime:
    case PlacementObjective::Memory: // never: see `proveBound`
      return step;
    case PlacementObjective::Energy:
      return joules;
    case PlacementObjective::Price:
      return price * seconds;
    case PlacementObjective::TdpTime:
      return tdp * seconds;
    }
    return step;
  }

  static int64_t inFlightOf(const Configuration &c, int64_t groups, int64_t behind) {
    int64_t most = c.schedule == PipelineSchedule::GPipe        ? c.microbatches
                   : c.schedule == PipelineSchedule::ZeroBubble ? groups
                                                                : behind;
    return std::min(c.microbatches, most);
  }

  /// The stage before a suffix; false: it does not fit.
  bool prepend(const Configuration &c, size_t from, size_t to, Id form, int64_t groups,
               int64_t behind, State &state) {
    const StageLeast &stage = costs.of(from, to, form, from == 0 && to + 1 == cuts.size());
    if (!stage.can)
      return false;
    auto again = costs.again(from, to, form, inFlightOf(c, groups, behind));
    if (!again)
      return false;
    int64_t m = c.microbatches, back = stage.backward + *again;
    int64_t pass = stage.forward + back + stage.weight, finish = stage.finish(p, *again);
    bool delays = c.schedule == PipelineSchedule::ZeroBubble;
    int64_t leaves =
        delays ? m * (stage.forward + back) + std::max<int64_t>(0, m - groups) * stage.weight
               : m * pass;
    int64_t ends;
    if (cuts.chain()) {
      leaves = std::max(leaves, (delays ? stage.forward + back : pass) + state.leaves);
      ends = std::max(leaves + finish + (delays ? stage.weight : 0), stage.forward + state.ends);
      if (delays)
        ends = std::max(ends, m * pass + finish);
    } else {
      ends = std::max(
          {state.ends, stage.before + m * pass + finish, stage.before + leaves + stage.after});
    }
    state.leaves = leaves, state.ends = ends;
    state.joules += stage.joules;
    state.used[p.forms[form].kind] += p.forms[form].devices();
    return true;
  }

  bool roomFor(const std::vector<int64_t> &used, Id form) const {
    const auto &f = p.forms[form];
    int64_t all = f.devices();
    for (int64_t devices : used)
      all += devices;
    return used[f.kind] + f.devices() <= p.kinds[f.kind].devices &&
           (p.limits.devices == 0 || all <= p.limits.devices);
  }

  /// False: too much work. `groups` matters to ZB-H1 and to layers that are pinned to a stage
  /// alone.
  bool tabulate(const Configuration &c, int64_t groups, Table &table, double share) {
    size_t sets = cuts.size();
    // Hopeless ones would use up what proves others.
    if (static_cast<double>(sets * sets) * static_cast<double>(groups) >
        static_cast<double>(effort) / 8)
      return false;
    table.assign(static_cast<size_t>(groups) + 1, std::vector<std::vector<State>>(sets));
    if (cuts.mayCut(sets - 1, groups, groups))
      table[0][sets - 1].push_back({std::vector<int64_t>(p.kinds.size()), 0, 0, 0});
    for (size_t k = 1; k < table.size(); ++k)
      for (size_t to = sets; to-- > 1;) {
        if (!table[k - 1][to].empty() &&
            !cuts.mayCut(to, groups - static_cast<int64_t>(k) + 1, groups))
          table[k - 1][to].clear();
        for (const State &rest : table[k - 1][to])
          for (Id form : c.forms) {
            if (!roomFor(rest.used, form))
              continue;
            for (size_t from = to; from-- > 0;) {
              if (!cuts.contains(to, from) ||
                  !cuts.mayCut(from, groups - static_cast<int64_t>(k), groups))
                continue;
              if (++work, spent(share))
                return false;
              const StageLeast &stage = costs.of(from, to, form, from == 0 && to + 1 == sets);
              State state{rest.used, rest.leaves, rest.ends, rest.joules};
              if (cuts.chain() && stage.can) {
                state.ends = c.microbatches * stage.busy;
                if (reaches(valueOf(state)))
                  break; // more layers take longer
                state.ends = rest.ends;
              }
              if (!prepend(c, from, to, form, groups, static_cast<int64_t>(k), state)) {
                if (cuts.chain() && !stage.can)
                  break;
                continue;
              }
              if (!reaches(valueOf(state)))
                merge(table[k][from], std::move(state));
            }
          }
      }
    return true;
  }
  void merge(std::vector<State> &states, State state) {
    for (State &other : states)
      if (other.used == state.used) {
        other.leaves = std::min(other.leaves, state.leaves);
        other.ends = std::min(other.ends, state.ends);
        other.joules = std::min(other.joules, state.joules);
        return;
      }
    work += states.size();
    states.push_back(std::move(state));
  }

  bool openOf(size_t at, std::vector<OpenOne> &open) {
    const Configuration &c = list[at];
    int64_t most = mostGroups(c);
    if (!cuts.known() || most > 1'000'000)
      return false;
    auto leave = [&](int64_t groups, const std::vector<State> &states) {
      double least = INFINITY;
      for (const State &state : states)
        least = std::min(least, valueOf(state));
      if (allowed(c, groups) && !reaches(least))
        open.push_back({at, groups, least});
    };
    if (c.chunks > 1) {
      for (int64_t groups = 1; groups <= most; ++groups)
        if (allowed(c, groups)) {
          State state{std::vector<int64_t>(p.kinds.size()), 0, 0, 0};
          if (cuts.chain() && cuts.nearlyEven(groups * c.chunks) &&
              (c.forms.size() == 1 || (p.sameForm && c.forms.size() <= 8))) {
            // Of several forms each is in some group.
            int64_t fewest = c.forms.size() == 1 ? groups : 1;
            for (Id form : c.forms)
              state.used[p.forms[form].kind] += fewest * p.forms[form].devices();
            auto enough = [&](double step, double joules) {
              state.ends = static_cast<int64_t>(std::min(step, 4e18)), state.joules = joules;
              return std::isinf(step) || reaches(valueOf(state));
            };
            auto with = pathsOf.find({c.microbatches, c.chunks, groups, c.forms[0]});
            EvenAnswer even = evenStep(p, c, groups, with == pathsOf.end() ? nullptr : with->second,
                                       enough, passes, known, work);
            if (!even.fault.empty())
              out.wrong.push_back(
                  fmt::format("paths of {} on {} groups: {}", describe(c), groups, even.fault));
            if (even.proved)
              continue;
            enough(even.step, state.joules);
          }
          leave(groups, {state});
        }
      return true;
    }
    Table table;
    if (c.schedule == PipelineSchedule::ZeroBubble || cuts.numbered()) {
      for (int64_t groups = 1; groups <= most; ++groups) {
        if (!allowed(c, groups))
          continue;
        if (!tabulate(c, groups, table, 0.5))
          return false;
        leave(groups, table[static_cast<size_t>(groups)][0]);
      }
      return true;
    }
    if (!tabulate(c, most, table, 0.5))
      return false;
    for (int64_t groups = 1; groups <= most; ++groups)
      leave(groups, table[static_cast<size_t>(groups)][0]);
    return true;
  }

  // --- 3. Plans ---

  struct Cut {
    size_t from, to;
    Id form;
  };

  /// False: some plan may be better, or there is too much work.
  bool plans(const OpenOne &one) {
    const Configuration &c = list[one.configuration];
    Table table;
    if (c.chunks == 1 && !tabulate(c, one.groups, table, 1))
      return false;
    std::vector<Cut> chosen;
    bool proved = true;
    std::vector<int64_t> used(p.kinds.size());
    descend(c, one.groups, table, 0, used, chosen, proved);
    return proved && !spent();
  }

  void descend(const Configuration &c, int64_t groups, const Table &table, size_t from,
               std::vector<int64_t> &used, std::vector<Cut> &chosen, bool &proved) {
    auto stages = static_cast<size_t>(groups * c.chunks), at = chosen.size();
    if (at == stages)
      return leaf(c, groups, chosen, proved);
    size_t all = cuts.size() - 1;
    bool first = at < static_cast<size_t>(groups);
    std::vector<Id> forms =
        first ? c.forms : std::vector<Id>{chosen[at - static_cast<size_t>(groups)].form};
    for (Id form : forms) {
      if (first && !roomFor(used, form))
        continue;
      for (size_t to = at + 1 == stages ? all : from + 1; to <= all && !out.better && !spent();
           ++to) {
        ++work;
        if (!cuts.contains(to, from) ||
            !cuts.mayCut(to, static_cast<int64_t>(at) + 1, static_cast<int64_t>(stages)) ||
            (c.chunks > 1 && !even(from, to, stages)) ||
            (c.chunks == 1 && table[stages - at - 1][to].empty()))
          continue;
        chosen.push_back({from, to, form});
        if (c.chunks == 1 ? mayBeat(c, groups, table, chosen) : mayInterleave(c, groups, chosen)) {
          if (first)
            used[p.forms[form].kind] += p.forms[form].devices();
          descend(c, groups, table, to, used, chosen, proved);
          if (first)
            used[p.forms[form].kind] -= p.forms[form].devices();
        }
        chosen.pop_back();
      }
    }
  }

  /// Interleaved stages differ by one layer at most.
  bool even(size_t from, size_t to, size_t stages) const {
    if (p.evenly)
      return true;
    size_t size = cuts.layers(from, to).size(), each = p.layers.size() / stages;
    return size == each || (size == each + 1 && p.layers.size() % stages != 0);
  }

  bool mayBeat(const Configuration &c, int64_t groups, const Table &table,
               const std::vector<Cut> &chosen) {
    size_t behind = static_cast<size_t>(groups) - chosen.size();
    for (const State &rest : table[behind][chosen.back().to]) {
      State state = rest;
      bool fits = true;
      for (size_t i = chosen.size(); i-- > 0 && fits;) {
        fits = roomFor(state.used, chosen[i].form) &&
               prepend(c, chosen[i].from, chosen[i].to, chosen[i].form, groups,
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
    auto n = static_cast<size_t>(groups), left = n * static_cast<size_t>(c.chunks) - chosen.size();
    if (cuts.chain() && cuts.size() - 1 - chosen.back().to < left)
      return false;
    State state{std::vector<int64_t>(p.kinds.size()), 0, 0, 0};
    for (size_t g = (chosen.size() - 1) % n, i = 0; i < chosen.size(); ++i) {
      const StageLeast &stage = costs.of(chosen[i].from, chosen[i].to, chosen[i].form, true);
      if (!stage.can)
        return false;
      state.joules += stage.joules;
      if (i < n)
        state.used[p.forms[chosen[i].form].kind] += p.forms[chosen[i].form].devices();
      if (i % n == g)
        state.ends += c.microbatches * (stage.pass() + stage.again);
      ++work;
    }
    return !reaches(valueOf(state));
  }

  void leaf(const Configuration &c, int64_t groups, const std::vector<Cut> &chosen, bool &proved) {
    Placement plan{c.schedule, c.chunks, c.microbatches, {}};
    State least{std::vector<int64_t>(p.kinds.size()), 0, 0, 0};
    bool choice = false;
    std::vector<std::vector<uint32_t>> smallest;
    for (size_t i = 0; i < chosen.size(); ++i) {
      const Cut &cut = chosen[i];
      PlacedStage stage{cuts.layers(cut.from, cut.to), cut.form, {}};
      smallest.emplace_back();
      for (Id l : stage.layers) {
        const auto &keeps = p.cost(l, cut.form)->keeps;
        auto by = [&](auto less) {
          return static_cast<uint32_t>(std::min_element(keeps.begin(), keeps.end(), less) -
                                       keeps.begin());
        };
        stage.keeps.push_back(by([](auto &a, auto &b) { return a.again < b.again; }));
        smallest.back().push_back(by([](auto &a, auto &b) { return a.kept < b.kept; }));
        choice |= keeps.size() > 1;
      }
      least.joules += costs.of(cut.from, cut.to, cut.form, chosen.size() == 1).joules;
      if (i < static_cast<size_t>(groups))
        least.used[p.forms[cut.form].kind] += p.forms[cut.form].devices();
      if (c.chunks == 1)
        stage.keeps = costs.keeps(stage.layers, cut.form,
                                  inFlightOf(c, groups, groups - static_cast<int64_t>(i)));
      plan.stages.push_back(std::move(stage));
    }
    auto worth = worthAgain(p, plan, passes);
    work += static_cast<uint64_t>(c.microbatches) * chosen.size() / 4 + 1;
    if (!worth) {
      proved = false;
      return;
    }
    least.ends = worth->step - p.perStep;
    bool exact = c.schedule != PipelineSchedule::ZeroBubble || !choice;
    if (exact && reaches(valueOf(least)))
      return;
    if (better(plan, *worth))
      return;
    if (!choice && (!worth->fits || (exact && !within(*worth))))
      return; // there is no other plan of these cuts
    proved = false;
    for (size_t i = 0; i < smallest.size(); ++i)
      plan.stages[i].keeps = smallest[i];
    if (auto other = worthAgain(p, plan, passes))
      better(plan, *other);
  }

  bool within(const PlacementWorth &worth) const {
    double watts = worth.step > 0 ? worth.joules / (static_cast<double>(worth.step) * 1e-12) : 0;
    auto passed = [](double is, double most) { return most > 0 && is > most; };
    return !passed(static_cast<double>(worth.step), static_cast<double>(p.limits.step)) &&
           !passed(watts, p.limits.watts) && !passed(worth.joules, p.limits.joules) &&
           !passed(worth.price, p.limits.price) &&
           !passed(static_cast<double>(worth.devices), static_cast<double>(p.limits.devices));
  }

  bool better(const Placement &plan, const PlacementWorth &worth) {
    if (!worth.fits || !within(worth) ||
        (!std::isinf(bound) && worth.value >= bound - 1e-9 * std::abs(bound)) ||
        !misfits(p, plan).empty())
      return false;
    out.better = plan;
    out.value = worth.value;
    return true;
  }

  const PlacementProblem &p;
  double bound;
  uint64_t effort, work = 0;
  EvenKnown known;
  std::map<std::array<int64_t, 4>, const PathBound *> pathsOf;
  double passes;
  PlacementCuts cuts;
  StageCosts costs;
  std::vector<Configuration> list;
  BoundProof out;
};

} // namespace

OpenPlacements openPlacements(const PlacementProblem &problem, double bound, uint64_t effort) {
  return Proving(problem, bound, effort, 0, {}).open();
}

BoundProof proveTimedBound(const PlacementProblem &problem, double bound, uint64_t effort,
                           double passes, const std::vector<PathBound> &paths) {
  return Proving(problem, bound, effort, passes, paths).run();
}

} // namespace accord
