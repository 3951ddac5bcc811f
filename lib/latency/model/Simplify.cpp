// Integer sums and maxima in normal form. A schedule's recurrence is made of them: the end of an
// operation is the latest end before it plus its duration, and durations are not negative, so most
// operands of a maximum are no later than another one wherever the arguments go.
#include "lib/latency/model/Expression.h"
#include "lib/search/ParetoFront.h"
#include <algorithm>

namespace accord {

Expressions::Linear Expressions::linear(NodeId id) const {
  const Node &node = nodes[id];
  Linear form;
  if (node.kind == NodeKind::Integer) {
    form.value = node.value;
  } else if (node.kind == NodeKind::Sum) {
    form.value = node.value;
    for (size_t i = 0; i < node.operands.size(); ++i)
      form.terms[node.operands[i]] = node.coefficients[i];
  } else {
    form.terms[id] = 1;
  }
  return form;
}

NodeId Expressions::fromLinear(const Linear &form) {
  Node node;
  node.kind = NodeKind::Sum;
  node.value = form.value;
  node.range = {static_cast<double>(form.value), static_cast<double>(form.value)};
  for (auto [id, coefficient] : form.terms) {
    if (!coefficient)
      continue;
    node.operands.push_back(id);
    node.coefficients.push_back(coefficient);
    auto [min, max] = std::minmax({coefficient * nodes[id].range.min, coefficient * nodes[id].range.max});
    node.range.min += min, node.range.max += max;
  }
  if (node.operands.empty())
    return integer(form.value);
  if (node.operands.size() == 1 && node.coefficients[0] == 1 && !node.value)
    return node.operands[0];
  return make(std::move(node));
}

/// Whether a <= b wherever the arguments go, as far as this sees.
bool Expressions::dominated(const Linear &a, const Linear &b, unsigned depth) const {
  bool holds = a.value <= b.value;
  auto coefficientOf = [](const Linear &of, NodeId id) {
    auto found = of.terms.find(id);
    return found == of.terms.end() ? 0 : found->second;
  };
  for (auto [id, coefficient] : a.terms)
    if (coefficient != coefficientOf(b, id))
      holds &= nodes[id].range.min >= 0 && coefficient <= coefficientOf(b, id);
  for (auto [id, coefficient] : b.terms)
    if (!a.terms.count(id))
      holds &= nodes[id].range.min >= 0 && coefficient >= 0;
  if (holds || depth == 0)
    return holds;
  // A maximum is at least any operand of it, and at most what all of them are.
  auto without = [&](const Linear &of, NodeId maximum, int64_t times, NodeId operand) {
    Linear form = of;
    if (!(form.terms[maximum] -= times))
      form.terms.erase(maximum);
    Linear instead = linear(operand);
    form.value += times * instead.value;
    for (auto [id, coefficient] : instead.terms)
      form.terms[id] += times * coefficient;
    return form;
  };
  for (auto [id, coefficient] : b.terms)
    if (nodes[id].kind == NodeKind::Maximum && coefficient > coefficientOf(a, id))
      for (NodeId operand : nodes[id].operands)
        if (dominated(a, without(b, id, coefficient - std::max<int64_t>(coefficientOf(a, id), 0), operand), depth - 1))
          return true;
  for (auto [id, coefficient] : a.terms)
    if (nodes[id].kind == NodeKind::Maximum && coefficient > coefficientOf(b, id)) {
      int64_t times = coefficient - std::max<int64_t>(coefficientOf(b, id), 0);
      return std::all_of(nodes[id].operands.begin(), nodes[id].operands.end(),
                         [&](NodeId operand) { return dominated(without(a, id, times, operand), b, depth - 1); });
    }
  return false;
}

NodeId Expressions::integerMaximum(const std::vector<NodeId> &of) {
  constexpr unsigned kDepth = 2;
  std::vector<Linear> forms;
  auto offer = [&](const Linear &form) {
    addNondominated(forms, form, [&](const Linear &a, const Linear &b) { return dominated(b, a, kDepth); });
  };
  for (NodeId id : of) {
    // max(max(x, y), z) = max(x, y, z)
    if (nodes[id].kind == NodeKind::Maximum)
      for (NodeId inner : std::vector<NodeId>(nodes[id].operands))
        offer(linear(inner));
    else
      offer(linear(id));
  }
  if (forms.size() == 1)
    return fromLinear(forms.front());
  // max(x + a, x + b) = x + max(a, b)
  Linear common = forms.front();
  for (const Linear &form : forms) {
    common.value = std::min(common.value, form.value);
    for (auto &[id, coefficient] : common.terms) {
      auto found = form.terms.find(id);
      coefficient = std::min(coefficient, found == form.terms.end() ? 0 : found->second);
    }
  }
  std::erase_if(common.terms, [](const auto &term) { return term.second <= 0; });
  Node node;
  node.kind = NodeKind::Maximum;
  for (Linear &form : forms) {
    form.value -= common.value;
    for (auto [id, coefficient] : common.terms)
      form.terms[id] -= coefficient;
    node.operands.push_back(fromLinear(form));
  }
  std::sort(node.operands.begin(), node.operands.end());
  node.operands.erase(std::unique(node.operands.begin(), node.operands.end()), node.operands.end());
  node.range = nodes[node.operands.front()].range;
  for (NodeId id : node.operands)
    node.range = {std::max(node.range.min, nodes[id].range.min), std::max(node.range.max, nodes[id].range.max)};
  NodeId largest = node.operands.size() == 1 ? node.operands.front() : make(std::move(node));
  if (common.terms.empty() && !common.value)
    return largest;
  return add(fromLinear(common), largest);
}

} // namespace accord
