#include "lib/import/Sketch.h"
#include "lib/syntax/Format.h"
#include "lib/syntax/OperationTable.h"
#include "lib/syntax/Parser.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace accord::import {

std::string listOf(const Shape &shape) { return fmt::format("[{}]", fmt::join(shape, ", ")); }

std::string pairOf(int64_t rows, int64_t columns) {
  return rows == columns ? std::to_string(rows) : fmt::format("[{}, {}]", rows, columns);
}

std::vector<std::string> windowAttributes(const Shape &kernel, const Shape &strides,
                                          const Shape &padding, const Shape &dilations,
                                          bool pools) {
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
  static const std::set<std::string> kWords = {
      "input", "loss", "let",   "var",    "repeat", "for", "in",      "as",  "model", "module",
      "train", "step", "shape", "import", "pow2",   "min", "max",     "sum", "len",   "ceil_div",
      "log2",  "on",   "of",    "weight", "source", "per", "samples", "from"};
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
  diags.error(own.text().find("A0007") != std::string::npos ? Code::FileTooLarge
                                                            : Code::InternalError,
              {file, 0, 0}, "the imported text is no .dnn: " + shown(own.text()));
  return std::nullopt;
}

std::string Sketch::uniqueName(const std::string &wanted, const std::string &otherwise) {
  std::string name = nameFrom(wanted, otherwise);
  if (findOperation(name))
    name += "_" + std::to_string(++counters[name]);
  std::string base = name;
  while (!names.insert(name).second)
    name = base + "_" + std::to_string(++counters[base] + 1);
  return name;
}

Sketch::Id Sketch::push(Value value) {
  value.origin = origin;
  values.push_back(std::move(value));
  return static_cast<Id>(values.size()) - 1;
}

Sketch::Id Sketch::input(const std::string &name, const std::string &type, Shape shape) {
  return push({uniqueName(name, "input"), "input", {}, {}, std::move(shape), {}, type, {}});
}

Sketch::Id Sketch::add(const std::string &name, const std::string &call, std::vector<Id> operands,
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

Sketch::Id Sketch::addNamed(const std::string &name, const std::string &call,
                            std::vector<Id> operands, const std::string &last,
                            std::vector<std::string> attributes, Shape shape) {
  Id id = add(name, call, std::move(operands), std::move(attributes), std::move(shape));
  values.back().byName = last;
  return id;
}

bool Sketch::isInteger(Id value) const {
  while (values[static_cast<size_t>(value)].call != "input") {
    const Value &here = values[static_cast<size_t>(value)];
    static const std::set<std::string> kMoves = {"reshape", "transpose", "slice",
                                                 "split",   "piece",     "concat"};
    if (!kMoves.count(here.call))
      return false;
    value = here.operands[0];
  }
  return values[static_cast<size_t>(value)].element != "float";
}

Sketch::Id Sketch::addList(const std::string &name, const std::string &call,
                           std::vector<Id> operands, std::vector<std::string> attributes) {
  return add(name.empty() ? call : name, call, std::move(operands), std::move(attributes), {});
}

Sketch::Id Sketch::piece(Id list, size_t index, Shape shape) {
  std::string text = fmt::format("{}[{}]", values[static_cast<size_t>(list)].name, index);
  return push({text, "piece", {list}, {}, std::move(shape), {}, {}, {}});
}

Sketch::Id Sketch::parameter(const std::string &name, Shape shape) {
  return add(name, "parameter", {}, {listOf(shape)}, shape);
}

Sketch::Id Sketch::behindViews(Id value) const {
  while (callOf(value) == "reshape")
    value = operandOf(value);
  return value;
}

Sketch::Id Sketch::reshape(Id value, Shape shape) {
  Id behind = behindViews(value);
  if (this->shape(behind) == shape)
    return behind;
  std::vector<std::string> attributes{listOf(shape)};
  return push({uniqueName(values[static_cast<size_t>(behind)].name + "_as", "reshaped"),
               "reshape",
               {behind},
               std::move(attributes),
               std::move(shape),
               {},
               {},
               {}});
}

Sketch::Id Sketch::transpose(Id value, const std::vector<int64_t> &permutation,
                             const std::string &name) {
  Shape shape;
  bool same = true;
  for (size_t i = 0; i < permutation.size(); ++i) {
    shape.push_back(this->shape(value)[static_cast<size_t>(permutation[i])]);
    same &= permutation[i] == static_cast<int64_t>(i);
  }
  if (same)
    return value;
  return add(name, "transpose", {value}, {listOf(permutation)}, std::move(shape));
}

bool Sketch::isInline(Id id, const std::vector<int> &uses) const {
  const Value &value = values[static_cast<size_t>(id)];
  return value.call == "piece" || (value.call == "reshape" && uses[static_cast<size_t>(id)] == 1);
}

std::string Sketch::written(Id id, const std::vector<int> &uses) const {
  const Value &value = values[static_cast<size_t>(id)];
  return value.call == "reshape" && isInline(id, uses) ? statement(value, uses) : value.name;
}

std::string Sketch::statement(const Value &value, const std::vector<int> &uses) const {
  std::vector<std::string> parts;
  for (Id operand : value.operands)
    parts.push_back(written(operand, uses));
  if (value.call.size() == 1)
    return fmt::format("{} {} {}", parts[0], value.call, parts[1]);
  if (!value.byName.empty()) {
    std::string last = fmt::format("{} = {}", value.byName, parts.back());
    parts.pop_back();
    parts.insert(parts.end(), value.attributes.begin(), value.attributes.end());
    parts.push_back(last);
  } else {
    parts.insert(parts.end(), value.attributes.begin(), value.attributes.end());
  }
  std::string text = value.call + "(";
  // Nested calls stay on their line.
  bool breaks = !isInline(static_cast<Id>(&value - values.data()), uses);
  size_t line = text.size() + value.name.size() + 10;
  for (const std::string &part : parts) {
    bool last = &part == &parts.back();
    if (breaks && line + part.size() > 100 && line > 40) {
      text += "\n";
      line = 4;
    }
    text += part + (last ? "" : ", ");
    line += part.size() + 2;
  }
  return text + ")";
}

std::string Sketch::text(const std::string &name,
                         const std::vector<std::string> &documentation) const {
  std::vector<int> uses(values.size(), 0);
  for (Id id : losses)
    ++uses[static_cast<size_t>(id)];
  for (size_t i = values.size(); i-- > 0;)
    if (uses[i])
      for (Id operand : values[i].operands)
        ++uses[static_cast<size_t>(operand)];
  std::string out;
  for (const std::string &line : documentation)
    out += "/// " + line + "\n";
  out += fmt::format("model {}() {{\n", name);
  for (size_t i = 0; i < values.size(); ++i)
    if (uses[i] && values[i].call == "input")
      out += fmt::format("  input {} : {}{}\n", values[i].name, values[i].element,
                         listOf(values[i].shape));
  std::string last;
  for (size_t i = 0; i < values.size(); ++i) {
    const Value &value = values[i];
    if (!uses[i] || value.call == "input" || isInline(static_cast<Id>(i), uses))
      continue;
    if (value.origin != last)
      out += fmt::format("\n  // {}\n", shown(value.origin));
    last = value.origin;
    out += fmt::format("  let {} = {}\n", value.name, statement(value, uses));
  }
  std::vector<std::string> sum;
  for (Id id : losses)
    sum.push_back(written(id, uses));
  std::string terms;
  size_t line = 0;
  for (const std::string &term : sum) {
    bool wraps = line + term.size() > 80;
    terms += (terms.empty() ? "" : wraps ? "\n      + " : " + ") + term;
    line = wraps ? term.size() : line + term.size() + 3;
  }
  return out + fmt::format("  loss {}\n}}\n", terms);
}

} // namespace accord::import
