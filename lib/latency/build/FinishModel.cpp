// Guards and outputs of a latency model, and whether its numbers are whole and within 64 bits.
#include "lib/latency/build/LatencyBuilder.h"
#include <cmath>
#include <fmt/format.h>
#include <set>
#include <tuple>

namespace accord {

/// A polynomial with a denominator is whole at all sizes if it is at as many in a row as its degree and one more (Polya
/// 1915).
static std::optional<Error> fractional(const LatencyModel &model) {
  const LatencyArgument &sequence = model.arguments()[kSequence];
  auto first = static_cast<int64_t>(std::ceil(sequence.min / double(sequence.multiple)));
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    if (node.kind != NodeKind::Polynomial || model.nodes.polynomialOf(node).denominator == 1)
      continue;
    const Polynomial &p = model.nodes.polynomialOf(node);
    for (int64_t b : {1, 2})
      for (int64_t t : {first, first + 1, first + 2}) {
        int64_t s = t * sequence.multiple;
        Count sum = 0, powerB = 1;
        for (unsigned i = 0; i < Polynomial::kB; ++i, powerB *= b) {
          Count power = powerB;
          for (unsigned j = 0; j < Polynomial::kS; ++j, power *= s)
            sum += p.c[i][j] * power;
        }
        if (sum % p.denominator != 0)
          return Error{Code::NoLatencyModel,
                       fmt::format("a count of {} is no whole number at sequence {}", p.text(), s),
                       {},
                       {}};
      }
  }
  return std::nullopt;
}

bool fitsInt64(const LatencyModel &model) {
  // The product that is the step, and its sum with the update, are guarded where they are asked.
  std::set<NodeId> guarded;
  for (NodeId id : model.nodes.needed(model.roots())) {
    const Node &node = model.nodes[id];
    if (!node.integer)
      continue;
    bool after = node.kind == NodeKind::Product && node.range.max >= 0x1p62 && // micro-batches times picoseconds of one
                 model.nodes[node.operands[0]].range.min >= 0 &&
                 std::any_of(node.operands.begin(), node.operands.end(), [&](NodeId operand) {
                   return model.nodes[operand].kind == NodeKind::CeilDivide &&
                          model.nodes[operand].operands[0] == model.guards[0].max;
                 });
    for (NodeId operand : node.operands)
      after |= guarded.count(operand) > 0;
    if (after)
      guarded.insert(id);
    else if (model.nodes.magnitude(id) >= 0x1p62)
      return false;
  }
  return true;
}

Result<LatencyModel> buildWithinInt64(int64_t microbatch,
                                      const std::function<Result<LatencyModel>(int64_t max)> &build) {
  for (int64_t max = int64_t{1} << 20;; max /= 2) {
    auto model = build(std::max(max, microbatch));
    if (!model)
      return model;
    auto &built = *model;
    if (fitsInt64(built)) {
      LatencyEvaluation own = evaluate(built, built.initial());
      if (own.status)
        return Error{
            Code::NoLatencyModel, "the plan's own sizes: " + explain(built, own.status, built.initial()), {}, {}};
      return model;
    }
    if (max <= microbatch)
      return Error{Code::NoLatencyModel, "the latency model's integers leave 64 bits", {}, {}};
  }
}

std::optional<Error> finishModel(LatencyModel &model, const StepNodes &nodes, NodeId microbatches,
                                 int64_t maxDuration) {
  Expressions &e = model.nodes;
  model.guards.push_back({nodes.slowest, e.integer(maxDuration - 1),
                          fmt::format("an operation takes {:.3g} s or longer", maxDuration * 1e-12)});
  NodeId estimate = e.add(e.multiply(e.toReal(microbatches), e.toReal(nodes.micro)), e.toReal(nodes.update));
  model.guards.push_back({estimate, e.real(0x1p62), fmt::format("the step takes {:.3g} s or longer", 0x1p62 * 1e-12)});
  NodeId total = e.add(e.multiply(microbatches, nodes.micro), nodes.update);
  model.outputs.push_back({"step_time_s", "seconds of a step: all micro-batches, then the update",
                           e.multiply(e.real(1e-12), e.toReal(total))});
  model.outputs.push_back(
      {"memory_bytes", "bytes in device memory at the peak of the plan's schedule", e.toReal(nodes.bytes)});
  model.outputs.push_back(
      {"flops", "floating-point operations of a step",
       e.add(e.multiply(e.toReal(microbatches), e.toReal(nodes.microFlops)), e.toReal(nodes.updateFlops))});
  auto key = [](const LatencyModel::Label &label) { return std::tie(label.node, label.text); };
  std::sort(model.labels.begin(), model.labels.end(), [&](const auto &a, const auto &b) { return key(a) < key(b); });
  if (auto error = fractional(model))
    return *error;
  return std::nullopt;
}

} // namespace accord
