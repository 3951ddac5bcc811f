#include "lib/verify/MiningStep.h"
#include "lib/model/Dependences.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Sums in another order differ in their last digits.
constexpr double kRounded = 1 - 1e-9;
/// Shares of a bandwidth are rounded to such parts.
constexpr double kShare = 1e-9;
/// A share that cannot be lost in the rounding of one beside it that takes a nanosecond or more.
constexpr double kSeen = 1e-2;

template <typename T> void put(std::string &key, const T &value) {
  key.append(reinterpret_cast<const char *>(&value), sizeof value);
}

std::string keyOf(const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  std::string key;
  for (const Loop &loop : domain)
    key += fmt::format("{}{} ", loop.extent, loop.kind == IteratorKind::Parallel ? "p" : "r");
  for (const LoopTensor &tensor : tensors) {
    key += fmt::format("[{}{}", tensor.elementBits, tensor.written ? "w" : "");
    for (const auto &position : tensor.dimensions) {
      key += ",";
      for (const LoopTensor::Term &term : position)
        key += fmt::format("{}*{}+", term.loop, term.stride);
    }
  }
  return key;
}

FlooredPart partOf(const std::string &kind, CoreKind core, const std::string &type, int64_t flops,
                   bool contraction, const std::vector<Loop> &domain,
                   const std::vector<LoopTensor> &tensors) {
  FlooredPart part;
  part.kind = kind, part.core = core, part.type = type;
  part.flops = static_cast<double>(flops);
  part.contraction = contraction, part.empty = domain.empty();
  for (const Loop &loop : domain)
    (loop.kind == IteratorKind::Reduction ? part.length : part.rows) *=
        static_cast<double>(std::max<int64_t>(loop.extent, 1));
  if (contraction && !domain.empty())
    part.product = extentsOf(domain, tensors);
  return part;
}

/// From the core outwards: a memory is filled while what is nearer works, or before.
double joined(double compute, const std::vector<double> &transfers, size_t levels,
              const Machine &machine) {
  double time = compute;
  for (size_t m = levels; m-- > 0;) {
    bool before = m + 1 < levels && !overlapsTransfers(machine.memories[m + 1]);
    time = before ? time + transfers[m] : std::max(time, transfers[m]);
  }
  return time > 0 ? std::max(time, machine.host.kernel.value) : 0;
}

double transferOf(const Memory &memory, double bytes) {
  double rate = memory.bandwidth.value * memory.efficiency;
  return bytes > 0 && rate > 0 ? std::max(memory.latency.value, 0.0) + bytes / rate : 0;
}

} // namespace

StepFloor::StepFloor(const WorkGraph &graph) : graph_(graph) {
  Dependences deps = Dependences::of(graph_);
  std::map<std::string, uint32_t> known;
  regions_.resize(graph_.regions.size());
  for (RegionId r = 0; r < graph_.regions.size(); ++r) {
    std::map<OperationId, uint32_t> place;
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      Kind kind;
      kind.free = op.body != kNone || op.core == CoreKind::None || op.core == CoreKind::Network;
      kind.given = op.givenSeconds;
      kind.bytes = static_cast<double>(op.bytesRead) + static_cast<double>(op.bytesWritten);
      kind.flops = static_cast<double>(op.flops);
      kind.fused = !op.parts.empty();
      kind.main =
          partOf(op.kind, op.core, op.type, op.flops, op.contraction, op.domain, op.tensors);
      std::string key =
          kind.free ? "free"
                    : fmt::format("{} {} {} {} {} {} {} {}", op.kind, name(op.core), op.type,
                                  op.flops, kind.bytes, op.contraction,
                                  op.givenSeconds ? fmt::format("{:a}", *op.givenSeconds) : "",
                                  keyOf(op.domain, op.tensors));
      for (const FusedPart &part : op.parts) {
        kind.parts.push_back(partOf(part.kind, part.core, part.type, part.flops, part.contraction,
                                    part.domain, part.tensors));
        key += fmt::format("| {} {} {} {} {} {}", part.kind, name(part.core), part.type, part.flops,
                           part.contraction, keyOf(part.domain, part.tensors));
      }
      if (op.parts.empty())
        kind.parts.push_back(kind.main);
      kind.mapped = op.parts.empty() && op.contraction && !op.tensors.empty() &&
                    std::all_of(op.domain.begin(), op.domain.end(),
                                [](const Loop &loop) { return loop.extent > 0; });
      auto [found, isNew] = known.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
      if (isNew) {
        firstPart_.push_back(static_cast<uint32_t>(allParts_));
        allParts_ += kind.parts.size();
        kinds_.push_back(std::move(kind));
      }
      kinds_[found->second].executions += static_cast<double>(graph_.executions(id));
      Item item{found->second, id, op.body, {}};
      for (OperationId before : deps.predecessors[id])
        if (auto at = place.find(before); at != place.end())
          item.before.push_back(at->second);
      place[id] = static_cast<uint32_t>(regions_[r].size());
      regions_[r].push_back(std::move(item));
    }
  }
  bytes_ = leastBytes();
}

const StepFloor::Times &StepFloor::timesOn(const Machine &machine, size_t index) {
  const Core &core = machine.cores[index];
  static thread_local std::string key;
  key.clear();
  put(key, core.kind);
  for (int64_t n : {core.rows, core.cols, core.lanes, core.count})
    put(key, n);
  for (double n : {machine.clock.value, core.efficiency, core.halfWork.value})
    put(key, n);
  key += static_cast<char>(core.overlapFill | core.overlapDrain << 1);
  key += core.dataflow + ";" + machine.costModel;
  for (const auto &[type, peak] : core.peak)
    key += ";" + type, put(key, peak.value);
  for (const auto &[kind, cycles] : core.cyclesOf)
    key += ";" + kind, put(key, cycles);
  auto [found, isNew] = on_.try_emplace(key);
  if (!isNew)
    return found->second;
  for (const Kind &kind : kinds_)
    for (const FlooredPart &part : kind.parts) {
      FlooredTime &time = found->second.parts.emplace_back();
      if (kind.free || kind.given ||
          !(core.kind == part.core ||
            (part.core == CoreKind::Tensor && core.kind == CoreKind::Vector)))
        continue;
      if (core.peak.empty() || core.peak.count(part.type)) {
        time = floorOn(part, machine, core, part.type);
        continue;
      }
      time = {INFINITY, INFINITY, INFINITY}; // in whatever other type
      for (const auto &[type, peak] : core.peak) {
        FlooredTime other = floorOn(part, machine, core, type);
        time = {std::min(time.spread, other.spread), std::min(time.single, other.single),
                std::min(time.feed, other.feed)};
      }
    }
  return found->second;
}

void StepFloor::price(const Machine &machine) {
  byKind_ = true;
  prices_.resize(kinds_.size());
  std::vector<const Times *> times;
  for (size_t c = 0; c < machine.cores.size(); ++c)
    times.push_back(&timesOn(machine, c));
  size_t memories = machine.memories.size();
  // The cores are the same for all parts of a kind of core and a type.
  static thread_local std::vector<std::pair<const FlooredPart *, FlooredCores>> asked;
  asked.clear();
  auto coresOf = [&](const FlooredPart &part) -> const FlooredCores & {
    for (const auto &[other, cores] : asked)
      if (other->core == part.core && other->type == part.type)
        return cores;
    return asked.emplace_back(&part, coresFor(part, machine)).second;
  };
  asked.reserve(64);
  for (size_t k = 0; k < kinds_.size(); ++k) {
    const Kind &kind = kinds_[k];
    Price &price = prices_[k];
    price.time = price.work = price.joules = 0, price.core = -1, price.fills = -1;
    price.holds.clear();
    price.transfers.assign(memories, 0);
    if (kind.free)
      continue;
    if (kind.given) {
      price.time = *kind.given;
      continue;
    }
    FlooredCores main = asked.size() < 60 ? coresOf(kind.main) : coresFor(kind.main, machine);
    if (main.cores.empty())
      continue;
    size_t levels = memories;
    for (int c : main.cores)
      levels = std::min(levels, levelsOf(machine, machine.cores[static_cast<size_t>(c)]));
    int only = main.cores.size() == 1 ? main.cores[0] : -1;
    double feed = 0;
    if (kind.mapped && only >= 0 && levels >= 2) {
      feed = times[static_cast<size_t>(only)]->parts[firstPart_[k]].feed;
      for (size_t m = 1; m < levels; ++m)
        if (!(machine.memories[m].capacity.value > 0))
          feed = 0;
    }
    for (size_t m = 0; m < levels; ++m) {
      double bytes = m + 1 == levels ? std::max(kind.bytes, feed) : kind.bytes;
      price.transfers[m] = transferOf(machine.memories[m], bytes);
      price.joules += kind.bytes * machine.memories[m].energy.value;
    }
    price.joules += kind.flops * (main.type.empty() ? 0 : energyPerFlop(machine, main.type).value);
    if (kind.fused) {
      double most = 0;
      std::map<int, double> sums;
      for (size_t i = 0; i < kind.parts.size(); ++i) {
        FlooredCores of = coresFor(kind.parts[i], machine);
        double least = of.cores.empty() ? 0 : INFINITY;
        for (int c : of.cores) {
          const Core &core = machine.cores[static_cast<size_t>(c)];
          const FlooredTime &time = times[static_cast<size_t>(c)]->parts[firstPart_[k] + i];
          least = std::min(least, core.oneEach && !core.either ? time.single : time.spread);
        }
        most = std::max(most, least);
        if (of.cores.size() == 1 && least > 0) {
          most = std::max(most, sums[of.cores[0]] += least);
          price.holds.push_back(of.cores[0]);
        }
      }
      price.time = joined(most, price.transfers, levels, machine);
      if (only >= 0)
        price.holds.push_back(only);
      std::sort(price.holds.begin(), price.holds.end());
      price.holds.erase(std::unique(price.holds.begin(), price.holds.end()), price.holds.end());
      continue;
    }
    price.time = INFINITY;
    for (int c : main.cores) {
      const Core &core = machine.cores[static_cast<size_t>(c)];
      const FlooredTime &time = times[static_cast<size_t>(c)]->parts[firstPart_[k]];
      double count = static_cast<double>(core.count), work = INFINITY;
      if (core.either || !core.oneEach) {
        double took = joined(time.spread, price.transfers, levels, machine);
        price.time = std::min(price.time, took), work = took;
      }
      if (core.either || core.oneEach) {
        double took = joined(time.single, price.transfers, levels, machine);
        price.time = std::min(price.time, took), work = std::min(work, took / count);
      }
      if (only >= 0)
        price.core = only, price.work = work;
    }
  }
}

void StepFloor::price(const Machine &machine, const Costs &costs) {
  byKind_ = false;
  prices_.assign(graph_.operations.size(), {});
  for (OperationId id = 0; id < prices_.size(); ++id) {
    Price &price = prices_[id];
    price.transfers.assign(machine.memories.size(), 0);
    if (graph_.operations[id].body != kNone || id >= costs.operations.size())
      continue;
    bool first = true, fills = true;
    auto take = [&](const OperationCost &cost) {
      auto core = static_cast<size_t>(std::max(cost.core, 0));
      double time = cost.time.value, work = 0;
      if (cost.core >= 0 && core < machine.cores.size()) {
        int64_t held =
            cost.instances > 0 ? cost.instances : instancesPerOperation(machine.cores[core]);
        work = time * static_cast<double>(held) / static_cast<double>(machine.cores[core].count);
      }
      price.core = first || price.core == cost.core ? cost.core : -1;
      price.time = first ? time : std::min(price.time, time);
      price.work = first ? work : std::min(price.work, work);
      price.joules = first ? cost.energy.value : std::min(price.joules, cost.energy.value);
      for (size_t m = 0; m < price.transfers.size() && m < cost.transfer.size(); ++m) {
        double moved = std::min(cost.transfer[m].value, time);
        price.transfers[m] = first ? moved : std::min(price.transfers[m], moved);
      }
      for (size_t c = 0; c < machine.cores.size() && !cost.parts.empty(); ++c)
        if (holds(cost, static_cast<int>(c)))
          price.holds.push_back(static_cast<int>(c));
      first = false;
    };
    take(costs.operations[id]);
    if (auto others = costs.alternatives.find(id); others != costs.alternatives.end()) {
      for (const OperationCost &other : others->second)
        take(other);
      fills = false;
    }
    for (size_t m = 0; m < price.transfers.size() && fills; ++m)
      if (price.time > 1e-9 && price.transfers[m] >= price.time)
        price.fills = static_cast<int64_t>(m);
    if (!price.holds.empty()) // a fused one: all of each core that it uses
      price.core = -1, price.work = 0;
  }
}

double StepFloor::length(RegionId r, const Machine &machine) {
  const std::vector<Item> &items = regions_[r];
  size_t size = items.size(), cores = machine.cores.size(), memories = machine.memories.size();
  auto priceOf = [&](const Item &item) -> const Price & {
    return prices_[byKind_ ? item.kind : item.operation];
  };
  std::vector<double> times(size), heads(size), tails(size);
  double longest = 0;
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    if (item.body == kNone) {
      times[i] = priceOf(item).time;
    } else {
      lengths_[item.body] = length(item.body, machine);
      times[i] = static_cast<double>(graph_.regions[item.body].count) * lengths_[item.body];
    }
    for (uint32_t before : item.before)
      heads[i] = std::max(heads[i], heads[before] + times[before]);
    longest = std::max(longest, heads[i] + times[i]);
  }
  for (size_t i = size; i-- > 0;)
    for (uint32_t before : items[i].before)
      tails[before] = std::max(tails[before], tails[i] + times[i]);

  struct Load {
    double sum = 0, head = INFINITY, tail = INFINITY;
    void add(double work, double before, double behind) {
      if (work > 0)
        sum += work, head = std::min(head, before), tail = std::min(tail, behind);
    }
    double length() const { return sum > 0 ? head + sum + tail : 0; }
  };
  std::vector<Load> loads(cores + memories);
  std::vector<double> &sums = sums_[r];
  sums.assign(cores + memories, 0);
  for (size_t i = 0; i < size; ++i) {
    const Item &item = items[i];
    auto add = [&](size_t resource, double work) {
      loads[resource].add(work, heads[i], tails[i]);
      sums[resource] += work;
    };
    if (item.body != kNone) { // iterations one after the other
      for (size_t resource = 0; resource < loads.size(); ++resource)
        add(resource,
            static_cast<double>(graph_.regions[item.body].count) * sums_[item.body][resource]);
      continue;
    }
    const Price &price = priceOf(item);
    if (price.core >= 0)
      add(static_cast<size_t>(price.core), price.work);
    for (int core : price.holds)
      add(static_cast<size_t>(core), price.time);
    for (size_t m = 0; m < memories; ++m)
      add(cores + m, price.transfers[m] * (1 - std::min(1.0, kShare * static_cast<double>(size))));
  }
  for (const Load &load : loads)
    longest = std::max(longest, load.length());

  // One after the other: what is on a core that does one operation at a time, and what takes all
  // of a memory's bandwidth that the others use, too.
  for (size_t c = 0; c < cores && !byKind_; ++c)
    for (size_t m = 0; m < memories && operationsAtOnce(machine.cores[c]) == 1; ++m) {
      Load load;
      bool fills = false;
      for (size_t i = 0; i < size; ++i) {
        const Item &item = items[i];
        if (item.body != kNone)
          continue;
        const Price &price = priceOf(item);
        bool on = price.core == static_cast<int>(c) ||
                  std::find(price.holds.begin(), price.holds.end(), static_cast<int>(c)) !=
                      price.holds.end();
        bool takes = price.fills == static_cast<int64_t>(m);
        if (!takes && !(on && price.transfers[m] > kSeen * times[i]))
          continue;
        fills |= takes;
        load.add(times[i], heads[i], tails[i]);
      }
      if (fills)
        longest = std::max(longest, load.length());
    }
  return longest;
}

double StepFloor::step(const Machine &machine) {
  lengths_.assign(graph_.regions.size(), 0);
  sums_.resize(graph_.regions.size());
  double micro = length(kMicrobatchRegion, machine) + machine.host.microbatch.value,
         update = length(kUpdateRegion, machine) + machine.host.step.value;
  return (static_cast<double>(graph_.microbatches) * micro + update) * kRounded;
}

double StepFloor::seconds(const Machine &machine) {
  price(machine);
  return step(machine);
}

double StepFloor::seconds(const Machine &machine, const Costs &costs) {
  price(machine, costs);
  return step(machine);
}

double StepFloor::joules(const Machine &machine, double step) {
  price(machine);
  double sum = machine.idle.value * step;
  for (size_t k = 0; k < kinds_.size(); ++k)
    sum += kinds_[k].executions * prices_[k].joules;
  return sum * kRounded;
}

double StepFloor::joules(const Machine &machine, const Costs &costs, double step) {
  price(machine, costs);
  double sum = machine.idle.value * step;
  for (OperationId id = 0; id < prices_.size(); ++id)
    sum += static_cast<double>(graph_.executions(id)) * prices_[id].joules;
  return sum * kRounded;
}

} // namespace accord
