// What an operation must answer so that a training graph can be built from it.
#ifndef ACCORD_DIFFERENTIABLE_OP_INTERFACE
#define ACCORD_DIFFERENTIABLE_OP_INTERFACE
include "mlir/IR/OpBase.td"

def DifferentiableOpInterface : OpInterface<"DifferentiableOpInterface"> {
  let cppNamespace = "::accord";
  let description = [{
    An operation that can build the gradients of its operands from the gradients of its results. It builds
    only the ones that are needed, reads forward values through the context (which stashes or re-reads them
    when the gradient stands in another region), and returns failure after an error at its own location.
  }];
  let methods = [
    InterfaceMethod<"Build the needed gradients of the operands into `context.operandGradients`.",
      "::llvm::LogicalResult", "buildGradient", (ins "::accord::GradientContext &":$context)>
  ];
}
#endif
