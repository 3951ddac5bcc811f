#include "dialects/jobs/JobsDialect.h"
#include "dialects/interfaces/Word.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace accord::jobs;

#include "dialects/jobs/JobsDialect.cpp.inc"

void JobsDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/jobs/JobsOps.cpp.inc"
      >();
}

/// `16, 8 from 4`: pairs of a slot and an amount from it on, the first from slot 0.
static ParseResult parseSteps(OpAsmParser &parser, DenseI64ArrayAttr &steps) {
  SmallVector<int64_t> list;
  auto one = [&]() -> ParseResult {
    int64_t from = 0, amount = 0;
    if (parser.parseInteger(amount) || (!list.empty() && (parser.parseKeyword("from") || parser.parseInteger(from))))
      return failure();
    list.append({from, amount});
    return success();
  };
  if (parser.parseCommaSeparatedList(one))
    return failure();
  steps = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

static void printSteps(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr steps) {
  for (int64_t i = 0; i + 1 < steps.size(); i += 2) {
    printer << (i ? ", " : "") << steps[i + 1];
    if (i)
      printer << " from " << steps[i];
  }
}

/// `"h100" 8, "power" 5600`: a list of a name and an amount each.
static ParseResult parseUses(OpAsmParser &parser, ArrayAttr &uses) {
  Builder &builder = parser.getBuilder();
  SmallVector<Attribute> list;
  auto one = [&]() -> ParseResult {
    StringAttr name;
    int64_t amount = 0;
    if (parser.parseAttribute(name) || parser.parseInteger(amount))
      return failure();
    list.push_back(builder.getArrayAttr({name, builder.getI64IntegerAttr(amount)}));
    return success();
  };
  if (parser.parseCommaSeparatedList(one))
    return failure();
  uses = builder.getArrayAttr(list);
  return success();
}

static void printUses(OpAsmPrinter &printer, Operation *, ArrayAttr uses) {
  llvm::interleaveComma(uses.getAsRange<ArrayAttr>(), printer, [&](ArrayAttr use) {
    printer.printAttributeWithoutType(use[0]);
    printer << ' ' << cast<IntegerAttr>(use[1]).getInt();
  });
}

/// `3:8, 4:2`: pairs of a server and devices of it.
static ParseResult parseServers(OpAsmParser &parser, DenseI64ArrayAttr &servers) {
  SmallVector<int64_t> list;
  auto one = [&]() -> ParseResult {
    int64_t server = 0, devices = 0;
    if (parser.parseInteger(server) || parser.parseColon() || parser.parseInteger(devices))
      return failure();
    list.append({server, devices});
    return success();
  };
  if (parser.parseCommaSeparatedList(one))
    return failure();
  servers = parser.getBuilder().getDenseI64ArrayAttr(list);
  return success();
}

static void printServers(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr servers) {
  for (int64_t i = 0; i + 1 < servers.size(); i += 2)
    printer << (i ? ", " : "") << servers[i] << ":" << servers[i + 1];
}

#define GET_OP_CLASSES
#include "dialects/jobs/JobsOps.cpp.inc"
