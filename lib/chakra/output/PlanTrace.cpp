#include "lib/chakra/output/PlanTrace.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include <algorithm>
#include <fmt/format.h>
#include <map>
#include <set>

namespace accord::chakra {
namespace {

constexpr size_t kNodes = size_t(1) << 22;

CollectiveKind collectiveOf(llvm::StringRef kind) {
  return llvm::StringSwitch<CollectiveKind>(kind)
      .Case("all_gather", CollectiveKind::AllGather)
      .Case("reduce_scatter", CollectiveKind::ReduceScatter)
      .Case("all_to_all", CollectiveKind::AllToAll)
      .Default(CollectiveKind::AllReduce);
}

class Unroller {
public:
  explicit Unroller(const Plan &plan) : plan(plan), graph(plan.graph) {}

  Result<ExecutionTrace> run() {
    if (plan.costs.operations.size() != graph.operations.size() || graph.regions.size() <= kUpdateRegion)
      return Error{Code::BadPlan, "the plan has no cost of each operation", {}, {}, ""};
    std::map<ValueId, Producers> gradients; // of all micro-batches
    for (int64_t m = 0; m < graph.microbatches && fits(); ++m) {
      suffix = graph.microbatches > 1 ? fmt::format("/microbatch.{}", m) : "";
      const size_t last = trace.nodes.size();
      loadInputs();
      if (last > 0)
        trace.nodes[last].controlDependences.push_back(last - 1);
      for (OperationId id : graph.regions[kMicrobatchRegion].operations)
        execute(id, suffix);
      for (OperationId id : graph.regions[kUpdateRegion].operations)
        for (ValueId value : graph.operations[id].operands)
          gradients[value].merge(Producers(producersOf(value)));
    }
    for (auto &[value, from] : gradients)
      made[value] = std::move(from);
    for (OperationId id : graph.regions[kUpdateRegion].operations)
      execute(id, "");
    if (!fits())
      return Error{
          Code::ImportUnsupported, fmt::format("a step of the plan has more than {} nodes", kNodes), {}, {}, ""};
    return std::move(trace);
  }

private:
  using Producers = std::set<uint64_t>;

  bool fits() const { return trace.nodes.size() <= kNodes; }

  /// What made a value: a view's is that of what it is a view of.
  const Producers &producersOf(ValueId value) const {
    static const Producers none;
    for (unsigned depth = 0; value < graph.values.size() && depth < 64; ++depth) {
      if (auto found = made.find(value); found != made.end())
        return found->second;
      value = graph.values[value].alias;
    }
    return none;
  }

  Node &add(std::string name, NodeKind kind, double seconds) {
    Node &node = trace.nodes.emplace_back();
    node.id = trace.nodes.size() - 1;
    node.name = std::move(name);
    node.kind = kind;
    node.start = now;
    node.seconds = seconds;
    now += seconds;
    return node;
  }

  void loadInputs() {
    Producers from;
    int64_t bytes = 0;
    for (const Value &value : graph.values)
      if (value.category == Category::Inputs && value.alias == kNone)
        bytes += value.bytes;
    if (bytes == 0)
      return;
    Node &node = add("inputs" + suffix, NodeKind::MemoryLoad, 0);
    node.bytes = bytes;
    from.insert(node.id);
    for (ValueId value = 0; value < graph.values.size(); ++value)
      if (graph.values[value].category == Category::Inputs && graph.values[value].alias == kNone)
        made[value] = from;
  }

  void execute(OperationId id, const std::string &where) {
    const Operation &op = graph.operations[id];
    if (!fits())
      return;
    if (op.body != kNone && op.body < graph.regions.size())
      return repeat(op.body, where);
    Producers from;
    for (ValueId value : op.operands) {
      const Producers &of = producersOf(value);
      from.insert(of.begin(), of.end());
    }
    const OperationCost &cost = plan.costs.operations[id];
    if (cost.time.value <= 0 && !op.communication) { // a view hands on
      for (ValueId value : op.results)
        made[value] = from;
      return;
    }
    Node &node = add(op.name + where, op.communication ? NodeKind::Collective : NodeKind::Compute, cost.time.value);
    node.dataDependences.assign(from.begin(), from.end());
    node.phase = name(op.phase);
    node.flops = op.flops;
    if (op.communication) {
      node.collective = collectiveOf(op.communication->kind);
      node.bytes = op.communication->payload;
    } else
      node.bytes = op.bytesRead + op.bytesWritten;
    for (ValueId value : op.results) {
      made[value] = {node.id};
      if (value < graph.values.size())
        node.resultBytes += graph.values[value].bytes / std::max<int64_t>(1, graph.values[value].slices);
    }
  }

  /// Iterations one after the other: each starts with what the one before handed on, and with its slices of what the
  /// forward pass kept.
  void repeat(RegionId id, const std::string &where) {
    const Region &region = graph.regions[id];
    std::map<ValueId, std::vector<Producers>> kept;
    for (const Region::Carried &carried : region.carried)
      made[carried.argument] = Producers(producersOf(carried.initial));
    for (int64_t i = 0; i < region.count && fits(); ++i) {
      for (const Region::Slice &slice : region.unstashed)
        made[slice.inside] = sliceOf(slice.stacked, i, region.reverse);
      // Layers have one number in both directions.
      const std::string inside = fmt::format("{}/{}", where, region.reverse ? region.count - 1 - i : i);
      for (OperationId operation : region.operations)
        execute(operation, inside);
      for (const Region::Slice &slice : region.stashed)
        kept[slice.stacked].emplace_back(producersOf(slice.inside));
      std::vector<Producers> next;
      for (const Region::Carried &carried : region.carried)
        next.emplace_back(producersOf(carried.yielded));
      for (size_t c = 0; c < region.carried.size(); ++c) {
        made[region.carried[c].argument] = next[c];
        made[region.carried[c].result] = next[c];
      }
    }
    for (auto &[value, slices] : kept) {
      Producers all;
      for (const Producers &one : slices)
        all.insert(one.begin(), one.end());
      made[value] = std::move(all);
      stacks[value] = {std::move(slices), region.reverse};
    }
  }

  /// The newest slice first if one of both repeats runs from the last iteration to the first.
  Producers sliceOf(ValueId stacked, int64_t iteration, bool reverse) const {
    ValueId value = stacked;
    for (unsigned depth = 0; value < graph.values.size() && depth < 64 && !stacks.count(value); ++depth)
      value = graph.values[value].alias;
    auto found = stacks.find(value);
    if (found == stacks.end())
      return producersOf(stacked); // a stack in a stack: all of it
    const auto &[slices, madeInReverse] = found->second;
    const auto count = static_cast<int64_t>(slices.size());
    const int64_t index = reverse != madeInReverse ? count - 1 - iteration : iteration;
    return index >= 0 && index < count ? slices[index] : producersOf(stacked);
  }

  const Plan &plan;
  const WorkGraph &graph;
  ExecutionTrace trace;
  std::map<ValueId, Producers> made;
  std::map<ValueId, std::pair<std::vector<Producers>, bool>> stacks;
  std::string suffix;
  double now = 0;
};

} // namespace

Result<ExecutionTrace> traceOf(const Plan &plan) { return Unroller(plan).run(); }

} // namespace accord::chakra
