// What a graph computes about its own shapes, computed here.
#include "lib/import/onnx/OnnxImporter.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {
namespace {

using Numbers = std::vector<double>;

OnnxTensor made(Shape shape, OnnxType type, Numbers numbers) {
  OnnxTensor tensor;
  tensor.shape = std::move(shape);
  tensor.type = type;
  tensor.numbers = std::move(numbers);
  return tensor;
}

/// The operator on two numbers; for integers the division drops the rest.
std::optional<double> apply(const std::string &op, double a, double b, bool whole) {
  if (op == "Add")
    return a + b;
  if (op == "Sub")
    return a - b;
  if (op == "Mul")
    return a * b;
  if (op == "Div")
    return whole && b != 0 ? std::trunc(a / b) : a / b;
  if (op == "Mod")
    return b == 0 ? std::optional<double>() : std::fmod(std::fmod(a, b) + b, b);
  if (op == "Pow")
    return std::pow(a, b);
  if (op == "Equal")
    return a == b;
  if (op == "Max")
    return std::max(a, b);
  if (op == "Min")
    return std::min(a, b);
  return std::nullopt;
}

std::optional<double> apply(const std::string &op, double a) {
  if (op == "Neg")
    return -a;
  if (op == "Sqrt")
    return std::sqrt(a);
  if (op == "Floor")
    return std::floor(a);
  if (op == "Ceil")
    return std::ceil(a);
  if (op == "Reciprocal")
    return 1 / a;
  if (op == "Identity" || op == "Dropout")
    return a;
  return std::nullopt;
}

/// Of one dimension, one of them perhaps a single number.
std::optional<OnnxTensor> elementwise(const std::string &op, const OnnxTensor &a, const OnnxTensor &b) {
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

} // namespace

bool OnnxImporter::fold(const OnnxNode &node) {
  const std::string &op = node.op;
  auto done = [&](OnnxTensor tensor) {
    setResult(node, OnnxValue{std::move(tensor), -1, {}, Batch::None});
    return true;
  };
  if (op == "Constant") {
    for (const auto &[key, attribute] : node.attributes) {
      if (key == "value" && attribute.tensor)
        return done(*attribute.tensor);
      if (key == "value_float")
        return done(made({}, OnnxType::Float, {attribute.f}));
      if (key == "value_int")
        return done(made({}, OnnxType::Integer, {static_cast<double>(attribute.i)}));
      if (key == "value_ints" || key == "value_floats")
        return done(made({static_cast<int64_t>(attribute.list.size())},
                         key == "value_ints" ? OnnxType::Integer : OnnxType::Float, attribute.list));
    }
    reportUnsupported("holds neither numbers nor integers");
  }
  if (op == "Shape" || op == "Size") {
    const OnnxValue &x = get(node, 0);
    const Shape &shape = x.constant ? x.constant->shape : x.full;
    if (op == "Size") {
      double all = 1;
      for (int64_t extent : shape)
        all *= extent;
      return done(made({}, OnnxType::Integer, {all}));
    }
    auto rank = static_cast<int64_t>(shape.size());
    auto bound = [&](const char *key, int64_t otherwise) {
      int64_t at = node.integer(key, otherwise);
      return std::clamp<int64_t>(at < 0 ? at + rank : at, 0, rank);
    };
    int64_t start = bound("start", 0), end = std::max(bound("end", rank), start);
    return done(made({end - start}, OnnxType::Integer, Numbers(shape.begin() + start, shape.begin() + end)));
  }
  // Everything else is known if all it reads is known, and small.
  std::vector<const OnnxTensor *> in;
  for (size_t i = 0; i < node.inputs.size(); ++i) {
    if (!node.has(i)) {
      in.push_back(nullptr);
      continue;
    }
    const OnnxValue &value = get(node, i);
    if (!value.constant || !value.constant->numbers)
      return false;
    in.push_back(&*value.constant);
  }
  if (in.empty() || !in[0])
    return false;
  const OnnxTensor &x = *in[0];
  auto whole = [](double v) { return static_cast<int64_t>(v); };
  auto vector = [&](Numbers numbers) {
    auto size = static_cast<int64_t>(numbers.size());
    return done(made({size}, x.type, std::move(numbers)));
  };
  if (op == "Cast") {
    OnnxTensor y = x;
    int64_t to = node.integer("to", 1);
    y.initializer.clear();
    y.type = to == 6 || to == 7 ? OnnxType::Integer : to == 9 ? OnnxType::Other : OnnxType::Float;
    if (y.type == OnnxType::Integer)
      for (double &one : *y.numbers)
        one = std::trunc(one);
    return done(std::move(y));
  }
  bool trained = x.type == OnnxType::Float && !x.initializer.empty() && x.numbers->size() > 1;
  if (in.size() == 1 || op == "Dropout") {
    if (trained && op != "Identity" && op != "Dropout")
      return false; // a computation on weights is one of the model's
    OnnxTensor y = x;
    bool all = true;
    for (double &one : *y.numbers) {
      auto result = apply(op, one);
      all &= result.has_value();
      one = result.value_or(0);
    }
    if (all)
      return done(std::move(y));
  }
  if (op == "ConstantOfShape") {
    Shape shape;
    for (double extent : *x.numbers)
      shape.push_back(whole(extent));
    std::optional<int64_t> size = elementsOf(shape);
    auto value = node.attributes.find("value");
    OnnxTensor one =
        value != node.attributes.end() && value->second.tensor ? *value->second.tensor : made({}, OnnxType::Float, {0});
    if (!size || *size > int64_t(OnnxTensor::kMaxNumbers) || !one.numbers || one.numbers->empty())
      reportUnsupported("makes a tensor that is too large to be known");
    return done(made(shape, one.type, Numbers(*size, one.numbers->front())));
  }
  if (op == "Range" && in.size() == 3 && in[1] && in[2] && !in[1]->numbers->empty() && !in[2]->numbers->empty()) {
    double start = x.numbers->empty() ? 0 : x.numbers->front(), limit = in[1]->numbers->front(),
           step = in[2]->numbers->front();
    double size = std::ceil((limit - start) / step);
    if (!(size >= 0) || size > double(OnnxTensor::kMaxNumbers))
      reportUnsupported("counts too far");
    Numbers numbers;
    for (double i = 0; i < size; ++i)
      numbers.push_back(start + i * step);
    return vector(std::move(numbers));
  }
  if (trained)
    return false;
  if (op == "Unsqueeze" || op == "Squeeze" || op == "Reshape") {
    Shape shape = reshapedBy(node, x.shape);
    if (elementsOf(shape) != static_cast<int64_t>(x.numbers->size()))
      reportInvalid(fmt::format("cannot make {} of {}", listOf(shape), listOf(x.shape)));
    return done(made(shape, x.type, *x.numbers));
  }
  if (in.size() == 2 && in[1]) {
    if (auto y = elementwise(op, x, *in[1]); y && (x.numbers->size() > 0))
      return done(std::move(*y));
  }
  if (op == "Gather" && in.size() == 2 && in[1] && x.shape.size() == 1) {
    Numbers numbers;
    for (double at : *in[1]->numbers) {
      int64_t i = whole(at) < 0 ? whole(at) + x.shape[0] : whole(at);
      if (i < 0 || i >= x.shape[0])
        reportInvalid(fmt::format("takes entry {} of {}", whole(at), x.shape[0]));
      numbers.push_back((*x.numbers)[i]);
    }
    return done(made(in[1]->shape, x.type, std::move(numbers)));
  }
  if (op == "Concat" && llvm::all_of(in, [](auto *one) { return one && one->shape.size() <= 1; })) {
    Numbers numbers;
    for (const OnnxTensor *one : in)
      numbers.insert(numbers.end(), one->numbers->begin(), one->numbers->end());
    return vector(std::move(numbers));
  }
  if (op == "Slice" && x.shape.size() == 1) {
    auto starts = listed(node, "starts", 1), ends = listed(node, "ends", 2);
    auto steps = integers(node, 4);
    int64_t step = steps && !steps->empty() ? steps->front() : 1, n = x.shape[0];
    if (!starts || !ends || starts->size() != 1 || ends->size() != 1 || step == 0)
      return false;
    auto bound = [&](int64_t at, int64_t min, int64_t max) { return std::clamp(at < 0 ? at + n : at, min, max); };
    Numbers numbers;
    if (step > 0)
      for (int64_t i = bound(starts->front(), 0, n); i < bound(ends->front(), 0, n); i += step)
        numbers.push_back((*x.numbers)[i]);
    else
      for (int64_t i = bound(starts->front(), -1, n - 1); i > bound(ends->front(), -1, n - 1); i += step)
        numbers.push_back((*x.numbers)[i]);
    return vector(std::move(numbers));
  }
  if ((op == "ReduceProd" || op == "ReduceSum") && x.shape.size() <= 1) {
    double all = op == "ReduceProd" ? 1 : 0;
    for (double one : *x.numbers)
      all = op == "ReduceProd" ? all * one : all + one;
    return done(made(node.integer("keepdims", 1) ? Shape{1} : Shape{}, x.type, {all}));
  }
  if (op == "Where" && in.size() == 3 && in[1] && in[2]) {
    Numbers numbers;
    for (size_t i = 0; i < x.numbers->size(); ++i) {
      const Numbers &from = (*x.numbers)[i] != 0 ? *in[1]->numbers : *in[2]->numbers;
      if (from.size() != 1 && from.size() != x.numbers->size())
        return false;
      numbers.push_back(from[from.size() == 1 ? 0 : i]);
    }
    return done(made(x.shape, in[1]->type, std::move(numbers)));
  }
  return false;
}

} // namespace accord::import
