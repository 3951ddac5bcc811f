#include "dialects/plan/PlanDialect.h"
#include "dialects/interfaces/Word.h"
#include "dialects/plan/ProblemText.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace accord::plan;

#include "dialects/plan/PlanDialect.cpp.inc"

void PlanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/plan/PlanOps.cpp.inc"
      >();
}

/// `[8]` after a blank: how many.
static ParseResult parseInstance(OpAsmParser &parser, IntegerAttr &number) {
  return failure(parser.parseLSquare() || parser.parseAttribute(number, parser.getBuilder().getI64Type()) ||
                 parser.parseRSquare());
}
static void printInstance(OpAsmPrinter &printer, Operation *, IntegerAttr number) {
  printer << " [" << number.getInt() << "]";
}

/// `[0]` right after a name: which one.
static ParseResult parseWhere(OpAsmParser &parser, IntegerAttr &number) { return parseInstance(parser, number); }
static void printWhere(OpAsmPrinter &printer, Operation *, IntegerAttr number) {
  printer << "[" << (number ? number.getInt() : 0) << "]";
}

#define GET_OP_CLASSES
#include "dialects/plan/PlanOps.cpp.inc"
