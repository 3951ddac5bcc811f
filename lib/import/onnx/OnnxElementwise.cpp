// Operators on each element, and those along one dimension; the table of all operators.
#include "lib/import/onnx/OnnxImporter.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

static const std::map<std::string, const char *> kUnary = {{"Relu", "relu"},
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

const std::map<std::string, OnnxImporter::Handler> &OnnxImporter::handlers() {
  using I = OnnxImporter;
  static const std::map<std::string, Handler> table = [] {
    std::map<std::string, Handler> all = {{"Add", &I::binary},
                                          {"Sub", &I::binary},
                                          {"Mul", &I::binary},
                                          {"Div", &I::binary},
                                          {"AveragePool", &I::pool},
                                          {"BatchNormalization", &I::batchNorm},
                                          {"Cast", &I::same},
                                          {"Clip", &I::clip},
                                          {"Concat", &I::concat},
                                          {"Conv", &I::conv},
                                          {"ConvTranspose", &I::convTranspose},
                                          {"Dropout", &I::dropout},
                                          {"Elu", &I::leaky},
                                          {"Expand", &I::expand},
                                          {"Flatten", &I::flatten},
                                          {"Gather", &I::gather},
                                          {"GatherND", &I::gatherNd},
                                          {"Gemm", &I::gemm},
                                          {"GlobalAveragePool", &I::globalPool},
                                          {"GroupNormalization", &I::groupNorm},
                                          {"HardSigmoid", &I::hardSigmoid},
                                          {"Identity", &I::same},
                                          {"InstanceNormalization", &I::groupNorm},
                                          {"LayerNormalization", &I::layerNorm},
                                          {"LeakyRelu", &I::leaky},
                                          {"MatMul", &I::matmul},
                                          {"MaxPool", &I::pool},
                                          {"Pow", &I::power},
                                          {"ReduceMean", &I::reduce},
                                          {"ReduceSum", &I::reduce},
                                          {"Reshape", &I::reshape},
                                          {"Resize", &I::resize},
                                          {"Slice", &I::slice},
                                          {"Softmax", &I::softmax},
                                          {"Split", &I::split},
                                          {"Squeeze", &I::squeeze},
                                          {"Transpose", &I::transpose},
                                          {"Unsqueeze", &I::unsqueeze},
                                          {"Upsample", &I::resize}};
    for (const auto &[op, call] : kUnary)
      all[op] = &I::unary;
    // These say shapes, and are only understood where they can be computed now.
    for (const char *op : {"Ceil", "Constant", "ConstantOfShape", "Equal", "Erf", "Floor", "LogSoftmax", "Max", "Min",
                           "Mod", "Range", "Reciprocal", "ReduceProd", "Shape", "Size", "Where"})
      all[op] = &I::onlyFolded;
    return all;
  }();
  return table;
}

void OnnxImporter::onlyFolded(const OnnxNode &node) {
  reportUnsupported(node.op == "Erf" ? "is no part of a gelu: only x * (erf(x / sqrt 2) + 1) / 2 is "
                                       "here"
                                     : "depends on the model's inputs; it is supported only where it "
                                       "computes shapes, or at the end");
}

void OnnxImporter::unary(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  if (llvm::StringRef(node.op).starts_with("com.microsoft.FastGelu") && node.has(1))
    reportUnsupported("adds a bias before it");
  setResult(node, textBuilder.add(nameOf(node), kUnary.at(node.op), {x.id}, {}, textBuilder.shape(x.id)), x.full,
            x.batch);
}

void OnnxImporter::same(const OnnxNode &node) {
  OnnxValue x = get(node, 0);
  int64_t to = node.integer("to", 1);
  if (node.op == "Cast" && x.id >= 0) {
    bool integers = textBuilder.isInteger(x.id);
    bool wanted = to == 6 || to == 7, numbers = to == 1 || to == 10 || to == 11 || to == 16;
    if (integers ? !wanted : !numbers)
      reportUnsupported("turns numbers into integers or back, which is not supported");
  }
  setResult(node, x);
}

void OnnxImporter::byNumber(const OnnxNode &node, const OnnxValue &x, double number, bool numberFirst) {
  auto scaled = [&](double factor) {
    if (!std::isfinite(static_cast<float>(factor)))
      reportUnsupported("divides by zero");
    if (factor == 1)
      return setResult(node, x);
    setResult(node,
              textBuilder.add(nameOf(node), "scale", {x.id}, {fmt::format("factor = {}", static_cast<float>(factor))},
                              textBuilder.shape(x.id)),
              x.full, x.batch);
  };
  if (node.op == "Mul")
    return scaled(number);
  if (node.op == "Div" && !numberFirst)
    return scaled(1 / number);
  if (number == 0 && node.op != "Div" && !(node.op == "Sub" && numberFirst))
    return setResult(node, x);
  reportUnsupported(node.op == "Div" ? fmt::format("divides {} by a tensor, which is not supported", number)
                                     : fmt::format("adds or subtracts the number {}, which is not supported", number));
}

void OnnxImporter::binary(const OnnxNode &node) {
  for (size_t side : {0, 1})
    if (auto number = scalar(get(node, side)); number && !get(node, 1 - side).constant) {
      const OnnxTensor &constant = *get(node, side).constant;
      if (constant.shape.size() <= get(node, 1 - side).full.size())
        return byNumber(node, tensor(node, 1 - side), *number, side == 0);
    }
  // A constant of the full rank has an extent 1 where the others have their batch.
  auto operand = [&](size_t side) {
    const OnnxValue &value = get(node, side), &other = get(node, 1 - side);
    if (!value.constant || other.constant || other.batch != Batch::Leads ||
        value.constant->shape.size() != other.full.size() || value.constant->shape.empty() ||
        value.constant->shape[0] != 1)
      return tensor(node, side);
    bool alone = uses[value.constant->initializer] <= 1 && !value.constant->initializer.empty();
    OnnxTensor stripped = *value.constant;
    if (alone)
      stripped.shape.erase(stripped.shape.begin());
    OnnxValue made = parameterOf(stripped);
    if (!alone)
      made.id = textBuilder.reshape(made.id, Shape(made.full.begin() + 1, made.full.end()));
    made.full = textBuilder.shape(made.id);
    return made;
  };
  OnnxValue a = operand(0), b = operand(1);
  auto strip = [&](OnnxValue &one, const OnnxValue &other) {
    if (one.batch == Batch::None && other.batch == Batch::Leads && one.full.size() == other.full.size() &&
        one.full[0] == 1) {
      one.full.erase(one.full.begin());
      one.id = textBuilder.reshape(one.id, one.full);
    }
  };
  strip(a, b);
  strip(b, a);
  bool apart = a.batch != b.batch && a.batch != Batch::None && b.batch != Batch::None;
  auto larger = [](const OnnxValue &one, const OnnxValue &other) {
    return one.batch == Batch::None && one.full.size() > other.full.size() - (other.batch == Batch::Leads);
  };
  bool both = a.batch != Batch::None && b.batch != Batch::None;
  if (apart || (both && a.full.size() != b.full.size()) || (b.batch != Batch::None && larger(a, b)) ||
      (a.batch != Batch::None && larger(b, a)))
    reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(a.full), listOf(b.full)));
  auto join = [&](const Shape &left, const Shape &right) {
    Shape all(std::max(left.size(), right.size()));
    for (size_t back = 1; back <= all.size(); ++back) {
      int64_t l = back <= left.size() ? left[left.size() - back] : 1,
              r = back <= right.size() ? right[right.size() - back] : 1;
      if (l != r && l != 1 && r != 1)
        reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(left), listOf(right)));
      all[all.size() - back] = l == 1 ? r : l;
    }
    return all;
  };
  const char *sign = node.op == "Add" ? "+" : node.op == "Sub" ? "-" : node.op == "Mul" ? "*" : "/";
  Shape shape = join(textBuilder.shape(a.id), textBuilder.shape(b.id)), full = join(a.full, b.full);
  setResult(node, textBuilder.add(nameOf(node), sign, {a.id, b.id}, {}, shape), full,
            a.batch == Batch::None ? b.batch : a.batch);
}

void OnnxImporter::clip(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto bound = [&](size_t input, const char *key, double otherwise) {
    if (!node.has(input))
      return node.number(key, otherwise);
    std::optional<double> number = scalar(get(node, input));
    if (!number)
      reportUnsupported("has bounds that are not known");
    return *number;
  };
  double low = bound(1, "min", -INFINITY), high = bound(2, "max", INFINITY);
  const char *call = low == 0 && high == 6 ? "relu6" : low == 0 && high > 1e30 ? "relu" : nullptr;
  if (!call)
    reportUnsupported(fmt::format("bounds by {} and {}; only 0 and 6, or 0 alone, are supported", low, high));
  setResult(node, textBuilder.add(nameOf(node), call, {x.id}, {}, textBuilder.shape(x.id)), x.full, x.batch);
}

void OnnxImporter::hardSigmoid(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  double alpha = node.number("alpha", 0.2), beta = node.number("beta", 0.5);
  if (std::abs(alpha - 1.0 / 6) > 1e-4 || beta != 0.5)
    reportUnsupported(fmt::format("has alpha = {} and beta = {}; only 1/6 and 1/2 are supported", alpha, beta));
  setResult(node, textBuilder.add(nameOf(node), "hard_sigmoid", {x.id}, {}, textBuilder.shape(x.id)), x.full, x.batch);
}

void OnnxImporter::leaky(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  bool elu = node.op == "Elu";
  double alpha = node.number("alpha", elu ? 1 : 0.01);
  if (elu ? !(alpha > 0) : !(alpha >= 0 && alpha < 1))
    reportUnsupported(fmt::format("has alpha = {}, which is not supported", alpha));
  setResult(node,
            textBuilder.add(nameOf(node), elu ? "elu" : "leaky_relu", {x.id},
                            {fmt::format("{} = {}", elu ? "alpha" : "slope", static_cast<float>(alpha))},
                            textBuilder.shape(x.id)),
            x.full, x.batch);
}

void OnnxImporter::power(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  std::optional<double> exponent = scalar(get(node, 1));
  Shape shape = textBuilder.shape(x.id);
  DnnTextBuilder::Id y = x.id;
  if (exponent == 2.0 || exponent == 3.0) {
    y = textBuilder.add(nameOf(node), "*", {x.id, x.id}, {}, shape);
    if (exponent == 3.0)
      y = textBuilder.add(nameOf(node), "*", {y, x.id}, {}, shape);
  } else if (exponent == 0.5) {
    y = textBuilder.add(nameOf(node), "sqrt", {x.id}, {}, shape);
  } else if (exponent != 1.0) {
    reportUnsupported("raises to a power other than 0.5, 1, 2 or 3");
  }
  setResult(node, y, x.full, x.batch);
}

void OnnxImporter::dropout(const OnnxNode &node) {
  if (node.outputs.size() > 1 && !node.outputs[1].empty() && uses[node.outputs[1]])
    reportUnsupported("gives its mask, which is not supported");
  OnnxValue x = tensor(node, 0);
  double rate = node.number("ratio", 0.5);
  if (node.has(1))
    rate = scalar(get(node, 1)).value_or(NAN);
  if (!(rate >= 0 && rate < 1))
    reportInvalid("has a ratio that is unknown, below 0 or not below 1");
  if (rate == 0)
    return setResult(node, x);
  setResult(node,
            textBuilder.add(nameOf(node), "dropout", {x.id}, {fmt::format("rate = {}", static_cast<float>(rate))},
                            textBuilder.shape(x.id)),
            x.full, x.batch);
}

void OnnxImporter::softmax(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  auto rank = static_cast<int64_t>(x.full.size());
  int64_t axis = node.integer("axis", model.opset < 13 ? 1 : -1);
  int64_t dim = axisOf(x, axis);
  // Before operator set 13 all dimensions from the axis on were one.
  if (model.opset < 13 && (axis < 0 ? axis + rank : axis) != rank - 1)
    reportUnsupported(fmt::format("is taken over several dimensions, from {} on, which is not supported", axis));
  std::vector<std::string> attributes;
  if (dim != static_cast<int64_t>(textBuilder.shape(x.id).size()) - 1)
    attributes.push_back(fmt::format("axis = {}", dim));
  setResult(node, textBuilder.add(nameOf(node), "softmax", {x.id}, attributes, textBuilder.shape(x.id)), x.full,
            x.batch);
}

void OnnxImporter::reduce(const OnnxNode &node) {
  OnnxValue x = tensor(node, 0);
  std::vector<int64_t> dims;
  Shape full = x.full, kept;
  for (int64_t axis : listed(node, "axes", 1).value_or(Shape{})) {
    dims.push_back(axisOf(x, axis));
    full[axis < 0 ? axis + static_cast<int64_t>(full.size()) : axis] = 0;
  }
  if (dims.empty())
    reportUnsupported("reduces all dimensions, the batch among them");
  bool keep = node.integer("keepdims", 1) != 0;
  for (int64_t extent : full)
    if (extent != 0 || keep)
      kept.push_back(extent == 0 ? 1 : extent);
  std::sort(dims.begin(), dims.end(), std::greater<>());
  dims.erase(std::unique(dims.begin(), dims.end()), dims.end());
  Shape shape = textBuilder.shape(x.id);
  DnnTextBuilder::Id y = x.id;
  bool mean = node.op == "ReduceMean";
  if (mean && shape.size() == 3 && dims == Shape{2, 1}) {
    y = textBuilder.add(nameOf(node), "global_avg_pool", {y}, {}, {shape[0]});
  } else {
    for (int64_t dim : dims) {
      shape.erase(shape.begin() + dim);
      y = textBuilder.add(nameOf(node), mean ? "reduce_mean" : "reduce_sum", {y}, {fmt::format("axis = {}", dim)},
                          shape);
    }
  }
  setResult(node, viewed({std::nullopt, y, kept, x.batch}, kept));
}

} // namespace accord::import
