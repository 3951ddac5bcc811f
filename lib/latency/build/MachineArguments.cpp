#include "lib/latency/build/MachineArguments.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {
constexpr double kFactor = 1e6; ///< of a rate or bandwidth, up and down
} // namespace

MachineArguments::MachineArguments(std::vector<LatencyArgument> &all) : all(all) {
  for (const LatencyArgument &argument : all)
    taken.insert(argument.name);
  add("clock_scale", "1", "times the clock of cores and of memories on the chip", 1);
}

size_t MachineArguments::add(const std::string &name, const char *unit, const std::string &text, double initial) {
  std::string unique = name;
  for (int i = 2; !taken.insert(unique).second; ++i)
    unique = fmt::format("{}_{}", name, i);
  LatencyArgument &argument = all.emplace_back();
  argument.name = unique, argument.unit = unit, argument.text = text;
  argument.initial = initial, argument.min = initial / kFactor, argument.max = initial * kFactor;
  return all.size() - 1;
}

void MachineArguments::memories(const Machine &machine) {
  for (const Memory &memory : machine.memories)
    bandwidthArguments.push_back(memory.bandwidth.value > 0
                                     ? add(cName(memory.name) + "_bandwidth", "B/s",
                                           fmt::format("bandwidth of memory '{}'", memory.name), memory.bandwidth.value)
                                     : 0);
}

void MachineArguments::rates(const Plan &plan) {
  auto rate = [&](int index, const std::string &type) {
    if (index < 0 || rateArguments.count({index, type}))
      return;
    const Core &core = plan.machine.cores[index];
    double peak = peakOfOne(plan.machine, core, type).value * core.count;
    if (peak > 0 && std::isfinite(peak * kFactor))
      rateArguments[{index, type}] = add(fmt::format("{}_{}_rate", cName(core.name), cName(type)), "FLOP/s",
                                         fmt::format("{} peak of all instances of core '{}'", type, core.name), peak);
  };
  for (OperationId id = 0; id < plan.graph.operations.size(); ++id) {
    const OperationCost &cost = plan.costs.operations[id];
    if (cost.parts.empty() && cost.compute.value > 0)
      rate(cost.core, cost.type.empty() ? plan.graph.operations[id].type : cost.type);
    for (const PartCost &part : cost.parts)
      if (part.compute.value > 0)
        rate(part.core, part.type);
  }
}

void MachineArguments::networks(const Fabric &fabric) {
  for (const Network &level : fabric.levels) {
    const auto &measured = level.bandwidthByPeers;
    double bandwidth =
        level.bandwidth.value > 0 || measured.empty() ? level.bandwidth.value : measured.back().second.value;
    std::string text = fmt::format("bandwidth of an endpoint of network '{}'", level.name);
    if (!measured.empty())
      text += "; the measured ones grow alike";
    size_t first = add(cName(level.name) + "_bandwidth", "B/s", text, bandwidth);
    size_t second = add(cName(level.name) + "_latency", "s",
                        fmt::format("latency of a message over network '{}'", level.name), level.latency.value);
    all[second].min = 0;
    all[second].max = std::max(1.0, level.latency.value);
    all[first].network = all[second].network = true;
    networkArguments.push_back({first, second});
  }
}

MachineNodes MachineArguments::nodes(Expressions &e) const {
  MachineNodes machine;
  machine.microbatch = e.argument(kMicrobatch), machine.sequence = e.argument(kSequence);
  machine.clock = e.argument("clock_scale");
  for (size_t index : bandwidthArguments)
    machine.bandwidths.push_back(index ? e.argument(index) : kNoNode);
  for (auto [key, index] : rateArguments)
    machine.rates[key] = e.argument(index);
  return machine;
}

MachineArguments::NetworkNodes MachineArguments::networkNodes(Expressions &e) const {
  NetworkNodes nodes;
  for (auto [bandwidth, latency] : networkArguments) {
    nodes.latencies.push_back(e.argument(latency));
    nodes.ratios.push_back(e.divide(e.real(e.arguments()[bandwidth].initial), e.argument(bandwidth)));
  }
  return nodes;
}

void fixMachineArguments(LatencyModel &model, const std::string &reason) {
  for (LatencyArgument &argument : model.nodes.arguments())
    if (!argument.integer) {
      argument.min = argument.max = argument.initial;
      argument.fixedReason = reason;
    }
}

} // namespace accord
