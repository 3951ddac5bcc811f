// Good plans of other degrees than the answer's.
#include "lib/placement/solve/Place.h"
#include "lib/placement/solve/PlaceConfigurations.h"
#include <algorithm>
#include <set>
#include <tuple>

namespace accord {
using namespace placing;

namespace {

using Degrees = std::pair<size_t, std::set<std::pair<int64_t, int64_t>>>;

Degrees degreesOf(const PlacementProblem &problem, const Placement &plan) {
  Degrees degrees{plan.stages.size() / static_cast<size_t>(plan.chunks), {}};
  for (const PlacedStage &stage : plan.stages)
    degrees.second.insert({problem.forms[stage.form].tensor, problem.forms[stage.form].data});
  return degrees;
}

/// Values that differ by no more of them are equal; then the shorter step is better.
constexpr double Equal = 1e-9;
bool better(const PlacementWorth &a, const PlacementWorth &b) {
  return a.value < b.value * (1 - Equal) || (a.value <= b.value * (1 + Equal) && a.step < b.step);
}

/// The best of each degrees, best first.
std::vector<RunnerUp> sorted(std::map<Degrees, RunnerUp> &best, size_t most) {
  std::vector<RunnerUp> left, list;
  for (auto &[degrees, one] : best)
    left.push_back(std::move(one));
  while (!left.empty() && list.size() < most) {
    auto least = left.begin(); // of the least value, and of those as good the shortest step
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->worth.value < least->worth.value)
        least = one;
    double value = least->worth.value * (1 + Equal);
    for (auto one = left.begin(); one != left.end(); ++one)
      if (one->worth.value <= value && one->worth.step < least->worth.step)
        least = one;
    list.push_back(std::move(*least));
    left.erase(least);
  }
  return list;
}

/// Plans of other degrees that take little memory: short steps with room for a little more than the
/// answer takes, then more.
std::vector<RunnerUp> ofLittleMemory(const PlacementProblem &problem, const PlacementResult &result,
                                     size_t most, const PlaceOptions &options) {
  std::map<Degrees, RunnerUp> best;
  PlacementProblem room = problem;
  room.objective = PlacementObjective::StepTime;
  for (double share : {1.0, 1.1, 1.3, 1.7, 2.5, 5.0}) {
    auto bytes = static_cast<int64_t>(std::min(result.value * share, 0x1p61));
    for (size_t k = 0; k < room.kinds.size(); ++k)
      room.kinds[k].memory = std::min(problem.kinds[k].memory, bytes);
    for (RunnerUp &one : runnersUp(room, result, most, options)) {
      one.worth = judge(problem, one.plan);
      auto [found, added] = best.try_emplace(degreesOf(problem, one.plan), one);
      if (!added && better(one.worth, found->second.worth))
        found->second = std::move(one);
    }
    if (best.size() >= most)
      break;
  }
  return sorted(best, most);
}

} // namespace

std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result,
                                size_t most, const PlaceOptions &options) {
  std::map<Degrees, RunnerUp> best;
  if (!result.plan || most == 0)
    return {};
  if (problem.objective == PlacementObjective::Memory)
    return ofLittleMemory(problem, result, most, options);
  // Equal values do not matter where they are the step's time.
  double slack = problem.objective == PlacementObjective::StepTime ? 0 : 2 * Equal;
  Space space(problem, 40'000);
  Keeps keeps(space);
  Configurations all(space);
  auto later = [](const Configuration &a, const Configuration &b) {
    return std::tie(a.bound, a.microbatches, a.schedule, a.chunks, a.fewest, a.forms) >
           std::tie(b.bound, b.microbatches, b.schedule, b.chunks, b.fewest, b.forms);
  };
  Degrees mine = degreesOf(problem, *result.plan);
  auto heap = std::move(all.list);
  std::make_heap(heap.begin(), heap.end(), later);
  // By increasing bound; a good many more than asked for, as bounds do not tell all.
  for (size_t tried = 0, steps = 0; !heap.empty() && tried < 16 * most && steps < 100'000;
       ++steps) {
    if (options.stop && options.stop->load())
      break;
    std::pop_heap(heap.begin(), heap.end(), later);
    Configuration one = std::move(heap.back());
    heap.pop_back();
    if (one.fewest < one.most) {
      Configuration low = one, high = one;
      low.most = one.fewest + (one.most - one.fewest) / 2;
      high.fewest = low.most + 1;
      for (Configuration *half : {&low, &high}) {
        half->bound = std::max(one.bound, all.boundOf(*half));
        if (std::isinf(half->bound))
          continue;
        heap.push_back(std::move(*half));
        std::push_heap(heap.begin(), heap.end(), later);
      }
      continue;
    }
    if (best.size() >= most) { // worse than all of them
      double worst = 0;
      for (const auto &[degrees, other] : best)
        worst = std::max(worst, other.worth.value);
      if (one.bound >= worst)
        break;
    }
    Answer answer;
    answer.budget = 2'000'000;
    answer.stop = options.stop;
    if (one.forms.size() == 1) { // degrees are known: only what beats their best
      const PlacementProblem::Form &form = problem.forms[one.forms[0]];
      Degrees degrees{static_cast<size_t>(one.fewest), {{form.tensor, form.data}}};
      if (degrees == mine)
        continue;
      if (auto found = best.find(degrees); found != best.end()) {
        answer.value = found->second.worth.value * (1 + slack);
        if (one.bound >= answer.value)
          continue;
      }
    }
    ++tried;
    Shape(space, keeps, one, answer).seed(false);
    if (!answer.plan)
      continue;
    Degrees degrees = degreesOf(problem, *answer.plan);
    if (degrees == mine)
      continue;
    auto [found, added] = best.try_emplace(degrees, RunnerUp{*answer.plan, answer.worth});
    if (!added && better(answer.worth, found->second.worth))
      found->second = {*answer.plan, answer.worth};
  }
  return sorted(best, most);
}

} // namespace accord
