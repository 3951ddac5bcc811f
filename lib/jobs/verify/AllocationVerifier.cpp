#include "lib/jobs/verify/AllocationVerifier.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <numeric>
#include <set>

namespace accord::jobs {
namespace {

using Wide = __int128;

/// Of prices and denominators: times amounts of at most 2^46 and summed over 2^26 uses, they fit 127 bits.
constexpr int64_t kMaxPrice = int64_t(1) << 54;
/// Sets of prices whose best values of all jobs are kept at a time.
constexpr size_t kKeptPrices = 64;

Error wrong(std::string message) { return {Code::WrongAllocationProblem, std::move(message)}; }
Error notProved(std::string message) { return {Code::BoundNotProved, std::move(message)}; }

/// What jobs that are fixed in one of several configurations have at best: the largest value, the smallest uses.
struct Envelope {
  int64_t job = -1;
  int64_t value = 0;
  std::vector<ResourceUse> uses;
  bool excluded = true;      ///< none of the configurations is in the order of equal jobs
  unsigned min = 0, max = 0; ///< slots of the others: configurations, and behind them waiting
};

std::vector<ResourceUse> smallestUses(const std::vector<ResourceUse> &a, const std::vector<ResourceUse> &b) {
  std::vector<ResourceUse> both;
  for (size_t i = 0, k = 0; i < a.size() && k < b.size();) {
    if (a[i].resource == b[k].resource)
      both.push_back({a[i].resource, std::min(a[i].amount, b[k].amount)});
    const unsigned first = std::min(a[i].resource, b[k].resource);
    i += a[i].resource == first;
    k += b[k].resource == first;
  }
  return both;
}

/// Sums of amounts are multiples of their greatest common divisor, so that no more of a capacity can be used than its
/// largest multiple. Configurations that use more than a capacity by themselves do not count.
std::vector<int64_t> usableCapacity(const AllocationProblem &problem) {
  std::vector<int64_t> divisor(problem.capacity.size(), 0), usable = problem.capacity;
  for (const AllocationJob &job : problem.jobs)
    for (const Configuration &configuration : job.configurations) {
      if (std::any_of(configuration.uses.begin(), configuration.uses.end(),
                      [&](const ResourceUse &use) { return use.amount > problem.capacity[use.resource]; }))
        continue;
      for (const ResourceUse &use : configuration.uses)
        divisor[use.resource] = std::gcd(divisor[use.resource], use.amount);
    }
  for (size_t r = 0; r < usable.size(); ++r)
    if (divisor[r] > 0)
      usable[r] -= usable[r] % divisor[r];
  return usable;
}

/// The jobs of each set of equal jobs, ascending.
std::vector<std::vector<size_t>> equalJobs(const AllocationProblem &problem) {
  std::vector<size_t> sorted(problem.jobs.size());
  std::iota(sorted.begin(), sorted.end(), size_t(0));
  std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) {
    const auto order = problem.jobs[a] <=> problem.jobs[b];
    return order != 0 ? order < 0 : a < b;
  });
  std::vector<std::vector<size_t>> classes;
  for (size_t job : sorted) {
    if (classes.empty() || problem.jobs[classes.back().front()] != problem.jobs[job])
      classes.emplace_back();
    classes.back().push_back(job);
  }
  return classes;
}

class ProofWalk {
public:
  ProofWalk(const AllocationProblem &problem, int64_t bound, const AllocationProof &proof)
      : problem(problem), proof(proof), limit(Wide(bound) + 1), capacity(usableCapacity(problem)), left(capacity),
        fixed(problem.jobs.size(), false), reached(proof.nodes.size(), false), slots(problem.jobs.size()),
        classes(equalJobs(problem)) {
    classOf.resize(problem.jobs.size());
    for (size_t i = 0; i < classes.size(); ++i)
      for (size_t job : classes[i])
        classOf[job] = i;
    fixedEqual.resize(classes.size());
  }

  Result<void> walk() {
    if (proof.denominator < 1 || proof.denominator > kMaxPrice)
      return notProved(
          fmt::format("the denominator of prices is {}, which is not in 1 to {}", proof.denominator, kMaxPrice));
    if (proof.nodes.empty())
      return notProved("the proof has no node");
    waiting.push_back({0, 0, {}});
    reached[0] = true;
    while (!waiting.empty()) {
      Visit visit = std::move(waiting.back());
      waiting.pop_back();
      while (path.size() > visit.depth)
        leave();
      if (visit.fixes.job >= 0)
        enter(std::move(visit.fixes));
      const AllocationProof::Node &node = proof.nodes[visit.node];
      if (auto checked = node.job < 0 ? checkLeaf(visit.node) : branch(visit.node); !checked)
        return checked;
    }
    for (size_t node = 0; node < reached.size(); ++node)
      if (!reached[node])
        return notProved(fmt::format("no branch of the proof leads to node {}", node));
    return {};
  }

private:
  /// Slots of a job that are in the order of equal jobs.
  struct SlotRange {
    unsigned min = 0, max = ~0u;
    bool holds(size_t slot) const { return slot >= min && slot <= max; }
  };
  struct Visit {
    unsigned node = 0;
    size_t depth = 0; ///< of the path to its parent
    Envelope fixes;   ///< by the parent
  };
  /// With one set of prices, on the empty cluster.
  struct PricedJobs {
    Wide all = 0; ///< prices * capacities and the best of all jobs
    std::vector<Wide> best;
    bool complete = true; ///< each job has a configuration or may wait
  };

  void enter(Envelope envelope) {
    fixed[envelope.job] = true;
    fixedEqual[classOf[envelope.job]].insert(envelope.job);
    slots[envelope.job] = {envelope.min, envelope.max};
    excluded += envelope.excluded;
    value += envelope.value;
    for (const ResourceUse &use : envelope.uses) {
      left[use.resource] -= use.amount;
      overflows += left[use.resource] < 0 && left[use.resource] + use.amount >= 0;
    }
    path.push_back(std::move(envelope));
  }
  void leave() {
    const Envelope &envelope = path.back();
    fixed[envelope.job] = false;
    fixedEqual[classOf[envelope.job]].erase(envelope.job);
    excluded -= envelope.excluded;
    value -= envelope.value;
    for (const ResourceUse &use : envelope.uses) {
      overflows -= left[use.resource] < 0 && left[use.resource] + use.amount >= 0;
      left[use.resource] += use.amount;
    }
    path.pop_back();
  }

  Result<void> branch(unsigned number) {
    const AllocationProof::Node &node = proof.nodes[number];
    if (node.job >= static_cast<int64_t>(problem.jobs.size()))
      return notProved(fmt::format("node {} branches on job {} of {}", number, node.job, problem.jobs.size()));
    if (fixed[node.job])
      return notProved(fmt::format("node {} branches on job {} again", number, node.job));
    if (!node.prices.empty())
      return notProved(fmt::format("node {} branches and has prices", number));
    const AllocationJob &job = problem.jobs[node.job];
    if (size_t ways = job.configurations.size() + job.mayWait; node.next.size() != ways)
      return notProved(
          fmt::format("node {} has {} children, but job {} has {} ways", number, node.next.size(), node.job, ways));
    std::vector<unsigned> sorted(node.next.size());
    std::iota(sorted.begin(), sorted.end(), 0u);
    std::sort(sorted.begin(), sorted.end(), [&](unsigned a, unsigned b) {
      return node.next[a] != node.next[b] ? node.next[a] < node.next[b] : a < b;
    });
    const SlotRange range = rangeOf(node.job);
    for (size_t i = 0; i < sorted.size(); ++i) {
      const unsigned child = node.next[sorted[i]];
      if (i == 0 || child != node.next[sorted[i - 1]]) {
        if (child <= number || child >= proof.nodes.size())
          return notProved(
              fmt::format("child {} of node {} is not in {} to {}", child, number, number + 1, proof.nodes.size() - 1));
        if (reached[child])
          return notProved(fmt::format("two branches of the proof lead to node {}", child));
        reached[child] = true;
        waiting.push_back({child, path.size(), {}});
        waiting.back().fixes.job = node.job;
      }
      if (range.holds(sorted[i]))
        include(job, sorted[i], waiting.back().fixes);
    }
    return {};
  }
  /// Widens an envelope by one more configuration, or by waiting. Slots come in ascending order.
  static void include(const AllocationJob &job, unsigned slot, Envelope &envelope) {
    const Configuration none, &one = slot < job.configurations.size() ? job.configurations[slot] : none;
    envelope.uses = envelope.excluded ? one.uses : smallestUses(envelope.uses, one.uses);
    envelope.value = envelope.excluded ? one.value : std::max(envelope.value, one.value);
    envelope.min = envelope.excluded ? slot : envelope.min;
    envelope.max = slot;
    envelope.excluded = false;
  }
  /// By the nearest equal jobs that are fixed.
  SlotRange rangeOf(size_t job) const {
    SlotRange range;
    const std::set<size_t> &equal = fixedEqual[classOf[job]];
    auto next = equal.lower_bound(job);
    if (next != equal.end())
      range.max = slots[*next].max;
    if (next != equal.begin())
      range.min = slots[*std::prev(next)].min;
    return range;
  }
  /// The same of all jobs that are not fixed.
  std::vector<SlotRange> allRanges() const {
    std::vector<SlotRange> ranges(problem.jobs.size());
    for (const std::vector<size_t> &equal : classes) {
      SlotRange range;
      for (size_t i = 0; i < equal.size(); ++i)
        ranges[equal[i]].min = range.min = fixed[equal[i]] ? slots[equal[i]].min : range.min;
      for (size_t i = equal.size(); i-- > 0;)
        ranges[equal[i]].max = range.max = fixed[equal[i]] ? slots[equal[i]].max : range.max;
    }
    return ranges;
  }

  Result<void> checkLeaf(unsigned number) {
    const AllocationProof::Node &node = proof.nodes[number];
    if (!node.next.empty() || node.job != -1)
      return notProved(fmt::format("leaf {} has job {} and {} children", number, node.job, node.next.size()));
    const bool impossible = overflows > 0 || excluded > 0;
    if (impossible && node.prices.empty())
      return {};
    if (node.prices.size() != problem.capacity.size())
      return notProved(
          fmt::format("leaf {} has {} prices for {} resources", number, node.prices.size(), problem.capacity.size()));
    for (int64_t price : node.prices)
      if (price < 0 || price > kMaxPrice)
        return notProved(fmt::format("leaf {} has price {}, which is not in 0 to {}", number, price, kMaxPrice));
    if (impossible || provedAsOnEmpty(node.prices) || provedByFitting(node.prices))
      return {};
    return notProved(
        fmt::format("the prices of leaf {} do not prove a value of at most {}", number, int64_t(limit - 1)));
  }

  Wide reduced(const Configuration &configuration, const Prices &prices) const {
    Wide sum = Wide(configuration.value) * proof.denominator;
    for (const ResourceUse &use : configuration.uses)
      sum -= Wide(prices[use.resource]) * use.amount;
    return sum;
  }
  Wide pricedLeft(const Prices &prices) const {
    Wide sum = 0;
    for (size_t r = 0; r < prices.size(); ++r)
      sum += Wide(prices[r]) * left[r];
    return sum;
  }
  bool keepsBound(Wide numerator) const { return numerator < limit * proof.denominator; }

  const PricedJobs &pricedJobs(const Prices &prices) {
    if (auto found = kept.find(prices); found != kept.end())
      return found->second;
    if (kept.size() >= kKeptPrices)
      kept.clear();
    PricedJobs &priced = kept[prices];
    for (size_t r = 0; r < prices.size(); ++r)
      priced.all += Wide(prices[r]) * capacity[r];
    for (const AllocationJob &job : problem.jobs) {
      bool any = job.mayWait;
      Wide best = 0;
      for (const Configuration &configuration : job.configurations) {
        const Wide one = reduced(configuration, prices);
        best = any ? std::max(best, one) : one;
        any = true;
      }
      priced.complete &= any;
      priced.all += best;
      priced.best.push_back(best);
    }
    return priced;
  }
  /// By the best configurations, whether or not they fit what is left: the same for all leaves with these prices.
  bool provedAsOnEmpty(const Prices &prices) {
    const PricedJobs &priced = pricedJobs(prices);
    if (!priced.complete)
      return false;
    Wide sum = priced.all + value * proof.denominator;
    for (const Envelope &one : path) {
      sum -= priced.best[one.job];
      for (const ResourceUse &use : one.uses)
        sum -= Wide(prices[use.resource]) * use.amount;
    }
    return keepsBound(sum);
  }
  bool provedByFitting(const Prices &prices) const {
    const Wide available = pricedLeft(prices);
    Wide sum = value * proof.denominator + available, needed = 0;
    const std::vector<SlotRange> ranges = allRanges();
    for (size_t j = 0; j < problem.jobs.size(); ++j) {
      if (fixed[j])
        continue;
      const AllocationJob &job = problem.jobs[j];
      const bool mayWait = job.mayWait && ranges[j].holds(job.configurations.size());
      bool any = mayWait, need = false;
      Wide best = 0, cheapest = 0;
      for (const Configuration &configuration : job.configurations) {
        if (!ranges[j].holds(&configuration - job.configurations.data()))
          continue;
        if (std::any_of(configuration.uses.begin(), configuration.uses.end(),
                        [&](const ResourceUse &use) { return use.amount > left[use.resource]; }))
          continue;
        const Wide one = reduced(configuration, prices), cost = Wide(configuration.value) * proof.denominator - one;
        best = any ? std::max(best, one) : one;
        cheapest = need ? std::min(cheapest, cost) : cost;
        any = need = true;
      }
      if (!any)
        return true; // it has to run and cannot
      sum += best;
      needed += mayWait ? 0 : cheapest;
    }
    return keepsBound(sum) || available < needed;
  }

  const AllocationProblem &problem;
  const AllocationProof &proof;
  const Wide limit; ///< the bound + 1
  const std::vector<int64_t> capacity;
  std::vector<int64_t> left;
  std::vector<bool> fixed, reached;
  std::vector<SlotRange> slots; ///< of fixed jobs
  const std::vector<std::vector<size_t>> classes;
  std::vector<size_t> classOf;
  std::vector<std::set<size_t>> fixedEqual; ///< jobs of each class
  Wide value = 0;                           ///< of the path
  size_t excluded = 0;  ///< jobs of the path whose configurations are not in the order of equal jobs
  size_t overflows = 0; ///< resources of which less than 0 is left
  std::vector<Envelope> path;
  std::vector<Visit> waiting;
  std::map<Prices, PricedJobs> kept;
};

Result<void> checkChoice(const AllocationProblem &problem, const AllocationSolution &solution) {
  if (solution.choice.size() != problem.jobs.size())
    return wrong(fmt::format("the choice has {} jobs of {}", solution.choice.size(), problem.jobs.size()));
  Wide value = 0;
  std::vector<int64_t> used(problem.capacity.size(), 0);
  for (size_t j = 0; j < problem.jobs.size(); ++j) {
    const AllocationJob &job = problem.jobs[j];
    const int64_t chosen = solution.choice[j];
    if (chosen < -1 || chosen >= static_cast<int64_t>(job.configurations.size()))
      return wrong(fmt::format("job {} runs in configuration {} of {}", j, chosen, job.configurations.size()));
    if (chosen == -1 && !job.mayWait)
      return wrong(fmt::format("job {} waits, but may not", j));
    if (chosen == -1)
      continue;
    value += job.configurations[chosen].value;
    for (const ResourceUse &use : job.configurations[chosen].uses)
      used[use.resource] += use.amount;
  }
  for (size_t r = 0; r < used.size(); ++r)
    if (used[r] > problem.capacity[r])
      return wrong(fmt::format("the choice uses {} of resource {}, which has {}", used[r], r, problem.capacity[r]));
  if (value != solution.value)
    return wrong(fmt::format("the choice has value {}, but {} is said", int64_t(value), solution.value));
  return {};
}

Result<void> checkStatus(const AllocationProblem &problem, const AllocationSolution &solution) {
  const bool solved = solution.status == AllocationStatus::Optimal || solution.status == AllocationStatus::Feasible;
  if (solved) {
    if (auto checked = checkChoice(problem, solution); !checked)
      return checked;
    const bool optimal = solution.bound == solution.value;
    if (optimal != (solution.status == AllocationStatus::Optimal) || solution.bound < solution.value)
      return wrong(
          fmt::format("the status does not follow from value {} and bound {}", solution.value, solution.bound));
    return {};
  }
  if (!solution.choice.empty() || solution.value != 0)
    return wrong(fmt::format("there is no allocation, but a choice of {} jobs with value {}", solution.choice.size(),
                             solution.value));
  if (solution.status == AllocationStatus::Infeasible ? solution.bound != -1 : solution.bound < 0)
    return wrong(fmt::format("the status does not follow from bound {} without a choice", solution.bound));
  return {};
}

} // namespace

Result<void> verifyAllocation(const AllocationProblem &problem, const AllocationSolution &solution) {
  if (auto checked = checkAllocationProblem(problem); !checked)
    return checked;
  if (auto checked = checkStatus(problem, solution); !checked)
    return checked;
  return ProofWalk(problem, solution.bound, solution.proof).walk();
}

Result<void> verifyAllocationBound(const AllocationProblem &problem, int64_t bound, const AllocationProof &proof) {
  if (auto checked = checkAllocationProblem(problem); !checked)
    return checked;
  return ProofWalk(problem, bound, proof).walk();
}

} // namespace accord::jobs
