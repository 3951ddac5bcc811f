// What the devices of stages cost at least, whatever the length of a step.
#include "lib/exploration/clusters/StagedDesigns.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kMaxLayers = 400;
constexpr double kInterval = 1.004; ///< of lengths of a step

/// Least sum of costs of steps no longer than `longest`.
double costWithin(const StageLowerBounds &bounds, const std::vector<double> &time, const std::vector<double> &costTime,
                  double longest) {
  size_t layers = bounds.time.size();
  auto p = static_cast<size_t>(bounds.stages);
  auto m = static_cast<double>(bounds.microbatches);
  std::vector<double> behind(layers + 1, kNever), here;
  behind[layers] = 0;
  for (size_t s = p; s-- > 0;) {
    here.assign(layers + 1, kNever);
    for (size_t from = s; from < layers; ++from)
      for (size_t to = from + 1; to <= layers; ++to) {
        if (std::isinf(behind[to]))
          continue;
        double before = time[from], after = time[layers] - time[to], own = time[to] - time[from];
        double value = costTime[to] - costTime[from], cost = bounds.cost;
        // A way that takes `fixed` besides `times` of the stage's own passes.
        auto way = [&](double fixed, double times) {
          double left = longest - fixed;
          if (left < own * times)
            return false;
          if (left > 0)
            cost = std::max(cost, value * times / left);
          return true;
        };
        bool can = way(0, m);
        if (can && bounds.chain) {
          auto k = static_cast<double>(std::min<size_t>(bounds.microbatches, p - s));
          if (bounds.schedule == PipelineSchedule::GPipe)
            can = way(before + after, m);
          else
            can = way(before, m) && (!(m > k) || way(before + 2 * after, m - k + 1));
        }
        if (!can)
          break; // nor do more layers
        here[from] = std::min(here[from], behind[to] + cost);
      }
    behind.swap(here);
  }
  return behind[0];
}

} // namespace

double minStageCost(const StageLowerBounds &bounds, double shortest, double below) {
  size_t layers = bounds.time.size();
  if (layers == 0 || bounds.stages < 1 || static_cast<size_t>(bounds.stages) > layers)
    return kNever;
  double floor = shortest * bounds.stages * bounds.cost;
  if (layers > kMaxLayers || !(shortest > 0) || !(bounds.cost > 0) || !std::isfinite(below))
    return std::min(floor, below);
  std::vector<double> time{0}, costTime{0};
  for (size_t i = 0; i < layers; ++i)
    time.push_back(time.back() + bounds.time[i]), costTime.push_back(costTime.back() + bounds.costTime[i]);
  double best = below;
  for (double from = shortest; from * bounds.stages * bounds.cost < best; from *= kInterval)
    best = std::min(best, from * costWithin(bounds, time, costTime, from * kInterval * (1 + 1e-12)));
  return best;
}

} // namespace accord
