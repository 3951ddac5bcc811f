#include "dialects/dnn/Scalar.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include <cmath>
#include <iterator>
#include <utility>

using namespace mlir;

namespace accord::dnn {

using Kind = ScalarKind;

unsigned arityOf(Kind kind) {
  if (kind <= Kind::Number)
    return 0;
  return kind <= Kind::Round ? 1 : kind <= Kind::Equal ? 2 : 3;
}

// ---- building

ScalarAttr scalarNumber(MLIRContext *context, double value) {
  return ScalarAttr::get(context, Kind::Number, {}, 0,
                         Builder(context).getF64FloatAttr(value == 0 ? 0 : value)); // no -0
}
ScalarAttr scalarOperand(MLIRContext *context, unsigned operand) {
  return ScalarAttr::get(context, Kind::Operand, {}, operand, FloatAttr());
}
ScalarAttr scalarPosition(MLIRContext *context, unsigned dimension) {
  return ScalarAttr::get(context, Kind::Position, {}, dimension, FloatAttr());
}

static bool isNumber(ScalarAttr a) { return a.getKind() == Kind::Number; }
static bool isNumber(ScalarAttr a, double value) { return isNumber(a) && a.getNumber().getValueAsDouble() == value; }

/// What a step that is no leaf computes, in the order of the kinds from `Negate` on.
static double compute(Kind kind, double a, double b, double c) {
  using Function = double (*)(double, double, double);
  static constexpr Function functions[] = {
      [](double a, double, double) { return -a; },
      [](double a, double, double) { return std::exp(a); },
      [](double a, double, double) { return std::log(a); },
      [](double a, double, double) { return std::sqrt(a); },
      [](double a, double, double) { return std::sin(a); },
      [](double a, double, double) { return std::cos(a); },
      [](double a, double, double) { return std::tanh(a); },
      [](double a, double, double) { return std::erf(a); },
      [](double a, double, double) { return std::fabs(a); },
      [](double a, double, double) { return a > 0   ? 1.0
                                            : a < 0 ? -1.0
                                                    : 0.0; },
      [](double a, double, double) { return std::floor(a); },
      [](double a, double, double) { return std::nearbyint(a); }, // to even, as the formats of numbers do
      [](double a, double b, double) { return a + b; },
      [](double a, double b, double) { return a - b; },
      [](double a, double b, double) { return a * b; },
      [](double a, double b, double) { return a / b; },
      [](double a, double b, double) { return std::pow(a, b); },
      [](double a, double b, double) { return a < b ? b : a; },
      [](double a, double b, double) { return b < a ? b : a; },
      [](double a, double b, double) -> double { return a < b; },
      [](double a, double b, double) -> double { return a <= b; },
      [](double a, double b, double) -> double { return a == b; },
      [](double a, double b, double c) { return a != 0 ? b : c; },
  };
  static_assert(std::size(functions) == getMaxEnumValForScalarKind() - unsigned(Kind::Number));
  assert(kind > Kind::Number && "a leaf computes nothing");
  return functions[unsigned(kind) - unsigned(Kind::Negate)](a, b, c);
}

/// What is simpler and equal; null if nothing is known.
static ScalarAttr simpler(Kind kind, ArrayRef<ScalarAttr> in) {
  MLIRContext *context = in[0].getContext();
  auto zero = [&] { return scalarNumber(context, 0); };
  if (llvm::all_of(in, [](ScalarAttr a) { return isNumber(a); })) {
    auto value = [&](unsigned i) { return i < in.size() ? in[i].getNumber().getValueAsDouble() : 0; };
    double result = compute(kind, value(0), value(1), value(2));
    if (std::isfinite(result))
      return scalarNumber(context, result);
  }
  switch (kind) {
  case Kind::Negate:
    return in[0].getKind() == Kind::Negate ? in[0].operand(0) : ScalarAttr();
  case Kind::Add:
    return isNumber(in[0], 0) ? in[1] : isNumber(in[1], 0) ? in[0] : ScalarAttr();
  case Kind::Subtract:
    if (isNumber(in[0], 0))
      return scalar(Kind::Negate, in[1]);
    return isNumber(in[1], 0) ? in[0] : ScalarAttr();
  case Kind::Multiply:
    for (unsigned i : {0u, 1u}) {
      if (isNumber(in[i], 0))
        return zero();
      if (isNumber(in[i], 1))
        return in[1 - i];
      if (isNumber(in[i], -1))
        return scalar(Kind::Negate, in[1 - i]);
    }
    return {};
  case Kind::Divide:
    if (isNumber(in[0], 0))
      return zero();
    return isNumber(in[1], 1) ? in[0] : ScalarAttr();
  case Kind::Power:
    if (isNumber(in[1], 0))
      return scalarNumber(context, 1);
    return isNumber(in[1], 1) ? in[0] : ScalarAttr();
  case Kind::Select:
    if (isNumber(in[0]))
      return isNumber(in[0], 0) ? in[2] : in[1];
    return in[1] == in[2] ? in[1] : ScalarAttr();
  default:
    return {};
  }
}

ScalarAttr scalar(Kind kind, ArrayRef<ScalarAttr> operands) {
  assert(operands.size() == arityOf(kind) && !operands.empty());
  if (ScalarAttr known = simpler(kind, operands))
    return known;
  SmallVector<Attribute> list(operands);
  return ScalarAttr::get(operands[0].getContext(), kind, list, 0, FloatAttr());
}

// ---- walking

SmallVector<ScalarAttr> stepsOf(ScalarAttr body) {
  SmallVector<ScalarAttr> order, open{body}; // no recursion: an expression may be a long chain
  llvm::DenseSet<Attribute> done;
  while (!open.empty()) {
    ScalarAttr step = open.back();
    size_t before = open.size();
    if (!done.contains(step))
      for (Attribute operand : llvm::reverse(step.getOperands()))
        if (!done.contains(operand))
          open.push_back(cast<ScalarAttr>(operand));
    if (open.size() != before)
      continue;
    open.pop_back();
    if (done.insert(step).second)
      order.push_back(step);
  }
  return order;
}

/// Rebuilds an expression from its leaves up: `made` gives for each step, from what its operands became, what it
/// becomes.
template <typename Made> static ScalarAttr rebuild(ScalarAttr body, Made made) {
  llvm::DenseMap<Attribute, ScalarAttr> become;
  for (ScalarAttr step : stepsOf(body)) {
    SmallVector<ScalarAttr, 3> operands;
    for (Attribute operand : step.getOperands())
      operands.push_back(become.lookup(operand));
    become[step] = made(step, ArrayRef<ScalarAttr>(operands));
  }
  return become.lookup(body);
}

ScalarAttr replaceLeaves(ScalarAttr body, llvm::function_ref<ScalarAttr(unsigned)> operand,
                         llvm::function_ref<ScalarAttr(unsigned)> position) {
  return rebuild(body, [&](ScalarAttr step, ArrayRef<ScalarAttr> operands) {
    if (step.getKind() == Kind::Operand)
      return operand(step.getIndex());
    if (step.getKind() == Kind::Position && position)
      return position(step.getIndex());
    return step.isLeaf() ? step : scalar(step.getKind(), operands);
  });
}

ScalarAttr derivative(ScalarAttr body, unsigned operand) {
  MLIRContext *context = body.getContext();
  auto number = [&](double value) { return scalarNumber(context, value); };
  auto add = [](ScalarAttr a, ScalarAttr b) { return scalar(Kind::Add, {a, b}); };
  auto subtract = [](ScalarAttr a, ScalarAttr b) { return scalar(Kind::Subtract, {a, b}); };
  auto multiply = [](ScalarAttr a, ScalarAttr b) { return scalar(Kind::Multiply, {a, b}); };
  auto divide = [](ScalarAttr a, ScalarAttr b) { return scalar(Kind::Divide, {a, b}); };
  return rebuild(body, [&](ScalarAttr y, ArrayRef<ScalarAttr> d) -> ScalarAttr {
    auto x = [&](unsigned i) { return y.operand(i); };
    switch (y.getKind()) {
    case Kind::Operand:
      return number(y.getIndex() == operand);
    case Kind::Negate:
      return scalar(Kind::Negate, d[0]);
    case Kind::Exp:
      return multiply(d[0], y);
    case Kind::Log:
      return divide(d[0], x(0));
    case Kind::Sqrt:
      return divide(d[0], multiply(number(2), y));
    case Kind::Sin:
      return multiply(d[0], scalar(Kind::Cos, x(0)));
    case Kind::Cos:
      return multiply(d[0], scalar(Kind::Negate, scalar(Kind::Sin, x(0))));
    case Kind::Tanh:
      return multiply(d[0], subtract(number(1), multiply(y, y)));
    case Kind::Erf: // 2 / sqrt(pi) exp(-x^2)
      return multiply(
          d[0], multiply(number(1.1283791670955126), scalar(Kind::Exp, scalar(Kind::Negate, multiply(x(0), x(0))))));
    case Kind::Abs:
      return multiply(d[0], scalar(Kind::Sign, x(0)));
    case Kind::Add:
      return add(d[0], d[1]);
    case Kind::Subtract:
      return subtract(d[0], d[1]);
    case Kind::Multiply:
      return add(multiply(d[0], x(1)), multiply(x(0), d[1]));
    case Kind::Divide: // (x / z)' = (x' - y z') / z
      return divide(subtract(d[0], multiply(y, d[1])), x(1));
    case Kind::Power: {
      ScalarAttr base = multiply(d[0], multiply(x(1), scalar(Kind::Power, {x(0), subtract(x(1), number(1))})));
      if (isNumber(d[1], 0)) // else log(x) would be computed, and multiplied by 0
        return base;
      return add(base, multiply(d[1], multiply(y, scalar(Kind::Log, x(0)))));
    }
    case Kind::Maximum:
      return scalar(Kind::Select, {scalar(Kind::Less, {x(0), x(1)}), d[1], d[0]});
    case Kind::Minimum:
      return scalar(Kind::Select, {scalar(Kind::Less, {x(1), x(0)}), d[1], d[0]});
    case Kind::Select:
      return scalar(Kind::Select, {x(0), d[1], d[2]});
    default: // other leaves and step functions
      return number(0);
    }
  });
}

// ---- computing

ScalarProgram::ScalarProgram(ScalarAttr body) {
  llvm::DenseMap<Attribute, unsigned> at;
  for (ScalarAttr attribute : stepsOf(body)) {
    Step step{attribute.getKind(), {0, 0, 0}, attribute.getIndex(), 0};
    if (attribute.getNumber())
      step.number = attribute.getNumber().getValueAsDouble();
    for (auto [i, operand] : llvm::enumerate(attribute.getOperands()))
      step.inputs[i] = at.lookup(operand);
    if (step.kind == Kind::Operand || step.kind == Kind::Position) {
      llvm::SmallBitVector &read = step.kind == Kind::Operand ? reads : places;
      if (std::cmp_less_equal(read.size(), step.index))
        read.resize(step.index + 1);
      read.set(step.index);
    }
    at[attribute] = size();
    steps.push_back(step);
  }
  values.resize(steps.size());
}

unsigned ScalarProgram::flops() const {
  return llvm::count_if(steps, [](const Step &step) { return step.kind > Kind::Number; });
}

double ScalarProgram::operator()(ArrayRef<double> operands, ArrayRef<int64_t> positions) const {
  for (auto [i, step] : llvm::enumerate(steps)) {
    if (step.kind == Kind::Operand)
      values[i] = operands[step.index];
    else if (step.kind == Kind::Position)
      values[i] = positions[step.index];
    else if (step.kind == Kind::Number)
      values[i] = step.number;
    else
      values[i] = compute(step.kind, values[step.inputs[0]], values[step.inputs[1]], values[step.inputs[2]]);
  }
  return values.back();
}

} // namespace accord::dnn
