// The fused operation: syntax, shape, and work as the sum of its body.
#include "dialects/dnn/Dnn.h"
#include "dialects/interfaces/Note.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

ParseResult FusedOp::parse(OpAsmParser &parser, OperationState &result) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     [&]() -> ParseResult {
                                       OpAsmParser::Argument &argument = arguments.emplace_back();
                                       OpAsmParser::UnresolvedOperand operand;
                                       return failure(parser.parseArgument(argument) || parser.parseEqual() ||
                                                      parser.parseOperand(operand) ||
                                                      parser.parseColonType(argument.type) ||
                                                      parser.resolveOperand(operand, argument.type, result.operands));
                                     }) ||
      parser.parseOptionalArrowTypeList(result.types) || parser.parseRegion(*result.addRegion(), arguments))
    return failure();
  return parser.parseOptionalAttrDict(result.attributes);
}

void FusedOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(llvm::zip(getBody().getArguments(), getOperands()), printer, [&](auto pair) {
    printer << std::get<0>(pair) << " = " << std::get<1>(pair) << " : " << std::get<1>(pair).getType();
  });
  printer << ")";
  printer.printOptionalArrowTypeList(getResultTypes());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

YieldOp FusedOp::getYield() { return cast<YieldOp>(getBlock().getTerminator()); }

SmallVector<WorkOpInterface> FusedOp::getBodies() {
  SmallVector<WorkOpInterface> bodies;
  for (Operation &op : getBlock())
    if (auto work = dyn_cast<WorkOpInterface>(op); work && work.getCoreKind() != WorkCore::None)
      bodies.push_back(work);
  return bodies;
}

WorkOpInterface FusedOp::getMain() {
  SmallVector<WorkOpInterface> bodies = getBodies();
  for (WorkOpInterface body : bodies)
    if (body.isContraction())
      return body;
  for (WorkOpInterface body : bodies)
    if (llvm::is_contained(body.getWork().kinds, utils::IteratorType::reduction))
      return body;
  return bodies.back();
}

LogicalResult FusedOp::verifyRegions() {
  if (ValueRange(getBody().getArguments()).getTypes() != getOperandTypes())
    return emitError() << "'dnn.fused' must read its operands as what they are";
  auto yield = getBlock().empty() ? YieldOp() : dyn_cast<YieldOp>(getBlock().back());
  if (!yield)
    return emitError() << "'dnn.fused' must end in 'dnn.yield'";
  if (yield.getCarried().getTypes() != getResultTypes() || !yield.getStashed().empty())
    return yield.emitError() << "'dnn.yield' must give the results of 'dnn.fused' and stash nothing"
                             << note(getLoc(), "of this operation");
  unsigned contractions = 0;
  for (Operation &op : getBlock().without_terminator()) {
    auto work = dyn_cast<WorkOpInterface>(op);
    if (!work || !isMovable(&op) || op.getNumRegions() != 0 || work.getCoreKind() == WorkCore::Network)
      return op.emitError() << "'" << op.getName() << "' cannot be part of 'dnn.fused'";
    contractions += work.isContraction();
  }
  if (getBodies().empty())
    return emitError() << "'dnn.fused' holds no operation that does work";
  if (contractions > 1)
    return emitError() << "'dnn.fused' holds " << contractions << " contractions, the most is 1";
  return success();
}

// ---- work

bool FusedOp::isContraction() { return getMain().isContraction(); }
WorkCore FusedOp::getCoreKind() { return getMain().getCoreKind(); }
int64_t FusedOp::getFlopsPerPoint() { return getMain().getFlopsPerPoint(); }

std::optional<int64_t> FusedOp::getFlops(int64_t batch) {
  std::optional<int64_t> sum = 0;
  for (WorkOpInterface body : getBodies())
    sum = checkedAdd(sum, body.getFlops(batch));
  return sum;
}

std::optional<int64_t> FusedOp::getBytesRead(int64_t batch) {
  std::optional<int64_t> sum = 0;
  llvm::SmallDenseSet<Value> seen;
  for (Value operand : getOperands()) {
    Value shown = operand;
    for (auto view = shown.getDefiningOp<ReshapeOp>(); view; view = shown.getDefiningOp<ReshapeOp>())
      shown = view.getX();
    if (seen.insert(shown).second)
      sum = checkedAdd(sum, bytesOf(operand.getType(), batch));
  }
  return sum;
}

/// Maps are known for what the main operation reads and for what lies as its result does; the
/// others are left open.
Work FusedOp::getWork() {
  WorkOpInterface main = getMain();
  Work inner = main.getWork(), work;
  work.domain = inner.domain;
  work.kinds = inner.kinds;
  unsigned operands = main->getNumOperands();
  auto mapOf = [&](Value inside) {
    for (auto [map, value] : llvm::zip(ArrayRef(inner.maps).take_front(operands), main->getOperands()))
      if (value == inside)
        return map;
    for (auto [map, value] : llvm::zip(ArrayRef(inner.maps).drop_front(operands), main->getResults()))
      if (value == inside || value.getType() == inside.getType())
        return map;
    return openMap(cast<RankedTensorType>(inside.getType()).getRank(), work.domain.size(), getContext());
  };
  for (Value argument : getBody().getArguments())
    work.maps.push_back(mapOf(argument));
  for (Value result : getYield().getCarried())
    work.maps.push_back(mapOf(result));
  return work;
}
