// Generated operation code, and creation by name.
#include "dialects/dnn/Dnn.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace accord;
using namespace accord::dnn;

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
