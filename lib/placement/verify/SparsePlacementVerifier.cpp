#include "lib/placement/verify/SparsePlacementVerifier.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/PlacementBoundProof.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord {
namespace {

using Id = PlacementProblem::Id;
using Cost = PlacementProblem::Cost;
/// What is left of each unit's alternatives, ascending.
using Alternatives = std::vector<std::vector<uint32_t>>;

constexpr size_t kMaxParts = 1'000'000;
/// What a sum of doubles may be away from what it stands for, as a part of it.
constexpr double kRounding = 1e-12;
/// As much as `proveBound` lets a bound be short of.
constexpr double kTolerance = 1e-9;
constexpr int64_t kMaxTime = int64_t{1} << 61;

/// What all alternatives take.
class BudgetTable {
public:
  explicit BudgetTable(const SparsePlacementProblem &problem) : budgets(problem.budgets) {
    for (const SparsityUnit &unit : problem.units) {
      auto &ofUnit = takes.emplace_back();
      for (const SparsityAlternative &alternative : unit.alternatives) {
        auto &sums = ofUnit.emplace_back(budgets.size());
        for (size_t d = 0; d < unit.decisions.size(); ++d) {
          const auto &option = unit.decisions[d].options[alternative.options[d]];
          for (size_t b = 0; b < option.takes.size(); ++b)
            sums[b] += option.takes[b];
        }
      }
    }
  }

  int64_t of(size_t unit, uint32_t alternative, size_t budget) const { return takes[unit][alternative][budget]; }
  /// The first budget that a choice passes, and what it takes of it.
  std::optional<std::pair<size_t, int64_t>> passed(const std::vector<uint32_t> &choice) const {
    for (size_t b = 0; b < budgets.size(); ++b) {
      int64_t sum = 0;
      for (size_t u = 0; u < takes.size(); ++u)
        sum += takes[u][choice[u]][b];
      if (sum > budgets[b].max)
        return std::pair(b, sum);
    }
    return std::nullopt;
  }

  /// Leaves out alternatives that no choice within the budgets has by one budget alone. False: there is no such choice.
  bool leaveOut(Alternatives &left) const {
    for (bool again = true; again;) {
      again = false;
      for (size_t b = 0; b < budgets.size(); ++b) {
        int64_t room = budgets[b].max; // beside the least of each unit
        for (size_t u = 0; u < left.size(); ++u)
          room -= minOf(u, left[u], b);
        if (room < 0)
          return false;
        for (size_t u = 0; u < left.size(); ++u) {
          int64_t max = minOf(u, left[u], b) + room;
          again |= std::erase_if(left[u], [&](uint32_t a) { return takes[u][a][b] > max; }) > 0;
        }
      }
    }
    return true;
  }

private:
  int64_t minOf(size_t unit, const std::vector<uint32_t> &of, size_t budget) const {
    int64_t min = takes[unit][of.front()][budget];
    for (uint32_t a : of)
      min = std::min(min, takes[unit][a][budget]);
    return min;
  }

  const std::vector<SparsityBudget> &budgets;
  std::vector<std::vector<std::vector<int64_t>>> takes; ///< by unit, alternative, budget
};

/// The relaxed problem of a part: worth no more, with any plan, than any choice of the part has with this plan; with
/// prices, than such a choice and what it counts for what it takes. Why this is so:
/// - A step of passes in a fixed order is the longest of some paths through them, and each path meets a pass once. More
///   of a pass, an update, an exchange or a transfer makes no path shorter, with one exception: more of a backward pass
///   hides more of the exchange of gradients behind it. A group with one stage ends with this very pass, which grows by
///   as much at least. One with several may wait for others in its last pass, and then it ends *earlier*. So these have
///   no exchange of gradients here, where any of it may be hidden.
/// - Passes of ZB-H1 may change places; `proveBound` knows bounds of it that only grow (`alsoOfMore`).
/// - Memory, joules and money only grow. Power does not: it is less if a step takes longer, so the limit of it does not
///   hold here. The others do.
/// - A price counts at most what it is in a step: a path meets each of m forward, backward and weight passes and the
///   update once, so what m passes and the update of all layers get together is all that a step grows by.
class Relaxation {
public:
  struct Problem {
    PlacementProblem problem;
    bool alsoOfMore = false;
  };

  Relaxation(const SparsePlacementProblem &problem, const BudgetTable &budgets)
      : p(problem), budgets(budgets), layers(problem.dense.classes.size()) {
    for (const PlacementProblem::Layer &layer : p.dense.layers)
      ++layers[layer.of];
    priced = p.dense.objective == PlacementObjective::StepTime ||
             (ruleOf(p.dense.objective).countsJoules && p.dense.costPerJoule > 0);
    for (PipelineSchedule schedule : p.dense.schedules)
      priced &= !ruleOf(schedule).delaysWeights;
  }

  bool mayHavePrices() const { return priced; }

  /// What prices count at most of a choice within the budgets.
  double slackOf(const std::vector<double> &prices) const {
    double slack = 0;
    for (size_t b = 0; b < prices.size(); ++b)
      slack += prices[b] * p.budgets[b].max;
    return slack;
  }

  /// One problem, or two with different schedules.
  std::vector<Problem> of(const Alternatives &left, const std::vector<double> &prices) const {
    PlacementProblem relaxed = p.dense;
    bool single = prices.empty();
    for (size_t u = 0; u < left.size(); ++u) {
      single &= left[u].size() == 1;
      std::vector<Charge> charges = chargesOf(u, left[u], prices);
      for (size_t c = 0; c < p.units[u].classes.size(); ++c)
        for (Id f = 0; f < relaxed.parallelConfigs.size(); ++f)
          relaxed.classes[p.units[u].classes[c]].costs[f] = minimum(u, left[u], c, f, charges);
    }
    if (single)
      return {{std::move(relaxed), false}};
    relaxed.limits.watts = 0;
    if (!prices.empty()) {
      relaxed.limits.joules = relaxed.limits.price = 0;
      if (relaxed.limits.step > 0 && p.dense.objective == PlacementObjective::StepTime)
        relaxed.limits.step = static_cast<int64_t>(
            std::min(std::floor(relaxed.limits.step + slackOf(prices) * (1 + kRounding)), double(kMaxTime)));
    }
    return bySchedules(std::move(relaxed));
  }

private:
  /// What an alternative of a unit counts in all layers of a class, by class of the unit; empty: nothing.
  using Charge = std::vector<double>;

  const std::optional<Cost> &cost(size_t unit, uint32_t alternative, size_t cls, Id f) const {
    return p.units[unit].alternatives[alternative].costs[cls][f];
  }
  double microbatches(Id f) const {
    const ParallelConfig &config = p.dense.parallelConfigs[f];
    return std::max<int64_t>(1, p.dense.batch / (config.data / config.context * config.microbatch));
  }

  /// The largest times and joules among alternatives.
  Cost largest(size_t unit, const std::vector<uint32_t> &among, size_t cls, Id f) const {
    Cost max;
    for (uint32_t a : among)
      if (const auto &one = cost(unit, a, cls, f)) {
        max.forward = std::max(max.forward, one->forward), max.backward = std::max(max.backward, one->backward);
        max.weight = std::max(max.weight, one->weight), max.update = std::max(max.update, one->update);
        max.joules = std::max(max.joules, one->joules);
      }
    return max;
  }
  /// What a layer saves in a step beside the largest numbers: picoseconds, or joules.
  double saved(const Cost &max, const Cost &one, Id f) const {
    if (p.dense.objective != PlacementObjective::StepTime)
      return max.joules - one.joules;
    return microbatches(f) * (max.forward - one.forward + (max.backward - one.backward) + (max.weight - one.weight)) +
           (max.update - one.update);
  }

  /// By alternative of `among`.
  std::vector<Charge> chargesOf(size_t unit, const std::vector<uint32_t> &among,
                                const std::vector<double> &prices) const {
    std::vector<Charge> charges(among.size());
    if (prices.empty())
      return charges;
    size_t classes = p.units[unit].classes.size();
    std::vector<std::vector<Cost>> max(classes);
    for (size_t c = 0; c < classes; ++c)
      for (Id f = 0; f < p.dense.parallelConfigs.size(); ++f)
        max[c].push_back(largest(unit, among, c, f));
    for (size_t i = 0; i < among.size(); ++i) {
      double price = 0, all = 0;
      for (size_t b = 0; b < prices.size(); ++b)
        price += prices[b] * budgets.of(unit, among[i], b);
      Charge charge(classes);
      for (size_t c = 0; c < classes; ++c) {
        for (Id f = 0; f < p.dense.parallelConfigs.size(); ++f)
          if (const auto &one = cost(unit, among[i], c, f))
            charge[c] += saved(max[c][f], *one, f);
        charge[c] *= layers[p.units[unit].classes[c]];
        all += charge[c];
      }
      if (!(price > 0) || !(all > 0))
        continue;
      for (double &one : charge)
        one *= price / all;
      charges[i] = std::move(charge);
    }
    return charges;
  }

  /// The least of each number among alternatives, and recomputation choices of all that are not worse than another one.
  std::optional<Cost> minimum(size_t unit, const std::vector<uint32_t> &among, size_t cls, Id f,
                              const std::vector<Charge> &charges) const {
    std::optional<Cost> min;
    std::optional<Cost> max;
    for (size_t i = 0; i < among.size(); ++i) {
      std::optional<Cost> one = cost(unit, among[i], cls, f);
      if (!one)
        continue;
      if (!charges[i].empty()) {
        if (!max)
          max = largest(unit, among, cls, f);
        count(*one, *max, f, charges[i][cls] / std::max<double>(1, layers[p.units[unit].classes[cls]]));
      }
      if (!min)
        min = std::move(one);
      else
        lower(*min, *one);
    }
    if (min && among.size() > 1)
      min->recomputeChoices = best(std::move(min->recomputeChoices));
    return min;
  }

  /// Counts so much more of one layer in a step where it saves. Up to a part in 10^13 more, so that it is no less than
  /// what a search with other sums of doubles has counted; `slackOf` is held against it with ten times of that.
  void count(Cost &one, const Cost &max, Id f, double price) const {
    price *= 1 + kRounding / 10;
    if (p.dense.objective != PlacementObjective::StepTime) {
      one.joules += price / p.dense.costPerJoule;
      return;
    }
    double all = saved(max, one, f);
    if (!(all > 0))
      return;
    auto part = [&](int64_t saves) { return static_cast<int64_t>(price * (saves / all)); };
    one.forward += part(max.forward - one.forward), one.backward += part(max.backward - one.backward);
    one.weight += part(max.weight - one.weight), one.update += part(max.update - one.update);
  }

  static void lower(Cost &min, const Cost &one) {
    min.forward = std::min(min.forward, one.forward), min.backward = std::min(min.backward, one.backward);
    min.weight = std::min(min.weight, one.weight), min.update = std::min(min.update, one.update);
    min.staticMemory = std::min(min.staticMemory, one.staticMemory);
    min.weightMemory = std::min(min.weightMemory, one.weightMemory);
    min.gradientMemory = std::min(min.gradientMemory, one.gradientMemory);
    min.hostStaticMemory = std::min(min.hostStaticMemory, one.hostStaticMemory);
    min.gradients = std::min(min.gradients, one.gradients);
    min.expertGradients = std::min(min.expertGradients, one.expertGradients);
    min.weights = std::min(min.weights, one.weights), min.tied = std::min(min.tied, one.tied);
    min.joules = std::min(min.joules, one.joules);
    min.recomputeJoules = std::min(min.recomputeJoules, one.recomputeJoules);
    min.recomputeChoices.insert(min.recomputeChoices.end(), one.recomputeChoices.begin(), one.recomputeChoices.end());
  }

  static std::vector<RecomputeChoice> best(std::vector<RecomputeChoice> all) {
    auto numbers = [](const RecomputeChoice &one) {
      return std::tie(one.recomputeTime, one.activations, one.workspace, one.hostActivations);
    };
    std::ranges::sort(all, {}, numbers); // what makes another one worthless comes before it
    std::vector<RecomputeChoice> kept;
    for (RecomputeChoice &one : all)
      if (std::ranges::none_of(kept, [&](const RecomputeChoice &other) {
            return other.recomputeTime <= one.recomputeTime && other.activations <= one.activations &&
                   other.workspace <= one.workspace && other.hostActivations <= one.hostActivations;
          }))
        kept.push_back(std::move(one));
    return kept;
  }

  static std::vector<Problem> bySchedules(PlacementProblem relaxed) {
    auto hasSeveral = [](PipelineSchedule one) { return ruleOf(one).stages != ScheduleRule::Stages::One; };
    bool hides = relaxed.overlapFraction > 0 && relaxed.maxOverlap > 0;
    bool exchanges = std::ranges::any_of(relaxed.parallelConfigs, [](const ParallelConfig &one) {
      return !one.gradientSyncs.empty() || !one.expertGradientSyncs.empty();
    });
    if (!hides || !exchanges || std::ranges::none_of(relaxed.schedules, hasSeveral))
      return {{std::move(relaxed), true}};
    std::vector<Problem> made;
    PlacementProblem one = relaxed;
    std::erase_if(one.schedules, hasSeveral);
    if (!one.schedules.empty())
      made.push_back({std::move(one), true});
    std::erase_if(relaxed.schedules, std::not_fn(hasSeveral));
    for (ParallelConfig &config : relaxed.parallelConfigs)
      config.gradientSyncs.clear(), config.expertGradientSyncs.clear();
    made.push_back({std::move(relaxed), true});
    return made;
  }

  const SparsePlacementProblem &p;
  const BudgetTable &budgets;
  std::vector<int64_t> layers; ///< by class
  bool priced = false;
};

class SparsePlacementChecker {
public:
  SparsePlacementChecker(const SparsePlacementProblem &problem, const SparsePlacementResult &result,
                         std::vector<std::string> *trusted, const PlacementProof &options)
      : p(problem), result(result), trusted(trusted), options(options), budgets(problem), relaxation(problem, budgets) {
  }

  Errors run() {
    choice();
    if (errors.empty())
      denseValue();
    if (errors.empty() && result.placement.plan)
      plan();
    if (errors.empty())
      tree();
    if (errors.empty() && !unproven.empty())
      trust(fmt::format("the search for zeros: {} of {} parts of their choices are not bounded again; of the first, {}",
                        numUnproven, leaves, unproven));
    return std::move(errors);
  }

private:
  void report(Code code, std::string text) {
    if (errors.size() < 20)
      errors.push_back({code, std::move(text), {}, {}});
  }
  void trust(std::string text) const {
    if (trusted)
      trusted->push_back(std::move(text));
  }
  double bound() const { return result.placement.bound; }

  void choice() {
    if (!result.placement.plan) {
      if (!result.choice.empty())
        report(Code::PlacementNotInSearchSpace,
               fmt::format("zeros of {} units are chosen without a plan", result.choice.size()));
      return;
    }
    if (result.choice.size() != p.units.size())
      return report(Code::PlacementNotInSearchSpace,
                    fmt::format("zeros of {} units are chosen, there are {}", result.choice.size(), p.units.size()));
    for (size_t u = 0; u < p.units.size(); ++u)
      if (result.choice[u] >= p.units[u].alternatives.size())
        return report(Code::PlacementNotInSearchSpace, fmt::format("unit {} of zeros has alternative {} of {}", u,
                                                                   result.choice[u], p.units[u].alternatives.size()));
    if (auto passed = budgets.passed(result.choice))
      report(Code::MemoryExceeded, fmt::format("{}: {} of at most {}", p.budgets[passed->first].what, passed->second,
                                               p.budgets[passed->first].max));
  }

  /// No zeros are a choice, too: neither is the answer worse, nor the bound above.
  void denseValue() {
    if (!result.denseValue)
      return;
    double value = *result.denseValue;
    if (!result.placement.plan || !(result.placement.value <= value * (1 + kTolerance)))
      report(Code::WrongObjective,
             result.placement.plan
                 ? fmt::format("the objective is {}, and without zeros it is stated to be {}", result.placement.value,
                               value)
                 : fmt::format("without zeros the objective is stated to be {}, but no plan was found", value));
    else if (!(bound() <= value * (1 + kTolerance)))
      report(Code::BoundNotProved,
             fmt::format("no objective is stated to be less than {}, but without zeros {}", bound(), value));
  }

  /// The joint bound is one of the chosen zeros, too.
  void plan() {
    PlacementProblem chosen = p.dense;
    for (size_t u = 0; u < p.units.size(); ++u) {
      const SparsityUnit &unit = p.units[u];
      for (size_t c = 0; c < unit.classes.size(); ++c)
        chosen.classes[unit.classes[c]].costs = unit.alternatives[result.choice[u]].costs[c];
    }
    PlacementProof half = options;
    half.effort = options.effort / 2;
    errors = verify(chosen, result.placement, trusted, half);
  }

  /// A split whose first half is looked at: what else its unit has.
  struct Fork {
    uint32_t unit = 0;
    std::vector<uint32_t> all, others;
    bool second = false;
  };

  /// Goes through the parts in preorder.
  void tree() {
    const auto &nodes = result.proof;
    if (nodes.size() > kMaxParts)
      return report(Code::BoundNotProved,
                    fmt::format("{} parts of the choices of zeros, at most {} may be", nodes.size(), kMaxParts));
    effort = options.effort - options.effort / 2;
    leaves = std::ranges::count_if(nodes, [](const SparsityProofNode &node) { return !node.splits(); });
    leavesLeft = leaves;
    Alternatives left;
    for (const SparsityUnit &unit : p.units) {
      left.emplace_back(unit.alternatives.size());
      std::iota(left.back().begin(), left.back().end(), 0);
    }
    std::vector<Fork> forks;
    for (size_t at = 0; at < nodes.size(); ++at) {
      if (at > 0 && forks.empty())
        return report(Code::BoundNotProved,
                      fmt::format("{} parts of the choices of zeros, there are {}", nodes.size(), at));
      if (nodes[at].splits()) {
        auto fork = split(at, left);
        if (!fork)
          return;
        left[fork->unit] = nodes[at].alternatives;
        forks.push_back(std::move(*fork));
        continue;
      }
      leaf(at, left);
      if (!errors.empty())
        return;
      --leavesLeft;
      while (!forks.empty() && forks.back().second) {
        left[forks.back().unit] = std::move(forks.back().all);
        forks.pop_back();
      }
      if (!forks.empty()) {
        forks.back().second = true;
        left[forks.back().unit] = forks.back().others;
      }
    }
    if (nodes.empty() || !forks.empty())
      report(Code::BoundNotProved, fmt::format("part {} of the choices of zeros is left out", nodes.size()));
  }

  std::optional<Fork> split(size_t at, const Alternatives &left) {
    const SparsityProofNode &node = result.proof[at];
    auto wrong = [&](const std::string &text) {
      report(Code::BoundNotProved, fmt::format("part {} of the choices of zeros {}", at, text));
      return std::nullopt;
    };
    if (node.unit >= left.size())
      return wrong(fmt::format("is split at unit {} of {}", node.unit, left.size()));
    if (!node.prices.empty() || !node.paths.empty())
      return wrong("is split, but has prices or paths");
    Fork fork{node.unit, left[node.unit], {}};
    const auto &first = node.alternatives;
    if (std::ranges::adjacent_find(first, std::greater_equal()) != first.end() ||
        !std::ranges::includes(fork.all, first))
      return wrong("is split at alternatives that it does not have, or not in their order");
    std::ranges::set_difference(fork.all, first, std::back_inserter(fork.others));
    if (fork.others.empty())
      return wrong("is split at all alternatives of a unit");
    return fork;
  }

  void leaf(size_t at, Alternatives left) {
    const SparsityProofNode &node = result.proof[at];
    auto wrong = [&](const std::string &text) {
      report(Code::BoundNotProved, fmt::format("part {} of the choices of zeros {}", at, text));
    };
    if (!(node.bound >= bound()))
      return wrong(
          fmt::format("is stated to have no objective below {}, all of them none below {}", node.bound, bound()));
    if (!checkPrices(node.prices, wrong))
      return;
    for (const auto &alternatives : left)
      effort -= std::min<uint64_t>(effort, alternatives.size());
    if (!budgets.leaveOut(left) || (!result.placement.plan && std::isfinite(bound())))
      return;
    double slack = relaxation.slackOf(node.prices), goal = goalOf(node.prices);
    for (const Relaxation::Problem &relaxed : relaxation.of(left, node.prices)) {
      if (Errors malformed = check(relaxed.problem); !malformed.empty())
        return wrong("cannot be bounded with its prices: " + malformed.front().message);
      BoundProof proof = proveBound(relaxed.problem, goal, effort / std::max<size_t>(1, leavesLeft), options.passes,
                                    node.paths, options.stop, relaxed.alsoOfMore);
      effort -= std::min(effort, proof.work);
      for (const std::string &text : proof.wrong)
        report(Code::WrongPlacementPaths, fmt::format("part {} of the choices of zeros: {}", at, text));
      if (proof.better)
        return wrong(
            std::isinf(goal)
                ? fmt::format("is stated to have no plan, but what its choices cost least has one of {}", proof.value)
                : fmt::format(
                      "is to have no objective below {}, but what its choices cost least has one of {}, less {}",
                      bound(), proof.value, slack));
      if (proof.trusted.empty())
        continue;
      if (std::isinf(bound()))
        return wrong("is stated to have no plan, and the proof is not complete; left to " + proof.trusted.front());
      if (numUnproven++ == 0)
        unproven = proof.trusted.front();
      return;
    }
  }

  /// What the relaxed problem has to be worth. `proveBound` may fall short of it by `kTolerance`, which is added to
  /// what prices count, so that it is missing of the bound alone. A step is a whole number: one that is less is 1 less.
  double goalOf(const std::vector<double> &prices) const {
    if (prices.empty() || std::isinf(bound()))
      return bound();
    double slack = relaxation.slackOf(prices) * (1 + kRounding);
    if (p.dense.objective != PlacementObjective::StepTime)
      return bound() + slack / (1 - kTolerance);
    double less = std::ceil(bound() * (1 - kTolerance)) - 1;
    return (std::floor(less + slack) + 0.5) / (1 - kTolerance);
  }

  template <typename Wrong> bool checkPrices(const std::vector<double> &prices, const Wrong &wrong) const {
    if (prices.empty())
      return true;
    auto fails = [&](const std::string &text) { return wrong(text), false; };
    if (!relaxation.mayHavePrices())
      return fails("has prices, which this objective or schedule has not");
    if (prices.size() != p.budgets.size())
      return fails(fmt::format("has prices of {} budgets, there are {}", prices.size(), p.budgets.size()));
    for (double price : prices)
      if (!(price >= 0) || !std::isfinite(price))
        return fails(fmt::format("has the price {}", price));
    if (double slack = relaxation.slackOf(prices); !(slack <= kMaxTime))
      return fails(fmt::format("has prices of {} for all budgets", slack));
    return true;
  }

  const SparsePlacementProblem &p;
  const SparsePlacementResult &result;
  std::vector<std::string> *trusted;
  const PlacementProof &options;
  BudgetTable budgets;
  Relaxation relaxation;
  uint64_t effort = 0;               ///< left for the parts
  size_t leaves = 0, leavesLeft = 0; ///< parts that are not split
  size_t numUnproven = 0;
  std::string unproven; ///< of the first part
  Errors errors;
};

} // namespace

Errors verify(const SparsePlacementProblem &problem, const SparsePlacementResult &result,
              std::vector<std::string> *trusted, const PlacementProof &options) {
  if (Errors malformed = check(problem); !malformed.empty())
    return malformed;
  return SparsePlacementChecker(problem, result, trusted, options).run();
}

static auto numbersOf(const RecomputeChoice &one) {
  return std::tie(one.policy, one.recomputeTime, one.activations, one.workspace, one.hostActivations);
}

static auto numbersOf(const PlacementProblem::Cost &cost) {
  return std::tie(cost.forward, cost.backward, cost.weight, cost.update, cost.staticMemory, cost.weightMemory,
                  cost.gradientMemory, cost.gradients, cost.expertGradients, cost.weights, cost.joules,
                  cost.recomputeJoules, cost.hostStaticMemory, cost.tied);
}

static bool isSame(const std::optional<PlacementProblem::Cost> &a, const std::optional<PlacementProblem::Cost> &b) {
  if (!a || !b)
    return !a && !b;
  return numbersOf(*a) == numbersOf(*b) && std::ranges::equal(a->recomputeChoices, b->recomputeChoices,
                                                              [](const RecomputeChoice &x, const RecomputeChoice &y) {
                                                                return numbersOf(x) == numbersOf(y);
                                                              });
}

Errors chosenCostViolations(const PlacementProblem &shown, const SparsePlacementProblem &joint,
                            const std::vector<uint32_t> &choice) {
  Errors errors;
  for (size_t u = 0; u < joint.units.size() && (choice.empty() || u < choice.size()); ++u) {
    const SparsityUnit &unit = joint.units[u];
    const uint32_t chosen = choice.empty() ? 0 : choice[u];
    for (size_t c = 0; c < unit.classes.size() && chosen < unit.alternatives.size(); ++c)
      if (const LayerClass &cls = shown.classes[unit.classes[c]];
          !std::ranges::equal(cls.costs, unit.alternatives[chosen].costs[c], isSame))
        errors.push_back({Code::WrongPlacementMetrics,
                          fmt::format("layers '{}' are not shown with what their zeros cost", cls.name),
                          shown.location,
                          {}});
  }
  return errors;
}

} // namespace accord
