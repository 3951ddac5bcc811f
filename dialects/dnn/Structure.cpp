// Models, parameters and what refers to them.
#include "dialects/dnn/Dnn.h"
#include "dialects/dnn/Verify.h"
#include "dialects/interfaces/Note.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

// ---- model

void ModelOp::build(OpBuilder &builder, OperationState &state, StringRef name, TypeRange inputs) {
  state.addAttribute(::mlir::SymbolTable::getSymbolAttrName(), builder.getStringAttr(name));
  Block &block = state.addRegion()->emplaceBlock();
  for (Type input : inputs)
    block.addArgument(input, state.location);
}

static ParseResult parseArguments(OpAsmParser &parser, OperationState &result, bool attributes) {
  SmallVector<OpAsmParser::Argument> arguments;
  if (parser.parseArgumentList(arguments, OpAsmParser::Delimiter::Paren, /*allowType=*/true) ||
      (attributes && parser.parseOptionalAttrDictWithKeyword(result.attributes)))
    return failure();
  Region *body = result.addRegion();
  if (parser.parseRegion(*body, arguments))
    return failure();
  if (body->empty())
    body->emplaceBlock();
  return success();
}
static void printArguments(OpAsmPrinter &printer, Block &block) {
  printer << " (";
  llvm::interleaveComma(block.getArguments(), printer,
                        [&](BlockArgument argument) { printer.printRegionArgument(argument); });
  printer << ")";
}

ParseResult ModelOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr name;
  if (parser.parseSymbolName(name, ::mlir::SymbolTable::getSymbolAttrName(), result.attributes))
    return failure();
  return parseArguments(parser, result, true);
}
void ModelOp::print(OpAsmPrinter &printer) {
  printer << " ";
  printer.printSymbolName(getSymName());
  printArguments(printer, getBlock());
  printer.printOptionalAttrDictWithKeyword((*this)->getAttrs(), {::mlir::SymbolTable::getSymbolAttrName()});
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
}

LogicalResult ModelOp::verifyRegions() {
  LossOp loss;
  for (auto found : getBlock().getOps<LossOp>()) {
    if (loss)
      return found.emitError() << "model '" << getSymName() << "' has two losses"
                               << note(loss.getLoc(), "the other one");
    loss = found;
  }
  if (!loss)
    return emitError() << "model '" << getSymName() << "' has no loss";
  return verifyReads(*this);
}

// ---- microbatch and optimizer step

void MicrobatchOp::build(OpBuilder &, OperationState &state) { state.addRegion()->emplaceBlock(); }
void OptimizerStepOp::build(OpBuilder &, OperationState &state) { state.addRegion()->emplaceBlock(); }

ParseResult MicrobatchOp::parse(OpAsmParser &parser, OperationState &result) {
  return failure(parseArguments(parser, result, false) || parser.parseOptionalAttrDict(result.attributes));
}
void MicrobatchOp::print(OpAsmPrinter &printer) {
  printArguments(printer, getBlock());
  printer << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

// ---- parameters

LogicalResult ParameterOp::verify() {
  RankedTensorType type = getTensorType();
  if (!type.hasStaticShape() || !isa<FloatType>(type.getElementType()))
    return emitError() << "parameter '" << getSymName() << "' must be a float tensor of static shape, found " << type;
  if (getCopies() < 1)
    return emitError() << "parameter '" << getSymName() << "' has " << getCopies() << " copies";
  if (!bytesOf(type, 1) || !checkedMultiply(bytesOf(type, 1), checkedMultiply(getCopies(), 16)))
    return emitError() << "parameter '" << getSymName() << "' has more than 2^59 bytes";
  return success();
}

/// The parameter `name` for `op`, with type `type` as `what`.
static FailureOr<ParameterOp> lookUp(Operation *op, SymbolTableCollection &tables, FlatSymbolRefAttr name, Type type,
                                     StringRef what) {
  auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(op, name);
  if (!parameter)
    return op->emitError() << "there is no parameter '" << name.getValue() << "'";
  if (parameter.getType() != type)
    return op->emitError() << what << " of parameter '" << name.getValue() << "' has type " << type
                           << note(parameter.getLoc(), "the parameter is ", parameter.getType());
  return parameter;
}

void ReadOp::build(OpBuilder &builder, OperationState &state, ParameterOp parameter) {
  build(builder, state, parameter.getTensorType(), FlatSymbolRefAttr::get(parameter.getSymNameAttr()));
}
LogicalResult ReadOp::verifySymbolUses(SymbolTableCollection &tables) {
  RankedTensorType type = getType();
  auto parameter = tables.lookupNearestSymbolFrom<ParameterOp>(*this, getParameterAttr());
  if (parameter && isQuantized(type.getElementType())) // the copy for products
    type = RankedTensorType::get(type.getShape(), parameter.getTensorType().getElementType());
  return lookUp(*this, tables, getParameterAttr(), type, "the value");
}
LogicalResult GradientOp::verifySymbolUses(SymbolTableCollection &tables) {
  RankedTensorType type = getValue().getType(); // however it is stored
  type = RankedTensorType::get(type.getShape(), type.getElementType());
  return lookUp(*this, tables, getParameterAttr(), type, "the gradient");
}
/// What an operation of the optimizer step `does` to all copies of a parameter.
template <typename OpTy>
static LogicalResult verifyStep(OpTy op, SymbolTableCollection &tables, StringRef what, StringRef does) {
  FailureOr<ParameterOp> parameter = lookUp(op, tables, op.getParameterAttr(), op.getType(), what);
  if (failed(parameter))
    return failure();
  if (parameter->getCopies() != op.getCopies())
    return op.emitError() << does << " " << op.getCopies() << " copies of parameter '" << op.getParameter() << "'"
                          << note(parameter->getLoc(), "the parameter has ", parameter->getCopies());
  if (op.getRowsAttr() && (op.getCopies() != 1 || op.getTensorType().getRank() != 2))
    return op.emitError() << "only a table, [rows, dim], has a sparse gradient, found " << op.getTensorType();
  return success();
}
LogicalResult UpdateOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getQuantized() && !isQuantized(*getQuantized()))
    return emitError() << "weights are quantized to a floating-point type of 8 bits, found " << *getQuantized();
  if (getOptimizer() == OptimizerKind::RowwiseAdagrad && !getRowsAttr())
    return emitError() << "rowwise_adagrad updates tables with sparse gradients, '" << getParameter() << "' has none";
  return verifyStep(*this, tables, "the update", "updates");
}
LogicalResult GradientAllReduceOp::verifySymbolUses(SymbolTableCollection &tables) {
  if (getDevices() < 2)
    return emitError() << "there are at least 2 devices on an axis, found " << getDevices();
  return verifyStep(*this, tables, "the gradient", "reduces");
}

LogicalResult LossOp::verify() {
  if (!isa<ModelOp, MicrobatchOp>((*this)->getParentOp()))
    return emitError() << "the loss must stand at the top of a model, not inside a repeat";
  if (getValue().getType().getRank() != 0 || !isa<FloatType>(getValue().getType().getElementType()))
    return emitError() << "the loss must be one number, found " << getValue().getType();
  return success();
}

// ---- work

Work UpdateOp::getWork() { return stepWork(getTensorType(), getCopies(), getRowsAttr()); }
int64_t UpdateOp::getFlopsPerPoint() { return updateFlops(getOptimizer()); }
