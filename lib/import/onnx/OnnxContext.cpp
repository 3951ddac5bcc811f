// Values of the graph: where their batch is, which are known, what they are called.
#include "lib/import/onnx/OnnxContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>

namespace accord::import {

OnnxContext::OnnxContext(Diagnostics &diags, FileId file, const NetworkOptions &options, const OnnxModel &model)
    : Network(diags, file, options), model(model) {
  for (const OnnxNode &node : model.nodes)
    for (const std::string &name : node.inputs)
      ++uses[name];
}

void OnnxContext::start(const OnnxNode &next) {
  node = &next;
  textBuilder.from("from " + origin());
}

std::string OnnxContext::subject() const {
  return fmt::format("{} '{}'", shown(node->op), shown(node->name.empty() ? node->outputs[0] : node->name));
}
void OnnxContext::reportUnsupported(const std::string &reason) {
  diags.error(Code::ImportUnsupported, {file, 0, 0}, subject() + " " + reason);
  throw Failed();
}
void OnnxContext::reportInvalid(const std::string &reason) {
  diags.error(Code::ImportSetting, {file, 0, 0}, subject() + " " + reason);
  throw Failed();
}

const OnnxValue &OnnxContext::get(size_t i) {
  const std::string &name = node->input(i);
  auto found = values.find(name);
  if (found == values.end() && model.initializers.count(name))
    found = values.emplace(name, OnnxValue{model.initializers.at(name), -1, {}, std::nullopt}).first;
  if (found != values.end() && found->second.valid())
    return found->second;
  if (name.empty())
    reportInvalid(fmt::format("lacks its input {}", i + 1));
  throw Failed(); // it was refused where it is made
}

OnnxValue OnnxContext::parameterOf(const OnnxTensor &constant) {
  if (constant.type != OnnxType::Float)
    reportUnsupported("needs a tensor of integers that is known; only numbers can be trained");
  auto found = parameters.find(constant.initializer);
  OnnxValue value;
  value.full = constant.shape;
  if (!constant.initializer.empty() && found != parameters.end()) {
    value.id = found->second;
    return value;
  }
  if (constant.shape.empty())
    reportUnsupported("adds or compares a single number, which is not supported");
  std::string parameter = constant.initializer;
  if (parameter.empty()) {
    parameter = name() + "_constant";
    if (constants++ == 0)
      firstConstant = fmt::format("{} of {}: '{}'", listOf(constant.shape), shown(origin()), shown(parameter));
  }
  value.id = textBuilder.parameter(parameter, constant.shape);
  if (!constant.initializer.empty())
    parameters[parameter] = value.id;
  return value;
}

OnnxValue OnnxContext::tensor(size_t i) {
  const OnnxValue &value = get(i);
  return value.constant ? parameterOf(*value.constant) : value;
}

const OnnxTensor *OnnxContext::initializer(size_t i) {
  if (!node->has(i))
    return nullptr;
  const OnnxValue &value = get(i);
  return value.constant && value.constant->type == OnnxType::Float ? &*value.constant : nullptr;
}

bool OnnxContext::isShared(const OnnxTensor &tensor) const {
  auto found = uses.find(tensor.initializer);
  return !tensor.initializer.empty() && found != uses.end() && found->second > 1;
}

const OnnxTensor &OnnxContext::weight(size_t i, size_t rank) {
  const OnnxTensor *found = initializer(i);
  if (!found)
    reportUnsupported(
        fmt::format("computes its input {} ('{}'), which has to be an initializer", i + 1, shown(node->input(i))));
  if (rank && found->shape.size() != rank)
    reportUnsupported(fmt::format("has an input {} of {} dimensions, expected {}", i + 1, found->shape.size(), rank));
  if (isShared(*found))
    noteOnce(fmt::format("'{}' is one tensor for {} nodes of the file; here each has its own",
                         shown(found->initializer), uses[found->initializer]));
  return *found;
}

std::optional<double> OnnxContext::scalar(size_t i) {
  const std::optional<OnnxTensor> &constant = get(i).constant;
  if (!constant || !constant->numbers || constant->numbers->size() != 1)
    return std::nullopt;
  return constant->numbers->front();
}

std::optional<std::vector<int64_t>> OnnxContext::integers(size_t i) {
  if (!node->has(i))
    return std::nullopt;
  const OnnxValue &value = get(i);
  if (value.constant && !value.constant->numbers && !value.constant->initializer.empty())
    reportInvalid(fmt::format("needs the numbers of its input {} ('{}'), {} of them, which the file does not hold",
                              i + 1, shown(node->input(i)), listOf(value.constant->shape)));
  if (value.constant && !value.constant->numbers)
    reportUnsupported(fmt::format("needs the numbers of its input {} ('{}'), {} of them, which are not computed here",
                                  i + 1, shown(node->input(i)), listOf(value.constant->shape)));
  if (!value.constant)
    reportUnsupported(fmt::format("computes its input {} ('{}') from the model's inputs; shapes have to be "
                                  "known",
                                  i + 1, shown(node->input(i))));
  constexpr double kMax = int64_t(1) << 53; // what a file computes may be any number
  std::vector<int64_t> all;
  for (double one : *value.constant->numbers)
    all.push_back(std::isnan(one) ? 0 : static_cast<int64_t>(std::clamp(one, -kMax, kMax)));
  return all;
}

std::optional<std::vector<int64_t>> OnnxContext::listed(const char *key, size_t input) {
  auto attribute = node->integers(key);
  return attribute ? attribute : integers(input);
}

std::optional<BatchPlace> OnnxContext::placeOf(const Shape &full, int64_t outer) const {
  int64_t passed = 1, reach = 0;
  if (__builtin_mul_overflow(outer, batch, &reach))
    return std::nullopt;
  for (int64_t axis = 0; axis < std::ssize(full); ++axis) {
    int64_t next = 0;
    if (__builtin_mul_overflow(passed, full[axis], &next))
      return std::nullopt;
    if (next >= reach) {
      if (passed > outer || outer % passed || next % reach)
        return std::nullopt;
      BatchPlace place{axis, outer / passed, next / reach, false};
      place.alone = place.before == 1 && place.behind == 1 && full.size() > 1;
      return place;
    }
    passed = next;
  }
  return std::nullopt;
}

Shape OnnxContext::sampleOf(const Shape &full, std::optional<int64_t> outer) {
  Shape shape = full;
  if (outer) {
    std::optional<BatchPlace> place = placeOf(full, *outer);
    if (!place)
      reportUnsupported(fmt::format("cuts across the batch, giving {}", listOf(full)));
    if (place->alone)
      shape.erase(shape.begin() + place->axis);
    else
      shape[place->axis] = place->before * place->behind;
  }
  if (!elementsOf(shape))
    reportInvalid(fmt::format("has an impossible shape: {}", listOf(full)));
  return shape;
}

int64_t OnnxContext::axisOf(const OnnxValue &value, int64_t &axis) {
  int64_t rank = std::ssize(value.full);
  if (axis < -rank || axis >= rank)
    reportInvalid(fmt::format("has an axis {} outside the {} dimensions of its input", axis, rank));
  axis += axis < 0 ? rank : 0;
  if (!value.outer)
    return axis;
  BatchPlace place = placeOf(value);
  if (axis == place.axis && (place.alone || batch != 1))
    reportUnsupported("works across the samples of a batch, which are independent here");
  return axis - (place.alone && axis > place.axis);
}

bool OnnxContext::sameBatch(const OnnxValue &a, const OnnxValue &b) const {
  BatchPlace one = placeOf(a), other = placeOf(b);
  one.axis -= std::ssize(a.full);
  other.axis -= std::ssize(b.full);
  return one == other;
}

std::optional<int64_t> OnnxContext::outerOf(const Shape &full, const OnnxValue &a, const OnnxValue &b) const {
  const OnnxValue &batched = a.outer ? a : b;
  if (!batched.outer)
    return std::nullopt;
  BatchPlace place = placeOf(batched);
  int64_t outer = place.before;
  for (int64_t i = 0; i < std::ssize(full) - (std::ssize(batched.full) - place.axis); ++i)
    outer *= full[i];
  return outer;
}

void OnnxContext::strip(OnnxValue &one, const OnnxValue &other) {
  if (one.outer || !other.outer || !placeOf(other).alone)
    return;
  int64_t axis = std::ssize(one.full) - (std::ssize(other.full) - placeOf(other).axis);
  if (axis < 0)
    return;
  Shape sample = one.full;
  if (sample[axis] != 1)
    reportUnsupported(
        fmt::format("joins {} and {} across the batch, which is not supported", listOf(one.full), listOf(other.full)));
  sample.erase(sample.begin() + axis);
  one.id = textBuilder.reshape(one.id, sample);
}

OnnxValue OnnxContext::resized(OnnxValue value, int64_t axis, int64_t extent) const {
  if (value.outer && axis < placeOf(value).axis)
    value.outer = *value.outer / value.full[axis] * extent;
  value.full[axis] = extent;
  return value;
}

DnnTextBuilder::Id OnnxContext::sized(size_t i, size_t rank) {
  OnnxValue value = tensor(i);
  if (!leads(value) || (rank && shape(value.id).size() != rank))
    reportUnsupported(
        value.outer && !placeOf(value).alone
            ? "takes the batch as its first dimension, which is more than the batch here"
            : fmt::format("takes {} dimensions after the batch, found {}{}", rank, shape(value.id).size(),
                          value.outer && placeOf(value).axis != 0 ? ", and the batch at another place" : ""));
  return value.id;
}

void OnnxContext::setResult(OnnxValue value, size_t output) {
  if (value.id >= 0) {
    const Shape &sample = shape(value.id);
    if (!elementsOf(sample))
      reportInvalid(fmt::format("gives an impossible shape: {}", listOf(sample)));
    bool fits = !value.outer || placeOf(value.full, *value.outer);
    bool alone = value.outer && fits && placeOf(value).alone;
    if (!fits || sample.size() + alone != value.full.size())
      reportUnsupported(fmt::format("joins tensors across the batch, giving {}", listOf(value.full)));
  }
  if (output < node->outputs.size() && !node->outputs[output].empty())
    values[node->outputs[output]] = std::move(value);
}

void OnnxContext::setImage(DnnTextBuilder::Id id) {
  Shape full = shape(id);
  full.insert(full.begin(), get(0).full[0]);
  setResult(id, std::move(full), 1);
}

OnnxValue OnnxContext::viewed(DnnTextBuilder::Id id, std::optional<int64_t> outer, const Shape &from,
                              const Shape &full) {
  OnnxValue result{std::nullopt, id, full, outer};
  if (outer && !placeOf(full, *outer))
    reportUnsupported(fmt::format("cuts across the batch: {} becomes {}", listOf(from), listOf(full)));
  Shape sample = sampleOf(full, result.outer);
  if (elementsOf(sample) != elementsOf(shape(id)))
    reportInvalid(fmt::format("has another number of elements after it: {} becomes {}", listOf(from), listOf(full)));
  result.id = textBuilder.reshape(id, sample);
  return result;
}

/// "/layer1/layer1.0/conv1/Conv" -> "layer1.0.conv1": what a scope repeats of its parent is left
/// out, and the operator's name at the end.
static std::string scoped(const OnnxNode &node) {
  llvm::SmallVector<llvm::StringRef> parts, kept;
  llvm::StringRef(node.name).split(parts, '/', -1, false);
  llvm::StringRef op = llvm::StringRef(node.written).rsplit('.').second;
  op = op.empty() ? llvm::StringRef(node.written) : op;
  if (parts.size() > 1 && parts.back().take_until([](char c) { return c == '_'; }) == op)
    parts.pop_back();
  for (llvm::StringRef part : parts) {
    bool again = !kept.empty() && part == kept.back() && !llvm::all_of(part, llvm::isDigit);
    if (again || (!kept.empty() && part.starts_with((kept.back() + ".").str())))
      kept.pop_back();
    kept.push_back(part);
  }
  if (node.op != node.written && !kept.empty()) // the last of several nodes, by what all are
    kept.back() = node.op;
  return llvm::join(kept, ".");
}

std::string OnnxContext::name() const {
  // "Conv_12" says less than the weight's "layer1.0.conv1.weight".
  llvm::StringRef own(node->name);
  bool numbered = own.starts_with(node->written) && own.drop_front(node->written.size()).find_if([](char c) {
    return llvm::isAlpha(c);
  }) == llvm::StringRef::npos;
  if (!own.empty() && !numbered)
    return scoped(*node);
  for (size_t i = 1; i < node->inputs.size(); ++i)
    if (auto found = model.initializers.find(node->inputs[i]);
        found != model.initializers.end() && !found->second.shape.empty()) {
      llvm::StringRef weight = found->first, last = weight.rsplit('.').second;
      for (const char *role : {"weight", "bias", "gamma", "beta", "kernel"})
        if (last == role)
          return weight.rsplit('.').first.str();
      break;
    }
  return "";
}

std::string OnnxContext::origin() const {
  std::string path = name();
  size_t dot = path.rfind('.');
  return dot == std::string::npos ? "the graph itself" : path.substr(0, dot);
}

} // namespace accord::import
