// Operators on values, the functions of expressions by name, and calls of functions that do not
// exist.
#include "lib/language/syntax/Evaluate.h"
#include "llvm/ADT/StringExtras.h"
#include <fmt/format.h>
#include <set>

namespace accord {

Result<Quantity> applyArithmetic(ast::BinaryOp op, const Quantity &a, const Quantity &b) {
  switch (op) {
  case ast::BinaryOp::Add:
    return add(a, b);
  case ast::BinaryOp::Subtract:
    return subtract(a, b);
  case ast::BinaryOp::Multiply:
    return multiply(a, b);
  case ast::BinaryOp::Divide:
    return divide(a, b);
  case ast::BinaryOp::Modulo:
    return modulo(a, b);
  case ast::BinaryOp::Power:
    return power(a, b);
  default:
    return Error{Code::WrongType, "not an arithmetic operator"};
  }
}

Result<Quantity> applyFold(llvm::StringRef function, llvm::ArrayRef<Quantity> numbers) {
  Quantity result = numbers.front();
  for (const Quantity &next : numbers.drop_front()) {
    if (function == "sum") {
      auto total = add(result, next);
      if (!total)
        return total;
      result = *total;
      continue;
    }
    auto order = compare(result, next);
    if (!order)
      return order.error();
    if (function == "min" ? *order > 0 : *order < 0)
      result = next;
  }
  return result;
}

bool isComparison(ast::BinaryOp op) { return op >= ast::BinaryOp::Equal && op <= ast::BinaryOp::GreaterEqual; }

std::optional<bool> applyComparison(ast::BinaryOp op, int order) {
  switch (op) {
  case ast::BinaryOp::Equal:
    return order == 0;
  case ast::BinaryOp::NotEqual:
    return order != 0;
  case ast::BinaryOp::Less:
    return order < 0;
  case ast::BinaryOp::LessEqual:
    return order <= 0;
  case ast::BinaryOp::Greater:
    return order > 0;
  case ast::BinaryOp::GreaterEqual:
    return order >= 0;
  default:
    return std::nullopt;
  }
}

static const std::vector<std::string> kFunctions = {"min",  "max",  "ceil_div", "floor_div",
                                                    "pow2", "log2", "sum",      "len"};

bool constantFunction(llvm::StringRef name) { return llvm::is_contained(kFunctions, name.str()); }

bool reportUnknownFunction(const CallValue &call, SourceRange range, Diagnostics &diags) {
  static const std::set<std::string> kWords = {"and",          "or",       "not",        "torus", "mesh",
                                               "ring",         "fat_tree", "nm",         "block", "mixed",
                                               "unstructured", "channel",  "interleaved"};
  if (!llvm::isAlpha(call.name[0]) || constantFunction(call.name) || kWords.count(call.name))
    return false;
  diags.error(Code::UnknownFunction, range, fmt::format("unknown function '{}'", call.name))
      .suggest(nearest(call.name, kFunctions))
      .help(fmt::format("functions are {}", fmt::join(kFunctions, ", ")));
  return true;
}

} // namespace accord
