#include "lib/exploration/verify/StepLowerBound.h"
#include "lib/machine/model/Dependences.h"
#include <algorithm>
#include <cmath>
#include <fmt/format.h>

namespace accord {
namespace {

/// Sums in another order differ in their last digits.
constexpr double kRounded = 1 - 1e-9;

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

BoundedPart partOf(const std::string &kind, CoreKind core, const std::string &type, int64_t flops, bool contraction,
                   const std::vector<Loop> &domain, const std::vector<LoopTensor> &tensors) {
  BoundedPart part;
  part.kind = kind, part.core = core, part.type = type;
  part.flops = flops;
  part.contraction = contraction, part.empty = domain.empty();
  for (const Loop &loop : domain)
    (loop.kind == IteratorKind::Reduction ? part.length : part.rows) *= std::max<int64_t>(loop.extent, 1);
  if (contraction && !domain.empty())
    part.product = extentsOf(domain, tensors);
  return part;
}

} // namespace

StepLowerBound::StepLowerBound(const WorkGraph &graph) : graph_(graph) {
  Dependences deps = Dependences::of(graph_);
  std::map<std::string, uint32_t> known;
  regions_.resize(graph_.regions.size());
  for (RegionId r = 0; r < graph_.regions.size(); ++r) {
    std::map<OperationId, uint32_t> place;
    for (OperationId id : graph_.regions[r].operations) {
      const Operation &op = graph_.operations[id];
      Kind kind;
      kind.free = op.body != kNone || op.core == CoreKind::Network || (op.core == CoreKind::None && !op.givenSeconds);
      kind.given = op.givenSeconds;
      kind.bytes = static_cast<double>(op.bytesRead) + op.bytesWritten;
      kind.flops = op.flops;
      kind.fused = !op.parts.empty();
      kind.main = partOf(op.kind, op.core, op.type, op.flops, op.contraction, op.domain, op.tensors);
      std::string key =
          kind.free ? "free"
                    : fmt::format("{} {} {} {} {} {} {} {}", op.kind, name(op.core), op.type, op.flops, kind.bytes,
                                  op.contraction, op.givenSeconds ? fmt::format("{:a}", *op.givenSeconds) : "",
                                  keyOf(op.domain, op.tensors));
      for (const FusedPart &part : op.parts) {
        kind.parts.push_back(
            partOf(part.kind, part.core, part.type, part.flops, part.contraction, part.domain, part.tensors));
        key += fmt::format("| {} {} {} {} {} {}", part.kind, name(part.core), part.type, part.flops, part.contraction,
                           keyOf(part.domain, part.tensors));
      }
      if (op.parts.empty())
        kind.parts.push_back(kind.main);
      kind.mapped = op.parts.empty() && op.contraction && !op.tensors.empty() &&
                    std::all_of(op.domain.begin(), op.domain.end(), [](const Loop &loop) { return loop.extent > 0; });
      auto [found, isNew] = known.try_emplace(key, static_cast<uint32_t>(kinds_.size()));
      if (isNew) {
        firstPart_.push_back(static_cast<uint32_t>(allParts_));
        allParts_ += kind.parts.size();
        kinds_.push_back(std::move(kind));
      }
      kinds_[found->second].executions += graph_.executions(id);
      Item item{found->second, id, op.body, {}};
      for (OperationId before : deps.predecessors[id])
        if (auto at = place.find(before); at != place.end())
          item.before.push_back(at->second);
      place[id] = static_cast<uint32_t>(regions_[r].size());
      regions_[r].push_back(std::move(item));
    }
  }
  bytes_ = minBytes();
}

double StepLowerBound::step(const Machine &machine, double below) {
  size_t regions = graph_.regions.size();
  lengths_.assign(regions, 0);
  sums_.resize(regions), found_.resize(regions);
  double batches = graph_.microbatches, host = batches * machine.host.microbatch.value + machine.host.step.value,
         micro = length(kMicrobatchRegion, machine, INFINITY), update = length(kUpdateRegion, machine, INFINITY);
  auto sum = [&] { return (batches * micro + update + host) * kRounded; };
  if (sum() >= below || !std::isfinite(below))
    return sum();
  double max = below / kRounded - host;
  micro = std::max(micro, length(kMicrobatchRegion, machine, (max - update) / batches));
  update = std::max(update, length(kUpdateRegion, machine, max - batches * micro));
  return sum();
}

double StepLowerBound::seconds(const Machine &machine, double below) {
  std::string key = machineKey(machine);
  key.append(reinterpret_cast<const char *>(&below), sizeof below);
  if (auto found = known_.find(key); found != known_.end())
    return found->second;
  price(machine);
  if (known_.size() >= kMaxKnown)
    known_.clear();
  return known_[std::move(key)] = step(machine, below);
}

double StepLowerBound::seconds(const Machine &machine, const Costs &costs, double below) {
  price(machine, costs);
  return step(machine, below);
}

void StepLowerBound::times(const Machine &machine, const Costs *costs, std::vector<double> &seconds) {
  if (costs)
    price(machine, *costs);
  else
    price(machine);
  size_t regions = graph_.regions.size();
  lengths_.assign(regions, 0);
  sums_.resize(regions), found_.resize(regions);
  seconds.clear();
  for (RegionId region : {kMicrobatchRegion, kUpdateRegion}) {
    length(region, machine, INFINITY);
    for (double time : found_[region].times)
      seconds.push_back(time * kRounded);
  }
}

double StepLowerBound::joules(const Machine &machine, double step) {
  price(machine);
  double sum = machine.idle.value * step;
  for (size_t k = 0; k < kinds_.size(); ++k)
    sum += kinds_[k].executions * prices_[k].joules;
  return sum * kRounded;
}

double StepLowerBound::joules(const Machine &machine, const Costs &costs, double step) {
  price(machine, costs);
  double sum = machine.idle.value * step;
  for (OperationId id = 0; id < prices_.size(); ++id)
    sum += graph_.executions(id) * prices_[id].joules;
  return sum * kRounded;
}

} // namespace accord
