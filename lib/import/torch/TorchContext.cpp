// Values of the program: where their batch is, which are known, what they are called.
#include "lib/import/torch/TorchContext.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <numeric>

namespace accord::import {

static std::string shortOp(const TorchNode &node) {
  size_t dot = node.op.rfind('.');
  return dot == std::string::npos ? node.op : node.op.substr(dot + 1);
}

void TorchContext::start(const TorchNode &next) {
  node = &next;
  textBuilder.from(next.module.empty() ? "from the module itself" : "from " + next.module);
}

std::string TorchContext::subject() const {
  std::string text = shown(node->op) + (node->module.empty() ? "" : fmt::format(" of '{}'", shown(node->module)));
  return node->source.empty() ? text : fmt::format("{} ({})", text, shown(node->source));
}
/// Extents that the open batch is a factor of are shown as such: `12 * batch`.
std::string TorchContext::withBatch(const std::string &reason) const {
  std::string text;
  for (llvm::StringRef rest = reason; !rest.empty();) {
    llvm::StringRef digits = rest.take_while(llvm::isDigit);
    int64_t number = 0;
    if (digits.empty()) {
      digits = rest.take_until(llvm::isDigit);
      text += digits;
    } else if (digits.getAsInteger(10, number) || number == 0 || !hasBatch(number)) {
      text += digits;
    } else {
      text += number == batch ? "batch" : fmt::format("{} * batch", number / batch);
    }
    rest = rest.drop_front(digits.size());
  }
  return text;
}

void TorchContext::reportUnsupported(const std::string &reason) {
  diags.error(Code::ImportUnsupported, {file, 0, 0}, subject() + " " + withBatch(reason));
  throw Failed();
}
void TorchContext::reportInvalid(const std::string &reason) {
  diags.error(Code::ImportSetting, {file, 0, 0}, subject() + " " + withBatch(reason));
  throw Failed();
}

std::string TorchContext::name() const {
  // A module of one operation is named after the module.
  static const std::set<std::string> kSeveral = {"MultiheadAttention", "Sequential", "TransformerEncoderLayer",
                                                 "TransformerDecoderLayer", "ModuleList"};
  static const std::set<std::string> kOne = {
      "linear",      "conv1d",    "conv2d",   "conv3d",    "batch_norm", "layer_norm", "group_norm",
      "rms_norm",    "embedding", "relu",     "gelu",      "silu",       "dropout",    "max_pool2d",
      "avg_pool2d",  "lstm",      "gru",      "hardswish", "sigmoid",    "softmax",    "tanh",
      "hardsigmoid", "relu6",     "hardtanh", "addmm",     "elu",        "leaky_relu", "convolution"};
  std::string op = shortOp(*node);
  bool one = kOne.count(op) && !kSeveral.count(node->type) && !node->module.empty();
  return one ? node->module : node->module.empty() ? op : node->module + "." + op;
}

// ---- Arguments

TorchValue TorchContext::valueOf(const std::string &name) {
  auto found = values.find(name);
  if (found == values.end() || found->second.kind == Kind::Missing)
    throw Failed(); // it was refused where it is made
  return found->second;
}

TorchValue TorchContext::get(const std::string &key) {
  const TorchArgument *argument = node->find(key);
  if (!argument || argument->kind != TorchArgument::Kind::Tensor)
    reportInvalid(fmt::format("lacks its tensor '{}'", key));
  return valueOf(argument->names[0]);
}

std::vector<TorchValue> TorchContext::list(const std::string &key) {
  const TorchArgument *argument = node->find(key);
  if (!argument || argument->kind != TorchArgument::Kind::Tensors)
    reportInvalid(fmt::format("lacks its tensors '{}'", key));
  std::vector<TorchValue> all;
  for (const std::string &one : argument->names)
    all.push_back(one.empty() ? TorchValue() : valueOf(one));
  return all;
}

int64_t TorchContext::integer(const std::string &key, int64_t otherwise) {
  auto all = integers(key);
  return all && all->size() == 1 ? all->front() : otherwise;
}

std::optional<Shape> TorchContext::integers(const std::string &key) {
  const TorchArgument *argument = node->find(key);
  if (!argument || argument->kind != TorchArgument::Kind::Integers)
    return std::nullopt;
  Shape all;
  for (const auto &[name, number] : argument->integers) {
    auto computed = model.integers.find(name);
    auto value = name.empty()                       ? std::optional(number)
                 : computed == model.integers.end() ? std::nullopt
                                                    : evaluated(computed->second);
    if (!value)
      reportUnsupported(fmt::format("has a '{}' that depends on the values of tensors", key));
    all.push_back(*value);
  }
  return all;
}

std::optional<double> TorchContext::number(const std::string &key) {
  const TorchArgument *argument = node->find(key);
  if (argument && argument->kind == TorchArgument::Kind::Number)
    return argument->numbers[0];
  if (argument && argument->kind == TorchArgument::Kind::Boolean)
    return static_cast<double>(argument->number);
  if (auto whole = integers(key); whole && whole->size() == 1)
    return static_cast<double>(whole->front());
  return std::nullopt;
}

bool TorchContext::isNumber(const std::string &key) const {
  const TorchArgument *argument = node->find(key);
  return argument && (argument->kind == TorchArgument::Kind::Number || argument->kind == TorchArgument::Kind::Boolean ||
                      (argument->kind == TorchArgument::Kind::Integers && !argument->list));
}

bool TorchContext::flag(const std::string &key, bool otherwise) const {
  const TorchArgument *argument = node->find(key);
  return argument && argument->kind == TorchArgument::Kind::Boolean ? argument->number != 0 : otherwise;
}

std::string TorchContext::text(const std::string &key) const {
  const TorchArgument *argument = node->find(key);
  return argument && argument->kind == TorchArgument::Kind::Text ? argument->text : "";
}

// ---- Shapes

std::optional<int64_t> TorchContext::evaluated(const TorchExtent &extent) const {
  return extent.expression.empty() ? std::optional(extent.number) : torchValue(extent.expression, symbols);
}

Shape TorchContext::shapeInFile(const std::string &value) const {
  auto meta = model.tensors.find(value);
  if (meta == model.tensors.end())
    return {};
  Shape shape;
  for (const TorchExtent &extent : meta->second.sizes)
    shape.push_back(evaluated(extent).value_or(0));
  return shape;
}

TorchType TorchContext::typeInFile(const std::string &value) const {
  auto meta = model.tensors.find(value);
  return meta == model.tensors.end() ? TorchType::Float : meta->second.type;
}

Shape TorchContext::sampleOf(const TorchValue &value) const {
  Shape shape = value.full;
  if (value.batchAt < 0)
    return shape;
  if (isPure(value))
    shape.erase(shape.begin() + value.batchAt);
  else
    shape[value.batchAt] /= batch;
  return shape;
}

int64_t TorchContext::dimOf(int64_t dim, int64_t rank) {
  if (dim < -rank || dim >= rank)
    reportInvalid(fmt::format("has a dimension {} outside the {} of its input", dim, rank));
  return dim < 0 ? dim + rank : dim;
}

int64_t TorchContext::sampleDim(const TorchValue &value, int64_t dim) {
  dim = dimOf(dim, std::ssize(value.full));
  if (dim == value.batchAt)
    reportUnsupported("works across the samples of a batch, which are independent here");
  return isPure(value) && dim > value.batchAt ? dim - 1 : dim;
}

TorchValue TorchContext::computed(Id id, Shape full, int64_t batchAt, int64_t outer) const {
  TorchValue value;
  value.kind = Kind::Computed;
  value.id = id;
  value.full = std::move(full);
  value.batchAt = batchAt;
  value.outer = outer;
  return value;
}

TorchValue TorchContext::image(Id id) const {
  Shape full = shape(id);
  full.insert(full.begin(), batch);
  return computed(id, std::move(full), 0);
}

TorchValue TorchContext::made(const TorchValue &value) {
  if (value.kind == Kind::Computed)
    return value;
  if (value.kind == Kind::Noise && value.type == TorchType::Float)
    reportUnsupported("reads random numbers, which is supported only where they mask or scale a tensor");
  TorchValue result = value;
  result.kind = Kind::Computed;
  result.numbers = nullptr;
  if (value.kind == Kind::Weight) {
    Shape shape = value.full;
    if (value.transposed)
      std::swap(shape[0], shape[1]);
    result.id = parameterOf(value.weight, shape);
    if (value.transposed)
      result.id = transpose(result.id, {1, 0});
    return result;
  }
  for (size_t i = 0; i < value.full.size() && result.batchAt < 0; ++i)
    if (hasBatch(value.full[i]))
      result.batchAt = static_cast<int64_t>(i);
  Shape sample = sampleOf(result);
  if (sample.empty())
    sample = {1};
  if (!elementsOf(sample))
    reportInvalid(fmt::format("has an impossible shape: {}", listOf(value.full)));
  std::string called = name();
  if (value.kind == Kind::Constant && value.type == TorchType::Float) {
    result.id = textBuilder.add(called + ".constant", "zeros", {}, {listOf(sample), "shared = true"}, sample);
    noteOnce("tensors that are the same in every step are zeros here: the same work");
  } else {
    result.id = textBuilder.input(called + ".given", value.type == TorchType::Integer ? "int32" : "float", sample);
    noteOnce("what is computed from integers alone is an input here: no gradient passes through it");
  }
  return result;
}

TorchValue TorchContext::dense(const TorchValue &value) {
  Shape wanted = sampleOf(value), have = shape(value.id);
  if (wanted.empty() || wanted == have)
    return value;
  TorchValue result = value;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] == have[i])
      continue;
    if (have[i] != 1 || wanted[i] > 4096)
      reportUnsupported(fmt::format("repeats {} to {}, which is not supported", listOf(have), listOf(wanted)));
    have[i] = wanted[i];
    result.id =
        add("concat", std::vector<Id>(static_cast<size_t>(wanted[i]), result.id), {fmt::format("axis = {}", i)}, have);
  }
  return result;
}

TorchValue TorchContext::sized(const std::string &key, size_t rank) {
  TorchValue value = dense(tensor(key));
  if (value.batchAt < 0 && shape(value.id).size() == rank + 1 && shape(value.id)[0] == 1)
    value = viewed(value, Shape(value.full.begin() + 1, value.full.end()));
  bool first = value.batchAt == 0 && isPure(value);
  if ((value.batchAt >= 0 && !first) || shape(value.id).size() != rank)
    reportUnsupported(
        fmt::format("takes the batch first and {} dimensions after it, found {}", rank, listOf(value.full)));
  return value;
}

// ---- Moves

const std::pair<TorchContext::Id, Shape> *TorchContext::transposeOf(Id value) const {
  auto found = transposes.find(value);
  return found == transposes.end() ? nullptr : &found->second;
}

TorchContext::Id TorchContext::transpose(Id value, const Shape &order) {
  Shape all = order;
  if (const auto *behind = transposeOf(value)) {
    for (int64_t &from : all)
      from = behind->second[from];
    value = behind->first;
  }
  Id result = textBuilder.transpose(value, all, name());
  if (result != value)
    transposes[result] = {value, all};
  return result;
}

TorchValue TorchContext::permuted(const TorchValue &value, const Shape &order) {
  TorchValue result = value;
  Shape sampled;
  bool pure = isPure(value);
  for (size_t i = 0; i < order.size(); ++i) {
    int64_t from = order[i];
    result.full[i] = value.full[from];
    if (from == value.batchAt)
      result.batchAt = static_cast<int64_t>(i);
    if (from != value.batchAt || !pure)
      sampled.push_back(pure && from > value.batchAt ? from - 1 : from);
  }
  result.id = transpose(value.id, sampled);
  return result;
}

TorchValue TorchContext::viewed(const TorchValue &given, const Shape &full) {
  if (given.full == full)
    return given;
  if (llvm::any_of(full, [](int64_t extent) { return extent < 1; }))
    reportInvalid(fmt::format("has an impossible shape: {}", listOf(full)));
  TorchValue value = given;
  TorchValue result = value;
  result.full = full;
  if (value.batchAt >= 0) {
    // The elements before the batch have to stay before it.
    int64_t before = value.outer;
    for (int64_t i = 0; i < value.batchAt; ++i)
      before *= value.full[i];
    result.batchAt = -1;
    int rank = -1;
    int64_t passed = 1;
    for (size_t i = 0; i < full.size() && passed <= before; passed *= full[i++]) {
      if (before % passed || full[i] % batch || (full[i] / batch) % (before / passed))
        continue;
      int fits = before == passed ? full[i] == batch ? 2 : 1 : 0;
      if (fits > rank) {
        rank = fits;
        result.batchAt = static_cast<int64_t>(i);
        result.outer = before / passed;
      }
    }
    if (result.batchAt < 0)
      reportUnsupported(fmt::format("moves the batch: {} becomes {}", listOf(value.full), listOf(full)));
  }
  // Extents of one come and go without the repeated ones being made.
  auto withoutOnes = [](Shape shape) {
    std::erase(shape, 1);
    return shape;
  };
  Shape sample = sampleOf(result), have = shape(value.id);
  if (have != sampleOf(value)) {
    Shape wanted = sampleOf(value), thin;
    if (withoutOnes(wanted) == withoutOnes(sample)) {
      size_t at = 0;
      for (int64_t extent : sample) {
        while (at < wanted.size() && wanted[at] == 1)
          ++at;
        thin.push_back(extent == 1 ? 1 : have[at++]);
      }
      result.id = textBuilder.reshape(value.id, thin);
      return result;
    }
    Id narrow = value.id;
    value = dense(value);
    // Heads that follow themselves: [heads, 1, ..] repeated along the 1, and joined with the heads.
    for (size_t i = 0; i + 1 < wanted.size(); ++i)
      if (shape(narrow)[i + 1] == 1 && wanted[i + 1] > 1 && sample.size() + 1 == wanted.size() &&
          sample[i] == wanted[i] * wanted[i + 1]) {
        Shape heads = shape(narrow);
        heads.erase(heads.begin() + static_cast<long>(i) + 1);
        result.id = textBuilder.reshape(value.id, sample);
        repeated[result.id] = {textBuilder.reshape(narrow, heads), wanted[i + 1]};
        return result;
      }
  }
  if (elementsOf(sample) != elementsOf(shape(value.id)) && !sample.empty())
    reportInvalid(
        fmt::format("has another number of elements after it: {} becomes {}", listOf(given.full), listOf(full)));
  result.id = sample.empty() ? value.id : textBuilder.reshape(value.id, sample);
  return result;
}

TorchValue TorchContext::sliced(const TorchValue &value, int64_t dim, int64_t start, int64_t size) {
  TorchValue result = value;
  result.full[dim] = size;
  if (size == value.full[dim])
    return value;
  int64_t at = sampleDim(value, dim);
  if (shape(value.id)[at] != 1) // else it is repeated
    result.id = textBuilder.slice(name(), value.id, at, start, size);
  return result;
}

// ---- Results

TorchValue TorchContext::alike(const TorchValue &x, const std::string &call, std::vector<std::string> attributes) {
  TorchValue result = x;
  result.id = add(call, {x.id}, std::move(attributes), shape(x.id));
  result.type = TorchType::Float;
  return result;
}

void TorchContext::setResult(TorchValue value, size_t output) {
  if (output >= node->outputs.size() || node->outputs[output].empty())
    return;
  const std::string &called = node->outputs[output];
  if (value.id >= 0 && !shape(value.id).empty() && !elementsOf(shape(value.id)))
    reportInvalid(fmt::format("gives an impossible shape: {}", listOf(value.full)));
  if (Shape stated = shapeInFile(called); model.tensors.count(called) && stated != value.full)
    reportInvalid(fmt::format("gives {}, and the file says {}", listOf(value.full), listOf(stated)));
  if (value.kind == Kind::Computed)
    value.type = typeInFile(called);
  // What works in place changes its operand, too.
  if (node->inPlace && output == 0 && !node->order.empty())
    if (const TorchArgument *self = node->find(node->order[0]); self && self->kind == TorchArgument::Kind::Tensor)
      values[self->names[0]] = value;
  values[called] = std::move(value);
}

bool TorchContext::isShared(const std::string &weight) const {
  auto found = uses.find(weight);
  return found != uses.end() && found->second > 1;
}

TorchContext::Id TorchContext::parameterOf(const std::string &weight, const Shape &shape) {
  auto [found, isNew] = parameters.try_emplace(weight, -1);
  if (isNew)
    found->second = textBuilder.parameter(weight, shape.empty() ? Shape{1} : shape);
  return found->second;
}

void TorchContext::takeWeight(const TorchValue &weight) {
  if (weight.kind != Kind::Weight)
    reportUnsupported("computes its weight, which has to be a parameter");
  if (isShared(weight.weight))
    noteOnce(fmt::format("'{}' is one tensor for {} operations of the file; here each has its own",
                         shown(weight.weight), uses[weight.weight]));
}

} // namespace accord::import
