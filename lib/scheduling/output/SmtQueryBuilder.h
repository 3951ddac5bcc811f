// SMT-LIB text through MLIR's `smt` dialect, in few words.
#pragma once
#include "mlir/Dialect/SMT/IR/SMTOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <span>
#include <string>

namespace accord::smtquery {

using Term = mlir::Value;
using Terms = llvm::SmallVector<Term>;

/// One problem: symbols, assertions, and the question. Only symbols are written once; a term is
/// written wherever an assertion has it, so what is used twice deserves a symbol.
class SmtQueryBuilder {
public:
  explicit SmtQueryBuilder(const char *logic);
  ~SmtQueryBuilder();

  Term boolean(const std::string &name);
  Term bits(const std::string &name, unsigned width);
  Term integer(const std::string &name);
  /// A new symbol that equals the term.
  Term define(const std::string &name, Term term);

  Term truth(bool value);
  Term number(int64_t value);
  Term bitsOf(const llvm::APInt &value);

  // Of no terms: true and false; of bits: at least one.
  Term all(const Terms &terms);
  Term any(const Terms &terms);
  Term no(Term term);
  Term implies(const Terms &conditions, Term term);
  Term choose(Term condition, Term yes, Term otherwise);
  Term equal(Term a, Term b);

  Term both(Term a, Term b); ///< bitwise
  Term either(const Terms &terms);
  Term differ(Term a, Term b);
  Term complement(Term term);
  Term add(Term a, Term b); ///< of bits, modulo their width
  Term concatenated(Term high, Term low);
  Term extract(Term term, unsigned low, unsigned width);
  Term atMost(Term a, Term b); ///< of bits, unsigned

  Term sum(const Terms &terms); ///< of integers
  Term difference(Term a, Term b);
  Term less(Term a, Term b);
  Term lessOrEqual(Term a, Term b);

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
