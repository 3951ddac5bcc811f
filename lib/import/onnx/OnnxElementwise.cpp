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

void random(OnnxContext &c, const OnnxNode &) {
  c.reportUnsupported(
      "gives random numbers that are no mask: only a tensor times those below a known number is a dropout");
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

/// An operand of two. A weight of the full rank, which has an extent 1 where the other has its batch, is declared
/// without it.
OnnxValue operandOf(OnnxContext &c, size_t side) {
  const OnnxValue &value = c.get(side), &other = c.get(1 - side);
  if (!value.constant || value.constant->initializer.empty() || c.isShared(*value.constant) || !other.outer ||
      !c.placeOf(other).alone)
    return c.tensor(side);
  OnnxTensor stripped = *value.constant;
  int64_t axis = std::ssize(stripped.shape) - (std::ssize(other.full) - c.placeOf(other).axis);
  if (axis < 0 || stripped.shape[axis] != 1)
    return c.tensor(side);
  stripped.shape.erase(stripped.shape.begin() + axis);
  if (stripped.shape.empty())
    return c.tensor(side);
  OnnxValue made = c.parameterOf(stripped);
  made.full = value.constant->shape;
  return made;
}

/// Two operands that are broadcast to each other, the shape of their result with the batch, and where it lies.
struct Joined {
  OnnxValue a, b;
  Shape sample, full;
  std::optional<int64_t> outer;
};
Joined joined(OnnxContext &c, OnnxValue a, OnnxValue b) {
  bool declared = std::ssize(c.shape(a.id)) != std::ssize(a.full); // without the extent 1
  if (a.outer || !declared)
    c.strip(a, b);
  declared = std::ssize(c.shape(b.id)) != std::ssize(b.full);
  if (b.outer || !declared)
    c.strip(b, a);
  auto unfit = [&] {
    c.reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(a.full), listOf(b.full)));
  };
  if (a.outer && b.outer && !c.sameBatch(a, b))
    unfit();
  // What has no batch must not reach over a dimension that is one in part.
  for (auto [one, other] : {std::pair(&a, &b), {&b, &a}})
    if (one->outer && !other->outer && !c.placeOf(*one).alone) {
      int64_t axis = std::ssize(other->full) - (std::ssize(one->full) - c.placeOf(*one).axis);
      if (axis >= 0 && other->full[axis] != 1 && c.batch != 1)
        unfit();
    }
  auto join = [&](const Shape &left, const Shape &right) {
    if (auto all = broadcastOf(left, right))
      return *all;
    c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(left), listOf(right)));
  };
  Joined all{a, b, join(c.shape(a.id), c.shape(b.id)), join(a.full, b.full), std::nullopt};
  all.outer = c.outerOf(all.full, a, b);
  return all;
}

void binary(OnnxContext &c, const OnnxNode &node) {
  for (size_t side : {0, 1})
    if (auto number = c.scalar(side); number && !c.get(1 - side).constant)
      if (c.get(side).constant->shape.size() <= c.get(1 - side).full.size())
        return byNumber(c, node, c.tensor(1 - side), *number, side == 1);
  if (node.op == "Add")
    for (size_t side : {0, 1})
      if (const auto &known = c.get(side).constant; known && known->isComputed && !c.get(1 - side).constant) {
        c.noteOnce(fmt::format("{} adds {} that are known, a mask: they are no parameter, and left out", c.subject(),
                               listOf(known->shape)));
        return c.setResult(c.tensor(1 - side));
      }
  Joined all = joined(c, operandOf(c, 0), operandOf(c, 1));
  c.setResult(c.add({signOf(node)}, {all.a.id, all.b.id}, {}, all.sample), all.full, all.outer);
}

/// Sum of any number of operands.
void sum(OnnxContext &c, const OnnxNode &node) {
  OnnxValue result = c.tensor(0);
  for (size_t i = 1; i < node.inputs.size(); ++i) {
    Joined all = joined(c, result, c.tensor(i));
    result = OnnxValue{std::nullopt, c.add("+", {all.a.id, all.b.id}, {}, all.sample), all.full, all.outer};
  }
  c.setResult(result);
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
  c.setResult(y, x.full, x.outer);
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
  if (c.model.opset < 13 && axis != std::ssize(x.full) - 1) {
    Shape sample = c.shape(x.id), coerced(sample.begin(), sample.begin() + dim);
    coerced.push_back(*elementsOf(Shape(sample.begin() + dim, sample.end())));
    if (x.outer && c.placeOf(x).axis > axis)
      c.reportUnsupported("is taken over the batch, whose samples are independent here");
    DnnTextBuilder::Id y = c.textBuilder.softmax(c.name(), c.textBuilder.reshape(x.id, coerced), dim);
    return c.setResult(c.textBuilder.reshape(y, sample), x.full, x.outer);
  }
  c.setResult(c.textBuilder.softmax(c.name(), x.id, dim), x.full, x.outer);
}

void reduce(OnnxContext &c, const OnnxNode &node) {
  OnnxValue x = c.tensor(0);
  std::set<int64_t, std::greater<>> dims;
  Shape full = x.full, kept;
  bool keep = node.integer("keepdims", 1) != 0, mean = node.op == "ReduceMean";
  std::optional<int64_t> outer = x.outer;
  for (int64_t axis : c.listed("axes", 1).value_or(Shape{})) {
    dims.insert(c.axisOf(x, axis));
    if (outer && full[axis] != 0 && axis < c.placeOf(x).axis)
      *outer /= x.full[axis];
    full[axis] = 0;
  }
  if (dims.empty())
    c.reportUnsupported("reduces all dimensions, the batch among them");
  for (int64_t extent : full)
    if (extent != 0 || keep)
      kept.push_back(extent == 0 ? 1 : extent);
  Shape shape = c.shape(x.id);
  DnnTextBuilder::Id y = x.id;
  if (mean && shape.size() >= 2 && shape.size() <= 4 && dims.size() == shape.size() - 1 && !dims.count(0) &&
      c.leads(x)) {
    y = c.add("global_avg_pool", {y}, {}, {shape[0]});
  } else {
    static const std::map<std::string, const char *> kCalls = {{"ReduceMean", "reduce_mean"},
                                                               {"ReduceSum", "reduce_sum"},
                                                               {"ReduceMax", "reduce_max"},
                                                               {"ReduceMin", "reduce_min"}};
    for (int64_t dim : dims) {
      shape.erase(shape.begin() + dim);
      y = c.add(kCalls.at(node.op), {y}, {fmt::format("axis = {}", dim)}, shape);
    }
  }
  c.setResult(c.viewed(y, outer, kept, kept));
}

/// A slope for each channel, or one for all.
void prelu(OnnxContext &c, const OnnxNode &) {
  OnnxValue x = c.tensor(0);
  const OnnxTensor &slope = c.weight(1);
  std::optional<int64_t> slopes = elementsOf(slope.shape);
  const Shape &sample = c.shape(x.id);
  bool along = slopes && !sample.empty() && *slopes == sample[0];
  for (size_t i = 0; along && i < slope.shape.size(); ++i) // right-aligned, so that it lies along the channels
    along = slope.shape[i] == 1 || slope.shape.size() - i == sample.size();
  if (!c.leads(x) || !slopes || (*slopes != 1 && !along))
    c.reportUnsupported(
        fmt::format("has slopes {}, and one for each channel or for all is supported", listOf(slope.shape)));
  c.setAlike(x, "prelu",
             *slopes == 1 && sample[0] != 1 ? std::vector<std::string>{"shared = true"} : std::vector<std::string>{});
}

/// One of two by a mask that is known: what it puts in is a number, and the rest is left as it is.
void where(OnnxContext &c, const OnnxNode &) {
  const OnnxValue &mask = c.get(0);
  for (size_t side : {1, 2})
    if (mask.constant && c.scalar(side) && !c.get(3 - side).constant) {
      OnnxValue x = c.tensor(3 - side);
      if (broadcastOf(mask.constant->shape, x.full) != std::optional(x.full))
        continue;
      c.noteOnce(fmt::format("{} puts a number in at {} places that are known, a mask: they are left out", c.subject(),
                             listOf(mask.constant->shape)));
      return c.setResult(x);
    }
  c.reportUnsupported(
      "chooses between tensors by what the model computes; only a known mask with a number is supported");
}

void mish(OnnxContext &c, const OnnxNode &) { // x * tanh(softplus(x))
  OnnxValue x = c.tensor(0);
  Shape shape = c.shape(x.id);
  DnnTextBuilder::Id gate = c.add("tanh", {c.add("softplus", {x.id}, {}, shape)}, {}, shape);
  c.setResult(c.add("*", {x.id, gate}, {}, shape), x.full, x.outer);
}

} // namespace

std::vector<OnnxOperators> onnxElementwise() {
  std::vector<OnnxOperators> all = {{binary, {"Add", "Sub", "Mul", "Div"}},
                                    {same, {"Cast", "Identity"}},
                                    {clip, {"Clip"}},
                                    {dropout, {"Dropout"}},
                                    {leaky, {"Elu", "LeakyRelu"}},
                                    {hardSigmoid, {"HardSigmoid"}},
                                    {power, {"Pow"}},
                                    {random, {"Bernoulli", "RandomUniform", "RandomUniformLike"}},
                                    {reduce, {"ReduceMax", "ReduceMean", "ReduceMin", "ReduceSum"}},
                                    {mish, {"Mish"}},
                                    {prelu, {"PRelu"}},
                                    {softmax, {"Softmax"}},
                                    {sum, {"Sum"}},
                                    // These say shapes, and are only understood where they can be computed now.
                                    {onlyFolded,
                                     {"Ceil",
                                      "Constant",
                                      "ConstantOfShape",
                                      "CumSum",
                                      "Equal",
                                      "Erf",
                                      "Floor",
                                      "LogSoftmax",
                                      "Max",
                                      "Min",
                                      "Mod",
                                      "Range",
                                      "Reciprocal",
                                      "ReduceProd",
                                      "Shape",
                                      "Size",
                                      "Less",
                                      "Greater",
                                      "LessOrEqual",
                                      "GreaterOrEqual",
                                      "And",
                                      "Or",
                                      "Not",
                                      "Trilu",
                                      "ScatterND",
                                      "ScatterElements",
                                      "Abs",
                                      "Log"}},
                                    {where, {"Where"}}};
  for (const auto &[op, call] : kUnary)
    all.push_back({unary, {op.c_str()}});
  return all;
}

} // namespace accord::import
