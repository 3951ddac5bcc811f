#include "lib/exploration/solve/DesignSample.h"
#include "lib/exploration/solve/MiningRandom.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>
#include <map>
#include <ranges>

namespace accord {
namespace {

bool dominates(const EvaluatedDesign &a, const EvaluatedDesign &b) {
  return a.value <= b.value && isAtMost(a.costs, b.costs);
}

/// By numbers; of equal ones, in the order of parameters.
bool comesBefore(const EvaluatedDesign &a, const EvaluatedDesign &b) {
  return std::tie(a.value, a.costs, a.design) < std::tie(b.value, b.costs, b.design);
}

/// Spreads alike designs over all numbers.
uint64_t hashOf(const Design &design) {
  uint64_t hash = 0;
  for (uint32_t choice : design)
    hash = MiningRandom(hash + choice).next();
  return hash;
}

/// `count` of `size` positions, evenly, the first and the last among them.
std::vector<size_t> spread(size_t size, size_t count) {
  std::vector<size_t> positions;
  count = std::min(size, count);
  for (size_t i = 0; i < count; ++i)
    positions.push_back(count > 1 ? i * (size - 1) / (count - 1) : 0);
  return positions;
}

} // namespace

DesignSample::DesignSample(const std::vector<DesignParameter> &parameters, std::vector<std::string> costs) {
  result_.costs = std::move(costs);
  for (const DesignParameter &parameter : parameters)
    bestWith_.emplace_back(parameter.labels.size());
}

void DesignSample::addToFront(const EvaluatedDesign &design) {
  if (std::ranges::any_of(front_, [&](const EvaluatedDesign &one) {
        return dominates(one, design) && !(dominates(design, one) && comesBefore(design, one));
      }))
    return;
  std::erase_if(front_, [&](const EvaluatedDesign &one) { return dominates(design, one); });
  if (front_.size() < kMaxFront)
    front_.push_back(design);
  else
    result_.truncated = true;
}

void DesignSample::add(const Design &design, const DesignEvaluation &evaluation, std::vector<double> costs) {
  ++result_.count;
  costs.resize(result_.costs.size());
  EvaluatedDesign added{design, evaluation.value, std::move(costs), false, evaluation.steps};
  addToFront(added);
  for (size_t p = 0; p < design.size(); ++p)
    if (auto &best = bestWith_[p][design[p]]; !best || comesBefore(added, *best))
      best = added;
  uint64_t hash = hashOf(design);
  if (drawn_.size() < kMaxKept || hash < drawn_.rbegin()->first) {
    drawn_.emplace(hash, std::move(added));
    if (drawn_.size() > kMaxKept)
      drawn_.erase(std::prev(drawn_.end()));
  }
}

EvaluatedDesigns DesignSample::finish() const {
  EvaluatedDesigns result = result_;
  std::map<Design, EvaluatedDesign> kept;
  std::vector<EvaluatedDesign> front = front_;
  std::ranges::sort(front, comesBefore);
  result.nonDominated = front.size();
  for (size_t i : spread(front.size(), kMaxKept)) {
    front[i].nonDominated = true;
    kept.emplace(front[i].design, front[i]);
  }
  auto keep = [&](const EvaluatedDesign &one) {
    auto [at, isNew] = kept.emplace(one.design, one);
    at->second.nonDominated |=
        isNew && std::ranges::any_of(front, [&](const EvaluatedDesign &of) { return of.design == one.design; });
  };
  for (const auto &choices : bestWith_) {
    std::vector<const EvaluatedDesign *> best;
    for (const auto &one : choices)
      if (one)
        best.push_back(&*one);
    for (size_t i : spread(best.size(), std::max<size_t>(2, kMaxKept / bestWith_.size())))
      keep(*best[i]);
  }
  for (const auto &[hash, one] : drawn_)
    keep(one);
  for (auto &[design, one] : kept)
    result.designs.push_back(std::move(one));
  std::ranges::sort(result.designs, comesBefore);
  return result;
}

} // namespace accord
