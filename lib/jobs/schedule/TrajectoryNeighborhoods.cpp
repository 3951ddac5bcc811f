#include "lib/jobs/schedule/TrajectoryNeighborhoods.h"
#include "lib/jobs/solve/AllocationSolver.h"
#include "lib/support/SplitMix.h"
#include <algorithm>
#include <numeric>

namespace accord::jobs {
namespace {

constexpr size_t kMinJobs = 3, kMaxJobs = 8; ///< of a neighbourhood
constexpr unsigned kEffort = 2;              ///< of each neighbourhood
constexpr unsigned kRounds = 24;             ///< at effort 4; each step more of effort adds half as many
constexpr unsigned kMaxIdle = 24;            ///< rounds without a better allocation before neighbourhoods grow

class Neighborhoods {
public:
  Neighborhoods(const AllocationProblem &problem, std::vector<int64_t> choice, int64_t bound,
                const SearchLimits &limits)
      : problem(problem), choice(std::move(choice)), bound(bound), limits(limits), left(problem.capacity),
        uses(problem.capacity.size(), false), size(std::min(kMinJobs, problem.jobs.size())) {
    for (size_t job = 0; job < problem.jobs.size(); ++job) {
      add(job, -1);
      value += chosen(job).value;
    }
    order.resize(problem.jobs.size());
    std::iota(order.begin(), order.end(), size_t(0));
    std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
      const auto compared = problem.jobs[a] <=> problem.jobs[b];
      return compared != 0                        ? compared < 0
             : this->choice[a] != this->choice[b] ? this->choice[a] < this->choice[b]
                                                  : a < b;
    });
  }

  std::vector<int64_t> run() {
    const unsigned rounds = kRounds / 2 * std::max(2u, std::min(limits.effort, kMaxEffort)) / 2;
    unsigned idle = 0;
    for (unsigned round = 0; round < rounds && !isGoodEnough() && !limits.stopped(); ++round) {
      idle = solve(draw()) ? 0 : idle + 1;
      if (idle >= kMaxIdle && size < std::min(kMaxJobs, problem.jobs.size()))
        ++size, idle = 0;
    }
    return std::move(choice);
  }

private:
  const Configuration &chosen(size_t job) const { return problem.jobs[job].configurations[choice[job]]; }
  void add(size_t job, int64_t times) {
    for (const ResourceUse &use : chosen(job).uses)
      left[use.resource] += times * use.amount;
  }
  bool isGoodEnough() const { return static_cast<double>(bound - value) <= limits.gap * static_cast<double>(value); }

  /// A job and those whose choices use most of the resources that it uses, with some chance, ascending.
  std::vector<size_t> draw() {
    const size_t seed = order[random.below(order.size())];
    for (const ResourceUse &use : chosen(seed).uses)
      uses[use.resource] = true;
    std::vector<std::pair<double, size_t>> ranked; // place in `order`, so that numbers of jobs do not matter
    for (size_t place = 0; place < order.size(); ++place) {
      if (order[place] == seed)
        continue;
      size_t shared = 1;
      for (const ResourceUse &use : chosen(order[place]).uses)
        shared += uses[use.resource];
      ranked.emplace_back(-static_cast<double>(shared) * random.unit(), place);
    }
    for (const ResourceUse &use : chosen(seed).uses)
      uses[use.resource] = false;
    const size_t others = std::min(size - 1, ranked.size());
    std::partial_sort(ranked.begin(), ranked.begin() + static_cast<std::ptrdiff_t>(others), ranked.end());
    std::vector<size_t> drawn{seed};
    for (size_t i = 0; i < others; ++i)
      drawn.push_back(order[ranked[i].second]);
    return drawn;
  }

  /// Allocates these jobs anew. Returns whether that is better.
  bool solve(const std::vector<size_t> &jobs) {
    int64_t before = 0;
    for (size_t job : jobs) {
      add(job, 1);
      before += chosen(job).value;
    }
    std::vector<std::vector<unsigned>> fitting(jobs.size());
    const AllocationProblem small = problemOf(jobs, fitting);
    SearchLimits few = limits;
    few.effort = kEffort, few.gap = 0, few.progress = nullptr;
    const AllocationSolution solution = solveAllocation(small, few);
    const bool isBetter = !solution.choice.empty() && solution.value > before;
    for (size_t i = 0; i < jobs.size(); ++i) {
      if (isBetter)
        choice[jobs[i]] = fitting[i][solution.choice[i]];
      add(jobs[i], -1);
    }
    if (isBetter)
      value += solution.value - before;
    return isBetter;
  }

  /// With the configurations that fit what is left, and the resources of which more could be used.
  AllocationProblem problemOf(const std::vector<size_t> &jobs, std::vector<std::vector<unsigned>> &fitting) const {
    std::vector<int64_t> total(left.size(), 0), max(left.size(), 0);
    for (size_t i = 0; i < jobs.size(); ++i) {
      const auto &all = problem.jobs[jobs[i]].configurations;
      std::vector<unsigned> touched;
      for (unsigned k = 0; k < all.size(); ++k) {
        if (std::any_of(all[k].uses.begin(), all[k].uses.end(),
                        [&](const ResourceUse &use) { return use.amount > left[use.resource]; }))
          continue;
        fitting[i].push_back(k);
        for (const ResourceUse &use : all[k].uses) {
          if (max[use.resource] == 0)
            touched.push_back(use.resource);
          max[use.resource] = std::max(max[use.resource], use.amount);
        }
      }
      for (unsigned row : touched) {
        total[row] += max[row];
        max[row] = 0;
      }
    }
    AllocationProblem small;
    std::vector<int64_t> number(left.size(), -1);
    for (size_t row = 0; row < left.size(); ++row)
      if (total[row] > left[row]) {
        number[row] = static_cast<int64_t>(small.capacity.size());
        small.capacity.push_back(left[row]);
      }
    for (size_t i = 0; i < jobs.size(); ++i) {
      small.jobs.push_back({{}, false});
      for (unsigned k : fitting[i]) {
        const Configuration &full = problem.jobs[jobs[i]].configurations[k];
        Configuration one{full.value, {}};
        for (const ResourceUse &use : full.uses)
          if (number[use.resource] >= 0)
            one.uses.push_back({static_cast<unsigned>(number[use.resource]), use.amount});
        small.jobs.back().configurations.push_back(std::move(one));
      }
    }
    return small;
  }

  const AllocationProblem &problem;
  std::vector<int64_t> choice;
  const int64_t bound;
  const SearchLimits &limits;
  std::vector<int64_t> left;
  std::vector<bool> uses; ///< of each resource: whether the job that is drawn first uses it
  size_t size;            ///< of neighbourhoods
  std::vector<size_t> order;
  int64_t value = 0;
  SplitMix random{1};
};

} // namespace

std::vector<int64_t> improveChoice(const AllocationProblem &problem, std::vector<int64_t> choice, int64_t bound,
                                   const SearchLimits &limits) {
  if (problem.jobs.empty() || limits.effort == 0)
    return choice;
  return Neighborhoods(problem, std::move(choice), bound, limits).run();
}

} // namespace accord::jobs
