#include "lib/machine/cost/CommunicationCosts.h"
#include "lib/machine/cost/PeakRateModel.h"
#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord {

/// The axes of a graph: those that are given, then what its exchanges name besides. A0455 if an axis has two sizes.
static Result<std::vector<Axis>> axesOf(const WorkGraph &graph, std::vector<Axis> given) {
  std::map<std::string, const Operation *> found; // sorted by name
  for (const Operation &op : graph.operations)
    if (op.core == CoreKind::Network && op.communication) {
      const Operation *first = found.try_emplace(op.communication->axis, &op).first->second;
      if (first->communication->devices != op.communication->devices)
        return Error{Code::TooFewDevices,
                     fmt::format("'{}' exchanges data with {} devices of axis '{}', '{}' with {}", op.name,
                                 op.communication->devices, op.communication->axis, first->name,
                                 first->communication->devices),
                     op.location,
                     {{first->location, fmt::format("'{}' is here", first->name)}}};
    }
  auto add = [&](const std::string &axis) {
    auto one = found.find(axis);
    if (one == found.end())
      return;
    if (std::ranges::find(given, axis, &Axis::name) == given.end())
      given.push_back({axis, one->second->communication->devices});
  };
  for (const char *usual : {"tensor", "sequence", "context", "expert", "data"})
    add(usual);
  for (const auto &[axis, op] : found)
    add(axis);
  return given;
}

Result<CommunicationCosts> CommunicationCosts::make(const WorkGraph &graph, const Machine &machine,
                                                    const EstimateOptions &options) {
  CommunicationCosts communicationCosts(machine);
  if (!options.fabric)
    return communicationCosts;
  ACCORD_TRY(axes, axesOf(graph, options.axes));
  std::vector<std::string> words;
  __int128 needed = 1;
  for (const Axis &axis : axes) {
    words.push_back(fmt::format("{} ({})", axis.name, axis.devices));
    if (needed <= kMaxDevices)
      needed *= std::max<int64_t>(axis.devices, 1);
  }
  if (needed > options.fabric->devices())
    return Error{
        Code::TooFewDevices,
        fmt::format("{} need {} devices, there are {}",
                    axes.size() == 1 ? "axis " + words[0] : fmt::format("axes {}", fmt::join(words, " x ")),
                    needed > kMaxDevices ? fmt::format("more than {}", kMaxDevices) : std::to_string(int64_t(needed)),
                    options.fabric->devices())};
  for (const Operation &op : graph.operations) {
    if (op.core != CoreKind::Network || !op.communication)
      continue;
    Key key = keyOf(*op.communication);
    auto collective = collectiveOf(op.communication->kind);
    if (communicationCosts.models.count(key) || !collective)
      continue;
    Groups groups = groupsAlong(axes, op.communication->axis);
    if (!groups.empty() && std::cmp_not_equal(groups[0].size(), op.communication->devices))
      return Error{Code::TooFewDevices,
                   fmt::format("'{}' exchanges data with {} devices of axis '{}', which has {}", op.name,
                               op.communication->devices, op.communication->axis, groups[0].size()),
                   op.location};
    auto only = op.communication->ring ? std::optional(Algorithm::Ring) : std::nullopt;
    ACCORD_TRY(model, CollectiveModel::make(*options.fabric, *collective, groups, only));
    communicationCosts.models.emplace(key, std::move(model));
  }
  return communicationCosts;
}

std::optional<CollectiveCost> CommunicationCosts::exchange(const Operation &op) const {
  auto model = op.communication ? models.find(keyOf(*op.communication)) : models.end();
  return model == models.end() ? std::nullopt : std::optional(model->second.cost(Bytes(op.communication->payload)));
}

double CommunicationCosts::seconds(const Operation &op) const {
  auto model = op.communication ? models.find(keyOf(*op.communication)) : models.end();
  return model == models.end() ? 0 : model->second.seconds(static_cast<double>(op.communication->payload));
}

Result<OperationCost> CommunicationCosts::price(const Operation &op, Assumptions &assumptions) const {
  std::optional<CollectiveCost> exchanged = exchange(op);
  if (!exchanged)
    return Error{Code::MissingRate, fmt::format("'{}' ({}) does not say what it exchanges with whom", op.name, op.kind),
                 op.location};
  const CollectiveCost &communication = *exchanged;
  OperationCost cost;
  cost.bytes.resize(machine->memories.size());
  cost.transfer.resize(machine->memories.size());
  cost.time = communication.time;
  cost.energy = communication.energy;
  cost.bound = communication.bound;
  cost.type = name(communication.algorithm);
  if (!communication.parts.empty())
    cost.type += " (" + communication.parts + ")";
  cost.model = communication.network.empty() ? "network" : "network " + communication.network;
  cost.formula =
      fmt::format("{} of {} over {} devices of axis '{}' = {} = {:.6g} s (latency {:.6g} s, bytes {:.6g} s)",
                  op.communication->kind, op.name, op.communication->devices, op.communication->axis,
                  communication.formula, communication.time.value, communication.alpha.value, communication.beta.value);
  if (!machine->memories.empty()) {
    const Memory &memory = machine->memories[0];
    cost.bytes[0] = compulsoryBytes(op);
    cost.energy += cost.bytes[0] * memory.energy;
    if (cost.bytes[0].value > 0 && memory.bandwidth.value > 0) {
      cost.transfer[0] = memory.latency + cost.bytes[0] / (memory.bandwidth * memory.efficiency);
      cost.formula += fmt::format("; {} = latency + bytes / bandwidth = {:.6g} + {:.0f} / {:.6g} = {:.6g} s",
                                  memory.name, memory.latency.value, cost.bytes[0].value,
                                  memory.bandwidth.value * memory.efficiency, cost.transfer[0].value);
    }
    if (cost.transfer[0] > cost.time) {
      cost.time = cost.transfer[0];
      cost.bound = "bandwidth " + memory.name;
    }
  }
  cost.formula += fmt::format("; time = max = {:.6g} s ({})", cost.time.value, cost.bound);
  cost.cycles = machine->clock * cost.time;
  assumptions.insert("all devices exchange data at the same time, each exchange by itself: gradients are not collected "
                     "into larger messages");
  return cost;
}

} // namespace accord
