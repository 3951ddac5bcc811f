// The outputs of a latency model: the recurrence of the plan's order, live sets, FLOPs.
#include "lib/latency/Builder.h"
#include <fmt/format.h>

namespace accord {

NodeId LatencyBuilder::lengthOf(RegionId region, LatencyModel &model,
                                const std::vector<NodeId> &durations) {
  Expressions &e = model.nodes;
  std::map<OperationId, NodeId> end;
  std::vector<NodeId> ends = {e.integer(0)};
  std::vector<bool> waited(plan.graph.operations.size());
  const RegionOrder &order = orders[region];
  for (const auto &after : order.after)
    for (OperationId before : after)
      waited[before] = true;
  for (size_t i = 0; i < order.operations.size(); ++i) {
    OperationId id = order.operations[i];
    std::vector<NodeId> before = {e.integer(0)};
    for (OperationId one : order.after[i])
      before.push_back(end[one]);
    const Operation &op = plan.graph.operations[id];
    NodeId duration = durations[id];
    if (op.body != kNone) { // closed: the body's length times its count
      duration = e.multiply(lengthOf(op.body, model, durations),
                            e.integer(plan.graph.regions[op.body].count));
      model.labels.push_back(
          {duration, fmt::format("{}: {} times {}", op.name, plan.graph.regions[op.body].count,
                                 plan.graph.regions[op.body].name)});
    }
    end[id] = e.add(e.maximum(before), duration);
    if (!waited[id]) // whoever waits ends later
      ends.push_back(end[id]);
  }
  NodeId length = e.maximum(ends);
  const char *what = region == kMicrobatchRegion ? "one micro-batch"
                     : region == kUpdateRegion   ? "the update"
                                                 : "one iteration";
  model.labels.push_back({length, fmt::format("picoseconds of {}: {}, from its first start to its "
                                              "last end",
                                              plan.graph.regions[region].name, what)});
  return length;
}

void LatencyBuilder::step(LatencyModel &model, NodeId microbatches,
                          const std::vector<NodeId> &durations) {
  Expressions &e = model.nodes;
  NodeId micro = lengthOf(kMicrobatchRegion, model, durations);
  NodeId update = lengthOf(kUpdateRegion, model, durations);
  const Machine::HostCost &host = plan.machine.host;
  if (host.microbatch.value > 0 || host.step.value > 0) {
    // Where the plan's step counts them, so does the model.
    NodeId withHost = e.add(micro, e.integer(Picoseconds::ceil(host.microbatch).value));
    NodeId updateHost = e.add(update, e.integer(Picoseconds::ceil(host.step).value));
    Evaluation at(e, model.initial());
    if (at.integer(withHost) * plan.graph.microbatches + at.integer(updateHost) ==
        plan.schedule.step.value)
      micro = withHost, update = updateHost;
  }
  std::vector<NodeId> all = {e.integer(0)};
  for (NodeId duration : durations)
    all.push_back(duration);
  model.guards.push_back(
      {e.maximum(all), e.integer(longest - 1),
       fmt::format("an operation takes {:.3g} s or longer", static_cast<double>(longest) * 1e-12)});
  NodeId estimate = e.add(e.multiply(e.toReal(microbatches), e.toReal(micro)), e.toReal(update));
  model.guards.push_back(
      {estimate, e.real(0x1p62), fmt::format("the step takes {:.3g} s or longer", 0x1p62 * 1e-12)});
  NodeId total = e.add(e.multiply(microbatches, micro), update);
  model.outputs.push_back({"step_time_s", "seconds of a step: all micro-batches, then the update",
                           e.multiply(e.real(1e-12), e.toReal(total))});
}

std::optional<Issue> LatencyBuilder::memoryAndFlops(LatencyModel &model,
                                                    const MachineNodes &machine,
                                                    NodeId microbatches) {
  Expressions &e = model.nodes;
  std::vector<NodeId> sets = {e.integer(0)};
  for (const LiveSet &set : liveSets) {
    sets.push_back(e.polynomial(set.bytes, machine.microbatch, machine.sequence));
    model.labels.push_back({sets.back(), "bytes " + set.where});
  }
  model.outputs.push_back({"memory_bytes",
                           "bytes in device memory at the fullest moment of the plan's schedule",
                           e.toReal(e.maximum(sets))});
  Polynomial one = Polynomial::constant(0), update = one;
  for (OperationId id = 0; id < flops.size(); ++id) {
    Polynomial &sum = inUpdate(id) ? update : one;
    auto more = add(sum, flops[id], executions[id]);
    if (!more)
      return Issue{"A0707", "the FLOPs of a micro-batch leave 64 bits", {}, {}};
    sum = *more;
  }
  NodeId perMicrobatch = e.polynomial(one, machine.microbatch, machine.sequence);
  NodeId perUpdate = e.polynomial(update, machine.microbatch, machine.sequence);
  model.labels.push_back({perMicrobatch, "FLOPs of a micro-batch"});
  model.labels.push_back({perUpdate, "FLOPs of the update"});
  model.outputs.push_back(
      {"flops", "floating-point operations of a step",
       e.add(e.multiply(e.toReal(microbatches), e.toReal(perMicrobatch)), e.toReal(perUpdate))});
  return std::nullopt;
}

} // namespace accord
