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

/// The numbers of `x` repeated to a shape that it broadcasts to.
Numbers spreadOver(const OnnxTensor &x, const Shape &shape) {
  std::vector<int64_t> from{0};
  int64_t lead = std::ssize(shape) - std::ssize(x.shape);
  for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
    int64_t apart = 1, extent = axis < lead ? 1 : x.shape[axis - lead];
    for (int64_t i = axis + 1; i < std::ssize(shape); ++i)
      apart *= i < lead ? 1 : x.shape[i - lead];
    std::vector<int64_t> next;
    for (int64_t at : from)
      for (int64_t i = 0; i < shape[axis]; ++i)
        next.push_back(at + (extent == 1 ? 0 : i * apart));
    from = std::move(next);
  }
  Numbers numbers;
  for (int64_t at : from)
    numbers.push_back((*x.numbers)[at]);
  return numbers;
}

/// The shape that all are broadcast to; nothing if they do not fit, or it is too large to be kept.
std::optional<Shape> commonShape(llvm::ArrayRef<const OnnxTensor *> all) {
  std::optional<Shape> shape = Shape{};
  for (const OnnxTensor *one : all)
    if (shape)
      shape = broadcastOf(*shape, one->shape);
  constexpr size_t kMaxRank = 64;
  if (!shape || shape->size() > kMaxRank || elementsOf(*shape).value_or(0) > int64_t(OnnxTensor::kMaxNumbers) ||
      (!elementsOf(*shape) && !llvm::is_contained(*shape, 0)))
    return std::nullopt;
  return shape;
}

/// The operator on each pair of numbers.
Folded elementwise(const std::string &op, const OnnxTensor &a, const OnnxTensor &b) {
  std::optional<Shape> shape = commonShape({&a, &b});
  if (!shape)
    return std::nullopt;
  Numbers left = spreadOver(a, *shape), right = spreadOver(b, *shape), numbers;
  for (size_t i = 0; i < left.size(); ++i) {
    auto one = apply(op, left[i], right[i], a.type != OnnxType::Float);
    if (!one)
      return std::nullopt;
    numbers.push_back(*one);
  }
  return made(*shape, op == "Equal" ? OnnxType::Other : a.type, std::move(numbers));
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

/// The entries at `places` of one dimension, in their order.
OnnxTensor taken(const OnnxTensor &x, size_t axis, const std::vector<int64_t> &places) {
  OnnxTensor y = made(x.shape, x.type, {});
  y.shape[axis] = std::ssize(places);
  int64_t behind = 1, before = 1;
  for (size_t i = 0; i < x.shape.size(); ++i)
    (i < axis ? before : behind) *= i == axis ? 1 : x.shape[i];
  for (int64_t i = 0; i < before; ++i)
    for (int64_t place : places) {
      auto from = x.numbers->begin() + (i * x.shape[axis] + place) * behind;
      y.numbers->insert(y.numbers->end(), from, from + behind);
    }
  return y;
}

/// The axis counted from the front; nothing if the tensor has no such dimension.
std::optional<size_t> axisFrom(int64_t axis, const OnnxTensor &x) {
  int64_t rank = std::ssize(x.shape);
  axis += axis < 0 ? rank : 0;
  return axis >= 0 && axis < rank ? std::optional<size_t>(axis) : std::nullopt;
}

Folded gather(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  const OnnxTensor &x = *in[0];
  std::optional<size_t> axis = axisFrom(node.integer("axis", 0), x);
  if (in.size() != 2 || !in[1] || !axis)
    return std::nullopt;
  std::vector<int64_t> places;
  for (int64_t at : *in[1]->numbers) {
    int64_t i = at < 0 ? at + x.shape[*axis] : at;
    if (i < 0 || i >= x.shape[*axis])
      c.reportInvalid(fmt::format("takes entry {} of {}", at, x.shape[*axis]));
    places.push_back(i);
  }
  int64_t each = std::ssize(*x.numbers) / std::max<int64_t>(x.shape[*axis], 1);
  if (each * std::ssize(places) > int64_t(OnnxTensor::kMaxNumbers))
    return std::nullopt;
  OnnxTensor y = taken(x, *axis, places);
  auto place = y.shape.erase(y.shape.begin() + *axis);
  y.shape.insert(place, in[1]->shape.begin(), in[1]->shape.end());
  return y;
}

Folded concat(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  if (!llvm::all_of(in, [](auto *one) { return one; }))
    return std::nullopt;
  size_t together = 0;
  for (const OnnxTensor *one : in)
    together += one->numbers->size();
  if (together > OnnxTensor::kMaxNumbers)
    return std::nullopt;
  if (llvm::all_of(in, [](auto *one) { return one->shape.size() <= 1; })) {
    Numbers numbers;
    for (const OnnxTensor *one : in)
      numbers.insert(numbers.end(), one->numbers->begin(), one->numbers->end());
    return vectorOf(in[0]->type, std::move(numbers));
  }
  std::optional<size_t> axis = axisFrom(node.integer("axis", 0), *in[0]);
  OnnxTensor y = made(in[0]->shape, in[0]->type, {});
  int64_t before = 1, all = 0;
  for (size_t i = 0; axis && i < *axis; ++i)
    before *= y.shape[i];
  for (const OnnxTensor *one : in) {
    Shape like = one->shape;
    if (!axis || like.size() != y.shape.size())
      c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(y.shape), listOf(like)));
    all += like[*axis];
    like[*axis] = y.shape[*axis];
    if (like != y.shape)
      c.reportInvalid(fmt::format("joins {} and {}, which do not fit", listOf(y.shape), listOf(one->shape)));
  }
  for (int64_t i = 0; i < before; ++i) // none if an extent is 0
    for (const OnnxTensor *one : in) {
      int64_t each = std::ssize(*one->numbers) / before;
      y.numbers->insert(y.numbers->end(), one->numbers->begin() + i * each, one->numbers->begin() + (i + 1) * each);
    }
  y.shape[*axis] = all;
  return y;
}

/// The places from `start` to `end` in steps, both clamped as ONNX states it.
std::vector<int64_t> steppedPlaces(int64_t start, int64_t end, int64_t step, int64_t extent) {
  auto bound = [&](int64_t at) {
    at += at < 0 ? extent : 0;
    return step > 0 ? std::clamp<int64_t>(at, 0, extent) : std::clamp<int64_t>(at, -1, extent - 1);
  };
  std::vector<int64_t> places;
  for (int64_t i = bound(start), last = bound(end); step > 0 ? i < last : i > last; i += step)
    places.push_back(i);
  return places;
}

Folded slice(OnnxContext &c, const OnnxNode &, const Operands &in) {
  OnnxTensor y = *in[0];
  auto starts = c.listed("starts", 1), ends = c.listed("ends", 2), axes = c.listed("axes", 3), steps = c.integers(4);
  if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
      (steps && steps->size() != starts->size()))
    return std::nullopt;
  y.initializer.clear();
  for (size_t i = 0; i < starts->size(); ++i) {
    std::optional<size_t> axis = axisFrom(axes ? (*axes)[i] : static_cast<int64_t>(i), y);
    int64_t step = steps ? (*steps)[i] : 1;
    if (!axis || step == 0 || std::abs(step) > int64_t(1) << 40)
      return std::nullopt;
    y = taken(y, *axis, steppedPlaces((*starts)[i], (*ends)[i], step, y.shape[*axis]));
  }
  return y;
}

/// Sums along one dimension of all entries up to each, or before it (`exclusive`), or from the end (`reverse`).
Folded cumulativeSum(OnnxContext &, const OnnxNode &node, const Operands &in) {
  const OnnxTensor &x = *in[0];
  if (in.size() != 2 || !in[1] || in[1]->numbers->size() != 1)
    return std::nullopt;
  std::optional<size_t> axis = axisFrom(static_cast<int64_t>(in[1]->numbers->front()), x);
  if (!axis)
    return std::nullopt;
  bool exclusive = node.integer("exclusive", 0) != 0, reverse = node.integer("reverse", 0) != 0;
  int64_t behind = 1, extent = x.shape[*axis], all = std::ssize(*x.numbers);
  for (size_t i = *axis + 1; i < x.shape.size(); ++i)
    behind *= x.shape[i];
  OnnxTensor y = made(x.shape, x.type, *x.numbers);
  for (int64_t i = 0; i < all; ++i)
    if (int64_t place = i / behind % extent; place == 0) {
      double sum = 0;
      for (int64_t k = 0; k < extent; ++k) {
        int64_t at = i + (reverse ? extent - 1 - k : k) * behind;
        double one = (*x.numbers)[at];
        (*y.numbers)[at] = exclusive ? sum : sum + one;
        sum += one;
      }
    }
  return y;
}

Folded transpose(OnnxContext &c, const OnnxNode &node, const Operands &in) {
  const OnnxTensor &x = *in[0];
  Shape order = node.integers("perm").value_or(Shape{}), identity(x.shape.size());
  std::iota(identity.begin(), identity.end(), 0);
  if (order.empty())
    order.assign(identity.rbegin(), identity.rend());
  if (order.size() > 64)
    return std::nullopt;
  if (!std::ranges::is_permutation(order, identity))
    c.reportInvalid(fmt::format("has 'perm' = {} for {} dimensions", listOf(order), identity.size()));
  // Dimension by dimension: what its entries are apart from each other in the numbers of x.
  std::vector<int64_t> from{0};
  Shape shape;
  for (int64_t axis : order) {
    int64_t apart = 1;
    for (size_t i = axis + 1; i < x.shape.size(); ++i)
      apart *= x.shape[i];
    std::vector<int64_t> next;
    for (int64_t at : from)
      for (int64_t i = 0; i < x.shape[axis]; ++i)
        next.push_back(at + i * apart);
    from = std::move(next);
    shape.push_back(x.shape[axis]);
  }
  Numbers numbers;
  for (int64_t at : from)
    numbers.push_back((*x.numbers)[at]);
  return made(shape, x.type, std::move(numbers));
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
  std::optional<Shape> shape = commonShape(in);
  if (!shape)
    return std::nullopt;
  Numbers mask = spreadOver(*in[0], *shape), yes = spreadOver(*in[1], *shape), no = spreadOver(*in[2], *shape);
  for (size_t i = 0; i < mask.size(); ++i)
    yes[i] = mask[i] != 0 ? yes[i] : no[i];
  return made(*shape, in[1]->type, std::move(yes));
}

/// A tensor repeated to a shape.
Folded expand(OnnxContext &c, const OnnxNode &, const Operands &in) {
  OnnxTensor target = made(c.integers(1).value_or(Shape{}), OnnxType::Integer, {});
  std::optional<Shape> shape = commonShape({in[0], &target});
  return shape ? Folded(made(*shape, in[0]->type, spreadOver(*in[0], *shape))) : std::nullopt;
}

using Folder = Folded (*)(OnnxContext &, const OnnxNode &, const Operands &);
const std::map<std::string, Folder> kFolders = {{"Cast", cast},
                                                {"ConstantOfShape", filled},
                                                {"Range", range},
                                                {"Unsqueeze", reshape},
                                                {"Squeeze", reshape},
                                                {"Reshape", reshape},
                                                {"Gather", gather},
                                                {"Concat", concat},
                                                {"Slice", slice},
                                                {"ReduceProd", reduce},
                                                {"ReduceSum", reduce},
                                                {"Where", where},
                                                {"CumSum", cumulativeSum},
                                                {"Transpose", transpose},
                                                {"Expand", expand}};

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

/// Of a Concat, Gather or Slice; nothing if its places are not known.
static std::optional<Shape> shapeOfParts(OnnxContext &c, const OnnxNode &node, llvm::ArrayRef<const OnnxTensor *> in) {
  Shape shape = in[0]->shape;
  if (node.op == "Slice") {
    auto starts = c.listed("starts", 1), ends = c.listed("ends", 2), axes = c.listed("axes", 3), steps = c.integers(4);
    if (!starts || !ends || starts->size() != ends->size() || (axes && axes->size() != starts->size()) ||
        (steps && steps->size() != starts->size()))
      return std::nullopt;
    for (size_t i = 0; i < starts->size(); ++i) {
      std::optional<size_t> axis = axisFrom(axes ? (*axes)[i] : static_cast<int64_t>(i), *in[0]);
      if (!axis || (steps && (*steps)[i] != 1))
        return std::nullopt;
      auto bound = [&](int64_t at) { return std::clamp<int64_t>(at < 0 ? at + shape[*axis] : at, 0, shape[*axis]); };
      shape[*axis] = std::max<int64_t>(0, bound((*ends)[i]) - bound((*starts)[i]));
    }
    return shape;
  }
  std::optional<size_t> axis = axisFrom(node.integer("axis", 0), *in[0]);
  if (!axis)
    return std::nullopt;
  if (node.op == "Gather") {
    if (in.size() != 2)
      return std::nullopt;
    auto place = shape.erase(shape.begin() + *axis);
    shape.insert(place, in[1]->shape.begin(), in[1]->shape.end());
    return shape;
  }
  for (const OnnxTensor *one : in.drop_front()) {
    if (one->shape.size() != shape.size() || __builtin_add_overflow(shape[*axis], one->shape[*axis], &shape[*axis]))
      return std::nullopt;
    for (size_t i = 0; i < shape.size(); ++i)
      if (i != *axis && one->shape[i] != shape[i])
        return std::nullopt;
  }
  return shape;
}

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
  if (node.op == "Concat" || node.op == "Gather" || node.op == "Slice")
    return shapeOfParts(c, node, in);
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
    if (result && node.op != "ConstantOfShape")
      result->isComputed = !kViews.count(node.op) || in[0]->isComputed;
    if (!result)
      result = shapeOnly(c, node);
  }
  if (result)
    c.setResult(OnnxValue{std::move(*result), -1, {}, std::nullopt});
  return result.has_value();
}

} // namespace accord::import
