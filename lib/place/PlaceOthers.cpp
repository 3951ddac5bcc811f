// Good plans of other degrees than the answer's.
#include "lib/place/Place.h"
#include "lib/place/PlaceConfigurations.h"
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

} // namespace

std::vector<RunnerUp> runnersUp(const PlacementProblem &problem, const PlacementResult &result,
                                size_t most, const PlaceOptions &options) {
  std::map<Degrees, RunnerUp> best;
  if (!result.plan || most == 0)
    return {};
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
        if (one.bound >= found->second.worth.value)
          continue;
        answer.value = found->second.worth.value;
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
    if (!added && answer.worth.value < found->second.worth.value)
      found->second = {*answer.plan, answer.worth};
  }
  std::vector<RunnerUp> list;
  for (auto &[degrees, one] : best)
    list.push_back(std::move(one));
  std::vector<size_t> order(list.size());
  for (size_t i = 0; i < order.size(); ++i)
    order[i] = i;
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return std::tie(list[a].worth.value, a) < std::tie(list[b].worth.value, b);
  });
  std::vector<RunnerUp> sorted;
  for (size_t i : order)
    sorted.push_back(std::move(list[i]));
  list = std::move(sorted);
  if (list.size() > most)
    list.resize(most);
  return list;
}

} // namespace accord
