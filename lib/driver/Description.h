// Descriptions written by a program: machines, models, trainings and jobs as text of the languages `.accel` and `.dnn`
// (docs/language.md), which say what may stand in them. What is wrong in a description is therefore told by the command
// that reads it, with its line, and with the line of the program that made it. No header of LLVM is needed here.
#pragma once
#include <concepts>
#include <cstdint>
#include <list>
#include <optional>
#include <source_location>
#include <string>
#include <utility>
#include <vector>

namespace accord::inline embedding {

/// An expression: a number, a quantity "32 GiB", a name, a call. A text is taken as it is written in the language.
class Value {
public:
  Value(std::integral auto number) : text_(std::to_string(number)) {}
  Value(bool flag) : text_(flag ? "true" : "false") {}
  /// The shortest text that means this number. A value that is not finite is no number of the language, which says so.
  Value(double number);
  Value(const char *expression) : text_(expression) {}
  Value(std::string expression) : text_(std::move(expression)) {}

  const std::string &text() const { return text_; }

private:
  std::string text_;
};

/// A number with its unit: quantity(32, "GiB").
Value quantity(const Value &number, const std::string &unit);
/// "…", with what needs it escaped.
Value quoted(const std::string &text);
/// A choice of these: {1, 2, 4}.
Value choice(const std::vector<Value> &values);
/// A choice of powers of two: pow2 1..32.
Value powersOfTwo(const Value &first, const Value &last);
/// A choice of all whole numbers from the first to the last: 1..8.
Value range(const Value &first, const Value &last);
/// [1, 2]
Value listOf(const std::vector<Value> &values);
/// {bf16: 312 TFLOP/s}
Value mapOf(const std::vector<std::pair<std::string, Value>> &entries);

/// An argument of a call by its name: out = 10.
struct NamedValue {
  std::string name;
  Value value;
};

/// linear(x, out = 10) is call("linear", {"x"}, {{"out", 10}}).
Value call(const std::string &operation, const std::vector<Value> &operands, const std::vector<NamedValue> &named = {});

/// Keys and values in one pair of braces: {{"reads", 3}, {"does", "multiply_add"}}.
using Entries = std::vector<NamedValue>;

/// A line of the program that builds. Whoever calls a builder leaves it out.
using HostLine = std::source_location;

/// A line of text, and where it was made.
struct BuiltLine {
  std::string text;
  HostLine place;
};

/// What stands in one pair of braces, in the order in which it was added.
class Block {
public:
  /// `key = value`. A key that is there gets the new value.
  Block &set(const std::string &key, const Value &value, HostLine place = HostLine::current());
  /// A line as it is written in the language: "path hbm -> tc".
  Block &add(const std::string &line, HostLine place = HostLine::current());
  /// A block: ("memory", "hbm : dram"), ("search"). Its address stays the same.
  Block &block(const std::string &kind, const std::string &name = "", HostLine place = HostLine::current());
  /// A block with entries: ("memory", "hbm : dram", {{"capacity", "32 GiB"}, {"bandwidth", "1 TB/s"}}).
  Block &part(const std::string &kind, const std::string &name, const Entries &entries,
              HostLine place = HostLine::current());

  // What is wanted of an answer.
  Block &require(const std::string &expression, const std::string &label = "", HostLine place = HostLine::current());
  Block &maximize(const std::string &objective, HostLine place = HostLine::current());
  Block &minimize(const std::string &objective, HostLine place = HostLine::current());

  // In a model or module, and in blocks of theirs.
  /// `input NAME : TYPE`, as in ("tokens", "int32[seq]"); returns its name.
  Value input(const std::string &name, const std::string &type, HostLine place = HostLine::current());
  /// `let NAME = VALUE`; returns its name.
  Value let(const std::string &name, const Value &value, HostLine place = HostLine::current());
  /// `loss VALUE`
  Block &loss(const Value &value, HostLine place = HostLine::current());

private:
  friend class Description;
  void print(std::vector<BuiltLine> &out, const std::string &indent) const;

  struct Entry {
    std::string line; ///< the key where there is a value, the head of a block
    HostLine place;
    bool hasValue = false;
    std::string value;
    std::list<Block> blocks; ///< one, or none
  };
  std::list<Entry> entries_;
};

/// `sparsity for TRAINING { … }`, from which `accord prune` chooses. Patterns of several masks are a choice:
/// weights("block.*", choice({"nm(2, 4)", "nm(2, 4, along = output)"})).
class SparsityBlock {
public:
  explicit SparsityBlock(Block &block) : block_(&block) {}
  SparsityBlock &weights(const std::string &names, const Value &patterns, HostLine place = HostLine::current());
  SparsityBlock &activations(const std::string &names, const Value &patterns, HostLine place = HostLine::current());
  SparsityBlock &gradients(const std::string &names, const Value &patterns, HostLine place = HostLine::current());
  /// Everything else that may stand in it: set("margin", 1.25), require("accuracy >= 0.74 confidence 0.95").
  Block &block() const { return *block_; }

private:
  Block *block_;
};

/// `ensemble NAME of TRAINING { … }`, from whose members `accord vote` chooses.
class EnsembleBlock {
public:
  explicit EnsembleBlock(Block &block) : block_(&block) {}
  EnsembleBlock &member(const std::string &name, const Value &model, HostLine place = HostLine::current());
  /// The table that was measured.
  EnsembleBlock &votes(const std::string &path, HostLine place = HostLine::current());
  /// Everything else that may stand in it: set("size", range(1, 5)), minimize("step_time").
  Block &block() const { return *block_; }

private:
  Block *block_;
};

/// `unit NAME { … }`
class UnitBlock {
public:
  explicit UnitBlock(Block &block) : block_(&block) {}
  /// What it does with one opcode, in cycles: numbers, "4 cycles", "1 + bytes / 4".
  UnitBlock &operation(const std::string &opcode, const Value &latency,
                       const std::optional<Value> &interval = std::nullopt, HostLine place = HostLine::current());
  Block &block() const { return *block_; }

private:
  Block *block_;
};

/// `microarchitecture NAME { … }`, a core at the level of instructions, or a template in one. Names of units and
/// registers may have a count: unit("alu[units]", …), registers("r[16]", …). docs/microarchitecture.md says what parts
/// do to time.
class MicroarchitectureBlock {
public:
  explicit MicroarchitectureBlock(Block &block) : block_(&block) {}
  Block &opcode(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &fetch(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &stage(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &execute(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  UnitBlock unit(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &registers(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &memory(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  Block &cache(const std::string &name, const Entries &entries, HostLine place = HostLine::current());
  /// Parts of which an array has many copies: ("pe(width)").
  MicroarchitectureBlock declareTemplate(const std::string &name, HostLine place = HostLine::current());
  /// Copies of a template, with what the sides are joined to: ("mesh[4 x 4]", "pe(16 bit)", {{"west", "inputs"}}).
  void array(const std::string &name, const std::string &of, const Entries &sides = {},
             HostLine place = HostLine::current());
  /// Everything else: set("window", 16).
  Block &block() const { return *block_; }

private:
  Block *block_;
};

/// A file of the language: imports, and declarations in the order in which they were added.
class Description {
public:
  /// As in "catalog/gpt2.dnn", or the path of another text.
  Description &import(const std::string &path, HostLine place = HostLine::current());
  /// Of .accel. Names may have parameters: "chip(lanes = 128)".
  Block &accelerator(const std::string &name, HostLine place = HostLine::current()) {
    return body_.block("accelerator", name, place);
  }
  Block &cluster(const std::string &name, HostLine place = HostLine::current()) {
    return body_.block("cluster", name, place);
  }
  MicroarchitectureBlock microarchitecture(const std::string &name, HostLine place = HostLine::current()) {
    return MicroarchitectureBlock(body_.block("microarchitecture", name, place));
  }
  /// Of .dnn: model("mlp(hidden = 512)"); train("t", "mlp(hidden = 1024)", "my_chip"); jobs("night", "lab").
  Block &model(const std::string &name, HostLine place = HostLine::current()) {
    return body_.block("model", name, place);
  }
  Block &train(const std::string &name, const Value &model, const std::string &target,
               HostLine place = HostLine::current());
  Block &jobs(const std::string &name, const std::string &target, HostLine place = HostLine::current()) {
    return body_.block("jobs", name + " on " + target, place);
  }
  SparsityBlock sparsity(const std::string &training, HostLine place = HostLine::current()) {
    return SparsityBlock(body_.block("sparsity", "for " + training, place));
  }
  EnsembleBlock ensemble(const std::string &name, const std::string &training, HostLine place = HostLine::current()) {
    return EnsembleBlock(body_.block("ensemble", name + " of " + training, place));
  }
  /// Any other: ("module", "mlp(x, inner) -> y").
  Block &declare(const std::string &kind, const std::string &name, HostLine place = HostLine::current()) {
    return body_.block(kind, name, place);
  }

  std::string text() const;
  /// Where a line of the text was made, counted from 1.
  std::optional<HostLine> place(int64_t line) const;

private:
  std::vector<BuiltLine> lines() const;

  std::vector<std::pair<std::string, HostLine>> imports_;
  Block body_;
};

} // namespace accord::inline embedding
