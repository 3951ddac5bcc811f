#include "lib/scheduling/solve/Neighbourhoods.h"
#include "lib/scheduling/solve/ClauseOracle.h"
#include <algorithm>
#include <numeric>

namespace accord::solve {
namespace {

/// Steps for one neighbourhood, some seconds' hundredth.
constexpr uint64_t kStepsOfOne = 600'000;
/// What building a clause solver costs, in its steps, for each task.
constexpr uint64_t kStepsPerTask = 200;
/// How the number of free tasks changes.
constexpr double kMore = 1.04, kFewer = 0.9;
constexpr double kMinFree = 10;
/// Neighbourhoods in vain, after which the schedule changes for another one as long.
constexpr unsigned kPatience = 12;

} // namespace

NeighbourhoodSearch::NeighbourhoodSearch(const Instance &instance, std::mt19937_64 &random)
    : in(instance), random(random),
      counts{std::max(kMinFree, 0.3 * double(in.size())), std::max(kMinFree, 0.2 * double(in.size()))} {}

/// By kind: those that run nearest to a random time; any.
std::vector<char> NeighbourhoodSearch::chooseFree(const SchedulingSolution &now, size_t count) {
  std::vector<int64_t> distance(in.size());
  int64_t time = random() % (now.makespan + 1);
  for (Id t = 0; t < in.size(); ++t) {
    int64_t end = now.start[t] + in.minDuration[t];
    distance[t] = kind == 0 ? std::max<int64_t>({0, now.start[t] - time, time - end}) : int64_t(random() >> 1);
  }
  std::vector<Id> order(in.size());
  std::iota(order.begin(), order.end(), 0);
  std::sort(order.begin(), order.end(),
            [&](Id a, Id b) { return std::pair(distance[a], a) < std::pair(distance[b], b); });
  std::vector<char> isFree(in.size(), 0);
  for (size_t i = 0; i < std::min(count, order.size()); ++i)
    isFree[order[i]] = 1;
  return isFree;
}

/// Who passes on units of a resource to whom, among tasks that are not free: each takes what it needs from those that
/// ended last.
std::vector<std::pair<Id, Id>> NeighbourhoodSearch::ordersOf(const SchedulingSolution &now,
                                                             const std::vector<char> &isFree) const {
  std::vector<std::pair<Id, Id>> orders;
  std::vector<Id> byStart;
  for (Id t = 0; t < in.size(); ++t)
    if (!isFree[t] && in.minDuration[t] > 0)
      byStart.push_back(t);
  std::sort(byStart.begin(), byStart.end(),
            [&](Id a, Id b) { return std::pair(now.start[a], a) < std::pair(now.start[b], b); });
  struct Units {
    int64_t from; ///< time
    Id task;
    int64_t amount;
  };
  for (Id r = 0; r < in.problem.resources.size(); ++r) {
    std::vector<Units> units{{0, SchedulingProblem::kNoTask, in.problem.resources[r].capacity}};
    for (Id t : byStart) {
      int64_t needed = in.mode(t, 0).uses(r);
      if (needed == 0)
        continue;
      std::sort(units.begin(), units.end(),
                [](const Units &a, const Units &b) { return std::pair(a.from, a.task) > std::pair(b.from, b.task); });
      int64_t rest = needed;
      for (Units &one : units) {
        if (one.from > now.start[t] || rest == 0)
          continue;
        int64_t taken = std::min(rest, one.amount);
        one.amount -= taken, rest -= taken;
        if (one.task != SchedulingProblem::kNoTask)
          orders.push_back({one.task, t});
      }
      std::erase_if(units, [](const Units &one) { return one.amount == 0; });
      units.push_back({now.start[t] + in.minDuration[t], t, needed});
    }
  }
  std::sort(orders.begin(), orders.end());
  orders.erase(std::unique(orders.begin(), orders.end()), orders.end());
  return orders;
}

bool NeighbourhoodSearch::improve(SchedulingSolution &best, const NeighbourhoodLimits &limits, uint64_t &spent) {
  if (current.start.empty() || current.makespan > best.makespan)
    current = best;
  bool better = false;
  uint64_t end = spent + limits.work;
  std::optional<Propagator> shorter, asLong;
  auto windowsOf = [&](std::optional<Propagator> &windows, int64_t makespan) -> Propagator * {
    if (!windows) {
      windows.emplace(in, makespan);
      if (!windows->run())
        windows->latest.clear();
    }
    return windows->latest.empty() ? nullptr : &*windows;
  };
  while (spent < end && best.makespan > limits.bound && !(limits.stop && *limits.stop)) {
    bool sideways = stale >= kPatience;
    int64_t target = best.makespan - (sideways ? 0 : 1);
    Propagator *windows = windowsOf(sideways ? asLong : shorter, target);
    if (!windows)
      break;
    kind = random() % 3 == 0;
    double &count = counts[kind];
    std::vector<char> isFree = chooseFree(current, static_cast<size_t>(count));
    ClauseOracle oracle(in, *windows, /*energetic=*/false, ordersOf(current, isFree));
    oracle.keepNoLog();
    if (!sideways)
      oracle.suggest(current);
    SchedulingSolution found;
    ClauseOracle::Answer said = oracle.ask(target, std::min(kStepsOfOne, end - spent), found, limits.stop);
    spent += oracle.work() + kStepsPerTask * in.size();
    ++stale;
    if (said == ClauseOracle::Answer::Yes) {
      stale = 0;
      current = std::move(found);
      if (current.makespan < best.makespan) {
        best = current, better = true;
        shorter.reset(), asLong.reset();
      }
    } else if (!sideways) {
      count = said == ClauseOracle::Answer::No ? std::min(count * kMore, double(in.size()))
                                               : std::max(count * kFewer, kMinFree);
    } else {
      stale = 0;
    }
  }
  return better;
}

} // namespace accord::solve
