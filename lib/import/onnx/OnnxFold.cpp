// What a graph computes about its own shapes, computed here.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <numeric>

namespace accord::import {
namespace {

using Numbers = std::vector<double>;
/// The operands; null where one is left out. All others are known in full.
using Operands = std::vector<const OnnxTensor *>;
using Folded = std::optional<OnnxTensor>;

OnnxTensor made(Shape shape, OnnxType type, Numbers numbers) {
  OnnxTensor tensor;
  tensor.shape = std::move(shape);
  tensor.type = type;
  tensor.numbers = std::move(numbers);
  return tensor;
}
OnnxTensor vectorOf(OnnxType type, Numbers numbers) {
  Shape shape{std::ssize(numbers)};
  return made(shape, type, std::move(numbers));
}

/// The operator on two numbers; for integers the division drops the rest.
std::optional<double> apply(const std::string &op, double a, double b, bool whole) {
  static const std::map<std::string, double (*)(double, double)> kFunctions = {
      {"Add", [](double a, double b) { return a + b; }},
      {"Sub", [](double a, double b) { return a - b; }},
      {"Mul", [](double a, double b) { return a * b; }},
      {"Div", [](double a, double b) { return a / b; }},
      {"Mod", [](double a, double b) { return std::fmod(std::fmod(a, b) + b, b); }},
      {"Pow", [](double a, double b) { return std::pow(a, b); }},
      {"Equal", [](double a, double b) { return a == b ? 1.0 : 0.0; }},
      {"Max", [](double a, double b) { return std::max(a, b); }},
      {"Min", [](double a, double b) { return std::min(a, b); }}};
  auto found = kFunctions.find(op);
  if (found == kFunctions.end() || (op == "Mod" && b == 0))
    return std::nullopt;
  double result = found->second(a, b);
  return op == "Div" && whole && b != 0 ? std::trunc(result) : result;
}

/// The operator on each number; nothing if it has another form.
Folded unary(const std::string &op, const OnnxTensor &x) {
  static const std::map<std::string, double (*)(double)> kFunctions = {
      {"Neg", [](double a) { return -a; }},
      {"Sqrt", [](double a) { return std::sqrt(a); }},
      {"Floor", [](double a) { return std::floor(a); }},
      {"Ceil", [](double a) { return std::ceil(a); }},
      {"Reciprocal", [](double a) { return 1 / a; }},
      {"Identity", [](double a) { return a; }},
      {"Dropout", [](double a) { return a; }}};
  auto found = kFunctions.find(op);
  if (found == kFunctions.end() && !x.numbers->empty())
    return std::nullopt;
  OnnxTensor y = x;
  for (double &one : *y.numbers)
    one = found->second(one);
  return y;
}

/// Of one dimension, one of them perhaps a single number.
Folded elementwise(const std::string &op, const OnnxTensor &a, const OnnxTensor &b) {
  size_t n = std::max(a.numbers->size(), b.numbers->size());
  if ((a.numbers->size() != n && a.numbers->size() != 1) || (b.numbers->size() != n && b.numbers->size() != 1))
    return std::nullopt;
  Numbers numbers;
  for (size_t i = 0; i < n; ++i) {
    auto one = apply(op, (*a.numbers)[a.numbers->size() == 1 ? 0 : i], (*b.numbers)[b.numbers->size() == 1 ? 0 : i],
                     a.type != OnnxType::Float);
    if (!one)
      return std::nullopt;
    numbers.push_back(*one);
  }
  const OnnxTensor &larger = a.numbers->size() == n && a.shape.size() >= b.shape.size() ? a
                             : b.numbers->size() == n                                   ? b
                                                                                        : a;
  return made(larger.shape, op == "Equal" ? OnnxType::Other : a.type, std::move(numbers));
}

OnnxTensor constant(OnnxContext &c, const OnnxNode &node) {
  for (const auto &[key, attribute] : node.attributes) {
    if (key == "value" && attribute.tensor)
      return *attribute.tensor;
    if (key == "value_float")
      return made({}, OnnxType::Float, {attribute.f});
    if (key == "value_int")
      return made({}, OnnxType::Integer, Numbers(1, attribute.i));
    if (key == "value_ints" || key == "value_floats")
      return vectorOf(key == "value_ints" ? OnnxType::Integer : OnnxType::Float, attribute.list);
  }
  c.reportUnsupported("holds neither numbers nor integers");
}

/// Shape, or Size: known of every tensor.
OnnxTensor shapeOf(OnnxContext &c, const OnnxNode &node) {
  const OnnxValue &x = c.get(0);
  const Shape &shape = x.constant ? x.constant->shape : x.full;
  if (node.op == "Size")
    return made({}, OnnxType::Integer, {std::accumulate(shape.begin(), shape.end(), 1.0, std::multiplies<>())});
  int64_t rank = std::ssize(shape);
  auto bound = [&](const char *key, int64_t otherwise) {
    int64_t at = node.integer(key, otherwise);
    return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
  };
  int64_t start = bound("start", 0), end = std::max(bound("end", rank), start);
  return vectorOf(OnnxType::Integer, Numbers(shape.begin() + start, shape.begin() + end));
}

Folded cast(OnnxContext &, const OnnxNode &node, const Operands &in) {
  OnnxTensor y = *in[0];
  int64_t to = node.integer("to", 1);
  y.initializer.clear();
  y.type = to == 6 || to == 7 ? OnnxType::Integer : to == 9 ? OnnxType::Other : OnnxType::Float;
  if (y.type == OnnxType::Integer)
    for (double &one : *y.numbers)
      one = std::trunc(one);
  return y;
}

Folded filled(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  Shape shape(in[0]->numbers->begin(), in[0]->numbers->end());
  std::optional<int64_t> size = elementsOf(shape);
  auto value = node.attributes.find("value");
  OnnxTensor one =
      value != node.attributes.end() && value->second.tensor ? *value->second.tensor : made({}, OnnxType::Float, {0});
  if ((!size && !llvm::is_contained(shape, 0)) || !one.numbers || one.numbers->empty())
    c.reportInvalid(fmt::format("makes a tensor of an impossible shape: {}", listOf(shape)));
  // Where they are many, the shape says enough: they are those of a weight.
  OnnxTensor all = made(shape, one.type, {});
  if (!size || *size <= int64_t(OnnxTensor::kMaxNumbers))
    all.numbers = Numbers(size.value_or(0), one.numbers->front());
  else
    all.numbers.reset();
  return all;
}

Folded range(OnnxContext &c, const OnnxNode &, const Operands &in) {
  if (in.size() != 3 || !in[1] || !in[2] || in[1]->numbers->empty() || in[2]->numbers->empty())
    return std::nullopt;
  double start = in[0]->numbers->empty() ? 0 : in[0]->numbers->front(), limit = in[1]->numbers->front(),
         step = in[2]->numbers->front(), size = std::ceil((limit - start) / step);
  if (!(size >= 0) || size > double(OnnxTensor::kMaxNumbers))
    c.reportUnsupported("counts too far");
  Numbers numbers;
  for (double i = 0; i < size; ++i)
    numbers.push_back(start + i * step);
  return vectorOf(in[0]->type, std::move(numbers));
}

Folded reshape(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  Shape shape = reshapedBy(c, node, in[0]->shape);
  if (elementsOf(shape) != std::ssize(*in[0]->numbers))
    c.reportInvalid(fmt::format("cannot make {} of {}", listOf(shape), listOf(in[0]->shape)));
  return made(shape, in[0]->type, *in[0]->numbers);
}

Folded gather(OnnxContext &c, const OnnxNode &, const Operands &in) {
  const OnnxTensor &x = *in[0];
  if (in.size() != 2 || !in[1] || x.shape.size() != 1)
    return std::nullopt;
  Numbers numbers;
  for (int64_t at : *in[1]->numbers) {
    int64_t i = at < 0 ? at + x.shape[0] : at;
    if (i < 0 || i >= x.shape[0])
      c.reportInvalid(fmt::format("takes entry {} of {}", at, x.shape[0]));
    numbers.push_back((*x.numbers)[i]);
  }
  return made(in[1]->shape, x.type, std::move(numbers));
}

Folded concat(OnnxContext &, const OnnxNode &, const Operands &in) {
  if (!llvm::all_of(in, [](auto *one) { return one && one->shape.size() <= 1; }))
    return std::nullopt;
  Numbers numbers;
  for (const OnnxTensor *one : in)
    numbers.insert(numbers.end(), one->numbers->begin(), one->numbers->end());
  return vectorOf(in[0]->type, std::move(numbers));
}

Folded slice(OnnxContext &c, const OnnxNode &, const Operands &in) {
  const OnnxTensor &x = *in[0];
  if (x.shape.size() != 1)
    return std::nullopt;
  auto starts = c.listed("starts", 1), ends = c.listed("ends", 2), steps = c.integers(4);
  int64_t step = steps && !steps->empty() ? steps->front() : 1, n = x.shape[0];
  if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || step == 0)
    return std::nullopt;
  auto bound = [&](int64_t at) {
    return step > 0 ? std::clamp(at < 0 ? at + n : at, int64_t(0), n)
                    : std::clamp(at < 0 ? at + n : at, int64_t(-1), n - 1);
  };
  Numbers numbers;
  for (int64_t i = bound(starts->front()), end = bound(ends->front()); step > 0 ? i < end : i > end; i += step)
    numbers.push_back((*x.numbers)[i]);
  return vectorOf(x.type, std::move(numbers));
}

Folded reduce(OnnxContext &, const OnnxNode &node, const Operands &in) {
  if (in[0]->shape.size() > 1)
    return std::nullopt;
  bool product = node.op == "ReduceProd";
  double all = product ? 1 : 0;
  for (double one : *in[0]->numbers)
    all = product ? all * one : all + one;
  return made(node.integer("keepdims", 1) ? Shape{1} : Shape{}, in[0]->type, {all});
}

Folded where(OnnxContext &, const OnnxNode &, const Operands &in) {
  if (in.size() != 3 || !in[1] || !in[2])
    return std::nullopt;
  const Numbers &x = *in[0]->numbers;
  Numbers numbers;
  for (size_t i = 0; i < x.size(); ++i) {
    const Numbers &from = x[i] != 0 ? *in[1]->numbers : *in[2]->numbers;
    if (from.size() != 1 && from.size() != x.size())
      return std::nullopt;
    numbers.push_back(from[from.size() == 1 ? 0 : i]);
  }
  return made(in[0]->shape, in[1]->type, std::move(numbers));
}

using Folder = Folded (*)(OnnxContext &, const OnnxNode &, const Operands &);
const std::map<std::string, Folder> kFolders = {
    {"Cast", cast},       {"ConstantOfShape", filled}, {"Range", range},      {"Unsqueeze", reshape},
    {"Squeeze", reshape}, {"Reshape", reshape},        {"Gather", gather},    {"Concat", concat},
    {"Slice", slice},     {"ReduceProd", reduce},      {"ReduceSum", reduce}, {"Where", where}};

/// Of an operator whose operands are all known.
Folded folded(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  const std::string &op = node.op;
  const OnnxTensor &x = *in[0];
  bool copies = op == "Identity" || op == "Dropout", makes = op == "Cast" || op == "ConstantOfShape" || op == "Range";
  // A computation on weights is one of the model's.
  bool trained = x.type == OnnxType::Float && !x.initializer.empty() && x.numbers->size() > 1;
  if (op != "Cast" && (in.size() == 1 || op == "Dropout")) {
    if (trained && !copies)
      return std::nullopt;
    if (auto y = unary(op, x))
      return y;
  }
  if (trained && !makes)
    return std::nullopt;
  if (auto folder = kFolders.find(op); folder != kFolders.end())
    return folder->second(c, node, in);
  return in.size() == 2 && in[1] && !x.numbers->empty() ? elementwise(op, x, *in[1]) : std::nullopt;
}

} // namespace

/// What has the same numbers as its operand.
static const std::set<std::string> kViews = {"Identity", "Reshape", "Squeeze", "Transpose", "Unsqueeze"};

/// The shape of what a node computes from tensors of known shapes; nothing for operators that are not known here.
static std::optional<Shape> shapeAfter(OnnxContext &c, const OnnxNode &node, llvm::ArrayRef<const OnnxTensor *> in) {
  static const std::set<std::string> kBroadcasts = {"Add",   "Sub",     "Mul", "Div",         "Equal",          "Less",
                                                    "Where", "Greater", "And", "LessOrEqual", "GreaterOrEqual", "Or",
                                                    "Pow",   "Max",     "Min", "Mod"};
  static const std::set<std::string> kSame = {"Cast",     "Not", "Neg", "Trilu", "ScatterND", "ScatterElements",
                                              "Identity", "Abs", "Log", "Exp",   "Sqrt",      "Floor",
                                              "Ceil",     "Clip"};
  const Shape &first = in[0]->shape;
  if (kBroadcasts.count(node.op)) {
    std::optional<Shape> joined = Shape{};
    for (const OnnxTensor *one : in)
      if (joined)
        joined = broadcastOf(*joined, one->shape);
    return joined;
  }
  if (kSame.count(node.op))
    return first;
  if (node.op == "Unsqueeze" || node.op == "Squeeze" || node.op == "Reshape")
    return reshapedBy(c, node, first);
  if (node.op == "Expand")
    return broadcastOf(first, c.integers(1).value_or(Shape{}));
  if (node.op != "Transpose")
    return std::nullopt;
  Shape order = node.integers("perm").value_or(Shape{}), turned;
  for (size_t i = 0; i < first.size(); ++i) {
    int64_t from = order.empty() ? std::ssize(first) - 1 - i : i < order.size() ? order[i] : -1;
    if (from < 0 || from >= std::ssize(first))
      return std::nullopt;
    turned.push_back(first[from]);
  }
  return turned;
}

/// What is computed from tensors that are known, but too many to be kept here, such as the mask of an attention: a
/// tensor of which the shape alone is known. Weights are none: what is computed from them is part of the model.
static Folded shapeOnly(OnnxContext &c, const OnnxNode &node) {
  std::vector<const OnnxTensor *> in;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has(i))
      continue;
    const std::optional<OnnxTensor> &one = c.get(i).constant;
    if (!one || (one->type == OnnxType::Float && !one->initializer.empty() && elementsOf(one->shape).value_or(2) > 1))
      return std::nullopt;
    in.push_back(&*one);
  }
  auto shape = in.empty() ? std::nullopt : shapeAfter(c, node, in);
  if (!shape || !elementsOf(*shape))
    return std::nullopt;
  OnnxTensor y;
  y.shape = *shape;
  y.type = node.op == "Where" && in.size() == 3 ? in[1]->type : in[0]->type;
  y.isComputed = in[0]->isComputed || !kViews.count(node.op);
  if (int64_t to = node.integer("to", 1); node.op == "Cast")
    y.type = to == 6 || to == 7 ? OnnxType::Integer : to == 9 ? OnnxType::Other : OnnxType::Float;
  return y;
}

bool foldOnnx(OnnxContext &c, const OnnxNode &node) {
  Folded result;
  if (node.op == "Constant") {
    result = constant(c, node);
  } else if (node.op == "Shape" || node.op == "Size") {
    result = shapeOf(c, node);
  } else { // known if all it reads is known, and small
    Operands in;
    bool known = true;
    for (size_t i = 0; i < node.inputs.size() && known; ++i) {
      in.push_back(nullptr);
      if (!node.has(i))
        continue;
      const OnnxValue &value = c.get(i);
      known = value.constant && value.constant->numbers;
      if (known)
        in.back() = &*value.constant;
    }
    if (known && !in.empty() && in[0])
      result = folded(c, node, in);
    if (result && node.op != "ConstantOfShape" && !kViews.count(node.op))
      result->isComputed = true;
    if (!result)
      result = shapeOnly(c, node);
  }
  if (result)
    c.setResult(OnnxValue{std::move(*result), -1, {}, std::nullopt});
  return result.has_value();
}

} // namespace accord::import
