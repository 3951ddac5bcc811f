// What an expression is worth at compile time. Names come from the caller; every error is a diagnostic, reported once.
#pragma once
#include "lib/support/Diagnostics.h"
#include "lib/syntax/Ast.h"
#include <functional>

namespace accord {

struct Value;

struct Invalid {}; ///< an error was already reported: say nothing more about it
struct Symbol {    ///< a name that stands for itself: weight_stationary, vmem, bf16
  std::string name;
};
struct ListValue { ///< [a, b]
  std::vector<Value> elements;
};
struct MapValue { ///< {bf16: 312 TFLOP/s}
  struct Pair;
  std::vector<Pair> pairs;
  const Value *find(llvm::StringRef key) const;
};
struct ShapeValue { ///< 128 x 128; members rows, cols
  std::vector<Value> dims;
};
struct SetValue { ///< {8, 16, 32}: one of them is to be chosen
  std::vector<Value> elements;
};
/// low..high, both included. All three are in base units; with `powersOfTwo` the elements are unit * 2^k.
struct RangeValue {
  Quantity low, high, step;
  Quantity unit; ///< of the upper end: `pow2 2..128 MiB` has unit MiB, plain numbers have 1
  bool powersOfTwo = false;
};
struct CallValue { ///< mixed(bf16), torus(4, 4), fat_tree(oversubscription = 1)
  struct Argument;
  std::string name;
  std::vector<Argument> arguments;
};
struct Deferred { ///< depends on a choice (or on whatever the environment defers): only the expression is known
  const ast::Expr *expr = nullptr;
};

struct Value {
  SourceRange range;
  std::variant<Invalid, Quantity, bool, std::string, Symbol, ListValue, MapValue, ShapeValue, SetValue, RangeValue, CallValue,
               Deferred>
      node;
  template <class T> const T *as() const { return std::get_if<T>(&node); }
  bool invalid() const { return as<Invalid>() != nullptr; }
  /// A set or a range, or a shape, list or call with one inside: the description is a design space.
  bool hasChoice() const;
};
struct MapValue::Pair {
  ast::Name key;
  Value value;
};
struct CallValue::Argument {
  ast::Name name; ///< empty if by place
  Value value;
};

struct Environment {
  /// The value of a name (one part) or of a dotted path (several); nothing if there is none. A path that is not found
  /// is tried again without its last part, so that members of shapes and maps need no work here.
  std::function<std::optional<Value>(llvm::ArrayRef<ast::Name> path)> resolve;
  /// Names that could have been meant, for "did you mean".
  std::function<std::vector<std::string>()> names;
  bool symbols = false; ///< unknown names stand for themselves
  bool calls = false;   ///< unknown functions stand for themselves, as CallValue
};

/// The value of an expression; Invalid after an error. Functions: min max ceil_div floor_div pow2 log2 sum len.
Value evaluate(Diagnostics &diags, const ast::Expr &expr, const Environment &environment);

// Evaluation for a key that wants something definite; `what` names it in messages ("bandwidth"). Nothing after an error.

/// Missing unit (A0202), wrong dimension (A0203), a choice (A0307), another type (A0301).
std::optional<Quantity> evaluateQuantity(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                         Dimension dimension, llvm::StringRef what);
/// A plain integer in [low, high], else A0207, A0308 or A0302.
std::optional<int64_t> evaluateInteger(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                       int64_t low, int64_t high, llvm::StringRef what);
std::optional<bool> evaluateBoolean(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                    llvm::StringRef what);
std::optional<std::string> evaluateText(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                        llvm::StringRef what);
/// One of `allowed` (A0305 with the nearest); any name if `allowed` is empty.
std::optional<std::string> evaluateName(Diagnostics &diags, const ast::Expr &expr, const Environment &environment,
                                        llvm::ArrayRef<std::string> allowed, llvm::StringRef what);
/// The same checks on a value already computed.
std::optional<Quantity> asQuantity(Diagnostics &diags, const Value &value, Dimension dimension, llvm::StringRef what);
std::optional<int64_t> asInteger(Diagnostics &diags, const Value &value, int64_t low, int64_t high,
                                 llvm::StringRef what);

/// How many values a choice has (1 for anything else); nothing beyond int64.
std::optional<int64_t> countOf(const Value &value);
/// The values of a set or range in order, of anything else itself; nothing if they are more than `limit`.
std::optional<std::vector<Value>> expand(const Value &value, int64_t limit = 1000000);

/// "a number", "bandwidth (B/s)", "a text", "a list": what messages call a value.
std::string describe(const Value &value);
/// The value in the language's syntax.
std::string print(const Value &value);

} // namespace accord
