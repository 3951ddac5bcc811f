#include "lib/placement/verify/PlacementBound.h"
#include "lib/placement/verify/PlacementConfigurations.h"
#include "lib/placement/verify/PlacementEven.h"
#include "lib/placement/verify/PlacementStages.h"
#include "lib/placement/verify/PlacementSuffixes.h"
#include "lib/placement/verify/PlacementWork.h"
#include "lib/placement/verify/PlacementWorth.h"
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
  using State = PlacementSuffixes::State;
  using Table = PlacementSuffixes::Table;

public:
  Proving(const PlacementProblem &problem, double bound, uint64_t effort, double passes,
          const std::vector<PathBound> &paths)
      : p(problem), bound(bound), passes(passes), cuts(problem), costs(problem, cuts),
        suffixes(problem, cuts, costs, bound, effort, work) {
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
  bool reaches(double value) const { return suffixes.reaches(value); }
  bool spent() const { return suffixes.spent(); }
  double valueOf(const State &state) const { return suffixes.valueOf(state); }

  int64_t mostGroups(const Configuration &c) const { return accord::mostGroups(p, c); }
  bool allowed(const Configuration &c, int64_t groups) const { return mayHave(p, c, groups); }

  // --- 2. Cuts ---

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
        if (!suffixes.tabulate(c, groups, table, 0.5))
          return false;
        leave(groups, table[static_cast<size_t>(groups)][0]);
      }
      return true;
    }
    if (!suffixes.tabulate(c, most, table, 0.5))
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
    if (c.chunks == 1 && !suffixes.tabulate(c, one.groups, table, 1))
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
      if (first && !suffixes.roomFor(used, form))
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
        const auto &form = p.forms[chosen[i].form];
        bool room = suffixes.roomFor(state.used, chosen[i].form);
        state.used[form.kind] += form.devices();
        fits = room && suffixes.prepend(c, chosen[i].from, chosen[i].to, chosen[i].form, groups,
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
        stage.keeps =
            costs.keeps(stage.layers, cut.form,
                        PlacementSuffixes::inFlightOf(c, groups, groups - static_cast<int64_t>(i)));
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
  uint64_t work = 0;
  EvenKnown known;
  std::map<std::array<int64_t, 4>, const PathBound *> pathsOf;
  double passes;
  PlacementCuts cuts;
  StageCosts costs;
  PlacementSuffixes suffixes;
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
