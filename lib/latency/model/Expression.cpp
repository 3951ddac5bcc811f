#include "lib/latency/model/Expression.h"
#include <algorithm>
#include <cmath>

namespace accord {
namespace {

template <typename T> void append(std::string &key, const T &value) {
  key.append(reinterpret_cast<const char *>(&value), sizeof(value));
}

/// What tells nodes apart.
std::string keyOf(const Node &node) {
  std::string key;
  append(key, node.kind);
  append(key, node.integer);
  append(key, node.value);
  append(key, node.real); // by its bits: 0.0 and -0.0 stay different
  append(key, node.index);
  for (NodeId id : node.operands)
    append(key, id);
  for (int64_t c : node.coefficients)
    append(key, c);
  return key;
}

Interval ofProducts(const Interval &a, const Interval &b) {
  auto [min, max] = std::minmax({a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max});
  return {min, max};
}

} // namespace

Expressions::Expressions(std::vector<LatencyArgument> arguments) : arguments_(std::move(arguments)) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    argument(i);
}

NodeId Expressions::make(Node node) {
  auto [found, fresh] = known.try_emplace(keyOf(node), static_cast<NodeId>(nodes.size()));
  if (fresh)
    nodes.push_back(std::move(node));
  return found->second;
}

NodeId Expressions::integer(int64_t value) {
  Node node;
  node.value = value;
  node.range = {static_cast<double>(value), static_cast<double>(value)};
  return make(node);
}

NodeId Expressions::real(double value) {
  Node node;
  node.kind = NodeKind::Real;
  node.integer = false;
  node.real = value;
  node.range = {value, value};
  return make(node);
}

NodeId Expressions::argument(size_t index) {
  const LatencyArgument &argument = arguments_[index];
  Node node;
  node.kind = NodeKind::Argument;
  node.integer = argument.integer;
  node.index = static_cast<uint32_t>(index);
  node.range = {argument.min, argument.max};
  return make(node);
}

NodeId Expressions::argument(const std::string &name) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    if (arguments_[i].name == name)
      return argument(i);
  return kNoNode;
}

NodeId Expressions::polynomial(const Polynomial &p, NodeId b, NodeId s) {
  bool constant = true;
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j)
      constant &= !p.c[i][j] || (!i && !j);
  if (constant && p.c[0][0] % p.denominator == 0)
    return integer(p.c[0][0] / p.denominator);
  Node node;
  node.kind = NodeKind::Polynomial;
  node.operands = {b, s};
  node.index = static_cast<uint32_t>(std::find(polynomials.begin(), polynomials.end(), p) - polynomials.begin());
  if (node.index == polynomials.size())
    polynomials.push_back(p);
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j) {
      Interval term{static_cast<double>(p.c[i][j]), static_cast<double>(p.c[i][j])};
      for (unsigned k = 0; k < i; ++k)
        term = ofProducts(term, nodes[b].range);
      for (unsigned k = 0; k < j; ++k)
        term = ofProducts(term, nodes[s].range);
      node.range.min += term.min, node.range.max += term.max;
    }
  node.range.min /= p.denominator;
  node.range.max /= p.denominator;
  return make(std::move(node));
}

double Expressions::magnitude(NodeId id) const {
  const Node &node = nodes[id];
  auto largest = [](const Interval &i) { return std::max(std::fabs(i.min), std::fabs(i.max)); };
  if (node.kind == NodeKind::Polynomial) {
    const Polynomial &p = polynomials[node.index];
    double sum = 0, b = largest(nodes[node.operands[0]].range), s = largest(nodes[node.operands[1]].range);
    for (unsigned i = 0; i < Polynomial::kB; ++i)
      for (unsigned j = 0; j < Polynomial::kS; ++j)
        sum += std::fabs(p.c[i][j]) * std::pow(b, i) * std::pow(s, j);
    return sum;
  }
  if (node.kind == NodeKind::Sum) {
    double sum = std::fabs(node.value);
    for (size_t i = 0; i < node.operands.size(); ++i)
      sum += std::fabs(node.coefficients[i]) * largest(nodes[node.operands[i]].range);
    return sum;
  }
  return largest(node.range);
}

NodeId Expressions::add(NodeId a, NodeId b) {
  if (nodes[a].integer) {
    Linear sum = linear(a), more = linear(b);
    bool tooLarge = __builtin_add_overflow(sum.value, more.value, &sum.value);
    for (auto [term, coefficient] : more.terms)
      tooLarge |= __builtin_add_overflow(sum.terms[term], coefficient, &sum.terms[term]);
    if (tooLarge) // as it stands: its magnitude tells
      return fromLinear(
          Linear{a == b ? std::map<NodeId, int64_t>{{a, 2}} : std::map<NodeId, int64_t>{{a, 1}, {b, 1}}, 0});
    return fromLinear(sum);
  }
  if (nodes[a].kind == NodeKind::Real && nodes[b].kind == NodeKind::Real)
    return real(nodes[a].real + nodes[b].real);
  if (nodes[a].kind == NodeKind::Real && nodes[a].real == 0)
    return b;
  if (nodes[b].kind == NodeKind::Real && nodes[b].real == 0)
    return a;
  Node node;
  node.kind = NodeKind::Add;
  node.integer = false;
  node.operands = {a, b};
  node.range = {nodes[a].range.min + nodes[b].range.min, nodes[a].range.max + nodes[b].range.max};
  return make(std::move(node));
}

NodeId Expressions::multiply(NodeId a, NodeId b) {
  if (nodes[a].integer) {
    if (nodes[a].kind == NodeKind::Integer)
      std::swap(a, b);
    if (nodes[b].kind == NodeKind::Integer) {
      Linear product = linear(a);
      bool tooLarge = __builtin_mul_overflow(product.value, nodes[b].value, &product.value);
      for (auto &[term, coefficient] : product.terms)
        tooLarge |= __builtin_mul_overflow(coefficient, nodes[b].value, &coefficient);
      if (!tooLarge) // else a product, whose magnitude tells
        return fromLinear(product);
    }
  } else {
    if (nodes[a].kind == NodeKind::Real && nodes[b].kind == NodeKind::Real)
      return real(nodes[a].real * nodes[b].real);
    if (nodes[a].kind == NodeKind::Real && nodes[a].real == 1)
      return b;
    if (nodes[b].kind == NodeKind::Real && nodes[b].real == 1)
      return a;
  }
  Node node;
  node.kind = nodes[a].integer ? NodeKind::Product : NodeKind::Multiply;
  node.integer = nodes[a].integer;
  node.operands = {std::min(a, b), std::max(a, b)}; // commutes exactly
  node.range = ofProducts(nodes[a].range, nodes[b].range);
  return make(std::move(node));
}

NodeId Expressions::divide(NodeId a, NodeId b) {
  if (nodes[a].kind == NodeKind::Real && nodes[b].kind == NodeKind::Real)
    return real(nodes[a].real / nodes[b].real);
  if (nodes[b].kind == NodeKind::Real && nodes[b].real == 1)
    return a;
  Node node;
  node.kind = NodeKind::Divide;
  node.integer = false;
  node.operands = {a, b};
  auto [min, max] = std::minmax({nodes[a].range.min / nodes[b].range.min, nodes[a].range.min / nodes[b].range.max,
                                 nodes[a].range.max / nodes[b].range.min, nodes[a].range.max / nodes[b].range.max});
  node.range = {min, max};
  return make(std::move(node));
}

NodeId Expressions::ceilDivide(NodeId a, NodeId b) {
  const Node &dividend = nodes[a], &divisor = nodes[b];
  if (divisor.kind == NodeKind::Integer && divisor.value == 1)
    return a;
  if (dividend.kind == NodeKind::Integer && divisor.kind == NodeKind::Integer)
    return integer(dividend.value / divisor.value + (dividend.value % divisor.value != 0));
  Node node;
  node.kind = NodeKind::CeilDivide;
  node.operands = {a, b};
  node.range = {std::floor(dividend.range.min / divisor.range.max), std::ceil(dividend.range.max / divisor.range.min)};
  return make(std::move(node));
}

NodeId Expressions::maximum(const std::vector<NodeId> &of) {
  if (nodes[of.front()].integer)
    return integerMaximum(of);
  Node node;
  node.kind = NodeKind::Maximum;
  node.integer = false;
  for (NodeId id : of)
    if (std::find(node.operands.begin(), node.operands.end(), id) == node.operands.end())
      node.operands.push_back(id);
  // Times are not negative: a zero among them says nothing.
  bool positive =
      std::any_of(node.operands.begin(), node.operands.end(), [&](NodeId id) { return nodes[id].range.min > 0; });
  if (positive)
    std::erase_if(node.operands, [&](NodeId id) { return nodes[id].kind == NodeKind::Real && nodes[id].real <= 0; });
  if (node.operands.size() == 1)
    return node.operands.front();
  node.range = nodes[node.operands.front()].range;
  for (NodeId id : node.operands)
    node.range = {std::max(node.range.min, nodes[id].range.min), std::max(node.range.max, nodes[id].range.max)};
  return make(std::move(node));
}

NodeId Expressions::minimum(const std::vector<NodeId> &of) {
  Node node;
  node.kind = NodeKind::Minimum;
  node.integer = nodes[of.front()].integer;
  node.range = nodes[of.front()].range;
  for (NodeId id : of) {
    if (std::find(node.operands.begin(), node.operands.end(), id) == node.operands.end())
      node.operands.push_back(id);
    node.range = {std::min(node.range.min, nodes[id].range.min), std::min(node.range.max, nodes[id].range.max)};
  }
  return node.operands.size() == 1 ? node.operands.front() : make(std::move(node));
}

NodeId Expressions::toReal(NodeId a) {
  if (nodes[a].kind == NodeKind::Integer)
    return real(nodes[a].value);
  Node node;
  node.kind = NodeKind::ToReal;
  node.integer = false;
  node.operands = {a};
  node.range = nodes[a].range;
  return make(std::move(node));
}

NodeId Expressions::picoseconds(NodeId seconds, int64_t max) {
  if (nodes[seconds].kind == NodeKind::Real)
    return integer(clampedPicoseconds(nodes[seconds].real, max));
  Node node;
  node.kind = NodeKind::Picoseconds;
  node.value = max;
  node.operands = {seconds};
  node.range = {0, static_cast<double>(max)};
  return make(std::move(node));
}

NodeId Expressions::select(NodeId key, const std::vector<std::pair<int64_t, NodeId>> &cases) {
  Node node;
  node.kind = NodeKind::Select;
  node.operands = {key};
  node.integer = nodes[cases.front().second].integer;
  node.range = nodes[cases.front().second].range;
  for (const auto &[value, id] : cases) {
    node.range = {std::min(node.range.min, nodes[id].range.min), std::max(node.range.max, nodes[id].range.max)};
    if (node.operands.size() > 1 && node.operands.back() == id) {
      node.coefficients.back() = value;
      continue;
    }
    node.operands.push_back(id);
    node.coefficients.push_back(value);
  }
  if (node.operands.size() == 2)
    return node.operands[1];
  if (nodes[key].kind == NodeKind::Integer) {
    for (size_t i = 0; i + 1 < node.coefficients.size(); ++i)
      if (nodes[key].value <= node.coefficients[i])
        return node.operands[i + 1];
    return node.operands.back();
  }
  return make(std::move(node));
}

NodeId Expressions::squareRoot(NodeId a, NodeId b) {
  if (nodes[a].kind == NodeKind::Real && nodes[b].kind == NodeKind::Real)
    return integer(wholeRoot(nodes[a].real, nodes[b].real));
  Node node;
  node.kind = NodeKind::SquareRoot;
  node.operands = {a, b};
  node.range = {1, static_cast<double>(kMaxRoot)};
  return make(std::move(node));
}

std::vector<NodeId> Expressions::needed(const std::vector<NodeId> &roots) const {
  std::vector<bool> used(nodes.size());
  for (NodeId id : roots)
    used[id] = true;
  std::vector<NodeId> found;
  for (NodeId id = static_cast<NodeId>(nodes.size()); id-- > 0;)
    if (used[id]) {
      found.push_back(id);
      for (NodeId operand : nodes[id].operands)
        used[operand] = true;
    }
  std::reverse(found.begin(), found.end());
  return found;
}

} // namespace accord
