#include "lib/import/text/DnnTextBuilder.h"
#include "lib/language/models/OperationTable.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

std::string listOf(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string extentsOf(const Shape &extents) {
  return llvm::all_equal(extents) ? std::to_string(extents[0]) : listOf(extents);
}

static std::vector<std::string> windowAttributes(const Window &window, const Shape &defaultStride) {
  std::vector<std::string> attributes;
  auto add = [&](const char *key, const Shape &extents, int64_t otherwise, const Shape &others = {}) {
    if (!extents.empty() && extents != others && !llvm::all_of(extents, [&](int64_t one) { return one == otherwise; }))
      attributes.push_back(fmt::format("{} = {}", key, extentsOf(extents)));
  };
  add("kernel", window.kernel, 0);
  // The stride of a pool is its kernel unless stated.
  add("stride", window.strides, defaultStride.empty() ? 1 : 0, defaultStride);
  Shape padding = window.padding;
  if (!window.behind.empty() && window.behind != window.padding)
    padding.insert(padding.end(), window.behind.begin(), window.behind.end());
  add("padding", padding, 0);
  add("dilation", window.dilations, 1);
  add("output_padding", window.outputPadding, 0);
  return attributes;
}

std::vector<std::string> poolAttributes(const Window &window) { return windowAttributes(window, window.kernel); }

std::vector<std::string> convolutionAttributes(int64_t out, const Window &window, int64_t groups, bool bias) {
  std::vector<std::string> attributes = windowAttributes(window, {});
  if (out)
    attributes.insert(attributes.begin(), fmt::format("out = {}", out));
  if (groups)
    attributes.push_back(fmt::format("groups = {}", groups));
  if (!bias)
    attributes.push_back("bias = false");
  return attributes;
}

std::optional<int64_t> elementsOf(const Shape &shape) {
  int64_t all = 1;
  for (int64_t extent : shape)
    if (extent < 1 || __builtin_mul_overflow(all, extent, &all) || all > int64_t(1) << 58)
      return std::nullopt;
  return all;
}

std::optional<Shape> broadcastOf(llvm::ArrayRef<int64_t> left, llvm::ArrayRef<int64_t> right) {
  auto [shorter, longer] = left.size() < right.size() ? std::pair(left, right) : std::pair(right, left);
  Shape all(longer);
  for (auto [extent, other] : llvm::zip(llvm::reverse(all), llvm::reverse(shorter))) {
    if (extent != other && extent != 1 && other != 1)
      return std::nullopt;
    extent = extent == 1 ? other : extent;
  }
  return all;
}

std::string singleText(double value) { return fmt::format("{}", static_cast<float>(value)); }

std::optional<double> factorOf(char sign, double number, bool numberLast, std::string &error) {
  bool divides = sign == '/';
  if (sign == '*' || (divides && numberLast)) {
    double factor = divides ? 1 / number : number;
    if (std::isfinite(static_cast<float>(factor)))
      return factor;
    error = "divides by zero";
  } else if (number == 0 && (sign == '+' || (sign == '-' && numberLast))) {
    return 1;
  } else {
    error = divides ? fmt::format("divides {} by a tensor, which is not supported", number)
                    : fmt::format("adds or subtracts the number {}, which is not supported", number);
  }
  return std::nullopt;
}

const char *callOfBounds(double low, double high) {
  return low == 0 && high == 6 ? "relu6" : low == 0 && high > 1e30 ? "relu" : nullptr;
}
std::string boundsText(double low, double high) {
  return fmt::format("bounds by {} and {}; only 0 and 6, or 0 alone, are supported", low, high);
}

std::string nameFrom(const std::string &wanted, const std::string &otherwise) {
  // These begin statements or are parts of expressions; a name that reads like one misleads.
  static const std::set<std::string> kWords = {"input", "loss",  "let",    "var",    "repeat", "for",      "in",
                                               "as",    "model", "module", "train",  "step",   "shape",    "import",
                                               "pow2",  "min",   "max",    "sum",    "len",    "ceil_div", "log2",
                                               "on",    "of",    "weight", "source", "per",    "samples",  "from"};
  std::string name;
  for (char c : wanted.substr(0, 200))
    if (llvm::isAlnum(c))
      name += llvm::toLower(c);
    else if (!name.empty() && name.back() != '_')
      name += '_';
  while (!name.empty() && name.back() == '_')
    name.pop_back();
  if (name.size() > 60)
    name.resize(60);
  if (name.empty() || llvm::isDigit(name[0]))
    name = otherwise + (name.empty() ? "" : "_") + name;
  return isName(name) && !kWords.count(name) ? name : name + "_";
}

std::string shown(const std::string &text) {
  std::string out;
  for (char c : text.substr(0, 120))
    out += llvm::isPrint(c) ? c : '?';
  return out + (text.size() > 120 ? "..." : "");
}

std::optional<std::string> formatted(Diagnostics &diags, FileId file, const std::string &text) {
  SourceManager sources;
  Diagnostics own(sources);
  auto tree = parse(own, sources.add("imported.dnn", text));
  if (tree && tree->complete && !own.hasErrors())
    return format(sources, *tree);
  bool tooLarge = llvm::any_of(own.sorted(), [](const Diagnostic &d) { return d.code == Code::FileTooLarge; });
  diags.error(tooLarge ? Code::FileTooLarge : Code::InternalError, {file, 0, 0},
              "the imported text is no .dnn: " + shown(own.text()));
  return std::nullopt;
}

std::string DnnTextBuilder::uniqueName(const std::string &wanted, const std::string &otherwise) {
  std::string name = nameFrom(wanted, otherwise);
  if (findOperation(name))
    name += "_" + std::to_string(++counters[name]);
  std::string base = name;
  while (!names.insert(name).second)
    name = base + "_" + std::to_string(++counters[base] + 1);
  return name;
}

DnnTextBuilder::Id DnnTextBuilder::push(std::string name, std::string call, std::vector<Id> operands,
                                        std::vector<std::string> attributes, Shape shape) {
  Value &value = values.emplace_back();
  value.name = std::move(name);
  value.call = std::move(call);
  value.operands = std::move(operands);
  value.attributes = std::move(attributes);
  value.shape = std::move(shape);
  value.origin = origin;
  return values.size() - 1;
}

DnnTextBuilder::Id DnnTextBuilder::input(const std::string &name, const std::string &type, Shape shape) {
  Id id = push(uniqueName(name, "input"), "input", {}, {}, std::move(shape));
  values.back().element = type;
  return id;
}

DnnTextBuilder::Id DnnTextBuilder::add(const std::string &name, const std::string &call, std::vector<Id> operands,
                                       std::vector<std::string> attributes, Shape shape) {
  static const std::map<std::string, std::string> kSigns = {
      {"+", "sum"}, {"-", "difference"}, {"*", "product"}, {"/", "quotient"}};
  auto sign = kSigns.find(call);
  std::string otherwise = sign == kSigns.end() ? call : sign->second;
  return push(uniqueName(name.empty() ? otherwise : name, otherwise), call, std::move(operands), std::move(attributes),
              std::move(shape));
}

DnnTextBuilder::Id DnnTextBuilder::addNamed(const std::string &name, const std::string &call, std::vector<Id> operands,
                                            const std::string &last, std::vector<std::string> attributes, Shape shape) {
  Id id = add(name, call, std::move(operands), std::move(attributes), std::move(shape));
  values.back().byName = last;
  return id;
}

bool DnnTextBuilder::isInteger(Id value) const {
  while (values[value].call != "input") {
    const Value &here = values[value];
    static const std::set<std::string> kMoves = {"reshape", "transpose", "slice", "split", "piece", "concat"};
    if (!kMoves.count(here.call))
      return false;
    value = here.operands[0];
  }
  return values[value].element != "float";
}

std::string DnnTextBuilder::stated(const std::string &name, const std::string &statement) {
  auto [found, isNew] = statements.try_emplace(statement);
  if (isNew)
    found->second = uniqueName(name, "stated");
  return found->second;
}

DnnTextBuilder::Id DnnTextBuilder::addList(const std::string &name, const std::string &call, std::vector<Id> operands,
                                           std::vector<std::string> attributes) {
  return add(name.empty() ? call : name, call, std::move(operands), std::move(attributes), {});
}

DnnTextBuilder::Id DnnTextBuilder::piece(Id list, size_t index, Shape shape) {
  std::string text = fmt::format("{}[{}]", values[list].name, index);
  return push(std::move(text), "piece", {list}, {std::to_string(index)}, std::move(shape));
}

DnnTextBuilder::Id DnnTextBuilder::parameter(const std::string &name, const Shape &shape) {
  return add(name, "parameter", {}, {listOf(shape)}, shape);
}

DnnTextBuilder::Id DnnTextBuilder::behindViews(Id value) const {
  while (callOf(value) == "reshape")
    value = operandOf(value);
  return value;
}

DnnTextBuilder::Id DnnTextBuilder::reshape(Id value, const Shape &shape) {
  Id behind = behindViews(value);
  if (this->shape(behind) == shape)
    return behind;
  return add(values[behind].name + "_as", "reshape", {behind}, {listOf(shape)}, shape);
}

DnnTextBuilder::Id DnnTextBuilder::slice(const std::string &name, Id value, int64_t axis, int64_t start, int64_t size) {
  Shape shape = this->shape(value);
  shape[axis] = size;
  return add(name, "slice", {value},
             {fmt::format("axis = {}", axis), fmt::format("start = {}", start), fmt::format("size = {}", size)}, shape);
}

DnnTextBuilder::Id DnnTextBuilder::softmax(const std::string &name, Id value, int64_t axis) {
  std::vector<std::string> attributes;
  if (axis + 1 != std::ssize(shape(value)))
    attributes.push_back(fmt::format("axis = {}", axis));
  return add(name, "softmax", {value}, attributes, shape(value));
}

DnnTextBuilder::Id DnnTextBuilder::transpose(Id value, const std::vector<int64_t> &permutation,
                                             const std::string &name) {
  Shape shape;
  bool same = true;
  for (size_t i = 0; i < permutation.size(); ++i) {
    shape.push_back(this->shape(value)[permutation[i]]);
    same &= permutation[i] == static_cast<int64_t>(i);
  }
  if (same)
    return value;
  return add(name, "transpose", {value}, {listOf(permutation)}, std::move(shape));
}

} // namespace accord::import
