#include "lib/latency/model/Expression.h"
#include <algorithm>
#include <cmath>
#include <limits>

namespace accord {
namespace {
/// Sums and products wrap, as those of every other form do, where a guard refuses the result anyway.
int64_t wrappingAdd(int64_t a, int64_t b) { return static_cast<uint64_t>(a) + static_cast<uint64_t>(b); }
int64_t wrappingMultiply(int64_t a, int64_t b) { return static_cast<uint64_t>(a) * static_cast<uint64_t>(b); }

int64_t valueOf(const Polynomial &p, int64_t b, int64_t s) {
  int64_t sum = 0, powerB = 1;
  for (unsigned i = 0; i < Polynomial::kB; ++i, powerB = wrappingMultiply(powerB, b)) {
    int64_t power = powerB;
    for (unsigned j = 0; j < Polynomial::kS; ++j, power = wrappingMultiply(power, s))
      sum = wrappingAdd(sum, wrappingMultiply(p.c[i][j], power));
  }
  return sum / p.denominator;
}
} // namespace

int64_t clampedPicoseconds(double seconds, int64_t max) {
  double product = seconds * 1e12;
  if (!(product < max))
    return max;
  double whole = std::nearbyint(product);
  if (std::fabs(product - whole) <= product * 0x1p-50)
    return static_cast<int64_t>(whole);
  return static_cast<int64_t>(std::ceil(product));
}

int64_t wholeRoot(double a, double b) {
  int64_t root = 0;
  for (int64_t bit = (kMaxRoot + 1) / 2; bit > 0; bit /= 2) {
    auto tried = static_cast<double>(root + bit);
    if (tried * tried * a <= b)
      root += bit;
  }
  return std::max<int64_t>(root, 1);
}

Evaluation::Evaluation(const Expressions &of, std::vector<double> arguments)
    : of(of), arguments(std::move(arguments)) {}

int64_t Evaluation::integer(NodeId id) { return at(id).integer; }
double Evaluation::real(NodeId id) { return at(id).real; }

const Evaluation::Value &Evaluation::at(NodeId id) {
  if (values.size() < of.size())
    values.resize(of.size()), done.resize(of.size());
  // Chains of operations are too deep for recursion.
  std::vector<NodeId> open;
  if (!done[id])
    open.push_back(id);
  while (!open.empty()) {
    NodeId next = open.back();
    size_t before = open.size();
    for (NodeId operand : of[next].operands)
      if (!done[operand])
        open.push_back(operand);
    if (open.size() > before)
      continue;
    if (!done[next])
      values[next] = compute(of[next]), done[next] = true;
    open.pop_back();
  }
  return values[id];
}

Evaluation::Value Evaluation::compute(const Node &node) const {
  auto value = [&](size_t i) { return values[node.operands[i]]; };
  Value result{};
  switch (node.kind) {
  case NodeKind::Integer:
    result.integer = node.value;
    break;
  case NodeKind::Real:
    result.real = node.real;
    break;
  case NodeKind::Argument:
    if (node.integer)
      result.integer = static_cast<int64_t>(arguments[node.index]);
    else
      result.real = arguments[node.index];
    break;
  case NodeKind::Polynomial:
    result.integer = valueOf(of.polynomialOf(node), value(0).integer, value(1).integer);
    break;
  case NodeKind::Sum:
    result.integer = node.value;
    for (size_t i = 0; i < node.operands.size(); ++i)
      result.integer = wrappingAdd(result.integer, wrappingMultiply(node.coefficients[i], value(i).integer));
    break;
  case NodeKind::Product:
    result.integer = wrappingMultiply(value(0).integer, value(1).integer);
    break;
  case NodeKind::CeilDivide: {
    int64_t a = value(0).integer, b = value(1).integer;
    result.integer = b > 0 ? a / b + (a % b > 0) : 0;
    break;
  }
  case NodeKind::Maximum:
  case NodeKind::Minimum: {
    bool larger = node.kind == NodeKind::Maximum;
    result = value(0);
    for (size_t i = 1; i < node.operands.size(); ++i) {
      Value other = value(i);
      bool takes = node.integer ? (larger ? result.integer < other.integer : other.integer < result.integer)
                                : (larger ? result.real < other.real : other.real < result.real);
      if (takes)
        result = other;
    }
    break;
  }
  case NodeKind::ToReal:
    result.real = value(0).integer;
    break;
  case NodeKind::Add:
    result.real = value(0).real + value(1).real;
    break;
  case NodeKind::Multiply:
    result.real = value(0).real * value(1).real;
    break;
  case NodeKind::Divide:
    result.real = value(0).real / value(1).real;
    break;
  case NodeKind::Picoseconds:
    result.integer = clampedPicoseconds(value(0).real, node.value);
    break;
  case NodeKind::Select: {
    size_t i = 0;
    while (i + 1 < node.coefficients.size() && value(0).integer > node.coefficients[i])
      ++i;
    result = value(i + 1);
    break;
  }
  case NodeKind::SquareRoot:
    result.integer = wholeRoot(value(0).real, value(1).real);
    break;
  }
  return result;
}

} // namespace accord
