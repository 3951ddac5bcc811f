#include "lib/placement/verify/PlacementSuffixes.h"
#include <algorithm>
#include <cmath>

namespace accord {

using Id = PlacementProblem::Id;

double PlacementSuffixes::valueOf(const std::vector<int64_t> &used, int64_t ends,
                                  double ofLayers) const {
  double step = std::max(static_cast<double>(ends) + static_cast<double>(p.perStep),
                         static_cast<double>(p.leastStep));
  double seconds = step * 1e-12, idle = 0, price = 0, tdp = 0;
  int64_t devices = 0;
  for (size_t k = 0; k < p.kinds.size(); ++k) {
    double count = static_cast<double>(used[k]);
    idle += count * p.kinds[k].idleWatts;
    price += count * p.kinds[k].pricePerHour / 3600;
    tdp += count * p.kinds[k].tdpWatts;
    devices += used[k];
  }
  double joules = ofLayers + idle * seconds;
  auto passed = [](double is, double most) { return most > 0 && is > most * (1 + 1e-9); };
  if (passed(step, static_cast<double>(p.limits.step)) || passed(joules, p.limits.joules) ||
      passed(price * seconds, p.limits.price) ||
      (p.limits.devices > 0 && devices > p.limits.devices))
    return INFINITY;
  switch (p.objective) {
  case PlacementObjective::StepTime:
  case PlacementObjective::Memory: // never: see `proveBound`
    return step;
  case PlacementObjective::Energy:
    return joules;
  case PlacementObjective::Price:
    return price * seconds;
  case PlacementObjective::TdpTime:
    return tdp * seconds;
  }
  return step;
}

int64_t PlacementSuffixes::inFlightOf(const Configuration &c, int64_t groups, int64_t behind) {
  int64_t most = c.schedule == PipelineSchedule::GPipe        ? c.microbatches
                 : c.schedule == PipelineSchedule::ZeroBubble ? groups
                                                              : behind;
  return std::min(c.microbatches, most);
}

bool PlacementSuffixes::prepend(const Configuration &c, size_t from, size_t to, Id form,
                                int64_t groups, int64_t behind, State &state) {
  const StageLeast &stage = costs.of(from, to, form, from == 0 && to + 1 == cuts.size());
  if (!stage.can)
    return false;
  auto again = costs.again(from, to, form, inFlightOf(c, groups, behind));
  if (!again)
    return false;
  int64_t m = c.microbatches, back = stage.backward + *again;
  int64_t pass = stage.forward + back + stage.weight, finish = stage.finish(p, *again);
  bool delays = c.schedule == PipelineSchedule::ZeroBubble;
  int64_t leaves =
      delays ? m * (stage.forward + back) + std::max<int64_t>(0, m - groups) * stage.weight
             : m * pass;
  int64_t ends;
  if (cuts.chain()) {
    leaves = std::max(leaves, (delays ? stage.forward + back : pass) + state.leaves);
    ends = std::max(leaves + finish + (delays ? stage.weight : 0), stage.forward + state.ends);
    if (delays)
      ends = std::max(ends, m * pass + finish);
  } else {
    ends = std::max(
        {state.ends, stage.before + m * pass + finish, stage.before + leaves + stage.after});
  }
  state.leaves = leaves, state.ends = ends;
  state.joules += stage.joules;
  return true;
}

bool PlacementSuffixes::roomFor(const std::vector<int64_t> &used, Id form) const {
  const auto &f = p.forms[form];
  int64_t all = f.devices();
  for (int64_t devices : used)
    all += devices;
  return used[f.kind] + f.devices() <= p.kinds[f.kind].devices &&
         (p.limits.devices == 0 || all <= p.limits.devices);
}

bool PlacementSuffixes::tabulate(const Configuration &c, int64_t groups, Table &table,
                                 double share) {
  size_t sets = cuts.size();
  // Hopeless ones would use up what proves others.
  if (static_cast<double>(sets * sets) * static_cast<double>(groups) >
      static_cast<double>(effort) / 8)
    return false;
  table.assign(static_cast<size_t>(groups) + 1, std::vector<std::vector<State>>(sets));
  if (cuts.mayCut(sets - 1, groups, groups))
    table[0][sets - 1].push_back({std::vector<int64_t>(p.kinds.size()), 0, 0, 0});
  std::vector<Before> before = befores(c);
  for (size_t k = 1; k < table.size(); ++k) {
    int64_t left = groups - static_cast<int64_t>(k);
    for (size_t to = sets; to-- > 1;) {
      if (!table[k - 1][to].empty() && !cuts.mayCut(to, left + 1, groups))
        table[k - 1][to].clear();
      for (const State &rest : table[k - 1][to])
        for (Id form : c.forms) {
          if (!roomFor(rest.used, form))
            continue;
          State with = rest;
          with.used[p.forms[form].kind] += p.forms[form].devices();
          for (size_t from = to; from-- > 0;) {
            if (!cuts.contains(to, from) || !cuts.mayCut(from, left, groups))
              continue;
            if (++work, spent(share))
              return false;
            if (cuts.chain()) {
              auto busy = costs.busy(from, to, form);
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
            if (prepend(c, from, to, form, groups, static_cast<int64_t>(k), with) &&
                !reaches(cuts.chain() ? valueWith(c, before[from], left, with) : valueOf(with)))
              merge(table[k][from], with);
          }
        }
    }
  }
  return true;
}

std::vector<PlacementSuffixes::Before> PlacementSuffixes::befores(const Configuration &c) {
  std::vector<Before> list(1);
  for (size_t l = 0; cuts.chain() && l + 1 < cuts.size(); ++l) {
    double busy = INFINITY, paid = INFINITY;
    for (Id form : c.forms)
      if (auto takes = costs.busy(l, l + 1, form)) {
        busy = std::min(busy, static_cast<double>(*takes));
        paid = std::min(paid, static_cast<double>(*takes) * ratePerSecond(p, form));
      }
    list.push_back({list.back().busy + busy, list.back().paid + paid});
  }
  return list;
}

double PlacementSuffixes::valueWith(const Configuration &c, const Before &before, int64_t left,
                                    const State &state) const {
  if (!(before.busy > 0))
    return valueOf(state);
  if (left == 0)
    return INFINITY;
  double m = static_cast<double>(c.microbatches), ends = m * before.busy / double(left);
  if (c.schedule != PipelineSchedule::ZeroBubble)
    ends = std::max(ends, static_cast<double>(state.leaves) + before.busy);
  auto least = std::max(state.ends, static_cast<int64_t>(std::min(ends, 0x1p61)));
  return valueOf(state.used, least, state.joules) + m * before.paid * 1e-12;
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
