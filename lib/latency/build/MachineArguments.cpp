#include "lib/latency/build/MachineArguments.h"
#include "lib/machine/calibration/WorkTime.h"
#include "lib/machine/cost/InstructionBound.h"
#include "lib/machine/cost/PeakRateModel.h"
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
  // What a core at the level of instructions moves is part of its cycles.
  auto inside = [&](const Memory &memory) {
    return !machine.cores.empty() &&
           std::ranges::all_of(machine.cores, [&](const Core &core) { return isInside(core, memory); });
  };
  for (const Memory &memory : machine.memories)
    bandwidthArguments.push_back(memory.bandwidth.value > 0 && !inside(memory)
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
    if (cost.model == kCalibratedModel) {
      auto item = calibrate::itemOf(plan.graph.operations[id]);
      if (item && (item->work == calibrate::WorkClass::Product || item->work == calibrate::WorkClass::Batched)) {
        calibrate::ProductPeak peak = calibrate::productPeakOf(plan.machine, item->type);
        rate(peak.core, peak.type);
      }
      continue;
    }
    if (timesInstructions(cost.model)) // by programs, whose cycles know no peak
      continue;
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
  for (const auto &[key, index] : rateArguments)
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

const std::vector<CollectiveTerms> *CollectiveTermsCache::of(const std::string &collective, const std::string &axis,
                                                             const std::vector<Axis> &axes) {
  std::string key = collective + " along " + axis;
  for (const Axis &one : axes)
    key += fmt::format(" {} {}", one.name, one.devices);
  auto [found, fresh] = known.try_emplace(key);
  if (fresh)
    if (auto kind = collectiveOf(collective)) {
      auto model = CollectiveModel::make(fabric, *kind, groupsAlong(axes, axis));
      if (auto *made = model.get())
        found->second = made->terms();
    }
  return found->second ? &*found->second : nullptr;
}

CollectiveNodes::CollectiveNodes(Expressions &nodes, CollectiveTermsCache &terms,
                                 MachineArguments::NetworkNodes networks, NodeId data, std::vector<Member> members)
    : nodes(nodes), terms(terms), networks(std::move(networks)), data(data), members(std::move(members)) {}

/// In the order of `LevelSum::at`, so that it rounds alike.
NodeId CollectiveNodes::sum(const LevelSum &levels, const std::vector<NodeId> &by) {
  NodeId sum = nodes.real(0);
  for (size_t l = 0; l < levels.perLevel.size(); ++l)
    if (levels.perLevel[l] != 0)
      sum = nodes.add(sum, nodes.multiply(nodes.real(levels.perLevel[l]), by[l]));
  for (const auto &round : levels.maxOverLevels) {
    std::vector<NodeId> each;
    for (size_t l = 0; l < round.size(); ++l)
      if (round[l] != 0)
        each.push_back(nodes.multiply(nodes.real(round[l]), by[l]));
    sum = nodes.add(sum, nodes.maximum(each));
  }
  return sum;
}

/// The factor of each level by member, where no round uses several levels at once: one product for all members.
NodeId CollectiveNodes::chosenSum(const std::vector<const LevelSum *> &of, const std::vector<NodeId> &by) {
  NodeId sum = nodes.real(0);
  for (size_t l = 0; l < by.size(); ++l) {
    std::vector<std::pair<int64_t, NodeId>> cases;
    bool used = false;
    for (size_t m = 0; m < of.size(); ++m) {
      cases.push_back({members[m].data, nodes.real(of[m]->perLevel[l])});
      used |= of[m]->perLevel[l] != 0;
    }
    if (used)
      sum = nodes.add(sum, nodes.multiply(nodes.select(data, cases), by[l]));
  }
  return sum;
}

NodeId CollectiveNodes::alternative(const CollectiveTerms &alternative, NodeId payload) {
  NodeId seconds = nodes.add(sum(alternative.alpha, networks.latencies),
                             nodes.multiply(sum(alternative.beta, networks.ratios), payload));
  for (const CollectiveTerms::Tree &tree : alternative.trees) {
    NodeId a = sum(tree.alpha, networks.latencies);
    NodeId cs = nodes.multiply(sum(tree.beta, networks.ratios), payload);
    // The best number of pieces is a whole number beside sqrt((depth - 1) cs / a).
    auto depth = static_cast<double>(tree.depth);
    NodeId pieces = nodes.squareRoot(a, nodes.multiply(nodes.real(depth - 1), cs));
    std::vector<NodeId> tried;
    for (int64_t more : {0, 1}) {
      NodeId m = nodes.toReal(nodes.add(pieces, nodes.integer(more)));
      tried.push_back(nodes.multiply(nodes.add(m, nodes.real(depth - 1)), nodes.add(a, nodes.divide(cs, m))));
    }
    seconds = nodes.add(seconds, nodes.minimum(tried));
  }
  return seconds;
}

NodeId CollectiveNodes::seconds(const Communication &communication, NodeId payload) {
  std::vector<const std::vector<CollectiveTerms> *> found;
  size_t max = 0;
  bool simple = true;
  for (const Member &member : members) {
    found.push_back(terms.of(communication.kind, communication.axis, member.axes));
    if (!found.back() || found.back()->empty())
      return kNoNode;
    max = std::max(max, found.back()->size());
    for (const CollectiveTerms &one : *found.back())
      simple &= one.trees.empty() && one.alpha.maxOverLevels.empty() && one.beta.maxOverLevels.empty();
  }
  if (!simple) {
    std::vector<std::pair<int64_t, NodeId>> cases;
    for (size_t m = 0; m < members.size(); ++m) {
      std::vector<NodeId> alternatives;
      for (const CollectiveTerms &one : *found[m])
        alternatives.push_back(alternative(one, payload));
      cases.push_back({members[m].data, nodes.minimum(alternatives)});
    }
    return nodes.select(data, cases);
  }
  std::vector<NodeId> alternatives; // who has fewer takes its last one again
  for (size_t i = 0; i < max; ++i) {
    std::vector<const LevelSum *> alpha, beta;
    for (const auto *all : found) {
      const CollectiveTerms &one = (*all)[std::min(i, all->size() - 1)];
      alpha.push_back(&one.alpha), beta.push_back(&one.beta);
    }
    alternatives.push_back(
        nodes.add(chosenSum(alpha, networks.latencies), nodes.multiply(chosenSum(beta, networks.ratios), payload)));
  }
  return nodes.minimum(alternatives);
}

} // namespace accord
