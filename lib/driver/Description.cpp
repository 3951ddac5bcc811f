#include "lib/driver/Description.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>

namespace accord::inline embedding {
namespace {

std::string joined(const std::vector<Value> &values) {
  std::vector<std::string> texts;
  for (const Value &value : values)
    texts.push_back(value.text());
  return llvm::join(texts, ", ");
}

} // namespace

Value::Value(double number) : text_(fmt::format("{}", number)) {}

Value quantity(const Value &number, const std::string &unit) { return number.text() + " " + unit; }

Value quoted(const std::string &text) {
  std::string out = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\')
      out += '\\';
    if (c == '\n' || c == '\t')
      out += c == '\n' ? "\\n" : "\\t";
    else
      out += c;
  }
  return out + "\"";
}

Value choice(const std::vector<Value> &values) { return "{" + joined(values) + "}"; }
Value powersOfTwo(const Value &first, const Value &last) { return "pow2 " + first.text() + ".." + last.text(); }
Value range(const Value &first, const Value &last) { return first.text() + ".." + last.text(); }
Value listOf(const std::vector<Value> &values) { return "[" + joined(values) + "]"; }

Value mapOf(const std::vector<std::pair<std::string, Value>> &entries) {
  std::vector<Value> texts;
  for (const auto &[key, value] : entries)
    texts.emplace_back(key + ": " + value.text());
  return choice(texts);
}

Value call(const std::string &operation, const std::vector<Value> &operands, const std::vector<NamedValue> &named) {
  std::vector<Value> texts = operands;
  for (const auto &[name, value] : named)
    texts.emplace_back(name + " = " + value.text());
  return operation + "(" + joined(texts) + ")";
}

Block &Block::set(const std::string &key, const Value &value) {
  auto known = llvm::find_if(entries_, [&](const Entry &entry) { return entry.hasValue && entry.line == key; });
  if (known == entries_.end())
    known = entries_.insert(entries_.end(), {key, true, "", {}});
  known->value = value.text();
  return *this;
}

Block &Block::add(const std::string &line) {
  entries_.push_back({line, false, "", {}});
  return *this;
}

Block &Block::block(const std::string &kind, const std::string &name) {
  entries_.push_back({name.empty() ? kind : kind + " " + name, false, "", std::list<Block>(1)});
  return entries_.back().blocks.front();
}

Value Block::input(const std::string &name, const std::string &type) {
  add("input " + name + " : " + type);
  return name;
}

Value Block::let(const std::string &name, const Value &value) {
  add("let " + name + " = " + value.text());
  return name;
}

Block &Block::loss(const Value &value) { return add("loss " + value.text()); }

void Block::print(std::string &out, const std::string &indent) const {
  for (const Entry &entry : entries_) {
    out += indent + entry.line + (entry.hasValue ? " = " + entry.value : "");
    for (const Block &block : entry.blocks) {
      out += " {\n";
      block.print(out, indent + "  ");
      out += indent + "}";
    }
    out += "\n";
  }
}

Description &Description::import(const std::string &path) {
  imports_.push_back(path);
  return *this;
}

Block &Description::train(const std::string &name, const Value &model, const std::string &target) {
  return body_.block("train", name + " = " + model.text() + " on " + target);
}

std::string Description::text() const {
  std::string out;
  for (const std::string &path : imports_)
    out += "import " + quoted(path).text() + "\n";
  body_.print(out, "");
  return out;
}

} // namespace accord::inline embedding
