#include "lib/cost/CostModel.h"
#include "lib/cost/BuiltinModels.h"
#include "lib/model/Lookups.h"
#include <cmath>
#include <fmt/format.h>
#include <map>
#include <mutex>

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
    return r;
  }();
  return *all;
}

/// Index after the nearest level that the core's operands pass.
size_t levelsOf(const Machine &machine, const Core &core) {
  return core.reads < 0 ? machine.memories.size() : static_cast<size_t>(core.reads) + 1;
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

std::variant<OperationCost, Issue> CostModel::cost(const CostQuery &query,
                                                   Assumptions &assumptions) const {
  if (query.parts)
    return roofline(query, *query.parts, assumptions);
  auto computed = compute(query, assumptions);
  if (auto *issue = std::get_if<Issue>(&computed))
    return std::move(*issue);
  return roofline(query, std::get<ComputeTime>(computed), assumptions);
}

std::variant<OperationCost, Issue> roofline(const CostQuery &query, const ComputeTime &compute,
                                            Assumptions &assumptions) {
  const Operation &op = query.operation;
  const Machine &machine = query.machine;
  const Core &core = machine.cores[query.core];
  OperationCost cost;
  cost.core = query.core;
  cost.type = query.type;
  cost.compute = compute.time;
  cost.time = compute.time;
  cost.bound = "compute";
  cost.formula = fmt::format("compute = {} = {:.6g} s", compute.formula, compute.time.value);

  const Bytes compulsory(static_cast<double>(op.bytesRead) + static_cast<double>(op.bytesWritten));
  std::optional<LookupRows> lookup = lookupRows(op);
  size_t levels = levelsOf(machine, core);
  cost.bytes.resize(machine.memories.size());
  cost.transfer.resize(machine.memories.size());
  cost.energy = Flops(static_cast<double>(op.flops)) * energyPerFlop(machine, query.type);
  for (size_t i = 0; i < levels; ++i) {
    const Memory &memory = machine.memories[i];
    Bytes bytes = compulsory;
    if (lookup && memory.sector.value > 0) {
      bytes += Bytes(sectorOverhead(*lookup, memory.sector.value));
      cost.formula += fmt::format("; {} rows of {} B are moved in sectors of {} B", lookup->rows,
                                  lookup->rowBytes, memory.sector.value);
    }
    cost.bytes[i] = bytes;
    cost.energy += bytes * memory.energy;
    if (bytes.value == 0)
      continue;
    if (memory.bandwidth.value <= 0) {
      if (i == 0)
        return Issue{"A0451",
                     fmt::format("'{}' moves {:.0f} B, but memory '{}' of '{}' states no bandwidth",
                                 op.name, bytes.value, memory.name, machine.name),
                     op.location,
                     {{machine.location, fmt::format("'{}' is described here", machine.name)}}};
      assumptions.insert(
          fmt::format("memory '{}' states no bandwidth and limits nothing", memory.name));
      continue;
    }
    if (i > 0)
      assumptions.insert(fmt::format(
          "traffic at '{}' is compulsory: each operand and result passes once, whatever the tiling",
          memory.name));
    cost.transfer[i] = memory.latency + bytes / memory.bandwidth;
    cost.formula +=
        memory.latency.value > 0
            ? fmt::format(
                  "; {} = latency + bytes / bandwidth = {:.6g} + {:.0f} / {:.6g} = {:.6g} s",
                  memory.name, memory.latency.value, bytes.value, memory.bandwidth.value,
                  cost.transfer[i].value)
            : fmt::format("; {} = bytes / bandwidth = {:.0f} / {:.6g} = {:.6g} s", memory.name,
                          bytes.value, memory.bandwidth.value, cost.transfer[i].value);
    if (cost.transfer[i] > cost.time) {
      cost.time = cost.transfer[i];
      cost.bound = "bandwidth " + memory.name;
    }
  }
  if (core.reads < 0 && machine.memories.size() > 1)
    assumptions.insert(fmt::format(
        "core '{}' states no memory it reads: its traffic passes every level", core.name));
  cost.formula += fmt::format("; time = max = {:.6g} s ({})", cost.time.value, cost.bound);
  cost.cycles = machine.clock * cost.time;
  return cost;
}

} // namespace accord
