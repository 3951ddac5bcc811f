#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {

Shape::Shape(const Space &space, Keeps &keeps, const Configuration &configuration, Answer &answer)
    : space_(space), keeps_(keeps), problem_(space.problem), configuration_(configuration),
      answer_(answer), groups_(configuration.fewest),
      stages_(configuration.fewest * configuration.chunks),
      microbatches_(configuration.microbatches),
      held_(keeps.held({configuration.schedule, groups_, configuration.chunks, microbatches_})),
      inFlight_(inFlightOf({configuration.schedule, groups_, configuration.chunks, microbatches_},
                           held_)) {
  for (Id form : configuration.forms)
    rates_.push_back(ratesOf(problem_, form));
  least_ = rates_[0];
  joules_ = INFINITY;
  for (size_t f = 0; f < rates_.size(); ++f)
    least_ = least(least_, rates_[f]);
  if (configuration.forms.size() == 1) {
    joules_ = space.all(configuration.forms[0]).joules;
  } else {
    joules_ = 0;
    for (const PlacementProblem::Layer &layer : problem_.layers) {
      double best = INFINITY;
      for (Id form : configuration.forms)
        if (const auto &cost = problem_.classes[layer.of].costs[form])
          best = std::min(best, cost->joules);
      joules_ += std::isinf(best) ? 0 : best;
    }
  }
  if (!space.chain) {
    std::vector<int64_t> forward, backward;
    for (Id layer = 0; layer < problem_.layers.size(); ++layer) {
      int64_t f = INT64_MAX, b = INT64_MAX;
      for (Id form : configuration.forms)
        if (const auto &cost = problem_.cost(layer, form))
          f = std::min(f, cost->forward), b = std::min(b, cost->backward);
      forward.push_back(f == INT64_MAX ? 0 : f), backward.push_back(b == INT64_MAX ? 0 : b);
    }
    chainForward_ = space.chains(forward), chainBackward_ = space.chains(backward);
  }
  line_.push_back(0);
  while (line_.back() != space.last())
    line_.push_back(space.above(line_.back()).empty() ? line_.back() + 1
                                                      : space.above(line_.back()).front());
  even_ = configuration.chunks > 1 && middle() && (!problem_.evenly || onlyCut());
}

int64_t Shape::transferAtLeast(Id form, int64_t bytes, int64_t stage) const {
  // Between stages `stage` and the next one; both ends have at least these devices.
  if (bytes <= 0 || groups_ == 1)
    return 0;
  const PlacementProblem::Form &mine = problem_.forms[form];
  double most = static_cast<double>(bytes) * static_cast<double>(mine.data * mine.microbatch) /
                static_cast<double>(mine.devices());
  int64_t perServer = problem_.kinds[mine.kind].perServer;
  int64_t shortest = INT64_MAX;
  for (Id other : configuration_.forms) {
    const PlacementProblem::Form &its = problem_.forms[other];
    bool inside = false;
    if (configuration_.forms.size() == 1) {
      int64_t a = stage % groups_, b = (stage + 1) % groups_;
      if (mine.order == PlacementProblem::RankOrder::TensorPipelineData)
        inside = replicasInside(problem_, form, a, b, groups_);
      else
        inside = std::min(a, b) * mine.devices() / perServer ==
                 ((std::max(a, b) + 1) * mine.devices() - 1) / perServer;
    } else {
      inside = its.kind == mine.kind && mine.devices() + its.devices() <= perServer;
    }
    for (size_t link : {mine.kind * problem_.kinds.size() + its.kind,
                        its.kind * problem_.kinds.size() + mine.kind}) {
      const PlacementProblem::Link &way = problem_.links[link];
      bool either = configuration_.forms.size() > 1 && inside;
      if (inside)
        shortest = std::min(shortest, timeOf({way.inside}, most));
      if (!inside || either)
        shortest = std::min(shortest, timeOf({way.across}, most));
    }
  }
  return shortest;
}

/// What the ties of a stage with another group take, on the best link there is.
int64_t Shape::tiesAtLeast(Id form, uint32_t from, uint32_t to) const {
  int64_t sum = 0;
  for (const PlacementProblem::Tie &tie : problem_.ties) {
    bool a = space_.holds(from, to, tie.a), b = space_.holds(from, to, tie.b);
    bool ends = tie.a == 0 && tie.b + 1 == problem_.layers.size();
    if (a == b || (configuration_.chunks > 1 && !ends)) // maybe in another chunk of the group
      continue;
    auto bytes = static_cast<double>(problem_.cost(a ? tie.a : tie.b, form)->tied);
    const PlacementProblem::Form &mine = problem_.forms[form];
    bool row = configuration_.forms.size() == 1 && space_.chain && ends &&
               mine.order == PlacementProblem::RankOrder::TensorDataPipeline;
    // First and last group: devices of all of them are in between.
    bool apart = row && groups_ * mine.devices() > problem_.kinds[mine.kind].perServer;
    int64_t shortest = INT64_MAX;
    for (Id other : configuration_.forms)
      for (size_t link : {mine.kind * problem_.kinds.size() + problem_.forms[other].kind,
                          problem_.forms[other].kind * problem_.kinds.size() + mine.kind}) {
        const PlacementProblem::Link &way = problem_.links[link];
        shortest = std::min(shortest, timeOf({way.across}, bytes));
        if (!apart)
          shortest = std::min(shortest, timeOf({way.inside}, bytes));
      }
    sum += shortest;
  }
  return sum;
}

std::optional<StageBound> Shape::stageAt(Id form, uint32_t from, uint32_t to, int64_t stage,
                                         int64_t memory) {
  auto again = keeps_.leastAgain(form, from, to, inFlight_[static_cast<size_t>(stage)], memory);
  if (!again)
    return std::nullopt;
  Sums sums = space_.between(form, from, to);
  const PlacementProblem::Form &f = problem_.forms[form];
  int64_t gather = f.gather.empty() ? 0 : timeOf(f.gather, static_cast<double>(sums.weights));
  StageBound bound;
  bound.forward = sums.forward + problem_.perMicrobatch + gather;
  bound.backward = sums.backward + *again + gather;
  bound.weight = sums.weight;
  int64_t in = stage > 0 ? transferAtLeast(form, space_.crossing(from), stage - 1) : 0;
  int64_t out = stage + 1 < stages_ ? transferAtLeast(form, space_.crossing(to), stage) : 0;
  if (problem_.blockingTransfers)
    bound.forward += in, bound.backward += out;
  else
    bound.send = out;
  if (configuration_.chunks == 1) {
    // More recomputation hides more of the exchange, but not more than it takes.
    StageWork work;
    work.backward = sums.backward + (problem_.hidden <= 1 ? *again : sums.mostAgain);
    work.weight = sums.weight, work.update = sums.update, work.gradients = sums.gradients;
    work.expertGradients = sums.expertGradients;
    bound.finish = finishOf(problem_, form, work, togetherOf(problem_, form, groups_));
    bound.finish += tiesAtLeast(form, from, to);
  }
  return bound;
}

/// `at`: the stage, or -1 for one alone, of which nothing is known but its own work.
Span Shape::extend(const Span &behind, const StageBound &stage, int64_t at) const {
  int64_t m = microbatches_, delay = at < 0 || at + 1 == stages_ ? 0 : stage.send;
  bool split = configuration_.schedule == PipelineSchedule::ZeroBubble;
  int64_t each = stage.forward + stage.backward + (split ? 0 : stage.weight);
  Span span;
  span.through = each + 2 * delay + behind.through;
  span.leave = std::max(m * each, each + 2 * delay + behind.leave);
  if (split) // weight gradients that cannot wait any longer
    span.leave = std::max(span.leave, m * each + (m - std::min(m, groups_)) * stage.weight);
  if (at >= 0 && configuration_.schedule == PipelineSchedule::GPipe)
    span.leave = std::max(span.leave, span.through + (m - 1) * each);
  else if (int64_t k = groups_ - at; at >= 0 && m > k)
    span.leave = std::max(span.leave, span.through + behind.through + (m - k) * each);
  span.end = span.leave + (split ? stage.weight : 0);
  span.end = std::max(span.end, m * stage.work()) + stage.finish;
  span.end = std::max(span.end, stage.forward + delay + behind.end);
  return span;
}

Rates Shape::ratesAtLeast(const std::vector<Placed> &stages) const {
  Rates sum;
  std::vector<char> seen(configuration_.forms.size());
  int64_t left = groups_;
  for (size_t s = 0; s < stages.size() && s < static_cast<size_t>(groups_); ++s, --left)
    for (size_t f = 0; f < configuration_.forms.size(); ++f)
      if (configuration_.forms[f] == stages[s].form)
        sum += rates_[f], seen[f] = 1;
  if (configuration_.each)
    for (size_t f = 0; f < seen.size() && left > 0; ++f)
      if (!seen[f])
        sum += rates_[f], --left;
  auto n = static_cast<double>(left);
  sum += {n * least_.watts, n * least_.price, n * least_.tdp, left * least_.devices};
  return sum;
}

int64_t Shape::longest() const {
  double step = stepFor(problem_, answer_.goal(), ratesAtLeast({}), joules_) -
                static_cast<double>(problem_.perStep);
  return step >= 4e18 ? INT64_MAX / 2 : static_cast<int64_t>(std::max(step, 0.0)) + 1;
}

} // namespace accord::placing
