#include "lib/scheduling/output/SmtQueryBuilder.h"
#include "mlir/Dialect/SMT/IR/SMTDialect.h"
#include "mlir/Target/SMTLIB/ExportSMTLIB.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace accord::smtquery {

SmtQueryBuilder::SmtQueryBuilder(const char *logic)
    : context(MLIRContext::Threading::DISABLED), builder(&context), at(builder.getUnknownLoc()) {
  context.loadDialect<smt::SMTDialect>();
  module = ModuleOp::create(builder, at);
  builder.setInsertionPointToEnd(module->getBody());
  auto solver = smt::SolverOp::create(builder, at, TypeRange(), ValueRange());
  builder.setInsertionPointToEnd(&solver.getBodyRegion().emplaceBlock());
  smt::SetLogicOp::create(builder, at, logic);
}

std::string symbol(const std::string &kind, const std::string &name) {
  std::string text = kind + "_";
  for (char c : name)
    text += llvm::isAlnum(c) || c == '.' || c == '-' ? c : '_';
  return text;
}

Term SmtQueryBuilder::boolean(const std::string &name) {
  return make<smt::DeclareFunOp>(smt::BoolType::get(&context), builder.getStringAttr(name));
}
Term SmtQueryBuilder::bits(const std::string &name, unsigned width) {
  return make<smt::DeclareFunOp>(smt::BitVectorType::get(&context, width), builder.getStringAttr(name));
}
Term SmtQueryBuilder::integer(const std::string &name) {
  return make<smt::DeclareFunOp>(smt::IntType::get(&context), builder.getStringAttr(name));
}
Term SmtQueryBuilder::define(const std::string &name, Term term) {
  Term fresh = make<smt::DeclareFunOp>(term.getType(), builder.getStringAttr(name));
  require(equal(fresh, term));
  return fresh;
}

Term SmtQueryBuilder::number(int64_t value) {
  return make<smt::IntConstantOp>(builder.getIntegerAttr(builder.getIntegerType(64, true), APInt(64, value, true)));
}
Term SmtQueryBuilder::bitsOf(const APInt &value) { return make<smt::BVConstantOp>(value); }

Term SmtQueryBuilder::all(const Terms &terms) {
  return terms.empty()       ? truth(true)
         : terms.size() == 1 ? terms[0]
                             : make<smt::AndOp>(smt::BoolType::get(&context), terms);
}
Term SmtQueryBuilder::any(const Terms &terms) {
  return terms.empty()       ? truth(false)
         : terms.size() == 1 ? terms[0]
                             : make<smt::OrOp>(smt::BoolType::get(&context), terms);
}
Term SmtQueryBuilder::implies(const Terms &conditions, Term term) {
  return conditions.empty() ? term : make<smt::ImpliesOp>(all(conditions), term);
}
Term SmtQueryBuilder::choose(Term condition, Term yes, Term otherwise) {
  return make<smt::IteOp>(yes.getType(), condition, yes, otherwise);
}

Term SmtQueryBuilder::either(const Terms &terms) {
  Term result = terms[0];
  for (Term term : llvm::drop_begin(terms))
    result = make<smt::BVOrOp>(term.getType(), result, term);
  return result;
}
Term SmtQueryBuilder::extract(Term term, unsigned low, unsigned width) {
  return make<smt::ExtractOp>(smt::BitVectorType::get(&context, width), low, term);
}

Term SmtQueryBuilder::sum(const Terms &terms) {
  return terms.empty()       ? number(0)
         : terms.size() == 1 ? terms[0]
                             : make<smt::IntAddOp>(smt::IntType::get(&context), terms);
}

void SmtQueryBuilder::require(Term term) { smt::AssertOp::create(builder, at, term); }

std::string SmtQueryBuilder::print() {
  auto check = smt::CheckOp::create(builder, at, TypeRange());
  for (Region &region : check->getRegions()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(&region.emplaceBlock());
    smt::YieldOp::create(builder, at);
  }
  smt::YieldOp::create(builder, at);
  std::string text;
  llvm::raw_string_ostream out(text);
  smt::SMTEmissionOptions options;
  options.inlineSingleUseValues = true;
  if (failed(smt::exportSMTLIB(*module, out, options)))
    return {};
  // The question ends the file: forgetting the answer afterwards is of no use to anyone.
  if (size_t reset = text.rfind("(reset)"); reset != std::string::npos)
    text.erase(reset);
  return text;
}

} // namespace accord::smtquery
