#include "lib/import/text/DnnTextBuilder.h"
#include "lib/language/models/OperationTable.h"
#include "lib/language/syntax/Format.h"
#include "lib/language/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

std::string listOf(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string pairOf(int64_t rows, int64_t columns) {
  return rows == columns ? std::to_string(rows) : fmt::format("[{}, {}]", rows, columns);
}

std::vector<std::string> windowAttributes(const Shape &kernel, const Shape &strides, const Shape &padding,
                                          const Shape &dilations, bool pools) {
  std::vector<std::string> attributes{"kernel = " + pairOf(kernel[0], kernel[1])};
  if (pools ? strides != kernel : strides != Shape{1, 1})
    attributes.push_back("stride = " + pairOf(strides[0], strides[1]));
  if (padding != Shape{0, 0})
    attributes.push_back("padding = " + pairOf(padding[0], padding[1]));
  if (dilations != Shape{1, 1})
    attributes.push_back("dilation = " + pairOf(dilations[0], dilations[1]));
  return attributes;
}

std::optional<int64_t> elementsOf(const Shape &shape) {
  int64_t all = 1;
  for (int64_t extent : shape)
    if (extent < 1 || __builtin_mul_overflow(all, extent, &all) || all > int64_t(1) << 58)
      return std::nullopt;
  return all;
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

DnnTextBuilder::Id DnnTextBuilder::push(Value value) {
  value.origin = origin;
  values.push_back(std::move(value));
  return static_cast<Id>(values.size()) - 1;
}

DnnTextBuilder::Id DnnTextBuilder::input(const std::string &name, const std::string &type, Shape shape) {
  return push({uniqueName(name, "input"), "input", {}, {}, std::move(shape), {}, type, {}});
}

DnnTextBuilder::Id DnnTextBuilder::add(const std::string &name, const std::string &call, std::vector<Id> operands,
                                       std::vector<std::string> attributes, Shape shape) {
  static const std::map<std::string, std::string> kSigns = {
      {"+", "sum"}, {"-", "difference"}, {"*", "product"}, {"/", "quotient"}};
  auto sign = kSigns.find(call);
  std::string otherwise = sign == kSigns.end() ? call : sign->second;
  return push({uniqueName(name.empty() ? otherwise : name, otherwise),
               call,
               std::move(operands),
               std::move(attributes),
               std::move(shape),
               {},
               {},
               {}});
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

DnnTextBuilder::Id DnnTextBuilder::addList(const std::string &name, const std::string &call, std::vector<Id> operands,
                                           std::vector<std::string> attributes) {
  return add(name.empty() ? call : name, call, std::move(operands), std::move(attributes), {});
}

DnnTextBuilder::Id DnnTextBuilder::piece(Id list, size_t index, Shape shape) {
  std::string text = fmt::format("{}[{}]", values[list].name, index);
  return push({text, "piece", {list}, {std::to_string(index)}, std::move(shape), {}, {}, {}});
}

DnnTextBuilder::Id DnnTextBuilder::parameter(const std::string &name, Shape shape) {
  return add(name, "parameter", {}, {listOf(shape)}, shape);
}

DnnTextBuilder::Id DnnTextBuilder::behindViews(Id value) const {
  while (callOf(value) == "reshape")
    value = operandOf(value);
  return value;
}

DnnTextBuilder::Id DnnTextBuilder::reshape(Id value, Shape shape) {
  Id behind = behindViews(value);
  if (this->shape(behind) == shape)
    return behind;
  std::vector<std::string> attributes{listOf(shape)};
  return push({uniqueName(values[behind].name + "_as", "reshaped"),
               "reshape",
               {behind},
               std::move(attributes),
               std::move(shape),
               {},
               {},
               {}});
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
