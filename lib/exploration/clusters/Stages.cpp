#include "lib/exploration/clusters/Stages.h"
#include "lib/exploration/clusters/StageBounds.h"
#include "lib/exploration/clusters/StageKinds.h"
#include "lib/placement/evaluate/Judge.h"
#include "lib/placement/solve/PlaceStages.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <set>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kRounds = 4;
constexpr size_t kEvery = 16;     ///< candidates of which none is left out
constexpr double kMixGap = 2e-3;  ///< of the least of a mix
constexpr double kMatters = 0.01; ///< of a step: classes of layers whose least is searched for
constexpr double kPowers[] = {0.5, 1, 2};
using Id = PlacementProblem::Id;

/// One share of operations and one micro-batch size.
struct Group {
  std::unique_ptr<StageLayers> layers;
  size_t number = 0;
  std::vector<double> least;      ///< times by way, of all designs
  std::vector<double> leastWorth; ///< cost * time, by class, of the fastest way
  std::vector<StageCandidate> candidates;
  std::set<Design> known;
  double bound = 0; ///< of the value, in picoseconds (or times the cost)
};

class Staging {
public:
  Staging(const DesignSpace &space, const PlacedWork &work, MiningMetric metric,
          const Design &common, const PlacedBest &placed, const StageOptions &options)
      : space_(space), work_(work), metric_(metric), common_(common), placed_(placed),
        options_(options), reach_(space), costs_(metric != MiningMetric::StepTime) {}

  std::optional<StagedDesigns> run() {
    DesignBox all = wholeOf(space_.parameters());
    auto most = space_.best(all);
    auto machine = space_.machine(common_);
    if (!std::holds_alternative<Machine>(most) || !std::holds_alternative<Machine>(machine) ||
        !placed_.plan)
      return std::nullopt;
    const PlacementSpace &offered = work_.job().request.space;
    std::vector<Group> groups;
    for (const PlacementSpace::Share &share : offered.shares)
      for (int64_t microbatch : offered.microbatches) {
        Group group;
        group.layers = StageLayers::of(space_, reach_, work_, std::get<Machine>(most), metric_,
                                       common_, share, microbatch);
        group.number = groups.size();
        if (group.layers)
          groups.push_back(std::move(group));
      }
    if (groups.empty())
      return std::nullopt;
    points_ = space_.points();
    exhausts_ = points_ && *points_ <= options_.few;
    out_.all = exhausts_;
    begin(groups);
    leastCost_ = costs_ ? groups.front().layers->cost(all) : 1;
    std::sort(groups.begin(), groups.end(), [](const Group &a, const Group &b) {
      return std::pair(a.layers->root(), a.number) < std::pair(b.layers->root(), b.number);
    });
    double bound = kNever;
    for (Group &group : groups) {
      search(group);
      bound = std::min(bound, group.bound);
    }
    out_.value = best_ * scale();
    out_.bound = stopped() ? 0 : std::min(bound, best_) * scale();
    for (const Group &group : groups)
      out_.candidates += group.candidates.size();
    finish();
    return std::move(out_);
  }

private:
  bool stopped() const { return options_.stop && options_.stop->load(); }
  /// From picoseconds to the metric; with costs the judge has it in seconds.
  double scale() const { return costs_ ? 1 : 1e-12; }

  /// The common design's own placement, as a problem of one kind.
  void begin(std::vector<Group> &groups) {
    const PlacementProblem::Form &form = placed_.form;
    StageCandidate one{common_, nullptr, groups.front().layers->cost(common_)};
    auto machine = std::get<Machine>(space_.machine(common_));
    if (auto problem = work_.priced(machine, {form.tensor, form.sequence}, form.microbatch))
      one.problem = std::make_shared<const PlacementProblem>(std::move(*problem));
    StageKinds kinds;
    if (one.problem)
      kinds =
          stageKinds({one}, form, scaleOf(form, static_cast<int64_t>(placed_.worth.memory.size())));
    if (!kinds.kinds.empty()) {
      Placement plan = *placed_.plan;
      for (PlacedStage &stage : plan.stages)
        stage.form = 0;
      if (faults(kinds.problem, plan).empty())
        take(kinds, {one}, plan, judge(kinds.problem, plan));
    }
    out_.common = best_ * scale();
  }

  void take(const StageKinds &kinds, const std::vector<StageCandidate> &candidates,
            const Placement &plan, PlacementWorth worth) {
    if (!worth.fits || !(worth.value < best_))
      return;
    best_ = worth.value;
    out_.problem = kinds.problem, out_.plan = plan, out_.worth = std::move(worth);
    out_.designs.clear();
    for (size_t kind : kinds.kinds)
      out_.designs.push_back(candidates[kind].design);
  }

  /// The design of the least value of a mix, with its value.
  double mine(Group &group, const std::vector<double> &counts, StageMix::Sought sought,
              bool candidates) {
    StageMix mix(space_, *group.layers, counts, sought);
    MiningOptions search;
    search.threads = options_.threads;
    search.stop = options_.stop;
    search.known = {common_};
    search.gap = kMixGap;
    MiningResult result = mineExactly(mix, search);
    out_.valued += result.evaluations, out_.bounds += result.bounds;
    if (candidates)
      for (const Design &design : mix.best(options_.each))
        add(group, design);
    return result.bound;
  }

  void add(Group &group, const Design &design) {
    if (!group.known.insert(design).second)
      return;
    if (auto problem = group.layers->problem(design))
      group.candidates.push_back({design, problem, group.layers->cost(design)});
  }

  std::vector<double> wayOf(const Group &group, size_t way) const {
    std::vector<double> counts(group.layers->ways());
    counts[way] = 1;
    return counts;
  }

  void search(Group &group) {
    StageLayers &layers = *group.layers;
    // Any plan takes one device of each stage, and one stage, at least.
    group.bound = costs_ ? layers.root() * 1e-12 * leastCost_ : layers.root();
    if (group.bound >= best_ || stopped())
      return;
    auto most = layers.leastTimes(wholeOf(space_.parameters()));
    if (!most)
      return;
    group.least = *most;
    const PlacementProblem &common = layers.common();
    std::vector<size_t> counts(common.classes.size());
    for (const PlacementProblem::Layer &layer : common.layers)
      ++counts[layer.of];
    std::vector<Id> order(counts.size()); // what most of a step is of
    for (Id cls = 0; cls < order.size(); ++cls)
      order[cls] = cls;
    auto takes = [&](Id cls) {
      return static_cast<double>(counts[cls]) * group.least[cls * layers.policies()];
    };
    std::sort(order.begin(), order.end(),
              [&](Id a, Id b) { return std::pair(-takes(a), a) < std::pair(-takes(b), b); });
    add(group, common_);
    group.leastWorth.assign(counts.size(), 0);
    double all = 0;
    for (Id cls : order)
      all += takes(cls);
    auto useless = [&] {
      group.bound =
          std::max(group.bound, costs_ ? stageCostBound(layers, group.least, group.leastWorth,
                                                        leastCost_, metric_, best_)
                                       : stageStepBound(layers, group.least, best_));
      return group.bound >= best_ || stopped();
    };
    for (Id cls : order) {
      // What is little of a step stays with the bound of the whole space.
      bool matters = takes(cls) >= kMatters * all;
      double &worth = group.leastWorth[cls];
      worth = kNever; // of the way that is worth least
      for (size_t policy = 0; policy < layers.policies(); ++policy) {
        size_t way = cls * layers.policies() + policy;
        double &least = group.least[way];
        if (matters)
          least = std::max(least, mine(group, wayOf(group, way), {}, policy == 0 && !costs_));
        worth = std::min(worth, matters && costs_ ? mine(group, wayOf(group, way), {1}, policy == 0)
                                                  : leastCost_ * least);
        if (matters && !costs_ && useless())
          return;
      }
    }
    if (costs_ && useless())
      return;
    for (double power : kPowers)
      if (costs_ && power != 1)
        mine(group, wayOf(group, order.front() * layers.policies()), {power}, true);
    if (exhausts_)
      for (uint64_t point = 0; point < *points_; ++point)
        add(group, space_.at(point));
    place(group);
  }

  /// Of each form all numbers of stages together (0), or one by one where the cost of a device
  /// depends on them.
  std::vector<std::pair<PlacementProblem::Form, int64_t>>
  searches(const std::vector<StageCandidate> &candidates,
           const std::vector<PlacementProblem::Form> &degrees) const {
    std::vector<std::pair<PlacementProblem::Form, int64_t>> all;
    for (const PlacementProblem::Form &form : degrees)
      if (metric_ != MiningMetric::AreaTime)
        all.push_back({form, 0});
      else
        for (int64_t stages : stagesOf(*candidates.front().problem, form))
          all.push_back({form, stages});
    return all;
  }
  /// Of a device's cost, that the sum over all devices is the metric's; 0: there is no cost.
  double scaleOf(const PlacementProblem::Form &form, int64_t stages) const {
    return metric_ == MiningMetric::TdpTime    ? 1
           : metric_ == MiningMetric::AreaTime ? 1 / static_cast<double>(stages * form.devices())
                                               : 0;
  }

  /// Plans of the candidates; then candidates for the stages of the best plan.
  void place(Group &group) {
    std::vector<PlacementProblem::Form> degrees; // of all candidates
    auto gather = [&] {
      for (const StageCandidate &one : group.candidates)
        for (const PlacementProblem::Form &form : one.problem->forms)
          if (std::none_of(degrees.begin(), degrees.end(),
                           [&](const auto &other) { return sameDegrees(other, form); }))
            degrees.push_back(form);
    };
    double proved = kNever; // of plans of the candidates
    std::set<std::vector<double>> mixed;
    std::optional<double> least;
    for (int round = 0; round < kRounds && !stopped(); ++round) {
      gather();
      bool every = exhausts_ && group.candidates.size() <= kEvery;
      std::vector<StageCandidate> candidates =
          every ? group.candidates : undominated(group.candidates);
      std::optional<std::pair<PlacementProblem, Placement>> found, first;
      for (const auto &[form, stages] : searches(candidates, degrees)) {
        StageKinds kinds = stageKinds(candidates, form, scaleOf(form, stages));
        if (stages > 0)
          kinds.problem.groups = {{stages, stages}};
        if (kinds.kinds.empty() || !check(kinds.problem).empty())
          continue;
        PlacementResult result = placeStages(kinds.problem, round == 0 ? kNever : best_);
        if (result.plan && (!least || result.value < *least)) // of the group
          least = result.value, first = {kinds.problem, *result.plan};
        if (result.plan && result.value < best_) {
          take(kinds, candidates, *result.plan, result.worth);
          found = {kinds.problem, *result.plan};
        }
        if (exhausts_ || !costs_) {
          PlaceOptions exact;
          exact.below = best_;
          exact.effort = exhausts_ ? 12 : 8;
          exact.stop = options_.stop;
          // A design that is worse in everything may still leave others more room in a server.
          PlacementProblem bounded = kinds.problem;
          if (!every && 2 * form.devices() <= bounded.kinds.front().perServer)
            for (PlacementProblem::Link &link : bounded.links)
              link = fasterOf(link);
          result = accord::place(bounded, exact);
          proved = std::min(proved, result.bound);
          PlacementWorth worth;
          if (result.plan)
            worth = judge(kinds.problem, *result.plan);
          if (result.plan && worth.value < best_) {
            take(kinds, candidates, *result.plan, worth);
            found = {kinds.problem, *result.plan};
          }
        }
      }
      if (exhausts_)
        break;
      if (!found && round == 0)
        found = first;
      size_t known = group.candidates.size();
      if (found)
        addMixes(group, found->first, found->second, mixed);
      if (group.candidates.size() == known)
        break;
    }
    if (exhausts_) // the candidates are all designs
      group.bound = std::max(group.bound, std::min(proved, best_));
  }

  /// Candidates for the mix of layers that each stage has: the fastest; with a cost those of least
  /// cost * time^q, and the cheapest that are no slower than the stage, or than the slowest stage.
  void addMixes(Group &group, const PlacementProblem &problem, const Placement &plan,
                std::set<std::vector<double>> &known) {
    std::vector<std::vector<double>> counts;
    std::vector<double> times;
    for (const PlacedStage &stage : plan.stages) {
      std::vector<double> &mix = counts.emplace_back(group.layers->ways());
      times.push_back(0);
      for (size_t i = 0; i < stage.layers.size(); ++i) {
        const auto &cost = problem.cost(stage.layers[i], stage.form);
        const PlacementProblem::Keep &keep = cost->keeps[stage.keeps[i]];
        mix[group.layers->way(problem.layers[stage.layers[i]].of, keep.policy)] += 1;
        times.back() +=
            static_cast<double>(cost->forward + cost->backward + cost->weight + keep.again);
      }
    }
    double longest = *std::max_element(times.begin(), times.end());
    for (size_t s = 0; s < counts.size(); ++s) {
      if (!known.insert(counts[s]).second)
        continue;
      if (!costs_)
        mine(group, counts[s], {}, true);
      else
        for (StageMix::Sought sought : {StageMix::Sought{kPowers[0]},
                                        {kPowers[1]},
                                        {kPowers[2]},
                                        {0, times[s]},
                                        {0, longest}})
          mine(group, counts[s], sought, true);
    }
  }

  /// Only kinds that some stage is on.
  void finish() {
    std::vector<Id> number(out_.problem.kinds.size(), ~Id(0));
    std::vector<Id> used;
    for (const PlacedStage &stage : out_.plan.stages)
      if (Id kind = out_.problem.forms[stage.form].kind; number[kind] == ~Id(0)) {
        number[kind] = static_cast<Id>(used.size());
        used.push_back(kind);
      }
    PlacementProblem all = out_.problem;
    std::vector<Design> designs;
    all.kinds.clear(), all.forms.clear(), all.links.clear();
    for (PlacementProblem::LayerClass &cls : all.classes)
      cls.costs.clear();
    for (Id kind : used) { // the form of a kind has its number
      designs.push_back(out_.designs[kind]);
      all.kinds.push_back(out_.problem.kinds[kind]);
      all.kinds.back().name = fmt::format("{}_{}", space_.name(), designs.size());
      all.forms.push_back(out_.problem.forms[kind]);
      all.forms.back().kind = number[kind];
      for (size_t cls = 0; cls < all.classes.size(); ++cls)
        all.classes[cls].costs.push_back(out_.problem.classes[cls].costs[kind]);
      for (Id other : used)
        all.links.push_back(out_.problem.links[kind * out_.problem.kinds.size() + other]);
    }
    for (PlacedStage &stage : out_.plan.stages)
      stage.form = number[stage.form];
    out_.problem = std::move(all), out_.designs = std::move(designs);
    out_.proof = fmt::format(
        "least times of classes of layers over the space ({} exact searches' designs valued, {} "
        "bounds), dynamic program over cuts{}",
        out_.valued, out_.bounds, exhausts_ ? "; placements of all designs" : "");
  }

  const DesignSpace &space_;
  const PlacedWork &work_;
  MiningMetric metric_;
  const Design &common_;
  const PlacedBest &placed_;
  const StageOptions &options_;
  StepReach reach_;
  bool costs_;
  std::optional<uint64_t> points_;
  bool exhausts_ = false;
  double best_ = kNever, leastCost_ = 1;
  StagedDesigns out_;
};

} // namespace

std::optional<StagedDesigns> mineStages(const DesignSpace &space, const PlacedWork &work,
                                        MiningMetric metric, const Design &common,
                                        const PlacedBest &placed, const StageOptions &options) {
  return Staging(space, work, metric, common, placed, options).run();
}

} // namespace accord
