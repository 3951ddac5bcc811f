// Generated operation code, and creation by name.
#include "dialects/dnn/Gradients.h"
#include "dialects/dnn/Infer.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/PatternMatch.h"
#include <cmath>

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

/// `[?, 16, 4]`; `?` is the batch.
static ParseResult parseExtents(OpAsmParser &parser, DenseI64ArrayAttr &extents) {
  SmallVector<int64_t> values;
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Square, [&]() -> ParseResult {
        values.push_back(ShapedType::kDynamic);
        return succeeded(parser.parseOptionalQuestion()) ? success() : parser.parseInteger(values.back());
      }))
    return failure();
  extents = parser.getBuilder().getDenseI64ArrayAttr(values);
  return success();
}
static void printExtents(OpAsmPrinter &printer, Operation *, DenseI64ArrayAttr extents) {
  printer << "[";
  llvm::interleaveComma(extents.asArrayRef(), printer, [&](int64_t extent) {
    if (ShapedType::isDynamic(extent))
      printer << "?";
    else
      printer << extent;
  });
  printer << "]";
}
/// An f64 attribute without its type.
static ParseResult parseNumber(OpAsmParser &parser, FloatAttr &number) {
  double value = 0;
  if (parser.parseFloat(value))
    return failure();
  number = parser.getBuilder().getF64FloatAttr(value);
  return success();
}
static void printNumber(OpAsmPrinter &printer, Operation *, FloatAttr number) { printer.printFloat(number.getValue()); }

#define GET_OP_CLASSES
#include "dialects/dnn/DnnOps.cpp.inc"

void DnnDialect::registerOperations() {
  addOperations<
#define GET_OP_LIST
#include "dialects/dnn/DnnOps.cpp.inc"
      >();
}

FailureOr<Operation *> dnn::createInferred(OpBuilder &builder, Location location, StringRef name, ValueRange operands,
                                           ArrayRef<NamedAttribute> attributes) {
  OperationName opName(name, location.getContext());
  std::optional<RegisteredOperationName> registered = opName.getRegisteredInfo();
  if (!registered || !registered->hasInterface<InferTypeOpInterface>())
    return emitError(location) << "there is no operation '" << name << "'";
  if (operands.empty())
    return emitError(location) << "'" << opName.stripDialect() << "' needs operands";
  NamedAttrList list(attributes);
  if (failed(registered->verifyInherentAttrs(list, [&] { return emitError(location); })))
    return failure();
  OperationState state(location, opName, operands, TypeRange(), attributes);
  // Inference wants the attributes as properties, so it works on a throw-away operation without results.
  Operation *draft = Operation::create(state);
  SmallVector<Type> types;
  auto *infer = registered->getInterface<InferTypeOpInterface>();
  LogicalResult inferred =
      infer->inferReturnTypes(location.getContext(), location, draft->getOperands(), draft->getRawDictionaryAttrs(),
                              draft->getPropertiesStorage(), draft->getRegions(), types);
  draft->destroy();
  if (failed(inferred))
    return failure();
  state.addTypes(types);
  return builder.create(state);
}
