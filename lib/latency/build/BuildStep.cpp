// What a step is made of: the recurrence of the plan's order, live sets, FLOPs.
#include "lib/latency/build/LatencyBuilder.h"
#include <fmt/format.h>

namespace accord {

NodeId LatencyBuilder::lengthOf(RegionId region, LatencyModel &model, const std::vector<NodeId> &durations) const {
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
      duration = e.multiply(lengthOf(op.body, model, durations), e.integer(plan.graph.regions[op.body].count));
      model.labels.push_back({duration, fmt::format("{}: {} times {}{}", op.name, plan.graph.regions[op.body].count,
                                                    plan.graph.regions[op.body].name, suffix)});
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
                                              "last end{}",
                                              plan.graph.regions[region].name, what, suffix)});
  return length;
}

Result<StepNodes> LatencyBuilder::step(LatencyModel &model, const MachineNodes &machine, const PricedSteps &priced,
                                       NodeId microbatches) const {
  Expressions &e = model.nodes;
  StepNodes nodes;
  auto length = [&](RegionId region) {
    NodeId single = lengthOf(region, model, priced.single.durations),
           accumulated = priced.accumulated.durations == priced.single.durations
                             ? single
                             : lengthOf(region, model, priced.accumulated.durations);
    return e.select(microbatches, {{1, single}, {2, accumulated}});
  };
  nodes.micro = length(kMicrobatchRegion), nodes.update = length(kUpdateRegion);
  const Machine::HostOverhead &host = plan.machine.host;
  if (host.microbatch.value > 0 || host.step.value > 0) {
    // Where the plan's step counts them, so does the model.
    NodeId withHost = e.add(nodes.micro, e.integer(Picoseconds::ceil(host.microbatch).value));
    NodeId updateHost = e.add(nodes.update, e.integer(Picoseconds::ceil(host.step).value));
    std::vector<double> own = machine.at.empty() ? model.initial() : machine.at;
    own[kMicrobatch] = plan.graph.microbatch;
    if (auto data = model.argument("data_parallel"))
      own[kBatch] = plan.batch * own[*data];
    Evaluation at(e, std::move(own));
    if (at.integer(withHost) * plan.graph.microbatches + at.integer(updateHost) == plan.schedule.step.value)
      nodes.micro = withHost, nodes.update = updateHost;
  }
  std::vector<NodeId> all = {e.integer(0)};
  for (const PricedStep *step : {&priced.single, &priced.accumulated})
    for (NodeId duration : step->durations)
      if (std::find(all.begin(), all.end(), duration) == all.end())
        all.push_back(duration);
  nodes.slowest = e.maximum(all);
  std::vector<NodeId> sets = {e.integer(0)};
  for (const LiveSet &set : liveSets) {
    sets.push_back(e.polynomial(set.bytes, machine.microbatch, machine.sequence));
    model.labels.push_back({sets.back(), "bytes " + set.where + suffix});
  }
  nodes.bytes = e.maximum(sets);
  Polynomial one = Polynomial::constant(0), update = one;
  for (OperationId id = 0; id < priced.single.flops.size(); ++id) {
    Polynomial &sum = inUpdate(id) ? update : one;
    auto more = add(sum, priced.single.flops[id], executions[id]);
    if (!more)
      return Error{Code::NoLatencyModel, "the FLOPs of a micro-batch leave 64 bits", {}, {}};
    sum = *more;
  }
  nodes.microFlops = e.polynomial(one, machine.microbatch, machine.sequence);
  nodes.updateFlops = e.polynomial(update, machine.microbatch, machine.sequence);
  model.labels.push_back({nodes.microFlops, "FLOPs of a micro-batch" + suffix});
  model.labels.push_back({nodes.updateFlops, "FLOPs of the update" + suffix});
  return nodes;
}

} // namespace accord
