#include "lib/machine/cost/CostModel.h"
#include "lib/machine/cost/MappedOperation.h"
#include "lib/machine/cost/PeakRateModel.h"
#include "lib/machine/model/Lookups.h"
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>
#include <optional>

namespace accord {
namespace {

struct Registry {
  std::mutex mutex;
  std::map<std::string, CostModelFactory> factories;
};

Registry &registry() {
  static Registry *all = [] {
    auto *r = new Registry;
    r->factories["peak"] = makePeakModel;
    r->factories["array"] = makeArrayModel;
    r->factories["vector"] = makeVectorModel;
    r->factories[kInstructionModel] = makeInstructionModel;
    r->factories[kMappingSearchModel] = makeMappingSearchModel;
    return r;
  }();
  return *all;
}

} // namespace

bool registerCostModel(const std::string &name, CostModelFactory factory) {
  std::lock_guard lock(registry().mutex);
  return registry().factories.emplace(name, std::move(factory)).second;
}

std::vector<std::string> costModelNames() {
  std::lock_guard lock(registry().mutex);
  std::vector<std::string> names;
  for (const auto &entry : registry().factories)
    names.push_back(entry.first);
  return names;
}

std::unique_ptr<CostModel> makeCostModel(const std::string &name) {
  CostModelFactory factory;
  {
    std::lock_guard lock(registry().mutex);
    auto found = registry().factories.find(name);
    if (found == registry().factories.end())
      return nullptr;
    factory = found->second;
  }
  return factory(); // outside the lock: a model may be built on another one
}

Result<OperationCost> CostModel::cost(const CostQuery &query, Assumptions &assumptions) const {
  if (query.parts)
    return roofline(query, *query.parts, assumptions);
  ACCORD_TRY(whole, compute(query, assumptions));
  if (!isMapped(query))
    return roofline(query, whole, assumptions);
  ACCORD_TRY(best, mapOperation(query, whole, *this, assumptions));
  return roofline(query, best.compute, assumptions, &best.traffic);
}

TileTime CostModel::tileTime(const CostQuery &query, const ComputeTime &whole,
                             const std::vector<std::vector<unsigned>> &) const {
  double points = 1;
  for (const Loop &loop : query.operation.domain)
    points *= loop.extent;
  return [each = whole.time / points](std::span<const int64_t> extents) {
    double tile = 1;
    for (int64_t extent : extents)
      tile *= extent;
    return each * tile;
  };
}

Bytes CostModel::feed(const CostQuery &query) const { return compulsoryBytes(query.operation); }

namespace {

/// Adds one memory's bytes, time and energy; an Error if it must know the bandwidth.
std::optional<Error> addTransfer(const CostQuery &query, size_t i, Bytes bytes, OperationCost &cost,
                                 Assumptions &assumptions) {
  const Operation &op = query.operation;
  const Machine &machine = query.machine;
  const Memory &memory = machine.memories[i];
  cost.bytes[i] = bytes;
  cost.energy += bytes * memory.energy;
  if (bytes.value == 0)
    return std::nullopt;
  if (memory.bandwidth.value <= 0) {
    if (i == 0)
      return Error{Code::MissingRate,
                   fmt::format("'{}' moves {:.0f} B, but memory '{}' of '{}' states no bandwidth", op.name, bytes.value,
                               memory.name, machine.name),
                   op.location,
                   {describedHere(machine)}};
    assumptions.insert(fmt::format("memory '{}' states no bandwidth and limits nothing", memory.name));
    return std::nullopt;
  }
  cost.transfer[i] = memory.latency + bytes / (memory.bandwidth * memory.efficiency);
  std::string share = memory.efficiency < 1 ? " * efficiency" : "",
              number = memory.efficiency < 1 ? fmt::format(" * {:.6g}", memory.efficiency) : "";
  bool late = memory.latency.value > 0;
  cost.formula += fmt::format("; {} = {}bytes / {} = {}{:.0f} / {} = {:.6g} s", memory.name, late ? "latency + " : "",
                              share.empty() ? "bandwidth" : "(bandwidth" + share + ")",
                              late ? fmt::format("{:.6g} + ", memory.latency.value) : "", bytes.value,
                              share.empty() ? fmt::format("{:.6g}", memory.bandwidth.value)
                                            : fmt::format("({:.6g}{})", memory.bandwidth.value, number),
                              cost.transfer[i].value);
  return std::nullopt;
}

} // namespace

Result<OperationCost> roofline(const CostQuery &query, const ComputeTime &compute, Assumptions &assumptions,
                               const Traffic *traffic) {
  const Operation &op = query.operation;
  const Machine &machine = query.machine;
  const Core &core = machine.cores[query.core];
  OperationCost cost;
  cost.core = query.core;
  cost.type = query.type;
  cost.compute = compute.time;
  cost.formula = fmt::format("compute = {} = {:.6g} s", compute.formula, compute.time.value);
  cost.bytes.resize(machine.memories.size());
  cost.transfer.resize(machine.memories.size());
  cost.energy = Flops(op.flops) * energyPerFlop(machine, query.type);

  const Bytes compulsory = compulsoryBytes(op);
  std::optional<LookupRows> lookup = lookupRows(op);
  size_t levels = levelsOf(machine, core);
  for (size_t i = 0; i < levels; ++i) {
    Bytes bytes = compulsory;
    if (lookup && machine.memories[i].sector.value > 0) {
      bytes += Bytes(sectorOverhead(*lookup, machine.memories[i].sector.value));
      cost.formula += fmt::format("; {} rows of {} B are moved in sectors of {} B", lookup->rows, lookup->rowBytes,
                                  machine.memories[i].sector.value);
    }
    if (i > 0 && !traffic && bytes.value > 0)
      assumptions.insert(
          fmt::format("traffic at '{}' is compulsory: each operand and result passes once, whatever the tiling",
                      machine.memories[i].name));
    if (auto error = addTransfer(query, i, traffic ? traffic->bytes[i] : bytes, cost, assumptions))
      return std::move(*error);
  }
  if (core.reads < 0 && machine.memories.size() > 1)
    assumptions.insert(fmt::format("core '{}' states no memory it reads: its traffic passes every level", core.name));
  if (traffic) {
    cost.tiles = traffic->tiles;
    cost.gap = traffic->gap;
    if (!traffic->text.empty())
      cost.formula += "; tiles: " + traffic->text;
  }

  cost.time = compute.time;
  cost.bound = "compute";
  Seconds longest = compute.time;
  std::string serial;
  for (size_t i = levels; i-- > 0;) {
    const Memory &memory = machine.memories[i];
    bool added = i + 1 < levels && !overlapsTransfers(machine.memories[i + 1]);
    if (cost.transfer[i] > longest) {
      longest = cost.transfer[i];
      cost.bound = "bandwidth " + memory.name;
    }
    if (added && cost.transfer[i].value > 0) {
      cost.time += cost.transfer[i];
      serial += " + " + memory.name;
      assumptions.insert(
          fmt::format("'{}' is not double buffered: it is filled before it is used", machine.memories[i + 1].name));
    } else if (cost.transfer[i] > cost.time) {
      cost.time = cost.transfer[i];
    }
  }
  cost.floor = cost.time.value > 0 ? machine.host.kernel : Seconds(0);
  if (cost.floor > cost.time) {
    cost.time = cost.floor;
    cost.bound = "kernel launch overhead";
    cost.formula += fmt::format("; kernel launch overhead = {:.6g} s", cost.floor.value);
  }
  cost.formula +=
      fmt::format("; time = {} = {:.6g} s ({})", serial.empty() ? "max" : "max" + serial, cost.time.value, cost.bound);
  cost.cycles = machine.clock * cost.time;
  return cost;
}

} // namespace accord
