// How many of the most frequent layers the groups hold, if none may take longer than a bottleneck.
#include "lib/placement/solve/PlaceShape.h"
#include <algorithm>
#include <cmath>

namespace accord::placing {
namespace {

/// Most layers with sum x_k time_k <= time and sum x_k bytes_k <= bytes over the ways k to keep
/// them: a linear program of two rows, whose best vertex uses at most two ways.
double mostOf(const std::vector<std::pair<double, double>> &ways, double time, double bytes) {
  if (time < 0 || bytes < 0)
    return -1;
  double most = 0;
  auto ratio = [](double have, double each) { return each > 0 ? have / each : INFINITY; };
  for (size_t i = 0; i < ways.size(); ++i) {
    auto [ti, bi] = ways[i];
    most = std::max(most, std::min(ratio(time, ti), ratio(bytes, bi)));
    for (size_t j = i + 1; j < ways.size(); ++j) {
      auto [tj, bj] = ways[j];
      double determinant = ti * bj - tj * bi;
      if (determinant == 0)
        continue;
      double x = (time * bj - tj * bytes) / determinant, y = (ti * bytes - time * bi) / determinant;
      if (x >= 0 && y >= 0)
        most = std::max(most, x + y);
    }
  }
  return most;
}

} // namespace

/// Layers of one class, all others left out but the first and the last layer of a chain, which are
/// in the first and the last group. Each group holds no more of them than fit within the time of
/// the bottleneck and its memory (micro-batches in flight at least as many as in the emptiest of
/// its chunks, at any moment), in any of the forms. The least bottleneck for which this is enough
/// bounds the fullest group of each plan, and a step takes all its passes.
double Shape::capacityBound() {
  if (!mayHold(stages_, space_.last())) // a layer is pinned to a stage that is not there
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
  auto useOf = [&](Id form, Id layer, int64_t inFlight) -> Use {
    const auto &cost = problem_.cost(layer, form);
    if (problem_.layers[layer].of == unit || !cost)
      return {};
    int64_t again = INT64_MAX, kept = INT64_MAX;
    for (const PlacementProblem::Keep &keep : cost->keeps)
      again = std::min(again, keep.again), kept = std::min(kept, keep.kept);
    return {cost->forward + cost->backward + cost->weight + again,
            cost->resident + inFlight * kept};
  };
  struct Row {
    double fixed, bytes;
    std::vector<std::pair<double, double>> ways;
    double groups = 1;
  };
  std::vector<std::vector<Row>> rows; ///< by group (equal ones once), form
  int64_t last = -1;
  for (size_t g = 0; g < p; ++g) {
    int64_t inFlight = 0;
    for (const auto &held : held_[g])
      inFlight = std::max(inFlight, *std::min_element(held.begin(), held.end()));
    bool special = space_.chain && (g == 0 || g + 1 == p);
    if (!special && inFlight == last) {
      for (Row &row : rows.back())
        ++row.groups;
      continue;
    }
    last = special ? -1 : inFlight;
    rows.emplace_back();
    for (Id form : configuration_.forms) {
      const auto &cost = problem_.classes[unit].costs[form];
      int64_t memory = problem_.kinds[problem_.forms[form].kind].memory, working = INT64_MAX;
      Use fixed;
      for (auto [here, layer] : {std::pair{g == 0, Id{0}}, std::pair{g + 1 == p && end > 0, end}})
        if (space_.chain && here) {
          Use use = useOf(form, layer, inFlight);
          fixed.time += use.time, fixed.bytes += use.bytes;
        }
      Row row{static_cast<double>(fixed.time + problem_.perMicrobatch * configuration_.chunks),
              0,
              {},
              1};
      if (cost)
        for (const PlacementProblem::Keep &keep : cost->keeps) {
          working = std::min(working, keep.working);
          row.ways.push_back(
              {static_cast<double>(cost->forward + cost->backward + cost->weight + keep.again),
               static_cast<double>(cost->resident + inFlight * keep.kept)});
        }
      row.bytes = static_cast<double>(memory - fixed.bytes - (cost ? working : 0));
      // A group without any of these layers needs no room to work on them.
      if (row.bytes < 0)
        row.bytes = 0;
      rows.back().push_back(std::move(row));
    }
  }
  auto holds = [&](double bottleneck) {
    double sum = 0;
    for (const auto &group : rows) {
      double most = 0;
      for (const Row &row : group)
        most = std::max(most, mostOf(row.ways, bottleneck - row.fixed, row.bytes));
      sum += std::isinf(most) ? most : group[0].groups * std::floor(most * (1 + 1e-12) + 1e-9);
      if (sum >= static_cast<double>(counts[unit]))
        return true;
    }
    return false;
  };
  double high = std::min(static_cast<double>(longest()) / static_cast<double>(microbatches_), 4e18);
  if (!holds(high))
    return std::isinf(answer_.value) && high < 4e18 ? INFINITY : answer_.goal();
  double low = 0;
  while (high - low > std::max(0.5, high * 2e-4)) {
    double middle = high > 4 * low + 4 ? std::sqrt((low + 1) * (high + 1)) : low + (high - low) / 2;
    (holds(middle) ? high : low) = middle;
  }
  double step = low * static_cast<double>(microbatches_) * (1 - 1e-12);
  return value(step, ratesAtLeast({}));
}

} // namespace accord::placing
