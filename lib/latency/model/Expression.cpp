#include "lib/latency/model/Expression.h"
#include "lib/search/ParetoFront.h"
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

Interval pointAt(double value) { return {value, value}; }

Interval ofProducts(const Interval &a, const Interval &b) {
  auto [min, max] = std::minmax({a.min * b.min, a.min * b.max, a.max * b.min, a.max * b.max});
  return {min, max};
}

} // namespace

Expressions::Expressions(std::vector<LatencyArgument> arguments) : arguments_(std::move(arguments)) {
  for (size_t i = 0; i < arguments_.size(); ++i)
    argument(i);
}

std::optional<Expressions> Expressions::of(ExpressionGraph graph) {
  Expressions made;
  made.arguments_ = std::move(graph.arguments), made.polynomials = std::move(graph.polynomials);
  for (Node &node : graph.nodes) {
    if (!made.takes(node))
      return std::nullopt;
    made.known.try_emplace(keyOf(node), static_cast<NodeId>(made.nodes.size()));
    made.nodes.push_back(std::move(node));
  }
  return made;
}

/// Whether a node may come next.
bool Expressions::takes(const Node &node) const {
  const std::vector<NodeId> &operands = node.operands;
  if (std::ranges::any_of(operands, [&](NodeId id) { return id >= nodes.size(); }))
    return false;
  auto are = [&](size_t number, bool integers) {
    return operands.size() == number &&
           std::ranges::all_of(operands, [&](NodeId id) { return nodes[id].integer == integers; });
  };
  using enum NodeKind;
  switch (node.kind) {
  case Argument:
    return are(0, true) && node.index < arguments_.size() && node.integer == arguments_[node.index].integer;
  case Polynomial:
    return are(2, true) && node.integer && node.index < polynomials.size() && polynomials[node.index].denominator > 0;
  case Sum:
    return are(node.coefficients.size(), true) && node.integer;
  case Maximum:
  case Minimum:
    return !operands.empty() && are(operands.size(), node.integer);
  case Select:
    return operands.size() > 1 && operands.size() == node.coefficients.size() + 1 && nodes[operands[0]].integer &&
           std::all_of(operands.begin() + 1, operands.end(),
                       [&](NodeId id) { return nodes[id].integer == node.integer; });
  default:
    break;
  }
  /// Kinds of a fixed number of operands of one type.
  struct Fixed {
    NodeKind kind;
    size_t operands;
    bool ofIntegers, integer;
  };
  static constexpr Fixed kFixed[] = {{Integer, 0, true, true},      {Real, 0, true, false},
                                     {Product, 2, true, true},      {CeilDivide, 2, true, true},
                                     {ToReal, 1, true, false},      {Add, 2, false, false},
                                     {Multiply, 2, false, false},   {Divide, 2, false, false},
                                     {Picoseconds, 1, false, true}, {SquareRoot, 2, false, true}};
  return std::ranges::any_of(kFixed, [&](const Fixed &one) {
    return one.kind == node.kind && one.integer == node.integer && are(one.operands, one.ofIntegers);
  });
}

NodeId Expressions::make(Node node) {
  auto [found, fresh] = known.try_emplace(keyOf(node), static_cast<NodeId>(nodes.size()));
  if (fresh)
    nodes.push_back(std::move(node));
  return found->second;
}

NodeId Expressions::integer(int64_t value) { return make({.value = value, .range = pointAt(value)}); }

NodeId Expressions::real(double value) {
  return make({.kind = NodeKind::Real, .integer = false, .real = value, .range = {value, value}});
}

NodeId Expressions::argument(size_t index) {
  const LatencyArgument &argument = arguments_[index];
  return make({.kind = NodeKind::Argument,
               .integer = argument.integer,
               .index = static_cast<uint32_t>(index),
               .range = {argument.min, argument.max}});
}

NodeId Expressions::argument(const std::string &name) {
  auto found = std::ranges::find(arguments_, name, &LatencyArgument::name);
  return found == arguments_.end() ? kNoNode : argument(found - arguments_.begin());
}

NodeId Expressions::polynomial(const Polynomial &p, NodeId b, NodeId s) {
  bool constant = true;
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j)
      constant &= !p.c[i][j] || (!i && !j);
  if (constant && p.c[0][0] % p.denominator == 0)
    return integer(p.c[0][0] / p.denominator);
  const size_t index = std::find(polynomials.begin(), polynomials.end(), p) - polynomials.begin();
  if (index == polynomials.size())
    polynomials.push_back(p);
  Node node{.kind = NodeKind::Polynomial, .index = static_cast<uint32_t>(index), .operands = {b, s}};
  for (unsigned i = 0; i < Polynomial::kB; ++i)
    for (unsigned j = 0; j < Polynomial::kS; ++j) {
      Interval term = pointAt(p.c[i][j]);
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
  if (areReal(a, b))
    return real(nodes[a].real + nodes[b].real);
  if (isReal(a, 0))
    return b;
  if (isReal(b, 0))
    return a;
  const Interval range{nodes[a].range.min + nodes[b].range.min, nodes[a].range.max + nodes[b].range.max};
  return make({.kind = NodeKind::Add, .integer = false, .operands = {a, b}, .range = range});
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
    if (areReal(a, b))
      return real(nodes[a].real * nodes[b].real);
    if (isReal(a, 1))
      return b;
    if (isReal(b, 1))
      return a;
  }
  return make({.kind = nodes[a].integer ? NodeKind::Product : NodeKind::Multiply,
               .integer = nodes[a].integer,
               .operands = {std::min(a, b), std::max(a, b)}, // commutes exactly
               .range = ofProducts(nodes[a].range, nodes[b].range)});
}

NodeId Expressions::divide(NodeId a, NodeId b) {
  if (areReal(a, b))
    return real(nodes[a].real / nodes[b].real);
  if (isReal(b, 1))
    return a;
  auto [min, max] = std::minmax({nodes[a].range.min / nodes[b].range.min, nodes[a].range.min / nodes[b].range.max,
                                 nodes[a].range.max / nodes[b].range.min, nodes[a].range.max / nodes[b].range.max});
  return make({.kind = NodeKind::Divide, .integer = false, .operands = {a, b}, .range = {min, max}});
}

NodeId Expressions::ceilDivide(NodeId a, NodeId b) {
  const Node &dividend = nodes[a], &divisor = nodes[b];
  if (divisor.kind == NodeKind::Integer && divisor.value == 1)
    return a;
  if (dividend.kind == NodeKind::Integer && divisor.kind == NodeKind::Integer)
    return integer(dividend.value / divisor.value + (dividend.value % divisor.value != 0));
  const Interval range{std::ceil(dividend.range.min / divisor.range.max),
                       std::ceil(dividend.range.max / divisor.range.min)};
  return make({.kind = NodeKind::CeilDivide, .operands = {a, b}, .range = range});
}

NodeId Expressions::maximum(const std::vector<NodeId> &of) {
  if (nodes[of.front()].integer)
    return integerMaximum(of);
  Node node{.kind = NodeKind::Maximum, .integer = false};
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
  Node node{.kind = NodeKind::Minimum, .integer = nodes[of.front()].integer, .range = nodes[of.front()].range};
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
  return make({.kind = NodeKind::ToReal, .integer = false, .operands = {a}, .range = nodes[a].range});
}

NodeId Expressions::picoseconds(NodeId seconds, int64_t max) {
  if (nodes[seconds].kind == NodeKind::Real)
    return integer(clampedPicoseconds(nodes[seconds].real, max));
  return make(
      {.kind = NodeKind::Picoseconds, .value = max, .operands = {seconds}, .range = {0, static_cast<double>(max)}});
}

NodeId Expressions::select(NodeId key, const std::vector<std::pair<int64_t, NodeId>> &cases) {
  const Node &first = nodes[cases.front().second];
  Node node{.kind = NodeKind::Select, .integer = first.integer, .operands = {key}, .range = first.range};
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
  if (areReal(a, b))
    return integer(wholeRoot(nodes[a].real, nodes[b].real));
  return make({.kind = NodeKind::SquareRoot, .operands = {a, b}, .range = {1, kMaxRoot}});
}

// Integer sums and maxima in normal form. A schedule's recurrence is made of them: the end of an operation is the
// latest end before it plus its duration, and durations are not negative, so most operands of a maximum are no later
// than another one wherever the arguments go.

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
  Node node{.kind = NodeKind::Sum, .value = form.value, .range = pointAt(form.value)};
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
  for (auto [id, coefficient] : a.terms)
    if (coefficient != b.coefficientOf(id))
      holds &= nodes[id].range.min >= 0 && coefficient <= b.coefficientOf(id);
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
    if (nodes[id].kind == NodeKind::Maximum && coefficient > a.coefficientOf(id))
      for (NodeId operand : nodes[id].operands)
        if (dominated(a, without(b, id, coefficient - std::max<int64_t>(a.coefficientOf(id), 0), operand), depth - 1))
          return true;
  for (auto [id, coefficient] : a.terms)
    if (nodes[id].kind == NodeKind::Maximum && coefficient > b.coefficientOf(id)) {
      int64_t times = coefficient - std::max<int64_t>(b.coefficientOf(id), 0);
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
    for (auto &[id, coefficient] : common.terms)
      coefficient = std::min(coefficient, form.coefficientOf(id));
  }
  std::erase_if(common.terms, [](const auto &term) { return term.second <= 0; });
  Node node{.kind = NodeKind::Maximum};
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
