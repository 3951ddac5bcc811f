#include "lib/placement/solve/SparsePlacementSearch.h"
#include "lib/search/BestFirstQueue.h"
#include "lib/search/Knapsack.h"
#include "llvm/ADT/STLExtras.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>
#include <set>

namespace accord {
namespace {

using Id = PlacementProblem::Id;
using Cost = PlacementProblem::Cost;
using Choice = std::vector<uint32_t>;

/// What an alternative may save, and where a price is put.
constexpr int64_t Cost::*kPasses[] = {&Cost::forward, &Cost::backward, &Cost::weight};

bool noMore(const RecomputeChoice &a, const RecomputeChoice &b) {
  return a.recomputeTime <= b.recomputeTime && a.activations <= b.activations && a.workspace <= b.workspace &&
         a.hostActivations <= b.hostActivations;
}

/// The least of each number; recomputation choices of both.
void relaxTo(Cost &cost, const Cost &other) {
  for (auto field : {&Cost::forward, &Cost::backward, &Cost::weight, &Cost::update, &Cost::staticMemory,
                     &Cost::weightMemory, &Cost::gradientMemory, &Cost::gradients, &Cost::expertGradients,
                     &Cost::weights, &Cost::hostStaticMemory, &Cost::tied})
    cost.*field = std::min(cost.*field, other.*field);
  cost.joules = std::min(cost.joules, other.joules);
  cost.recomputeJoules = std::min(cost.recomputeJoules, other.recomputeJoules);
  for (const RecomputeChoice &choice : other.recomputeChoices)
    if (llvm::none_of(cost.recomputeChoices, [&](const RecomputeChoice &one) { return noMore(one, choice); }))
      cost.recomputeChoices.push_back(choice);
}

/// What of a part is still to be chosen, and what is known of it.
struct Part {
  std::vector<Choice> allowed; ///< alternatives by unit, ascending
  double bound = 0;
  size_t node = 0;                 ///< of the proof
  std::optional<Placement> plan{}; ///< of the relaxed problem
};

class SparsePlacementSearch {
public:
  SparsePlacementSearch(const SparsePlacementProblem &problem, const PlacementOptions &options)
      : p_(problem), options_(options), counts_(problem.dense.classes.size()) {
    for (const PlacementProblem::Layer &layer : p_.dense.layers)
      ++counts_[layer.of];
    const bool hides = p_.dense.overlapFraction > 0 && p_.dense.maxOverlap > 0;
    for (PipelineSchedule one : p_.dense.schedules) {
      const ScheduleModel &model = modelOf(one);
      const bool several = model.virtualStages != ScheduleModel::VirtualStages::One;
      (!model.hasFixedOrder() ? free_ : several && hides ? several_ : fixed_).push_back(one);
    }
    const ObjectiveFormula &formula = formulaOf(p_.dense.objective);
    countsTime_ = p_.dense.objective == PlacementObjective::StepTime;
    mayPrice_ =
        free_.empty() && (countsTime_ || (formula.countsJoules && p_.dense.costPerJoule > 0)) && !p_.budgets.empty();
  }

  SparsePlacementResult run() {
    const bool hasDense = llvm::all_of(p_.units, [](const SparsityUnit &unit) {
      return llvm::all_of(unit.alternatives[0].options, [](uint32_t option) { return option == 0; });
    });
    if (auto found = solve(Choice(p_.units.size()), innerEffort()); found && found->plan && hasDense)
      result_.denseValue = found->value;
    Part root;
    for (const SparsityUnit &unit : p_.units) {
      root.allowed.emplace_back(unit.alternatives.size());
      std::iota(root.allowed.back().begin(), root.allowed.back().end(), 0);
    }
    nodes_.emplace_back();
    enter(std::move(root));
    const uint64_t max = maxParts();
    while (!open_.empty() && !reaches(open_.first().bound) && result_.parts < max && !options_.stopped())
      split(open_.pop());
    return finish();
  }

private:
  struct Node {
    SparsityProofNode alone; ///< what bounds it by itself, also where it is split
    uint32_t unit = 0;
    Choice first{}; ///< of the first child; empty: it is not split
    size_t children[2] = {0, 0};
  };

  unsigned innerEffort() const { return options_.effort - std::min(options_.effort, 2u); }
  /// 64 at the usual effort of a placement, and twice or half as many for each step of it.
  uint64_t maxParts() const {
    constexpr unsigned kUsual = kThoroughEffort + kPlacementEffort;
    return options_.effort >= kUsual ? uint64_t{64} << std::min(10u, options_.effort - kUsual)
                                     : std::max<uint64_t>(4, uint64_t{64} >> (kUsual - options_.effort));
  }
  double cutoff() const { return std::isinf(value_) ? value_ : value_ - options_.gap * std::abs(value_); }
  /// Whether nothing in a part is better. Values are equal within 1e-9.
  bool reaches(double bound) const { return bound >= cutoff() - (std::isinf(value_) ? 0 : 1e-9 * std::abs(value_)); }

  /// Leaves out alternatives with which a budget is passed, whatever else is chosen. False: nothing is left of a unit.
  bool propagate(std::vector<Choice> &allowed) const {
    for (bool changed = true; std::exchange(changed, false);)
      for (size_t b = 0; b < p_.budgets.size(); ++b) {
        std::vector<int64_t> mins;
        for (size_t u = 0; u < allowed.size(); ++u) {
          int64_t min = INT64_MAX;
          for (uint32_t a : allowed[u])
            min = std::min(min, p_.takesOf(u, a, b));
          mins.push_back(min);
        }
        const int64_t all = std::accumulate(mins.begin(), mins.end(), int64_t{0});
        if (all > p_.budgets[b].max)
          return false;
        for (size_t u = 0; u < allowed.size(); ++u)
          changed |= llvm::any_of(allowed[u], [&](uint32_t a) { return passes(u, a, b, all - mins[u]); });
        for (size_t u = 0; u < allowed.size(); ++u)
          llvm::erase_if(allowed[u], [&](uint32_t a) { return passes(u, a, b, all - mins[u]); });
      }
    return true;
  }
  bool passes(size_t unit, uint32_t alternative, size_t budget, int64_t others) const {
    return others + p_.takesOf(unit, alternative, budget) > p_.budgets[budget].max;
  }

  static bool isSingle(const std::vector<Choice> &allowed) {
    return llvm::all_of(allowed, [](const Choice &one) { return one.size() == 1; });
  }

  const std::optional<Cost> &costOf(size_t unit, uint32_t alternative, size_t cls, Id config) const {
    return p_.units[unit].alternatives[alternative].costs[cls][config];
  }
  int64_t microbatchesOf(Id config) const {
    return std::max<int64_t>(1, p_.dense.batch / p_.dense.parallelConfigs[config].samples());
  }
  /// What a step of one layer takes of it: passes of all micro-batches, and the update.
  double timeOf(const Cost &cost, Id config) const {
    double passes = 0;
    for (auto pass : kPasses)
      passes += double(cost.*pass);
    return double(microbatchesOf(config)) * passes + double(cost.update);
  }
  double weighed(const Cost &cost, Id config) const { return countsTime_ ? timeOf(cost, config) : cost.joules; }

  /// The largest of each number of a class in a parallel configuration.
  Cost maximaOf(size_t unit, const Choice &allowed, size_t cls, Id config) const {
    Cost max;
    for (uint32_t a : allowed)
      if (const std::optional<Cost> &cost = costOf(unit, a, cls, config)) {
        for (auto pass : kPasses)
          max.*pass = std::max(max.*pass, (*cost).*pass);
        max.update = std::max(max.update, cost->update);
        max.joules = std::max(max.joules, cost->joules);
      }
    return max;
  }

  /// f(c) of `SparsityProofNode`, by class of the unit; empty where an alternative saves nothing.
  std::vector<double> sharesOf(size_t unit, const Choice &allowed, uint32_t alternative) const {
    std::vector<double> shares;
    for (size_t c = 0; c < p_.units[unit].classes.size(); ++c) {
      double saved = 0;
      for (Id config = 0; config < p_.dense.parallelConfigs.size(); ++config)
        if (const std::optional<Cost> &cost = costOf(unit, alternative, c, config))
          saved += weighed(maximaOf(unit, allowed, c, config), config) - weighed(*cost, config);
      shares.push_back(saved * double(counts_[p_.units[unit].classes[c]]));
    }
    const double all = std::accumulate(shares.begin(), shares.end(), 0.0);
    if (!(all > 0))
      return {};
    for (double &share : shares)
      share /= all;
    return shares;
  }

  /// Adds what `price` of a layer's step is to the passes where it saves.
  void charge(Cost &cost, const Cost &max, Id config, double price) const {
    if (!countsTime_) {
      cost.joules += price / p_.dense.costPerJoule;
      return;
    }
    const double saved = timeOf(max, config) - timeOf(cost, config);
    if (!(saved > 0))
      return;
    auto add = [&](int64_t Cost::*field) {
      cost.*field += static_cast<int64_t>(std::floor(price * double(max.*field - cost.*field) / saved));
    };
    for (auto pass : kPasses)
      add(pass);
    add(&Cost::update);
  }

  double priceOf(const std::vector<double> &prices, size_t unit, uint32_t alternative) const {
    double price = 0;
    for (size_t b = 0; b < prices.size(); ++b)
      price += prices[b] * double(p_.takesOf(unit, alternative, b));
    return price;
  }

  PlacementProblem relaxed(const std::vector<Choice> &allowed, const std::vector<double> &prices) const {
    PlacementProblem made = p_.dense;
    for (size_t u = 0; u < p_.units.size(); ++u)
      for (size_t c = 0; c < p_.units[u].classes.size(); ++c)
        made.classes[p_.units[u].classes[c]].costs.assign(made.parallelConfigs.size(), std::nullopt);
    for (size_t u = 0; u < p_.units.size(); ++u)
      for (uint32_t a : allowed[u]) {
        const double price = priceOf(prices, u, a);
        const std::vector<double> shares = price > 0 ? sharesOf(u, allowed[u], a) : std::vector<double>();
        for (size_t c = 0; c < p_.units[u].classes.size(); ++c)
          for (Id config = 0; config < made.parallelConfigs.size(); ++config) {
            std::optional<Cost> cost = costOf(u, a, c, config);
            if (!cost)
              continue;
            const Id cls = p_.units[u].classes[c];
            if (!shares.empty())
              charge(*cost, maximaOf(u, allowed[u], c, config), config,
                     price * shares[c] / double(std::max<int64_t>(1, counts_[cls])));
            if (std::optional<Cost> &known = made.classes[cls].costs[config])
              relaxTo(*known, *cost);
            else
              known = std::move(cost);
          }
      }
    const double slack = slackOf(prices);
    if (slack > 0 || !isSingle(allowed))
      made.limits.watts = 0; // a step that takes longer needs less power
    if (slack > 0) {
      made.limits.joules = made.limits.price = 0;
      if (made.limits.step > 0)
        made.limits.step += static_cast<int64_t>(std::min(std::ceil(slack), 0x1p61 - double(made.limits.step)));
    }
    return made;
  }
  double slackOf(const std::vector<double> &prices) const {
    double slack = 0;
    for (size_t b = 0; b < prices.size(); ++b)
      slack += prices[b] * double(p_.budgets[b].max);
    return slack;
  }

  /// `place`; without any exchange of gradients where backward passes may hide too little of it, and with the bounds of
  /// configurations alone of schedules whose passes have no fixed order.
  PlacementResult placeRelaxed(PlacementProblem problem, PlacementOptions how) const {
    PlacementResult found;
    found.bound = INFINITY;
    auto add = [&](const std::vector<PipelineSchedule> &schedules) {
      if (schedules.empty())
        return;
      problem.schedules = schedules;
      PlacementResult one = place(problem, how);
      found.bound = std::min(found.bound, one.bound);
      llvm::append_range(found.paths, one.paths);
      if (one.plan && one.value < how.below)
        how.below = one.value, found.plan = std::move(one.plan);
    };
    add(fixed_);
    if (!free_.empty()) {
      problem.schedules = free_;
      found.bound = std::min(found.bound, placementLowerBound(problem));
    }
    for (ParallelConfig &config : problem.parallelConfigs)
      config.gradientSyncs.clear(), config.expertGradientSyncs.clear();
    add(several_);
    return found;
  }

  /// Of one placement: the gap is one of the whole, see `cutoff`.
  PlacementOptions optionsOf(unsigned effort) const {
    PlacementOptions how = options_;
    how.effort = effort;
    how.gap = 0;
    how.progress = nullptr;
    how.known = nullptr;
    how.below = std::numeric_limits<double>::infinity();
    return how;
  }

  /// Places a choice that was not placed before; nothing if it was, or passes a budget.
  std::optional<PlacementResult> solve(const Choice &choice, unsigned effort) {
    if (!p_.keepsBudgets(choice) || !placed_.insert(choice).second)
      return std::nullopt;
    PlacementResult found = place(p_.with(choice), optionsOf(effort));
    if (found.plan && found.value < value_) {
      value_ = found.value;
      result_.choice = choice;
      result_.placement = found;
      tell();
    }
    return found;
  }

  /// By unit and alternative that is allowed: what its layers count in this plan. `stage`: of one stage alone, where
  /// all others count a little. Infinite: it cannot run so.
  std::vector<std::vector<double>> countedIn(const Placement &plan, const std::vector<Choice> &allowed,
                                             std::optional<size_t> stage) const {
    constexpr double kLittle = 1.0 / 64;
    std::vector<std::vector<std::pair<Id, double>>> runs(p_.dense.classes.size()); // configurations, layers
    for (size_t s = 0; s < plan.stages.size(); ++s)
      for (Id layer : plan.stages[s].layers)
        runs[p_.dense.layers[layer].of].emplace_back(plan.stages[s].parallelConfig,
                                                     !stage || *stage == s ? 1 : kLittle);
    std::vector<std::vector<double>> counted(allowed.size());
    for (size_t u = 0; u < allowed.size(); ++u)
      for (uint32_t a : allowed[u]) {
        double sum = 0;
        for (size_t c = 0; c < p_.units[u].classes.size(); ++c)
          for (auto [config, layers] : runs[p_.units[u].classes[c]]) {
            const std::optional<Cost> &cost = costOf(u, a, c, config);
            sum += cost ? layers * weighed(*cost, config) : INFINITY;
          }
        counted[u].push_back(sum);
      }
    return counted;
  }

  /// The same without a plan: each class in the parallel configuration where it counts least.
  std::vector<std::vector<double>> countedAnywhere(const std::vector<Choice> &allowed) const {
    std::vector<std::vector<double>> counted(allowed.size());
    for (size_t u = 0; u < allowed.size(); ++u)
      for (uint32_t a : allowed[u]) {
        double sum = 0;
        for (size_t c = 0; c < p_.units[u].classes.size(); ++c) {
          double min = INFINITY;
          for (Id config = 0; config < p_.dense.parallelConfigs.size(); ++config)
            if (const std::optional<Cost> &cost = costOf(u, a, c, config))
              min = std::min(min, weighed(*cost, config));
          if (const int64_t layers = counts_[p_.units[u].classes[c]]; layers > 0)
            sum += double(layers) * min;
        }
        counted[u].push_back(sum);
      }
    return counted;
  }

  /// The choice that counts least in sum and keeps the budgets; nothing where there is none.
  std::optional<Choice> bestFor(const std::vector<Choice> &allowed,
                                const std::vector<std::vector<double>> &counted) const {
    static_assert(kBudgets >= 3);
    double sum = 0;
    for (const std::vector<double> &unit : counted) {
      double max = 0;
      for (double value : unit)
        max = std::isinf(value) ? max : std::max(max, value);
      sum += max;
    }
    if (!(sum > 0))
      return std::nullopt;
    Knapsack items;
    for (size_t b = 0; b < std::min(kBudgets, p_.budgets.size()); ++b)
      items.budgets[b] = p_.budgets[b].max;
    std::vector<Choice> numbers;
    for (size_t u = 0; u < allowed.size(); ++u) {
      items.items.emplace_back();
      numbers.emplace_back();
      for (size_t i = 0; i < allowed[u].size(); ++i) {
        if (std::isinf(counted[u][i]))
          continue;
        KnapsackOption option{static_cast<int64_t>(counted[u][i] / sum * 0x1p50), {}};
        for (size_t b = 0; b < std::min(kBudgets, p_.budgets.size()); ++b)
          option.weights[b] = p_.takesOf(u, allowed[u][i], b);
        items.items.back().push_back(option);
        numbers.back().push_back(allowed[u][i]);
      }
      if (numbers.back().empty())
        return std::nullopt;
    }
    KnapsackResult found = accord::solve(items, 100'000);
    if (!found.feasible)
      return std::nullopt;
    Choice choice;
    for (size_t u = 0; u < allowed.size(); ++u)
      choice.push_back(numbers[u][found.choice[u]]);
    return choice;
  }

  /// The price of a budget, beside those of the others, at which the alternatives that count least in this plan keep
  /// it.
  double priceFor(const std::vector<Choice> &allowed, const std::vector<std::vector<double>> &counted,
                  std::vector<double> prices, size_t budget) const {
    auto takes = [&](double price) {
      prices[budget] = price;
      int64_t sum = 0;
      for (size_t u = 0; u < allowed.size(); ++u) {
        double min = INFINITY;
        int64_t its = 0;
        for (size_t i = 0; i < allowed[u].size(); ++i)
          if (double value = counted[u][i] + priceOf(prices, u, allowed[u][i]); value < min)
            min = value, its = p_.takesOf(u, allowed[u][i], budget);
        sum += its;
      }
      return sum;
    };
    if (takes(0) <= p_.budgets[budget].max)
      return 0;
    double low = 0, high = 1e-9;
    for (int i = 0; i < 100 && takes(high) > p_.budgets[budget].max; ++i)
      high *= 4;
    for (int i = 0; i < 60; ++i) {
      const double middle = low + (high - low) / 2;
      (takes(middle) > p_.budgets[budget].max ? low : high) = middle;
    }
    return high;
  }

  /// Bounds a part by what its alternatives have the least of, then with prices where that passes a budget.
  void bound(Part &part, SparsityProofNode &node) {
    const bool leaf = isSingle(part.allowed);
    PlacementOptions how = optionsOf(innerEffort());
    how.below = cutoff();
    PlacementResult found;
    if (leaf) {
      found = place(relaxed(part.allowed, {}), how);
      Choice choice;
      for (const Choice &one : part.allowed)
        choice.push_back(one.front());
      take(found, choice);
    } else {
      found = placeRelaxed(relaxed(part.allowed, {}), how);
    }
    part.bound = std::max(part.bound, found.bound), part.plan = found.plan;
    node.bound = found.bound, node.paths = std::move(found.paths);
    if (leaf || reaches(part.bound))
      return;
    if (!part.plan) { // but of other schedules there may be one
      if (auto choice = bestFor(part.allowed, countedAnywhere(part.allowed)); choice && !options_.stopped())
        solve(*choice, innerEffort());
      return;
    }
    const auto counted = countedIn(*part.plan, part.allowed, {});
    tryChoices(*part.plan, part.allowed);
    if (!mayPrice_)
      return;
    std::vector<double> prices(p_.budgets.size());
    for (size_t b = 0; b < prices.size(); ++b)
      prices[b] = priceFor(part.allowed, counted, prices, b);
    const double slack = slackOf(prices);
    if (!(slack > 0) || !std::isfinite(slack) || slack > 0x1p59)
      return;
    how.below = cutoff() + slack;
    found = placeRelaxed(relaxed(part.allowed, prices), how);
    if (found.plan)
      tryChoices(*found.plan, part.allowed);
    // Of sums of doubles a little is lost; steps are whole numbers.
    double priced = found.bound - slack * (1 + 1e-12) - 1e-12 * std::abs(found.bound);
    if (countsTime_)
      priced = std::ceil(priced);
    if (!(priced > node.bound))
      return;
    part.bound = std::max(part.bound, priced), part.plan = found.plan ? found.plan : part.plan;
    node.bound = priced, node.prices = std::move(prices), node.paths = std::move(found.paths);
  }
  void take(const PlacementResult &found, const Choice &choice) {
    placed_.insert(choice);
    if (!found.plan || found.value >= value_)
      return;
    value_ = found.value;
    result_.choice = choice;
    result_.placement = found;
    tell();
  }

  /// What is best for the sum of all stages, and for the one that is busy longest.
  void tryChoices(const Placement &plan, const std::vector<Choice> &allowed) {
    std::vector<std::optional<size_t>> stages{std::nullopt};
    if (plan.stages.size() > 1) {
      const PlacementProblem problem = relaxed(allowed, {});
      size_t busiest = 0;
      double max = -1;
      for (size_t s = 0; s < plan.stages.size(); ++s) {
        double time = 0;
        for (Id layer : plan.stages[s].layers)
          if (const std::optional<Cost> &cost = problem.cost(layer, plan.stages[s].parallelConfig))
            time += timeOf(*cost, plan.stages[s].parallelConfig);
        if (time > max)
          max = time, busiest = s;
      }
      stages.push_back(busiest);
    }
    for (std::optional<size_t> stage : stages)
      if (auto choice = bestFor(allowed, countedIn(plan, allowed, stage)); choice && !options_.stopped())
        solve(*choice, innerEffort());
  }

  /// Adds a part whose node is there.
  void enter(Part part) {
    ++result_.parts;
    if (!propagate(part.allowed)) {
      nodes_[part.node].alone.bound = INFINITY;
      return;
    }
    if (options_.stopped()) { // what its parent says holds; by itself no value is below 0
      closed_ = std::min(closed_, part.bound);
      return;
    }
    SparsityProofNode node;
    bound(part, node);
    nodes_[part.node].alone = std::move(node);
    if (isSingle(part.allowed) || reaches(part.bound))
      closed_ = std::min(closed_, part.bound);
    else
      open_.push(std::move(part));
    tell();
  }

  /// At the unit whose alternatives differ most in the part's plan, those that take little from those that take much.
  void split(Part part) {
    const auto counted = part.plan ? countedIn(*part.plan, part.allowed, {}) : countedAnywhere(part.allowed);
    size_t unit = 0;
    double widest = -1;
    for (size_t u = 0; u < part.allowed.size(); ++u) {
      if (part.allowed[u].size() < 2)
        continue;
      double min = INFINITY, max = 0;
      for (double value : counted[u])
        min = std::min(min, value), max = std::isinf(value) ? max : std::max(max, value);
      if (const double spread = std::max(0.0, max - min); spread > widest)
        widest = spread, unit = u;
    }
    Choice ordered = part.allowed[unit];
    auto takes = [&](uint32_t a) {
      double sum = 0;
      for (size_t b = 0; b < p_.budgets.size(); ++b)
        sum += double(p_.takesOf(unit, a, b)) / double(std::max<int64_t>(1, p_.budgets[b].max));
      return sum;
    };
    llvm::sort(ordered, [&](uint32_t a, uint32_t b) { return std::pair(takes(a), a) < std::pair(takes(b), b); });
    Choice first(ordered.begin(), ordered.begin() + ordered.size() / 2);
    llvm::sort(first);
    Part halves[2] = {part, part};
    halves[0].allowed[unit] = first;
    llvm::erase_if(halves[1].allowed[unit], [&](uint32_t a) { return llvm::is_contained(first, a); });
    nodes_[part.node].unit = static_cast<uint32_t>(unit), nodes_[part.node].first = first;
    for (size_t i = 0; i < 2; ++i) {
      nodes_[part.node].children[i] = nodes_.size();
      halves[i].node = nodes_.size(), halves[i].plan.reset();
      nodes_.emplace_back();
      enter(std::move(halves[i]));
    }
  }

  void tell() {
    if (!options_.progress)
      return;
    double bound = std::min(closed_, value_);
    if (!open_.empty())
      bound = std::min(bound, open_.first().bound);
    options_.progress({"zeros", std::isinf(value_) ? 0 : value_, std::isinf(bound) ? 0 : bound});
  }

  /// A part that is bounded by itself is not split in the proof: what is known of it may hold of no half by itself,
  /// since what prices count depends on the part's alternatives.
  void inOrder(size_t at, double bound, std::vector<SparsityProofNode> &into) {
    Node &node = nodes_[at];
    if (node.first.empty() || node.alone.bound >= bound)
      return into.push_back(std::move(node.alone));
    into.emplace_back();
    into.back().unit = node.unit, into.back().alternatives = std::move(node.first);
    for (size_t child : std::array{node.children[0], node.children[1]})
      inOrder(child, bound, into);
  }

  SparsePlacementResult finish() {
    double bound = closed_;
    for (const Part &part : open_)
      bound = std::min(bound, part.bound);
    PlacementResult &best = result_.placement;
    if (!best.plan) {
      best.bound = bound;
      best.proof = std::isinf(bound) ? "no plan fits with any of the zeros" : "no plan was found";
    } else {
      // The chosen zeros alone, with all of the effort.
      PlacementOptions how = optionsOf(options_.effort);
      const Placement known = *best.plan;
      how.known = &known;
      const uint64_t examined = best.examined, pruned = best.pruned;
      PlacementResult again = place(p_.with(result_.choice), how);
      if (again.plan && again.value <= best.value)
        best = std::move(again);
      best.examined += examined, best.pruned += pruned;
      const double alone = best.bound;
      best.bound = std::min({bound, alone, best.value});
      best.proof = fmt::format("{}zeros and placement together: {} parts of the choices of zeros, each bounded by the "
                               "placement of what its choices cost least; of the chosen one {}",
                               best.bound >= best.value * (1 - 1e-9) ? "optimal: "
                               : options_.stopped() ? "stopped: "
                                                    : fmt::format("within {:.4g} %: ", 100 * best.gap()),
                               result_.parts, best.proof);
    }
    inOrder(0, best.bound, result_.proof);
    return std::move(result_);
  }

  struct Later {
    bool operator()(const Part &a, const Part &b) const {
      return a.bound != b.bound ? a.bound > b.bound : a.node > b.node;
    }
  };

  const SparsePlacementProblem &p_;
  const PlacementOptions &options_;
  std::vector<int64_t> counts_; ///< layers by class
  /// With passes in a fixed order: each number that grows makes a plan worse; or but for backward passes of groups with
  /// several stages, which may hide more gradients. Without: `free_`.
  std::vector<PipelineSchedule> fixed_, several_, free_;
  bool countsTime_ = false, mayPrice_ = false;
  SparsePlacementResult result_;
  double value_ = INFINITY, closed_ = INFINITY;
  std::set<Choice> placed_;
  std::vector<Node> nodes_;
  BestFirstQueue<Part, Later> open_{Later{}};
};

} // namespace

SparsePlacementResult placeWithSparsity(const SparsePlacementProblem &problem, const PlacementOptions &options) {
  return SparsePlacementSearch(problem, options).run();
}

} // namespace accord
