#include "lib/placement/verify/PlacementSuffixes.h"
#include "lib/placement/verify/ObjectiveRules.h"
#include "lib/placement/verify/ScheduleRules.h"
#include <algorithm>
#include <cmath>

namespace accord {

using Id = PlacementProblem::Id;

double PlacementSuffixes::valueOf(const std::vector<int64_t> &used, int64_t ends, double ofLayers) const {
  double step = std::max(static_cast<double>(ends) + p.hostOverheadPerStep, static_cast<double>(p.minStep));
  double seconds = step * 1e-12, idle = 0, price = 0, tdp = 0;
  int64_t devices = 0;
  for (size_t k = 0; k < p.deviceTypes.size(); ++k) {
    double count = used[k];
    idle += count * p.deviceTypes[k].idleWatts;
    price += count * p.deviceTypes[k].pricePerHour / 3600;
    tdp += count * p.deviceTypes[k].tdpWatts;
    devices += used[k];
  }
  double joules = ofLayers + idle * seconds;
  auto passed = [](double is, double max) { return max > 0 && is > max * (1 + 1e-9); };
  if (passed(step, p.limits.step) || passed(joules, p.limits.joules) || passed(price * seconds, p.limits.price) ||
      (p.limits.devices > 0 && devices > p.limits.devices))
    return INFINITY;
  return ruleOf(p.objective).value(p, {step, joules, price * seconds, tdp * seconds, 0});
}

int64_t PlacementSuffixes::inFlightOf(const Configuration &c, int64_t groups, int64_t behind) {
  return ruleOf(c.schedule).held(c.microbatches, groups, behind);
}

bool PlacementSuffixes::prepend(const Configuration &c, size_t from, size_t to, Id parallelConfig, int64_t groups,
                                int64_t behind, State &state) {
  const StageMinCosts &stage = costs.of(from, to, parallelConfig, from == 0 && to + 1 == cuts.size());
  if (!stage.can)
    return false;
  auto recomputeTime = costs.recomputeTime(from, to, parallelConfig, inFlightOf(c, groups, behind));
  if (!recomputeTime)
    return false;
  int64_t m = c.microbatches, back = stage.backward + *recomputeTime;
  int64_t pass = stage.forward + back + stage.weight, stepTail = stage.stepTail(p, *recomputeTime);
  bool delays = ruleOf(c.schedule).delaysWeights;
  int64_t leaves = delays ? m * (stage.forward + back) + std::max<int64_t>(0, m - groups) * stage.weight : m * pass;
  int64_t ends;
  if (cuts.chain()) {
    leaves = std::max(leaves, (delays ? stage.forward + back : pass) + state.leaves);
    ends = std::max(leaves + stepTail + (delays ? stage.weight : 0), stage.forward + state.ends);
    if (delays)
      ends = std::max(ends, m * pass + stepTail);
  } else {
    ends = std::max({state.ends, stage.before + m * pass + stepTail, stage.before + leaves + stage.after});
  }
  state.leaves = leaves, state.ends = ends;
  state.joules += stage.joules;
  return true;
}

bool PlacementSuffixes::roomFor(const std::vector<int64_t> &used, Id parallelConfig) const {
  const auto &f = p.parallelConfigs[parallelConfig];
  int64_t all = f.devices();
  for (int64_t devices : used)
    all += devices;
  return used[f.deviceType] + f.devices() <= p.deviceTypes[f.deviceType].devices &&
         (p.limits.devices == 0 || all <= p.limits.devices);
}

bool PlacementSuffixes::tabulate(const Configuration &c, int64_t groups, Table &table, double share) {
  size_t sets = cuts.size();
  // Hopeless ones would use up what proves others.
  if (static_cast<double>(sets * sets) * groups > static_cast<double>(effort) / 8)
    return false;
  table.assign(static_cast<size_t>(groups) + 1, std::vector<std::vector<State>>(sets));
  if (cuts.mayCut(sets - 1, groups, groups))
    table[0][sets - 1].push_back({std::vector<int64_t>(p.deviceTypes.size()), 0, 0, 0});
  std::vector<PrefixBound> before = prefixBounds(c);
  for (size_t k = 1; k < table.size(); ++k) {
    int64_t left = groups - static_cast<int64_t>(k);
    for (size_t to = sets; to-- > 1;) {
      if (!table[k - 1][to].empty() && !cuts.mayCut(to, left + 1, groups))
        table[k - 1][to].clear();
      for (const State &rest : table[k - 1][to])
        for (Id parallelConfig : c.parallelConfigs) {
          if (!roomFor(rest.used, parallelConfig))
            continue;
          State with = rest;
          with.used[p.parallelConfigs[parallelConfig].deviceType] += p.parallelConfigs[parallelConfig].devices();
          for (size_t from = to; from-- > 0;) {
            if (!cuts.contains(to, from) || !cuts.mayCut(from, left, groups))
              continue;
            if (++work, spent(share))
              return false;
            if (cuts.chain()) {
              auto busy = costs.busy(from, to, parallelConfig);
              if (!busy)
                break;
              with.ends = c.microbatches * *busy, with.joules = rest.joules;
              if (reaches(valueOf(with)))
                break; // more layers take longer
              with.leaves = 0, with.ends = std::max(with.ends, rest.ends);
              if (reaches(valueWith(c, before[from], left, with)))
                continue; // nor do those before it
            }
            with.leaves = rest.leaves, with.ends = rest.ends, with.joules = rest.joules;
            if (prepend(c, from, to, parallelConfig, groups, k, with) &&
                !reaches(cuts.chain() ? valueWith(c, before[from], left, with) : valueOf(with)))
              merge(table[k][from], with);
          }
        }
    }
  }
  return true;
}

std::vector<PlacementSuffixes::PrefixBound> PlacementSuffixes::prefixBounds(const Configuration &c) {
  std::vector<PrefixBound> list(1);
  for (size_t l = 0; cuts.chain() && l + 1 < cuts.size(); ++l) {
    double busy = INFINITY, paid = INFINITY;
    for (Id parallelConfig : c.parallelConfigs)
      if (auto takes = costs.busy(l, l + 1, parallelConfig)) {
        busy = std::min(busy, static_cast<double>(*takes));
        paid = std::min(paid, (*takes) * ratePerSecond(p, parallelConfig));
      }
    list.push_back({list.back().busy + busy, list.back().paid + paid});
  }
  return list;
}

double PlacementSuffixes::valueWith(const Configuration &c, const PrefixBound &before, int64_t left,
                                    const State &state) const {
  if (!(before.busy > 0))
    return valueOf(state);
  if (left == 0)
    return INFINITY;
  double m = static_cast<double>(c.microbatches), ends = m * before.busy / double(left);
  if (!ruleOf(c.schedule).delaysWeights)
    ends = std::max(ends, static_cast<double>(state.leaves) + before.busy);
  auto min = std::max(state.ends, static_cast<int64_t>(std::min(ends, 0x1p61)));
  return valueOf(state.used, min, state.joules) + m * before.paid * 1e-12;
}

void PlacementSuffixes::merge(std::vector<State> &states, const State &state) {
  for (State &other : states)
    if (other.used == state.used) {
      other.leaves = std::min(other.leaves, state.leaves);
      other.ends = std::min(other.ends, state.ends);
      other.joules = std::min(other.joules, state.joules);
      return;
    }
  work += states.size();
  states.push_back(state);
}

} // namespace accord
