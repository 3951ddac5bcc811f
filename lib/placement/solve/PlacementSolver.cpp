#include "lib/placement/solve/PlacementSolver.h"
#include "lib/placement/evaluate/PlanEvaluator.h"
#include "lib/placement/solve/CapacityBound.h"
#include "lib/placement/solve/Configurations.h"
#include "lib/search/BestFirstQueue.h"
#include <algorithm>
#include <cfloat>
#include <fmt/format.h>
#include <utility>

namespace accord {

using namespace placing;

bool satisfiesLimits(const PlacementProblem &problem, const PlanMetrics &metrics) {
  const PlacementProblem::Limits &limits = problem.limits;
  return (limits.step <= 0 || metrics.step <= limits.step) &&
         (limits.watts <= 0 || metrics.joules <= limits.watts * metrics.step * 1e-12) &&
         (limits.devices <= 0 || metrics.devices <= limits.devices) &&
         (limits.joules <= 0 || metrics.joules <= limits.joules) &&
         (limits.price <= 0 || metrics.price <= limits.price);
}

namespace {

constexpr size_t kMaxParts = 1'024;

class Placer {
public:
  Placer(const PlacementProblem &problem, const PlacementOptions &options, double maxTdpTime)
      : options_(options), lattice_(problem, kMaxDownSets, maxTdpTime), recomputeSolver_(lattice_),
        all_(lattice_, options.stop) {
    searchState_.gap = options.gap;
    searchState_.value = options.below;
    searchState_.stop = options.stop;
    searchState_.budget = int64_t{5'000} << std::min(options.effort, kMaxEffort);
    if (problem.deviceTypes.size() > 1 && problem.uniformConfigPerDeviceType) // many more configurations
      searchState_.budget *= 4;
  }

  PlacementResult run() {
    if (!all_.complete)
      searchState_.recordPruned(0);
    searchState_.recordPruned(all_.left);
    count_ = all_.list.size();
    begin();
    guessMixed();
    guess();
    auto mixed = std::ranges::partition(
        all_.list, [&](const Configuration &one) { return kindsOf(lattice_.problem, one).size() < 2; });
    std::vector<Configuration> ofSeveral(std::move_iterator(mixed.begin()), std::move_iterator(mixed.end()));
    all_.list.erase(mixed.begin(), mixed.end());
    bound(std::move(all_.list)); // what is soon known about one device type leaves less of several
    bound(std::move(ofSeveral));
    table();
    search();
    PlacementResult result;
    result.plan = searchState_.plan;
    result.metrics = searchState_.metrics;
    result.value = searchState_.plan ? searchState_.value : 0;
    result.bound = std::min(searchState_.residualBound, searchState_.value);
    result.examined = searchState_.examined;
    result.pruned = searchState_.pruned;
    result.proof = proof(result);
    for (auto &[configuration, proved] : searchState_.proved)
      if (!(proved.simple >= result.bound) && proved.bound >= result.bound)
        result.paths.push_back(std::move(proved.paths));
    return result;
  }

private:
  void begin() {
    const PlacementProblem &problem = lattice_.problem;
    if (!options_.known || !findViolations(problem, *options_.known).empty())
      return;
    PlanMetrics metrics = evaluate(problem, *options_.known);
    if (metrics.value < searchState_.value && isFeasible(problem, *options_.known, metrics, lattice_.maxTdpTime))
      searchState_.take(*options_.known, std::move(metrics));
  }

  /// Configurations whose parallel configurations are chosen, those of the least bounds: of what is listed so, and of
  /// some whose choice is made here.
  std::vector<Configuration> decided(size_t max) const {
    constexpr size_t kMaxHalved = 400;
    std::vector<Configuration> list, undecided;
    for (const Configuration &one : all_.list)
      (one.undecided ? undecided : list).push_back(one);
    BestFirstQueue open(later, std::move(undecided));
    for (size_t halved = 0; !open.empty() && halved < kMaxHalved && !options_.stopped(); ++halved) {
      Configuration one = open.pop();
      for (Configuration &half : all_.halvesOf(one))
        if (!half.undecided)
          list.push_back(std::move(half));
        else if (!std::isinf(half.bound))
          open.push(std::move(half));
    }
    std::sort(list.begin(), list.end(), [](auto &a, auto &b) { return later(b, a); });
    if (list.size() > max)
      list.resize(max);
    return list;
  }

  /// First plans of configurations that look good: by their bound and the closed form of what even stages wait, which
  /// bounds do not know of where devices differ or virtual stages are interleaved.
  void guess() {
    constexpr size_t kMaxExamined = 2'000, kMaxTried = 48;
    std::vector<Configuration> tried;
    for (const Configuration &one : decided(kMaxExamined)) {
      std::vector<int64_t> groups;
      for (int64_t p = one.min; p < one.max; p *= 2)
        groups.push_back(p);
      groups.push_back(one.max); // all devices
      for (int64_t p : groups) {
        Configuration exact = one;
        exact.min = exact.max = p;
        double m = one.microbatches;
        double waits = (p - 1.0) / one.virtualStages / m;
        bool known = one.parallelConfigs.size() == 1 && one.virtualStages == 1 && lattice_.chain;
        exact.bound = all_.boundOf(exact) * (known ? 1 : 1 + waits);
        if (!std::isinf(exact.bound))
          tried.push_back(std::move(exact));
      }
    }
    std::sort(tried.begin(), tried.end(), [](auto &a, auto &b) { return later(b, a); });
    int64_t enough = searchState_.budget - searchState_.budget / 5;
    for (size_t i = 0; i < std::min(tried.size(), kMaxTried) && !searchState_.isExhausted(); ++i)
      if (tried[i].bound < searchState_.value && searchState_.budget > enough)
        ConfigurationSearch(lattice_, recomputeSolver_, tried[i], searchState_).seed(false);
  }

  /// Raises the bound of a configuration on several device types, once.
  void boundMixed(Configuration &one) {
    if (one.step == 0)
      one.bound = std::max(one.bound, CapacityBound(lattice_, recomputeSolver_, one, searchState_).bound());
    one.step = std::max(one.step, 1U);
  }

  bool isMixed(const Configuration &one) const {
    return one.virtualStages == 1 && kindsOf(lattice_.problem, one).size() > 1;
  }

  /// What of a configuration on several device types has the least bound, half after half.
  Configuration dive(Configuration one) {
    while (one.splits() && !searchState_.isExhausted()) {
      auto halves = all_.halvesOf(one);
      for (Configuration &half : halves)
        if (half.bound < searchState_.cutoff())
          boundMixed(half);
      searchState_.budget -= 20;
      one = std::move(halves[halves[1].bound < halves[0].bound ? 1 : 0]);
    }
    return one;
  }

  /// A plan by the table of one configuration.
  void planByTable(const Configuration &one) {
    searchState_.budget -= 100;
    if (!one.splits() && one.bound < searchState_.cutoff())
      ConfigurationSearch(lattice_, recomputeSolver_, one, searchState_).table();
  }

  /// First plans on several device types: by their tables, as who goes first to the fastest leaves others too much. Of
  /// the configurations of the least bounds that which promises most, then others near it.
  void guessMixed() {
    constexpr size_t kMaxDives = 48, kMaxFirst = 12, kMaxRounds = 4;
    if (!lattice_.chain) // tables take long
      return;
    std::vector<Configuration *> mixed;
    for (Configuration &one : all_.list)
      if (isMixed(one) && !searchState_.isExhausted())
        mixed.push_back(&one);
    for (Configuration *one : mixed)
      if (one->splits())
        boundMixed(*one);
    std::sort(mixed.begin(), mixed.end(), [](auto *a, auto *b) { return later(*b, *a); });
    std::vector<Configuration> first;
    for (size_t i = 0; i < std::min(mixed.size(), kMaxDives) && !searchState_.isExhausted(); ++i)
      if (Configuration one = dive(*mixed[i]); !one.splits() && one.bound < searchState_.cutoff())
        first.push_back(std::move(one));
    std::sort(first.begin(), first.end(), [](auto &a, auto &b) { return later(b, a); });
    if (first.size() > kMaxFirst)
      first.resize(kMaxFirst);
    for (Configuration &one : first) {
      planByTable(one);
      for (size_t round = 0; round < kMaxRounds && improve(one); ++round)
        planByTable(one);
    }
  }

  /// Of the configurations with other parallel configurations of one device type, or a group more or less, that of the
  /// least bound; false: none has less.
  bool improve(Configuration &best) {
    Configuration from = best;
    auto consider = [&](Configuration other) {
      if (!all_.mayHave(other) || searchState_.isExhausted())
        return;
      other.step = 0, other.bound = 0;
      searchState_.budget -= 10;
      boundMixed(other);
      if (other.bound < best.bound)
        best = std::move(other);
    };
    const auto &configs = lattice_.problem.parallelConfigs;
    for (int64_t more : {-2, -1, 1, 2}) {
      Configuration other = from;
      other.min = other.max = from.min + more;
      if (other.min >= static_cast<int64_t>(from.parallelConfigs.size()))
        consider(std::move(other));
    }
    for (size_t k = 0; k < from.parallelConfigs.size(); ++k)
      for (Id id = 0; id < configs.size(); ++id) {
        const ParallelConfig &mine = configs[from.parallelConfigs[k]];
        if (id == from.parallelConfigs[k] || configs[id].deviceType != mine.deviceType ||
            configs[id].samples() != mine.samples())
          continue;
        Configuration other = from;
        other.parallelConfigs[k] = id;
        std::sort(other.parallelConfigs.begin(), other.parallelConfigs.end());
        if (int64_t max = all_.maxGroups(other.parallelConfigs); mine.devices() != configs[id].devices()) {
          other.min = other.max = std::min<int64_t>(max, lattice_.problem.layers.size()); // all devices
          consider(other);
          other.min = other.max = std::min(from.min, max);
        }
        consider(std::move(other));
      }
    return best.bound < from.bound * (1 - 1e-3);
  }

  /// Whether a configuration has no plan of use, or there is no time left to look for one; then its bound counts.
  bool isLeftOut(const Configuration &one) {
    if (searchState_.canPrune(one.bound))
      return ++searchState_.pruned, true;
    if (!searchState_.isExhausted()) // asked once: a stop may come at any moment
      return false;
    searchState_.recordPruned(one.bound);
    return true;
  }

  /// Bounds and first plans, by increasing bound.
  void bound(std::vector<Configuration> list) {
    BestFirstQueue heap(later, std::move(list));
    while (!heap.empty()) {
      Configuration one = heap.pop();
      if (searchState_.canPrune(one.bound)) {
        searchState_.pruned += heap.size() + 1;
        return;
      }
      if (searchState_.isExhausted()) {
        searchState_.recordPruned(one.bound);
        for (const Configuration &other : open_)
          searchState_.recordPruned(other.bound);
        open_.clear();
        return;
      }
      auto again = [&](Configuration &&next) {
        if (searchState_.canPrune(next.bound)) {
          ++searchState_.pruned;
          return;
        }
        heap.push(std::move(next));
      };
      if (one.splits() && one.step == 0 && kindsOf(lattice_.problem, one).size() > 1) {
        boundMixed(one);
        again(std::move(one));
        continue;
      }
      if (one.splits()) {
        for (Configuration &half : all_.halvesOf(one))
          again(std::move(half));
        ++count_;
        continue;
      }
      if (one.step == 0) {
        ConfigurationSearch shape(lattice_, recomputeSolver_, one, searchState_);
        one.bound = std::max(one.bound, shape.capacityBound());
        if (one.bound < searchState_.cutoff())
          one.bound = std::max(one.bound, shape.balancedBound());
        one.step = 1;
        again(std::move(one));
        continue;
      }
      if (one.step == 1) {
        ConfigurationSearch shape(lattice_, recomputeSolver_, one, searchState_);
        if (one.virtualStages > 1)
          one.bound = std::max(one.bound, shape.minimaxBound(1));
        if (one.bound < searchState_.cutoff() &&
            (one.parallelConfigs.size() < 2 || one.virtualStages > 1 || !searchState_.plan))
          shape.seed(); // of several device types, the table says more
        one.step = 2;
        again(std::move(one));
        continue;
      }
      open_.push_back(std::move(one));
    }
  }

  /// Tables, once the easy plans of all configurations are known: the better the plan at hand, the smaller they are.
  void table() {
    for (Configuration &one : std::exchange(open_, {})) {
      if (isLeftOut(one))
        continue;
      ConfigurationSearch shape(lattice_, recomputeSolver_, one, searchState_);
      one.bound = std::max(one.bound, one.virtualStages > 1 ? shape.minimaxBound(kMaxParts) : shape.table());
      report("bounds", one.bound);
      if (!searchState_.canPrune(one.bound))
        open_.push_back(std::move(one));
    }
    std::sort(open_.begin(), open_.end(), [](const Configuration &a, const Configuration &b) { return later(b, a); });
  }

  /// What bounds leave open, to the end or to a limit; what is left then once more.
  void search() {
    for (int round = 0; round < 2; ++round) {
      for (const Configuration &one : std::exchange(open_, {})) {
        if (isLeftOut(one))
          continue;
        ConfigurationSearch shape(lattice_, recomputeSolver_, one, searchState_);
        double bound = std::max(one.bound, shape.table());
        report("search", bound);
        if (searchState_.canPrune(bound))
          continue;
        double before = searchState_.residualBound;
        int64_t work = round == 0 ? std::min<int64_t>(20'000, searchState_.budget / 4) : searchState_.budget / 2;
        if (shape.search(work, bound) || round == 1)
          continue;
        searchState_.residualBound = before; // it is looked at again
        open_.push_back(one);
        open_.back().bound = bound;
      }
    }
  }

  void report(const char *phase, double bound) {
    if (!options_.progress)
      return;
    double known = std::min({searchState_.residualBound, searchState_.value, bound});
    if (searchState_.value == reported_.incumbent && known == reported_.bound)
      return;
    reported_ = {phase, searchState_.value, known};
    SolveProgress progress = reported_;
    if (!searchState_.plan)
      progress.incumbent = 0;
    options_.progress(progress);
  }

  std::string proof(const PlacementResult &result) const {
    std::string how = fmt::format(
        "lower bounds of {} configurations (micro-batches, schedule, virtual stages, groups, parallel configurations), "
        "dynamic "
        "program over {} of the layers, depth-first search of the open nodes",
        count_,
        lattice_.linear     ? std::string("cuts of the chain")
        : lattice_.complete ? fmt::format("{} down-sets", lattice_.last() + 1)
                            : fmt::format("prefixes of one order, as there are more than {} down-sets", kMaxDownSets));
    if (!result.plan)
      return (std::isinf(result.bound) ? "no plan fits: " : "no plan was found: ") + how;
    if (result.bound >= result.value)
      return "optimal: " + how;
    if (options_.stopped())
      return "stopped: " + how;
    return fmt::format("within {:.4g} %: {}", 100 * result.gap(), how);
  }

  const PlacementOptions &options_;
  DownSetLattice lattice_;
  RecomputeSolver recomputeSolver_;
  Configurations all_;
  SearchState searchState_;
  std::vector<Configuration> open_;
  size_t count_ = 0;
  SolveProgress reported_;
};

} // namespace

PlacementResult placing::solveByTimeBounds(const PlacementProblem &problem, const PlacementOptions &options,
                                           double maxTdpTime) {
  return Placer(problem, options, maxTdpTime).run();
}

namespace {

/// Plans whose objective differs by no more of it are equal.
constexpr double Equal = 1e-9;

PlacementProblem within(PlacementProblem problem, int64_t memory) {
  problem.objective = PlacementObjective::StepTime;
  for (DeviceType &deviceType : problem.deviceTypes)
    deviceType.memory = std::min(deviceType.memory, memory);
  return problem;
}

/// The least memory with which a plan fits, by bisection: there is one or there is none. A memory of which neither is
/// known within the search's work raises what is tried, but not the bound.
PlacementResult minMemory(const PlacementProblem &problem, const PlacementOptions &options) {
  PlacementOptions how = options; // the first plan will do
  how.gap = 1;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  PlacementResult best = solveByTimeBounds(within(problem, INT64_MAX), how);
  if (!best.plan) {
    best.bound = std::isinf(best.bound) ? best.bound : 0;
    return best;
  }
  how.effort -= std::min(how.effort, 2u); // of each trial, of which there are some dozens
  uint64_t examined = best.examined, pruned = best.pruned;
  int64_t none = -1, low = -1, high = maxDeviceMemory(best.metrics); // `none`: proved not to be enough
  size_t trials = 0;
  while (high - low > 1 && !options.stopped() && (high - 1 - low) > options.gap * high) {
    int64_t middle = low + (high - low) / 2;
    PlacementResult one = solveByTimeBounds(within(problem, middle), how);
    ++trials, examined += one.examined, pruned += one.pruned;
    if (one.plan) {
      high = std::min(middle, maxDeviceMemory(one.metrics));
      best = std::move(one);
    } else {
      low = middle;
      if (std::isinf(one.bound))
        none = middle;
    }
    if (options.progress)
      options.progress({"memory", 1.0 * high, none + 1.0});
  }
  best.examined = examined, best.pruned = pruned;
  best.metrics = evaluate(problem, *best.plan);
  best.value = best.metrics.value;
  best.bound = std::min<double>(none + 1, best.value);
  best.proof = fmt::format("{}by bisection of the memory in {} searches, in those below for any "
                           "plan that fits",
                           best.bound >= best.value ? "optimal: " : "", trials + 1);
  return best;
}

} // namespace

PlacementResult place(const PlacementProblem &problem, const PlacementOptions &options) {
  if (problem.objective == PlacementObjective::StepTime)
    return solveByTimeBounds(problem, options);
  PlacementResult result = problem.objective == PlacementObjective::Memory ? minMemory(problem, options)
                                                                           : solveByTimeBounds(problem, options);
  if (!result.plan || options.stopped())
    return result;
  // The shortest step of plans that are as good: the objective is a limit now.
  PlacementProblem tied = problem;
  tied.objective = PlacementObjective::StepTime;
  double max = std::max(result.value * (1 + Equal), DBL_MIN), maxTdpTime = 0;
  auto tighter = [&](double &limit, double each) {
    if (each > 0)
      limit = limit > 0 ? std::min(limit, max / each) : max / each;
  };
  if (problem.objective == PlacementObjective::Memory)
    tied = within(problem, maxDeviceMemory(result.metrics));
  else if (formulaOf(problem.objective).countsJoules)
    tighter(tied.limits.joules, problem.costPerJoule);
  else if (problem.objective == PlacementObjective::Price)
    tighter(tied.limits.price, 1);
  else
    tighter(maxTdpTime, 1);
  PlacementOptions how = options;
  how.progress = nullptr;
  how.below = std::numeric_limits<double>::infinity();
  how.known = &*result.plan;
  if (result.bound < result.value * (1 - Equal)) // a better answer would be worth more
    how.effort -= std::min(how.effort, 2u);
  PlacementResult shorter = solveByTimeBounds(tied, how, maxTdpTime);
  result.examined += shorter.examined, result.pruned += shorter.pruned;
  if (!shorter.plan || shorter.metrics.step >= result.metrics.step)
    return result;
  result.plan = std::move(shorter.plan);
  result.metrics = evaluate(problem, *result.plan);
  result.value = result.metrics.value;
  result.bound = std::min(result.bound, result.value);
  return result;
}

} // namespace accord
