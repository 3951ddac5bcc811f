// What operations of a step take on a machine: by closed forms, or by given prices.
#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/microarchitecture/problem/Microarchitecture.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

/// From the core outwards: a memory is filled while what is nearer works, or before.
/// `meanwhile`: whatever it is.
double joined(double compute, const std::vector<double> &transfers, size_t levels, const Machine &machine,
              bool meanwhile) {
  double time = compute;
  for (size_t m = levels; m-- > 0;) {
    bool before = !meanwhile && m + 1 < levels && !overlapsTransfers(machine.memories[m + 1]);
    time = before ? time + transfers[m] : std::max(time, transfers[m]);
  }
  return time > 0 ? std::max(time, machine.host.kernel.value) : 0;
}

/// Whether a core at the level of instructions has a memory of this name, so that its cycles say what it moves.
bool isPartOf(const Core &core, const Memory &memory) {
  if (!core.microarchitecture)
    return false;
  const auto &storages = core.microarchitecture->storages;
  return std::any_of(storages.begin(), storages.end(), [&](const auto &one) { return one.name == memory.name; });
}

double transferOf(const Memory &memory, double bytes) {
  double rate = memory.bandwidth.value * memory.efficiency;
  return bytes > 0 && rate > 0 ? std::max(memory.latency.value, 0.0) + bytes / rate : 0;
}

} // namespace

const StepLowerBound::Times &StepLowerBound::timesOn(const Machine &machine, size_t index) {
  const Core &core = machine.cores[index];
  auto [found, isNew] = on_.try_emplace(timesKey(machine, core));
  if (!isNew)
    return found->second;
  for (const Kind &kind : kinds_)
    for (const BoundedPart &part : kind.parts) {
      PartTimeBound &time = found->second.parts.emplace_back();
      if (kind.free || kind.given ||
          !(core.kind == part.core || (part.core == CoreKind::Tensor && core.kind == CoreKind::Vector)))
        continue;
      if (core.peak.empty() || core.peak.count(part.type)) {
        time = partTimeBound(part, machine, core, part.type);
        if (!kind.fused && timesPrograms(machine, core) && machine.clock.value > 0) {
          auto seconds = [&](int64_t instances) {
            return programs_.cycles(graph_, kind.first, core, instances) / machine.clock.value;
          };
          time.spread = std::max(time.spread, seconds(core.count));
          time.single = std::max(time.single, seconds(1));
        }
        continue;
      }
      time = {INFINITY, INFINITY, INFINITY}; // in whatever other type
      for (const auto &[type, peak] : core.peak) {
        PartTimeBound other = partTimeBound(part, machine, core, type);
        time = {std::min(time.spread, other.spread), std::min(time.single, other.single),
                std::min(time.feed, other.feed)};
      }
    }
  return found->second;
}

void StepLowerBound::price(const Machine &machine) {
  byKind_ = true;
  prices_.resize(kinds_.size());
  std::vector<const Times *> times;
  for (size_t c = 0; c < machine.cores.size(); ++c)
    times.push_back(&timesOn(machine, c));
  std::vector<std::pair<const BoundedPart *, EligibleCores>> asked; // by kind of core and type
  asked.reserve(kinds_.size());
  auto coresOf = [&](const BoundedPart &part) -> const EligibleCores & {
    for (const auto &[other, cores] : asked)
      if (other->core == part.core && other->type == part.type)
        return cores;
    return asked.emplace_back(&part, eligibleCores(part, machine)).second;
  };
  for (size_t k = 0; k < kinds_.size(); ++k) {
    const Kind &kind = kinds_[k];
    Price &price = prices_[k];
    price.joules = 0, price.core = -1;
    price.holds.clear();
    price.alternatives.resize(1);
    Alternative &alternative = price.alternatives[0];
    alternative.transfers.assign(machine.memories.size(), 0);
    alternative.time = alternative.work = 0;
    alternative.whole = false;
    if (kind.given && !kind.free)
      alternative.time = *kind.given;
    else if (!kind.free)
      if (const EligibleCores &main = coresOf(kind.main); !main.cores.empty())
        priceOn(main, kind, firstPart_[k], machine, times, price);
  }
}

void StepLowerBound::priceOn(const EligibleCores &main, const Kind &kind, uint32_t first, const Machine &machine,
                             const std::vector<const Times *> &times, Price &price) {
  size_t levels = machine.memories.size();
  for (int c : main.cores)
    levels = std::min(levels, levelsOf(machine, machine.cores[c]));
  int only = main.cores.size() == 1 ? main.cores[0] : -1;
  double feed = 0;
  if (kind.mapped && only >= 0 && levels >= 2) {
    feed = times[only]->parts[first].feed;
    for (size_t m = 1; m < levels; ++m)
      if (!(machine.memories[m].capacity.value > 0))
        feed = 0;
  }
  std::vector<double> &transfers = price.alternatives[0].transfers;
  bool meanwhile = false; // instructions run while other memories move
  for (int c : main.cores)
    meanwhile |= machine.cores[c].microarchitecture != nullptr;
  for (size_t m = 0; m < levels; ++m) {
    bool inside = false;
    for (int c : main.cores)
      inside |= isPartOf(machine.cores[c], machine.memories[m]);
    if (inside)
      continue;
    double bytes = m + 1 == levels ? std::max(kind.bytes, feed) : kind.bytes;
    transfers[m] = transferOf(machine.memories[m], kind.left(bytes));
    price.joules += kind.left(kind.bytes) * machine.memories[m].energy.value;
  }
  price.joules += kind.flops * kind.activeShare * (main.type.empty() ? 0 : energyPerFlop(machine, main.type).value);
  double &time = price.alternatives[0].time;
  if (kind.fused) {
    priceFused(kind, first, machine, times, price);
    time = joined(time, transfers, levels, machine, meanwhile);
    if (only >= 0 && std::find(price.holds.begin(), price.holds.end(), only) == price.holds.end())
      price.holds.push_back(only);
  } else if (only >= 0) {
    const Core &core = machine.cores[only];
    const PartTimeBound &on = times[only]->parts[first];
    double count = core.count, all = joined(on.spread * kind.computeShare, transfers, levels, machine, meanwhile),
           one = joined(on.single * kind.computeShare, transfers, levels, machine, meanwhile);
    bool spread = core.anyMapping || !core.perInstanceMapping, single = core.anyMapping || core.perInstanceMapping;
    price.core = only;
    price.alternatives[0] = {spread ? all : one, spread ? all : one / count, spread || core.count == 1,
                             std::move(transfers)};
    if (spread && single && core.count > 1)
      price.alternatives.push_back({one, one / count, false, price.alternatives[0].transfers});
  } else {
    time = INFINITY;
    for (int c : main.cores)
      time = std::min({time, times[c]->parts[first].spread, times[c]->parts[first].single});
    time = joined(time * kind.computeShare, transfers, levels, machine, meanwhile);
  }
}

/// The largest sum of a core over the parts that run on no other.
void StepLowerBound::priceFused(const Kind &kind, uint32_t first, const Machine &machine,
                                const std::vector<const Times *> &times, Price &price) {
  std::map<int, double> sums;
  double max = 0;
  for (size_t i = 0; i < kind.parts.size(); ++i) {
    EligibleCores of = eligibleCores(kind.parts[i], machine);
    double time = of.cores.empty() ? 0 : INFINITY;
    for (int c : of.cores) {
      const Core &core = machine.cores[c];
      const PartTimeBound &on = times[c]->parts[first + i];
      time = std::min(time, core.perInstanceMapping && !core.anyMapping ? on.single : on.spread);
    }
    max = std::max(max, time);
    if (of.cores.size() == 1 && time > 0)
      max = std::max(max, sums[of.cores[0]] += time);
  }
  for (const auto &[core, sum] : sums)
    price.holds.push_back(core);
  price.alternatives[0].time = max;
}

void StepLowerBound::price(const Machine &machine, const Costs *prices) {
  if (!prices)
    return price(machine);
  const Costs &costs = *prices;
  byKind_ = false;
  prices_.assign(graph_.operations.size(), {});
  for (OperationId id = 0; id < prices_.size(); ++id) {
    Price &price = prices_[id];
    bool priced = graph_.operations[id].body == kNone && id < costs.operations.size();
    auto take = [&](const OperationCost &cost) {
      auto core = static_cast<size_t>(std::max(cost.core, 0));
      Alternative alternative;
      alternative.time = cost.time.value;
      alternative.whole = false;
      alternative.transfers.assign(machine.memories.size(), 0);
      bool on = cost.core >= 0 && core < machine.cores.size();
      if (on && cost.parts.empty()) {
        const Core &of = machine.cores[core];
        int64_t held = cost.instances > 0 ? cost.instances : instancesPerOperation(of);
        alternative.whole = held == of.count;
        alternative.work = alternative.time * held / of.count;
      }
      for (size_t m = 0; m < alternative.transfers.size() && m < cost.transfer.size(); ++m)
        alternative.transfers[m] = std::min(cost.transfer[m].value, alternative.time);
      price.core = price.alternatives.empty() || price.core == cost.core ? cost.core : -1;
      price.joules = price.alternatives.empty() ? cost.energy.value : std::min(price.joules, cost.energy.value);
      for (size_t c = 0; c < machine.cores.size() && !cost.parts.empty(); ++c)
        if (usesCore(cost, c))
          price.holds.push_back(c);
      price.alternatives.push_back(std::move(alternative));
    };
    if (priced)
      take(costs.operations[id]);
    auto others = costs.alternatives.find(id);
    for (size_t i = 0; priced && others != costs.alternatives.end() && i < others->second.size(); ++i)
      take(others->second[i]);
    if (!price.holds.empty()) // a fused one: all of each core that it uses
      price.core = -1;
    if (price.alternatives.empty() || price.alternatives.size() > 32)
      price.alternatives.assign(1, {0, 0, false, std::vector<double>(machine.memories.size(), 0)});
  }
}

} // namespace accord
