// SMT-LIB text through MLIR's `smt` dialect, in few words.
#pragma once
#include "mlir/Dialect/SMT/IR/SMTOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace accord::smtquery {

using Term = mlir::Value;
using Terms = llvm::SmallVector<Term>;

/// One problem: symbols, assertions, and the question. Only symbols are written once; a term is
/// written wherever an assertion has it, so what is used twice deserves a symbol.
class SmtQueryBuilder {
public:
  explicit SmtQueryBuilder(const char *logic);

  Term boolean(const std::string &name);
  Term bits(const std::string &name, unsigned width);
  Term integer(const std::string &name);
  /// A new symbol that equals the term.
  Term define(const std::string &name, Term term);

  Term truth(bool value) { return make<mlir::smt::BoolConstantOp>(value); }
  Term number(int64_t value);
  Term bitsOf(const llvm::APInt &value);

  // Of no terms: true and false; of bits: at least one.
  Term all(const Terms &terms);
  Term any(const Terms &terms);
  Term no(Term term) { return make<mlir::smt::NotOp>(term); }
  Term implies(const Terms &conditions, Term term);
  Term choose(Term condition, Term yes, Term otherwise);
  Term equal(Term a, Term b) { return make<mlir::smt::EqOp>(a, b); }

  // Of bits: bitwise, sums modulo their width, numbers without a sign.
  Term both(Term a, Term b) { return make<mlir::smt::BVAndOp>(a.getType(), a, b); }
  Term either(const Terms &terms);
  Term differ(Term a, Term b) { return make<mlir::smt::BVXOrOp>(a.getType(), a, b); }
  Term complement(Term term) { return make<mlir::smt::BVNotOp>(term.getType(), term); }
  Term add(Term a, Term b) { return make<mlir::smt::BVAddOp>(a.getType(), a, b); }
  Term concatenated(Term high, Term low) { return make<mlir::smt::ConcatOp>(high, low); }
  Term extract(Term term, unsigned low, unsigned width);
  Term atMost(Term a, Term b) { return make<mlir::smt::BVCmpOp>(mlir::smt::BVCmpPredicate::ule, a, b); }

  // Of integers.
  Term sum(const Terms &terms);
  Term less(Term a, Term b) { return make<mlir::smt::IntCmpOp>(mlir::smt::IntPredicate::lt, a, b); }
  Term lessOrEqual(Term a, Term b) { return make<mlir::smt::IntCmpOp>(mlir::smt::IntPredicate::le, a, b); }

  void require(Term term);
  /// Ends the problem with the question.
  std::string print();

private:
  mlir::MLIRContext context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  mlir::Location at;

  template <typename Op, typename... Arguments> Term make(Arguments &&...arguments) {
    return Op::create(builder, at, std::forward<Arguments>(arguments)...).getResult();
  }
};

/// A name of the user as part of a symbol: letters, digits and . - _ alone.
std::string symbol(const std::string &kind, const std::string &name);

} // namespace accord::smtquery
