// The best plans of other parallel degrees than those of the answer.
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/problem/RestrictedProblem.h"
#include "lib/placement/solve/Configurations.h"
#include "lib/placement/solve/PlacementSolver.h"
#include "lib/search/BestFirstQueue.h"
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

namespace accord {

using namespace placing;

namespace {

/// Groups in a row, and the tensor and data parallel degrees that they have.
using Degrees = std::pair<int64_t, std::set<std::pair<int64_t, int64_t>>>;

/// Values that differ by no more of them are equal; then the shorter step is better.
constexpr double kEqual = 1e-9;
constexpr size_t kMaxSeeds = 16;   ///< first plans for each runner-up that is asked for
constexpr size_t kMaxSearches = 8; ///< searches for each runner-up that is asked for
constexpr size_t kMaxSteps = 100'000;
constexpr unsigned kLessEffort = 5; ///< of each search than of the answer's

bool isBetter(const PlanMetrics &a, const PlanMetrics &b) {
  return a.value < b.value * (1 - kEqual) || (a.value <= b.value * (1 + kEqual) && a.step < b.step);
}

/// Finds degrees by first plans that are easily made, then searches the best plan of each degrees that may be among
/// the best.
class RunnerUpSearch {
public:
  RunnerUpSearch(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                 const PlacementOptions &options)
      : problem_(problem), max_(max), options_(options), mine_(degreesOf(*result.plan)), own_(result.metrics),
        restriction_(problem) {}

  std::vector<RunnerUp> run() {
    if (problem_.objective == PlacementObjective::Memory)
      seedOfLittleMemory();
    else
      seed(problem_);
    for (const Degrees &degrees : ranked(max_))
      search(degrees, -1);
    if (problem_.objective != PlacementObjective::Memory)
      searchByBound();
    std::vector<RunnerUp> list;
    for (const Degrees &degrees : ranked(max_))
      list.push_back(std::move(best_.at(degrees)));
    return list;
  }

private:
  Degrees degreesOf(const Placement &plan) const {
    Degrees degrees{static_cast<int64_t>(plan.groups()), {}};
    for (const PlacedStage &stage : plan.stages) {
      const ParallelConfig &config = problem_.parallelConfigs[stage.parallelConfig];
      degrees.second.insert({config.tensor, config.data});
    }
    return degrees;
  }
  Degrees degreesOf(const Configuration &one) const {
    Degrees degrees{one.min, {}};
    for (Id id : one.parallelConfigs)
      degrees.second.insert({problem_.parallelConfigs[id].tensor, problem_.parallelConfigs[id].data});
    return degrees;
  }
  /// Whether all plans of a configuration with its number of groups have the same degrees.
  static bool hasDegrees(const Configuration &one) {
    return one.min == one.max && (one.each || one.parallelConfigs.size() == 1);
  }

  void add(RunnerUp one) {
    Degrees degrees = degreesOf(one.plan);
    if (degrees == mine_)
      return;
    auto [found, added] = best_.try_emplace(degrees, one);
    if (!added && isBetter(one.metrics, found->second.metrics))
      one.bound = std::max(one.bound, found->second.bound), found->second = std::move(one);
  }

  /// The degrees of the best plans, best first.
  std::vector<Degrees> ranked(size_t max) const {
    std::vector<std::pair<const Degrees *, const RunnerUp *>> left;
    for (const auto &[degrees, one] : best_)
      left.emplace_back(&degrees, &one);
    std::vector<Degrees> list;
    while (!left.empty() && list.size() < max) {
      auto min = left.begin(); // of the least value, and of those as good the shortest step
      for (auto one = left.begin(); one != left.end(); ++one)
        if (one->second->metrics.value < min->second->metrics.value)
          min = one;
      double value = min->second->metrics.value * (1 + kEqual);
      for (auto one = left.begin(); one != left.end(); ++one)
        if (one->second->metrics.value <= value && one->second->metrics.step < min->second->metrics.step)
          min = one;
      list.push_back(*min->first);
      left.erase(min);
    }
    return list;
  }

  /// What a plan of other degrees has to be below to be among the best; infinite while there are too few of them.
  double cutoff() const {
    if (best_.size() < max_)
      return INFINITY;
    std::vector<double> values;
    for (const auto &[degrees, one] : best_)
      values.push_back(one.metrics.value);
    std::ranges::nth_element(values, values.begin() + static_cast<std::ptrdiff_t>(max_ - 1));
    return values[max_ - 1];
  }

  /// First plans of configurations by increasing bound; a good many more than asked for, as bounds do not tell all.
  void seed(const PlacementProblem &problem) {
    double slack = problem.objective == PlacementObjective::StepTime ? 0 : 2 * kEqual;
    DownSetLattice lattice(problem, kMaxDownSets);
    RecomputeSolver recomputeChoices(lattice);
    Configurations all(lattice);
    BestFirstQueue open(later, std::move(all.list));
    std::map<Degrees, double> seen;
    for (size_t tried = 0, steps = 0; !open.empty() && tried < kMaxSeeds * max_ && steps < kMaxSteps; ++steps) {
      if (options_.stopped())
        return;
      Configuration one = open.pop();
      if (one.splits()) {
        for (Configuration &half : all.halvesOf(one))
          if (!std::isinf(half.bound))
            open.push(std::move(half));
        continue;
      }
      SearchState searchState;
      searchState.budget = 2'000'000;
      searchState.stop = options_.stop;
      if (hasDegrees(one)) { // only what beats their best
        Degrees degrees = degreesOf(one);
        if (degrees == mine_)
          continue;
        if (auto found = seen.find(degrees); found != seen.end()) {
          searchState.value = found->second * (1 + slack);
          if (one.bound >= searchState.value)
            continue;
        }
      }
      ++tried;
      ConfigurationSearch(lattice, recomputeChoices, one, searchState).seed(false);
      if (!searchState.plan)
        continue;
      double &value = seen.try_emplace(degreesOf(*searchState.plan), INFINITY).first->second;
      value = std::min(value, searchState.metrics.value);
      add({*searchState.plan, evaluate(problem_, *searchState.plan), 0});
    }
  }

  /// Plans that take little memory: short steps with room for a little more than the answer takes, then more.
  void seedOfLittleMemory() {
    PlacementProblem room = problem_;
    room.objective = PlacementObjective::StepTime;
    for (double share : {1.0, 1.1, 1.3, 1.7, 2.5, 5.0}) {
      auto bytes = static_cast<int64_t>(std::min(own_.value * share, 0x1p61));
      for (size_t k = 0; k < room.deviceTypes.size(); ++k)
        room.deviceTypes[k].memory = std::min(problem_.deviceTypes[k].memory, bytes);
      seed(room);
      if (best_.size() >= max_)
        return;
    }
  }

  /// Degrees by increasing bound, as long as their best plan may be among the best of all.
  void searchByBound() {
    DownSetLattice lattice(problem_, kMaxDownSets);
    Configurations all(lattice);
    BestFirstQueue open(later, std::move(all.list));
    for (size_t steps = 0; !open.empty() && searches_ < kMaxSearches * max_ && steps < kMaxSteps; ++steps) {
      Configuration one = open.pop();
      if (options_.stopped() || one.bound >= cutoff())
        return;
      if (one.splits()) {
        for (Configuration &half : all.halvesOf(one))
          if (!std::isinf(half.bound))
            open.push(std::move(half));
      } else if (hasDegrees(one)) {
        search(degreesOf(one), one.bound);
      }
    }
  }

  /// The best plan of degrees, if it may be among the best. `bound`: no plan of theirs has less.
  void search(const Degrees &degrees, double bound) {
    if (degrees == mine_ || options_.stopped() || !searched_.insert(degrees).second)
      return;
    std::vector<Id> configs;
    for (Id id = 0; id < problem_.parallelConfigs.size(); ++id)
      if (const ParallelConfig &config = problem_.parallelConfigs[id];
          degrees.second.contains({config.tensor, config.data}))
        configs.push_back(id);
    PlacementProblem there = restriction_.to(configs);
    there.groups = {{degrees.first, degrees.first}};
    PlacementOptions how = options_;
    how.progress = nullptr;
    how.effort -= std::min(how.effort, kLessEffort);
    auto known = best_.find(degrees);
    std::optional<Placement> begin;
    if (known != best_.end() && (begin = narrowed(known->second.plan, configs)))
      how.known = &*begin;
    else
      how.known = nullptr;
    how.below = std::nextafter(cutoff(), INFINITY); // what is as good as the last one is among the best
    ++searches_;
    PlacementResult found = place(there, how);
    if (!found.plan) {
      if (known != best_.end() && !options_.stopped())
        best_.erase(known); // others are better
      return;
    }
    Placement plan = widened(std::move(*found.plan), configs);
    PlanMetrics metrics = evaluate(problem_, plan);
    double proved = std::min(std::max(bound, found.bound), metrics.value);
    if (degreesOf(plan) == degrees)
      add({std::move(plan), std::move(metrics), proved});
    if (auto now = best_.find(degrees); now != best_.end()) // of several degrees there may be better ones with some
      now->second.bound = std::min(proved, now->second.metrics.value);
  }

  const PlacementProblem &problem_;
  size_t max_;
  const PlacementOptions &options_;
  Degrees mine_;
  const PlanMetrics &own_;
  ProblemRestriction restriction_;
  std::map<Degrees, RunnerUp> best_;
  std::set<Degrees> searched_;
  size_t searches_ = 0;
};

} // namespace

std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result, size_t max,
                                const PlacementOptions &options) {
  if (!result.plan || max == 0)
    return {};
  return RunnerUpSearch(problem, result, max, options).run();
}

} // namespace accord
