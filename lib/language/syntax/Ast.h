// What a `.accel` or `.dnn` file says, as plain data. Every node knows its place; documentation
// comments stay attached. Nothing is resolved here: kinds, keys and names are checked against their
// schema by the elaborator.
#pragma once
#include "lib/support/Quantity.h"
#include "lib/support/SourceManager.h"
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace accord::ast {

struct Expr;
using ExprPtr = std::unique_ptr<Expr>;

struct Name {
  std::string text;
  SourceRange range;
  bool empty() const { return text.empty(); }
};

/// `value` or `name = value`.
struct Argument {
  std::optional<Name> name;
  ExprPtr value;
};

// ---- Expressions
// -------------------------------------------------------------------------------------------------

struct Number { ///< 1536, 0.95, 940 MHz
  Quantity value;
  bool hasUnit = false;
  bool valid = true; ///< false: already reported (unknown unit, absurd exponent)
  std::string text;  ///< as written
};
struct Text { ///< "a100.calibration", without quotes and escapes
  std::string value;
};
struct Boolean {
  bool value = false;
};
struct Reference { ///< a name
  std::string name;
};
struct Member { ///< tc.array
  ExprPtr object;
  Name member;
};
struct Index { ///< s[0], int32[seq] is no index but a Statement::Input
  ExprPtr object;
  std::vector<ExprPtr> indices;
};
struct Call { ///< linear(x, out = inner), mixed(bf16)
  ExprPtr callee;
  std::vector<Argument> arguments;
};
enum class UnaryOp : uint8_t { Negate, Plus, Not };
struct Unary {
  UnaryOp op;
  ExprPtr operand;
};
enum class BinaryOp : uint8_t {
  Or,
  And,
  Equal,
  NotEqual,
  Less,
  LessEqual,
  Greater,
  GreaterEqual,
  Add,
  Subtract,
  Multiply,
  Divide,
  Modulo,
  Power
};
llvm::StringRef spelling(BinaryOp op);
llvm::StringRef spelling(UnaryOp op);
/// first op1 rest1 op2 rest2 …, all of one precedence, to be folded from the left (a long sum is
/// one flat node).
struct Chain {
  struct Link {
    BinaryOp op;
    SourceRange opRange;
    ExprPtr operand;
  };
  ExprPtr first;
  std::vector<Link> rest;
};
struct Conditional { ///< if c1 then v1 else if c2 then v2 … else otherwise
  struct Branch {
    ExprPtr condition, value;
  };
  std::vector<Branch> branches;
  ExprPtr otherwise;
};
struct List { ///< [a, b]
  std::vector<ExprPtr> elements;
};
struct Set { ///< {8, 16, 32}: as a value a choice, as the end of a path several nodes
  std::vector<ExprPtr> elements;
};
struct Map { ///< {bf16: 312 TFLOP/s, tf32: 156 TFLOP/s}, {0 h: 16, 8 h: 8}: a key is a name, or a number as written
  struct Pair {
    Name key;
    ExprPtr value;
  };
  std::vector<Pair> pairs;
};
struct Range { ///< [pow2] low..high [step s], both ends included
  bool powersOfTwo = false;
  ExprPtr low, high, step; ///< step may be null
};
struct Shape { ///< 128 x 128 (only `.accel`)
  std::vector<ExprPtr> dims;
};

struct Expr {
  SourceRange range;
  std::variant<Number, Text, Boolean, Reference, Member, Index, Call, Unary, Chain, Conditional, List, Set, Map, Range,
               Shape>
      node;
  template <class T> const T *as() const { return std::get_if<T>(&node); }
};

// ---- Entries: what stands in the block of a machine, training, sparsity, ensemble or jobs
// ------------------------------

/// Words after a value or a block; a null pointer or empty text means absent.
struct Clauses {
  std::optional<Text> source; ///< source "data sheet"
  SourceRange sourceRange;
  std::optional<Text> from; ///< from "a100.calibration"
  SourceRange fromRange;
  ExprPtr per;        ///< per gpu, per 1 MiB
  ExprPtr weight;     ///< weight 0.5
  ExprPtr confidence; ///< confidence 0.95
  ExprPtr samples;    ///< samples 10000
  ExprPtr error;      ///< error = 0.08 (after a member)
  bool transposable = false;
};

struct Entry;

/// name = value …   (`clock = 940 MHz`, `price = 4.10 USD/h per gpu`)
struct KeyValue {
  Name key;
  ExprPtr value;
};

/// kind [name] [(arguments)] [[count]] [: type[(arguments)]] [of pattern] [= value] [{ … }]
/// `memory hbm : dram {…}`, `core mxu[2] : tensor {…}`, `power {…}`, `sparse nm(2, 4) {…}`, `area
/// model = "…"`, `efficiency from "…"`, `weights of block.* = nm(2, 4)`, `accuracy "top1" from
/// "…"`, `job a = gpt3 {…}`, `member wide = gpt(hidden = 6144)`, `wide thin = 0.027`.
struct Node {
  Name kind;
  Name name;                 ///< may be empty
  std::vector<Name> more;    ///< joint_error { wide thin thin = 0.01 }: those after the second
  std::optional<Text> label; ///< accuracy "top1"
  bool hasArguments = false;
  std::vector<Argument> arguments; ///< sparse nm(2, 4)
  ExprPtr count;                   ///< [2]; may be a choice
  Name type;                       ///< may be empty
  std::vector<Argument> typeArguments;
  Name pattern;  ///< block.*, relu*: a glob over operation names; empty if none
  ExprPtr value; ///< may be null
  bool hasBlock = false;
  std::vector<Entry> entries;
};

/// path a -> b -> {c, d}: stops in order, each one or several names.
struct Path {
  std::vector<std::vector<Name>> stops;
};

enum class RuleKind : uint8_t { Require, Prefer, Maximize, Minimize };
/// require [label:] expr, prefer …, maximize …, minimize …
struct Rule {
  RuleKind kind;
  Name label; ///< may be empty
  ExprPtr expr;
};

struct Entry {
  SourceRange range;
  std::string doc; ///< documentation comment before it, lines joined by \n
  // Most entries are a key and its value: what is large or rare lies elsewhere.
  std::variant<KeyValue, std::unique_ptr<Node>, Path, Rule> node;
  std::unique_ptr<Clauses> given; ///< null: none

  const Clauses &clauses() const {
    static const Clauses none;
    return given ? *given : none;
  }
  template <class T> const T *as() const {
    if constexpr (std::is_same_v<T, Node>) {
      auto *boxed = std::get_if<std::unique_ptr<Node>>(&node);
      return boxed ? boxed->get() : nullptr;
    } else {
      return std::get_if<T>(&node);
    }
  }
};

// ---- Statements: the body of a module or model
// --------------------------------------------------------------------------

struct Statement;

struct Input { ///< input tokens : int32[seq]
  Name name, type;
  std::vector<ExprPtr> dims;
};
enum class BindKind : uint8_t { Let, Var, Assign, Gradient, Surrogate };
struct Bind { ///< let h = …, var x = …, x = …, let v, i = topk(…); in operations gradient q = …
  BindKind kind;
  std::vector<Name> names;
  ExprPtr value;
};
struct Repeat { ///< repeat layers as block {…}
  ExprPtr count;
  Name name; ///< may be empty
  std::vector<Statement> body;
};
struct Scan { ///< scan x, z as xt, zt -> y {…}: a step for each slice along the first axis
  bool reverse = false;
  std::vector<ExprPtr> sources;     ///< at least one
  std::vector<Name> steps, results; ///< at least one step; values collected of every step
  std::vector<Statement> body;
};
struct For { ///< for i in 0..3 {…}, for c in [64, 128] {…}: unrolled
  Name variable;
  ExprPtr range;
  std::vector<Statement> body;
};
struct When { ///< if c {…} else if d {…} else {…}, decided when the model is instantiated
  struct Branch {
    ExprPtr condition; ///< null for the final else
    std::vector<Statement> body;
  };
  std::vector<Branch> branches;
};
struct Loss { ///< loss cross_entropy(…)
  ExprPtr value;
};
struct Statement {
  SourceRange range;
  std::string doc;
  std::variant<Input, Bind, Repeat, Scan, For, When, Loss> node;
  template <class T> const T *as() const { return std::get_if<T>(&node); }
};

// ---- Files
// ------------------------------------------------------------------------------------------------------------

struct Parameter { ///< hidden, hidden = 3, hidden : int = 3; in operations q[i, d]
  Name name, type;
  bool isOperand = false;    ///< has indices
  std::vector<Name> indices; ///< of an operand
  ExprPtr defaultValue;      ///< null if required
};

enum class DeclarationKind : uint8_t {
  Constant,
  Accelerator,
  Cluster,
  Microarchitecture,
  Operation,
  Module,
  Model,
  Train,
  Sparsity,
  Ensemble,
  Jobs,
  Framework,
  Infer,
  Tuning
};
llvm::StringRef spelling(DeclarationKind kind);
std::string withArticle(DeclarationKind kind); ///< "a model", "an operation"
/// Whether it says that a model runs on a machine: `train` and `infer`.
bool runsModel(DeclarationKind kind);

/// accelerator t(clock = 1 GHz) {…} · operation o(x[i]) -> y[i] {…} · module m(x) -> y {…} · train
/// t = gpt() on selene {…} · infer t = gpt() on h100 {…} · sparsity for gpt3 {…} · ensemble voters of gpt3 {…} · jobs
/// night {…} · tuning widths {…} · framework megatron {…} · let lanes = 128
struct Declaration {
  DeclarationKind kind;
  SourceRange range;
  SourceRange kindRange;
  std::string doc;
  Name name; ///< empty only for `sparsity for …`
  bool hasParameters = false;
  std::vector<Parameter> parameters;
  std::vector<Name> results;   ///< module … -> y, z; operation … -> y[i, j]
  std::vector<Name> indices;   ///< Operation: of its result
  ExprPtr value;               ///< Constant: its value; Train, Infer: gpt() or gpt
  Name target;                 ///< Train, Infer, Jobs: `on`; Sparsity: `for`; Ensemble: `of`; may be empty
  std::vector<Entry> entries;  ///< all but Operation, Module, Model, Constant
  std::vector<Statement> body; ///< Operation, Module, Model
};

struct Import {
  SourceRange range, pathRange;
  std::string path;
};

enum class Language : uint8_t { Accel, Dnn };

struct Comment {
  SourceRange range; ///< from `//` to the end of the line, without the line end
  bool documentation = false;
};

/// What the formatter needs beyond the tree: where entries, statements and declarations start, and
/// which braces open a block (all others open a set or a map). Byte offsets, ascending.
struct Layout {
  enum class Kind : uint8_t { Word, Name, Number, Text, Symbol }; ///< Word: it means something at this place (`step`)
  struct Token {
    SourceRange range;
    Kind kind;
    uint16_t type = 0; ///< of the generated parsers, for `ParseMemory`
  };
  std::vector<Token> tokens;
  std::vector<uint32_t> starts, blocks;
};

struct File {
  FileId id;
  Language language = Language::Accel;
  std::vector<Import> imports;
  std::vector<Declaration> declarations;
  std::vector<Comment> comments;
  Layout layout;
  bool complete = true; ///< false if there were syntax errors: what could be understood is still here
  /// Bytes at which something was not understood, and the first ones of declarations in which something is wrong.
  std::vector<uint32_t> errorOffsets;
};

} // namespace accord::ast
