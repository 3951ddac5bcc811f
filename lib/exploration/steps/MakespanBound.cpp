// How long a region of given operations is at least.
#include "lib/exploration/steps/StepData.h"
#include <algorithm>

namespace accord {

double StepWork::Data::length(const StepPart &part, const Machine &machine, StepScratch &s) const {
  size_t size = part.items.size(), memories = machine.memories.size(), nCores = machine.cores.size();
  s.times.assign(size, 0), s.heads.assign(size, 0), s.tails.assign(size, 0);
  double chain = 0;
  for (size_t i = 0; i < size; ++i) {
    const StepItem &item = part.items[i];
    s.times[i] = item.body == kNone ? s.prices[item.price].time : graph.regions[item.body].count * s.lengths[item.body];
    double head = 0;
    for (uint32_t before : item.before)
      head = std::max(head, s.heads[before] + s.times[before]);
    s.heads[i] = head;
    chain = std::max(chain, head + s.times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : part.items[i].before)
      s.tails[before] = std::max(s.tails[before], s.tails[i] + s.times[i]);

  s.loads.assign(nCores + memories, {});
  std::array<double, 2> &kinds = s.kinds[part.region];
  for (size_t i = 0; i < size; ++i) {
    const StepItem &item = part.items[i];
    double head = s.heads[i], tail = s.tails[i];
    if (item.body != kNone) {
      for (size_t r = 0; r < s.loads.size(); ++r)
        if (s.uses[item.body][r])
          s.loads[r].add(s.times[i], head, tail, true);
      for (size_t k = 0; k < 2; ++k)
        kinds[k] += graph.regions[item.body].count * s.kinds[item.body][k];
      continue;
    }
    const StepPrice &price = s.prices[item.price];
    if (price.core >= 0)
      s.loads[price.core].add(price.work, head, tail, price.work >= kMinVisibleWork);
    if (price.kind >= 0)
      kinds[price.kind] += price.ofKind;
    for (uint64_t rest = price.holds; rest; rest &= rest - 1)
      s.loads[__builtin_ctzll(rest)].add(price.time, head, tail, price.time >= kMinVisibleWork);
    const double *transfers = s.transfers.data() + item.price * memories;
    for (size_t m = 0; m < memories; ++m)
      s.loads[nCores + m].add(transfers[m], head, tail, transfers[m] >= kMinVisibleWork);
  }
  double whole = 1 - std::min(1.0, kMinBandwidthFraction * size), longest = chain;
  std::vector<char> &uses = s.uses[part.region];
  uses.assign(s.loads.size(), 0);
  for (size_t r = 0; r < s.loads.size(); ++r) {
    longest = std::max(longest, s.loads[r].length(r < nCores ? 1 : whole));
    uses[r] = s.loads[r].seen;
  }
  for (size_t c = 0; c < nCores; ++c)
    for (size_t m = 0; m < memories; ++m)
      longest = std::max(longest, jointBound(part, machine, c, m, s));
  std::array<double, 2> of = {0, 0};
  for (const Core &core : machine.cores)
    of[0] += core.kind == CoreKind::Tensor, of[1] += core.kind == CoreKind::Vector;
  for (size_t k = 0; k < 2; ++k)
    if (of[k] > 0)
      longest = std::max(longest, kinds[k] / of[k]);
  return longest;
}

/// What runs on a core and moves bytes of a memory excludes what takes all of that memory's
/// bandwidth: the core idles while the latter runs, nor does either run beside a repeat that uses
/// the memory.
double StepWork::Data::jointBound(const StepPart &part, const Machine &machine, size_t core, size_t memory,
                                  const StepScratch &s) const {
  if (memory >= 64)
    return 0;
  bool several = operationsAtOnce(machine.cores[core]) > 1;
  size_t memories = machine.memories.size();
  StepLoad load;
  double slack = 0, min = std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < part.items.size(); ++i) {
    const StepItem &item = part.items[i];
    double time = s.times[i];
    if (item.body != kNone) {
      if (s.uses[item.body][machine.cores.size() + memory])
        load.add(time, s.heads[i], s.tails[i], true);
      continue;
    }
    const StepPrice &price = s.prices[item.price];
    double moved = s.transfers[item.price * memories + memory];
    if (price.fills >> memory & 1) {
      slack = std::max(slack, 2e-12 / time + 2 * kMinBandwidthFraction); // its share after rounding
    } else if (price.core == static_cast<int>(core) || price.holds >> core & 1) {
      if (!(moved > time * 1e-4))
        continue;
      min = std::min(min, moved);
      if (several && !(price.holds >> core & 1))
        time = price.work; // the least of any form
    } else {
      continue;
    }
    load.add(time, s.heads[i], s.tails[i], true);
  }
  // An operation that takes so long that its share is lost in rounding is longer than this.
  return slack > 0 ? std::min(load.length(), min / slack) : 0;
}

} // namespace accord
