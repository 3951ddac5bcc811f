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

Block &Block::set(const std::string &key, const Value &value, HostLine place) {
  auto known = llvm::find_if(entries_, [&](const Entry &entry) { return entry.hasValue && entry.line == key; });
  if (known == entries_.end())
    known = entries_.insert(entries_.end(), {key, place, true, "", {}});
  known->value = value.text(), known->place = place;
  return *this;
}

Block &Block::add(const std::string &line, HostLine place) {
  entries_.push_back({line, place, false, "", {}});
  return *this;
}

Block &Block::block(const std::string &kind, const std::string &name, HostLine place) {
  entries_.push_back({name.empty() ? kind : kind + " " + name, place, false, "", std::list<Block>(1)});
  return entries_.back().blocks.front();
}

Block &Block::part(const std::string &kind, const std::string &name, const Entries &entries, HostLine place) {
  Block &made = block(kind, name, place);
  for (const auto &[key, value] : entries)
    made.set(key, value, place);
  return made;
}

Block &Block::require(const std::string &expression, const std::string &label, HostLine place) {
  return add("require " + (label.empty() ? "" : label + ": ") + expression, place);
}

Block &Block::maximize(const std::string &objective, HostLine place) { return add("maximize " + objective, place); }
Block &Block::minimize(const std::string &objective, HostLine place) { return add("minimize " + objective, place); }

Value Block::input(const std::string &name, const std::string &type, HostLine place) {
  add("input " + name + " : " + type, place);
  return name;
}

Value Block::let(const std::string &name, const Value &value, HostLine place) {
  add("let " + name + " = " + value.text(), place);
  return name;
}

Block &Block::loss(const Value &value, HostLine place) { return add("loss " + value.text(), place); }

void Block::print(std::vector<BuiltLine> &out, const std::string &indent) const {
  for (const Entry &entry : entries_) {
    out.push_back({indent + entry.line + (entry.hasValue ? " = " + entry.value : ""), entry.place});
    for (const Block &block : entry.blocks) {
      out.back().text += " {";
      block.print(out, indent + "  ");
      out.push_back({indent + "}", entry.place});
    }
  }
}

SparsityBlock &SparsityBlock::weights(const std::string &names, const Value &patterns, HostLine place) {
  block_->add("weights of " + names + " = " + patterns.text(), place);
  return *this;
}

SparsityBlock &SparsityBlock::activations(const std::string &names, const Value &patterns, HostLine place) {
  block_->add("activations of " + names + " = " + patterns.text(), place);
  return *this;
}

SparsityBlock &SparsityBlock::gradients(const std::string &names, const Value &patterns, HostLine place) {
  block_->add("gradients of " + names + " = " + patterns.text(), place);
  return *this;
}

EnsembleBlock &EnsembleBlock::member(const std::string &name, const Value &model, HostLine place) {
  block_->add("member " + name + " = " + model.text(), place);
  return *this;
}

EnsembleBlock &EnsembleBlock::votes(const std::string &path, HostLine place) {
  block_->add("votes from " + quoted(path).text(), place);
  return *this;
}

UnitBlock &UnitBlock::operation(const std::string &opcode, const Value &latency, const std::optional<Value> &interval,
                                HostLine place) {
  Block &made = block_->part("operation", opcode, {{"latency", latency}}, place);
  if (interval)
    made.set("interval", *interval, place);
  return *this;
}

Block &MicroarchitectureBlock::opcode(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("opcode", name, entries, place);
}
Block &MicroarchitectureBlock::fetch(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("fetch", name, entries, place);
}
Block &MicroarchitectureBlock::stage(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("stage", name, entries, place);
}
Block &MicroarchitectureBlock::execute(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("execute", name, entries, place);
}
UnitBlock MicroarchitectureBlock::unit(const std::string &name, const Entries &entries, HostLine place) {
  return UnitBlock(block_->part("unit", name, entries, place));
}
Block &MicroarchitectureBlock::registers(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("registers", name, entries, place);
}
Block &MicroarchitectureBlock::memory(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("memory", name, entries, place);
}
Block &MicroarchitectureBlock::cache(const std::string &name, const Entries &entries, HostLine place) {
  return block_->part("cache", name, entries, place);
}

MicroarchitectureBlock MicroarchitectureBlock::declareTemplate(const std::string &name, HostLine place) {
  return MicroarchitectureBlock(block_->block("template", name, place));
}

void MicroarchitectureBlock::array(const std::string &name, const std::string &of, const Entries &sides,
                                   HostLine place) {
  if (sides.empty())
    block_->add("array " + name + " : " + of, place);
  else
    block_->part("array", name + " : " + of, sides, place);
}

Description &Description::import(const std::string &path, HostLine place) {
  imports_.emplace_back(path, place);
  return *this;
}

Block &Description::train(const std::string &name, const Value &model, const std::string &target, HostLine place) {
  return body_.block("train", name + " = " + model.text() + " on " + target, place);
}

std::vector<BuiltLine> Description::lines() const {
  std::vector<BuiltLine> lines;
  for (const auto &[path, place] : imports_)
    lines.push_back({"import " + quoted(path).text(), place});
  body_.print(lines, "");
  return lines;
}

std::string Description::text() const {
  std::string out;
  for (const BuiltLine &line : lines())
    out += line.text + "\n";
  return out;
}

std::optional<HostLine> Description::place(int64_t line) const {
  // A line that was added may hold several of the text.
  for (const BuiltLine &built : lines())
    if ((line -= 1 + llvm::count(built.text, '\n')) <= 0)
      return built.place;
  return std::nullopt;
}

} // namespace accord::inline embedding
