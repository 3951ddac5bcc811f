// Constant expressions of machines and trainings -> values. Names that nothing declares stay words
// (`bf16`, `weight_stationary`, `hbm.capacity`): whoever asked decides whether a word is allowed
// there.
#pragma once
#include "lib/language/syntax/Ast.h"
#include "lib/support/Diagnostics.h"
#include <functional>
#include <memory>

namespace accord {

struct Constant;
using Constants = std::vector<Constant>;

/// A name, with members: "tc.array.cols".
struct Word {
  std::string text;
  friend bool operator==(const Word &, const Word &) = default;
};
/// What is left open: every value from low to high (in steps, or the powers of two), or the members
/// of a set.
struct Choice {
  enum class Kind : uint8_t { Range, PowersOfTwo, Set };
  Kind kind = Kind::Set;
  Quantity low, high, step;
  std::shared_ptr<Constants> members; ///< of a Set
};
struct ListValue {
  std::shared_ptr<Constants> elements;
  bool shape = false; ///< written `128 x 128`
};
struct MapValue {
  std::vector<std::pair<ast::Name, std::shared_ptr<Constant>>> pairs;
};
/// mixed(bf16, gradients = fp32), fat_tree(oversubscription = 1), an operator over words: `0.95 *
/// hbm.capacity`.
struct CallValue {
  std::string name;
  std::vector<std::pair<std::string, std::shared_ptr<Constant>>> arguments; ///< first: "" by place
  size_t calls = 1; ///< in all, itself and those in its arguments, however often they are shared
};

struct Constant {
  SourceRange range;
  /// monostate: an error that has been reported.
  std::variant<std::monostate, Quantity, bool, ast::Text, Word, Choice, ListValue, MapValue, CallValue> content;
  bool failed() const { return std::holds_alternative<std::monostate>(content); }
  template <class T> const T *as() const { return std::get_if<T>(&content); }
  /// "the number 3", "'bf16'", "a set of 2 values": for messages.
  std::string describe() const;
};

/// What a name stands for where the expression is written; nothing if it is no value.
using Lookup = std::function<std::optional<Constant>(llvm::StringRef name, SourceRange at)>;

/// Errors are reported once, at the operator that cannot be applied.
Constant evaluate(const ast::Expr &expr, Diagnostics &diags, const Lookup &lookup);

/// One operator or function over finished numbers (min max ceil_div pow2 log2 sum): shared with
/// model bodies. The text says what is wrong; dimension errors name both dimensions.
Result<Quantity> applyArithmetic(ast::BinaryOp op, const Quantity &a, const Quantity &b);
std::optional<bool> applyComparison(ast::BinaryOp op, int order);
bool isComparison(ast::BinaryOp op);
/// `min`, `max` or `sum` of at least one number, all of one dimension.
Result<Quantity> applyFold(llvm::StringRef function, llvm::ArrayRef<Quantity> numbers);

/// All members of a choice of integers (or the one value), ascending; nothing after an error. At
/// most `most` of them.
std::optional<std::vector<int64_t>> integersOf(const Constant &value, Diagnostics &diags, llvm::StringRef what,
                                               int64_t min = 1, size_t max = 100000);

/// min, max, ceil_div, floor_div, pow2, log2, sum or len.
bool constantFunction(llvm::StringRef name);
/// A0116 if a call that was kept is neither an operator, a function, nor a word of the language
/// such as torus(4, 4) or nm(2, 4); whether it was reported.
bool reportUnknownFunction(const CallValue &call, SourceRange range, Diagnostics &diags);

} // namespace accord
