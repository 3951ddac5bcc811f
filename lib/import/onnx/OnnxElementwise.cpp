// Operators on each element, and those along one dimension.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

const std::map<std::string, const char *> kUnary = {{"Relu", "relu"},
                                                    {"Sigmoid", "sigmoid"},
                                                    {"Softplus", "softplus"},
                                                    {"Tanh", "tanh"},
                                                    {"Exp", "exp"},
                                                    {"Sqrt", "sqrt"},
                                                    {"Neg", "neg"},
                                                    {"Gelu", "gelu"},
                                                    {"com.microsoft.Gelu", "gelu"},
                                                    {"com.microsoft.FastGelu", "gelu"},
                                                    {"HardSwish", "hard_swish"},
                                                    {"HardSigmoidSixth", "hard_sigmoid"},
                                                    {"Silu", "silu"}};

void onlyFolded(OnnxContext &c, const OnnxNode &node) {
  c.reportUnsupported(node.op == "Erf" ? "is no part of a gelu: only x * (erf(x / sqrt 2) + 1) / 2 is "
                                         "here"
                                       : "depends on the model's inputs; it is supported only where it "
                                         "computes shapes, or at the end");
}

void unary(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  if (llvm::StringRef(node.op).starts_with("com.microsoft.FastGelu") && node.has(1))
    c.reportUnsupported("adds a bias before it");
  c.setAlike(x, kUnary.at(node.op));
}

void same(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.get(0);
  int64_t to = node.integer("to", 1);
  if (node.op == "Cast" && x.id >= 0) {
    bool integers = c.textBuilder.isInteger(x.id);
    bool wanted = to == 6 || to == 7, numbers = to == 1 || to == 10 || to == 11 || to == 16;
    if (integers ? !wanted : !numbers)
      c.reportUnsupported("turns numbers into integers or back, which is not supported");
  }
  c.setResult(x);
}

char signOf(const OnnxNode &node) {
  return node.op == "Add" ? '+' : node.op == "Sub" ? '-' : node.op == "Mul" ? '*' : '/';
}

void byNumber(OnnxContext &c, const OnnxNode &node, const OnnxValue &x, double number, bool numberLast) {
  std::string error;
  auto factor = factorOf(signOf(node), number, numberLast, error);
  if (!factor)
    c.reportUnsupported(error);
  return *factor == 1 ? c.setResult(x) : c.setAlike(x, "scale", {"factor = " + singleText(*factor)});
}

/// An operand of two. A constant of the full rank has an extent 1 where the other has its batch.
OnnxValue operandOf(OnnxContext &c, size_t side) {
  const OnnxValue &value = c.get(side), &other = c.get(1 - side);
  if (!value.constant || other.constant || other.batch != Batch::Leads ||
      value.constant->shape.size() != other.full.size() || value.constant->shape.empty() ||
      value.constant->shape[0] != 1)
    return c.tensor(side);
  bool alone = !c.isShared(*value.constant) && !value.constant->initializer.empty();
  OnnxTensor stripped = *value.constant;
  if (alone)
    stripped.shape.erase(stripped.shape.begin());
  OnnxValue made = c.parameterOf(stripped);
  if (!alone)
    made.id = c.textBuilder.reshape(made.id, Shape(made.full.begin() + 1, made.full.end()));
  made.full = c.shape(made.id);
  return made;
}

/// Takes away the extent 1 of `one` where `other` has its batch.
void strip(OnnxContext &c, OnnxValue &one, const OnnxValue &other) {
  if (one.batch != Batch::None || other.batch != Batch::Leads || one.full.size() != other.full.size() ||
      one.full[0] != 1)
    return;
  one.full.erase(one.full.begin());
  one.id = c.textBuilder.reshape(one.id, one.full);
}

/// Whether two operands have their batch at the same place, and neither reaches over that of the other.
bool batchesFit(const OnnxValue &a, const OnnxValue &b) {
  if (a.batch != Batch::None && b.batch != Batch::None)
    return a.batch == b.batch && a.full.size() == b.full.size();
  if (a.batch == b.batch)
    return true;
  const OnnxValue &batched = a.batch == Batch::None ? b : a, &other = a.batch == Batch::None ? a : b;
  return other.full.size() <= batched.full.size() - (batched.batch == Batch::Leads);
}

void binary(OnnxContext &c, const OnnxNode &node) {
  for (size_t side : {0, 1})
    if (auto number = c.scalar(side); number && !c.get(1 - side).constant)
      if (c.get(side).constant->shape.size() <= c.get(1 - side).full.size())
        return byNumber(c, node, c.tensor(1 - side), *number, side == 1);
  OnnxValue a = operandOf(c, 0), b = operandOf(c, 1);
  strip(c, a, b);
  strip(c, b, a);
  if (!batchesFit(a, b))
    c.reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(a.full), listOf(b.full)));
  auto join = [&](const Shape &left, const Shape &right) {
    if (auto all = broadcastOf(left, right))
      return *all;
    c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(left), listOf(right)));
  };
  Shape shape = join(c.shape(a.id), c.shape(b.id)), full = join(a.full, b.full);
  c.setResult(c.add({signOf(node)}, {a.id, b.id}, {}, shape), full, a.batch == Batch::None ? b.batch : a.batch);
}

void clip(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  auto bound = [&](size_t input, const char *key, double otherwise) {
    if (!node.has(input))
      return node.number(key, otherwise);
    std::optional<double> number = c.scalar(input);
    if (!number)
      c.reportUnsupported("has bounds that are not known");
    return *number;
  };
  double low = bound(1, "min", -INFINITY), high = bound(2, "max", INFINITY);
  const char *call = callOfBounds(low, high);
  if (!call)
    c.reportUnsupported(boundsText(low, high));
  c.setAlike(x, call);
}

void hardSigmoid(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  double alpha = node.number("alpha", 0.2), beta = node.number("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) > 1e-4 || beta != 0.5)
    c.reportUnsupported(fmt::format("has alpha = {} and beta = {}; only 1/6 and 1/2 are supported", alpha, beta));
  c.setAlike(x, "hard_sigmoid");
}

void leaky(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  bool elu = node.op == "Elu";
  double alpha = node.number("alpha", elu ? 1 : 0.01);
  if (elu ? !(alpha > 0) : !(alpha >= 0 && alpha < 1))
    c.reportUnsupported(fmt::format("has alpha = {}, which is not supported", alpha));
  c.setAlike(x, elu ? "elu" : "leaky_relu", {(elu ? "alpha = " : "slope = ") + singleText(alpha)});
}

void power(OnnxContext &c, const OnnxNode &) {
  OnnxValue x = c.tensor(0);
  std::optional<double> exponent = c.scalar(1);
  Shape shape = c.shape(x.id);
  DnnTextBuilder::Id y = x.id;
  if (exponent == 2.0 || exponent == 3.0) {
    y = c.add("*", {x.id, x.id}, {}, shape);
    if (exponent == 3.0)
      y = c.add("*", {y, x.id}, {}, shape);
  } else if (exponent == 0.5) {
    y = c.add("sqrt", {x.id}, {}, shape);
  } else if (exponent != 1.0) {
    c.reportUnsupported("raises to a power other than 0.5, 1, 2 or 3");
  }
  c.setResult(y, x.full, x.batch);
}

void dropout(OnnxContext &c, const OnnxNode &node) {
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && c.uses[node.outputs[1]])
    c.reportUnsupported("gives its mask, which is not supported");
  OnnxValue x = c.tensor(0);
  double rate = node.number("ratio", 0.5);
  if (node.has(1))
    rate = c.scalar(1).value_or(NAN);
  if (!(rate >= 0 && rate < 1))
    c.reportInvalid("has a ratio that is unknown, below 0 or not below 1");
  return rate == 0 ? c.setResult(x) : c.setAlike(x, "dropout", {"rate = " + singleText(rate)});
}

void softmax(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  int64_t stated = node.integer("axis", c.model.opset < 13 ? 1 : -1), axis = stated, dim = c.axisOf(x, axis);
  // Before operator set 13 all dimensions from the axis on were one.
  if (c.model.opset < 13 && axis != std::ssize(x.full) - 1)
    c.reportUnsupported(fmt::format("is taken over several dimensions, from {} on, which is not supported", stated));
  c.setResult(c.textBuilder.softmax(c.name(), x.id, dim), x.full, x.batch);
}

void reduce(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  std::set<int64_t, std::greater<>> dims;
  Shape full = x.full, kept;
  for (int64_t axis : c.listed("axes", 1).value_or(Shape{})) {
    dims.insert(c.axisOf(x, axis));
    full[axis] = 0;
  }
  if (dims.empty())
    c.reportUnsupported("reduces all dimensions, the batch among them");
  bool keep = node.integer("keepdims", 1) != 0, mean = node.op == "ReduceMean";
  for (int64_t extent : full)
    if (extent != 0 || keep)
      kept.push_back(extent == 0 ? 1 : extent);
  Shape shape = c.shape(x.id);
  DnnTextBuilder::Id y = x.id;
  if (mean && shape.size() == 3 && llvm::equal(dims, Shape{2, 1}))
    y = c.add("global_avg_pool", {y}, {}, {shape[0]});
  else
    for (int64_t dim : dims) {
      shape.erase(shape.begin() + dim);
      y = c.add(mean ? "reduce_mean" : "reduce_sum", {y}, {fmt::format("axis = {}", dim)}, shape);
    }
  c.setResult(c.viewed(y, x.batch, kept, kept));
}

} // namespace

std::vector<OnnxOperators> onnxElementwise() {
  std::vector<OnnxOperators> all = {
      {binary, {"Add", "Sub", "Mul", "Div"}},
      {same, {"Cast", "Identity"}},
      {clip, {"Clip"}},
      {dropout, {"Dropout"}},
      {leaky, {"Elu", "LeakyRelu"}},
      {hardSigmoid, {"HardSigmoid"}},
      {power, {"Pow"}},
      {reduce, {"ReduceMean", "ReduceSum"}},
      {softmax, {"Softmax"}},
      // These say shapes, and are only understood where they can be computed now.
      {onlyFolded,
       {"Ceil", "Constant", "ConstantOfShape", "Equal", "Erf", "Floor", "LogSoftmax", "Max", "Min", "Mod", "Range",
        "Reciprocal", "ReduceProd", "Shape", "Size", "Where"}}};
  for (const auto &[op, call] : kUnary)
    all.push_back({unary, {op.c_str()}});
  return all;
}

} // namespace accord::import
