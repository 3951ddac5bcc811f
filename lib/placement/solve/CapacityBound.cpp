// How many of the most frequent layers the groups hold, if none may take longer than a bottleneck.
#include "lib/placement/solve/ConfigurationSearch.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {
namespace {

/// Most layers with sum x_k time_k <= time and sum x_k bytes_k <= bytes over the ways k to keep
/// them: a linear program of two rows, whose best vertex uses at most two ways.
double maxBytesWithin(const std::vector<std::pair<double, double>> &alternatives, double time, double bytes) {
  if (time < 0 || bytes < 0)
    return -1;
  double max = 0;
  auto ratio = [](double have, double each) { return each > 0 ? have / each : INFINITY; };
  for (size_t i = 0; i < alternatives.size(); ++i) {
    auto [ti, bi] = alternatives[i];
    max = std::max(max, std::min(ratio(time, ti), ratio(bytes, bi)));
    for (size_t j = i + 1; j < alternatives.size(); ++j) {
      auto [tj, bj] = alternatives[j];
      double determinant = ti * bj - tj * bi;
      if (determinant == 0)
        continue;
      double x = (time * bj - tj * bytes) / determinant, y = (ti * bytes - time * bi) / determinant;
      if (x >= 0 && y >= 0)
        max = std::max(max, x + y);
    }
  }
  return max;
}

} // namespace

/// Layers of one class, all others left out but the first and the last layer of a chain, which are
/// in the first and the last group. Each group holds no more of them than fit within the time of
/// the bottleneck and its memory (micro-batches in flight at least as many as in the emptiest of
/// its chunks, at any moment), in any of the forms. The least bottleneck for which this is enough
/// bounds the fullest group of each plan, and a step takes all its passes.
double ConfigurationSearch::capacityBound() {
  if (!mayHold(stages_, lattice_.last())) // a layer is pinned to a stage that is not there
    return INFINITY;
  std::vector<int64_t> counts(problem_.classes.size());
  for (const PlacementProblem::Layer &layer : problem_.layers)
    ++counts[layer.of];
  auto unit = static_cast<Id>(std::max_element(counts.begin(), counts.end()) - counts.begin());
  auto end = static_cast<Id>(problem_.layers.size() - 1);
  auto p = static_cast<size_t>(groups_);
  struct Use {
    int64_t time = 0, bytes = 0;
  };
  auto useOf = [&](Id parallelConfig, Id layer, int64_t inFlight) -> Use {
    const auto &cost = problem_.cost(layer, parallelConfig);
    if (problem_.layers[layer].of == unit || !cost)
      return {};
    int64_t recomputeTime = INT64_MAX, activations = INT64_MAX;
    for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices)
      recomputeTime = std::min(recomputeTime, recomputeChoice.recomputeTime),
      activations = std::min(activations, recomputeChoice.activations);
    return {cost->forward + cost->backward + cost->weight + recomputeTime, cost->staticMemory + inFlight * activations};
  };
  struct Row {
    double fixed, bytes;
    std::vector<std::pair<double, double>> alternatives;
    double groups = 1;
  };
  std::vector<std::vector<Row>> rows; ///< by group (equal ones once), form
  int64_t last = -1;
  for (size_t g = 0; g < p; ++g) {
    int64_t inFlight = 0;
    for (const auto &held : held_[g])
      inFlight = std::max(inFlight, *std::min_element(held.begin(), held.end()));
    auto lastGroup = static_cast<size_t>(groupOf(stages_ - 1));
    bool special = lattice_.chain && (g == 0 || g == lastGroup);
    if (!special && inFlight == last) {
      for (Row &row : rows.back())
        ++row.groups;
      continue;
    }
    last = special ? -1 : inFlight;
    rows.emplace_back();
    for (Id parallelConfig : configuration_.parallelConfigs) {
      const auto &cost = problem_.classes[unit].costs[parallelConfig];
      int64_t memory = problem_.deviceTypes[problem_.parallelConfigs[parallelConfig].deviceType].memory,
              workspace = INT64_MAX;
      Use fixed;
      for (auto [here, layer] : {std::pair{g == 0, Id{0}}, std::pair{g == lastGroup && end > 0, end}})
        if (lattice_.chain && here) {
          Use use = useOf(parallelConfig, layer, inFlight);
          fixed.time += use.time, fixed.bytes += use.bytes;
        }
      Row row{static_cast<double>(fixed.time + problem_.hostOverheadPerMicrobatch * configuration_.virtualStages),
              0,
              {},
              1};
      if (cost)
        for (const PlacementProblem::RecomputeChoice &recomputeChoice : cost->recomputeChoices) {
          workspace = std::min(workspace, recomputeChoice.workspace);
          row.alternatives.push_back(
              {static_cast<double>(cost->forward + cost->backward + cost->weight + recomputeChoice.recomputeTime),
               static_cast<double>(cost->staticMemory + inFlight * recomputeChoice.activations)});
        }
      row.bytes = memory - fixed.bytes - (cost ? workspace : 0);
      // A group without any of these layers needs no room to work on them.
      if (row.bytes < 0)
        row.bytes = 0;
      rows.back().push_back(std::move(row));
    }
  }
  auto holds = [&](double bottleneck) {
    double sum = 0;
    for (const auto &group : rows) {
      double max = 0;
      for (const Row &row : group)
        max = std::max(max, maxBytesWithin(row.alternatives, bottleneck - row.fixed, row.bytes));
      sum += std::isinf(max) ? max : group[0].groups * std::floor(max * (1 + 1e-12) + 1e-9);
      if (sum >= counts[unit])
        return true;
    }
    return false;
  };
  double high = std::min(static_cast<double>(longest()) / microbatches_, 4e18);
  if (!holds(high))
    return std::isinf(searchState_.value) && high < 4e18 ? INFINITY : searchState_.cutoff();
  double low = 0;
  while (high - low > std::max(0.5, high * 2e-4)) {
    double middle = high > 4 * low + 4 ? std::sqrt((low + 1) * (high + 1)) : low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  double step = low * microbatches_ * (1 - 1e-12);
  return value(step, minRatesOf({}));
}

} // namespace accord::placing
