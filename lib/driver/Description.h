// Descriptions written by a program: machines, models, trainings and jobs as text of the languages `.accel` and `.dnn`
// (docs/language.md), which say what may stand in them. What is wrong in a description is therefore told by the command
// that reads it, with its line. No header of LLVM is needed here.
#pragma once
#include <concepts>
#include <cstdint>
#include <list>
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

/// What stands in one pair of braces, in the order in which it was added.
class Block {
public:
  /// `key = value`. A key that is there gets the new value.
  Block &set(const std::string &key, const Value &value);
  /// A line as it is written in the language: "maximize throughput", "path hbm -> tc".
  Block &add(const std::string &line);
  /// A block: ("memory", "hbm : dram"), ("search"). Its address stays the same.
  Block &block(const std::string &kind, const std::string &name = "");

  // In a model or module, and in blocks of theirs.
  /// `input NAME : TYPE`, as in ("tokens", "int32[seq]"); returns its name.
  Value input(const std::string &name, const std::string &type);
  /// `let NAME = VALUE`; returns its name.
  Value let(const std::string &name, const Value &value);
  /// `loss VALUE`
  Block &loss(const Value &value);

private:
  friend class Description;
  void print(std::string &out, const std::string &indent) const;

  struct Entry {
    std::string line; ///< the key where there is a value, the head of a block
    bool hasValue = false;
    std::string value;
    std::list<Block> blocks; ///< one, or none
  };
  std::list<Entry> entries_;
};

/// A file of the language: imports, and declarations in the order in which they were added.
class Description {
public:
  /// As in "catalog/gpt2.dnn", or the path of another text.
  Description &import(const std::string &path);
  /// Of .accel. Names may have parameters: "chip(lanes = 128)".
  Block &accelerator(const std::string &name) { return body_.block("accelerator", name); }
  Block &cluster(const std::string &name) { return body_.block("cluster", name); }
  /// Of .dnn: model("mlp(hidden = 512)"); train("t", "mlp(hidden = 1024)", "my_chip"); jobs("night", "lab").
  Block &model(const std::string &name) { return body_.block("model", name); }
  Block &train(const std::string &name, const Value &model, const std::string &target);
  Block &jobs(const std::string &name, const std::string &target) {
    return body_.block("jobs", name + " on " + target);
  }
  /// Any other: ("sparsity", "for t"), ("ensemble", "voters of t"), ("module", "mlp(x, inner) -> y").
  Block &declare(const std::string &kind, const std::string &name) { return body_.block(kind, name); }

  std::string text() const;

private:
  std::vector<std::string> imports_;
  Block body_;
};

} // namespace accord::inline embedding
