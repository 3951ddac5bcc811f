// Several operations that run as one: what they give each other stays in the core.
#ifndef ACCORD_DNN_FUSED
#define ACCORD_DNN_FUSED
include "dialects/dnn/definitions/DnnWork.td"

def Dnn_FusedOp : Dnn_Op<"fused", [IsolatedFromAbove, SingleBlock, RecursiveMemoryEffects, DeclareOpInterfaceMethods<WorkOpInterface,
    ["isContraction", "getCoreKind", "getFlops", "getBytesRead"]>]> {
  let summary = "several operations that run as one: what only they use of each other never reaches memory";
  let description = [{
    The body holds the operations as they were, with their names and phases; it sees nothing but its arguments, one for each operand,
    and `dnn.yield` gives the results. FLOPs are the sum over the body, whatever domain each of them has; bytes are those of the operands and
    results, each once (a tensor and a view of it are one). Domain and maps are those of the main operation: the first contraction, else the first that reduces, else the last.
    Views (`dnn.reshape`) may stand between the operations.
    ```mlir
    %y = dnn.fused (%a = %x : tensor<?x8xf32>, %b = %w : tensor<4x8xf32>) -> tensor<?x4xf32> {
      %h = dnn.linear %a, %b {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      %g = dnn.gelu %h {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %g : tensor<?x4xf32>
    } {dnn.name = "fc", dnn.phase = #dnn.phase<forward>}
    ```
  }];
  let arguments = (ins Variadic<Dnn_Tensor>:$operands);
  let results = (outs Variadic<Dnn_Tensor>:$results);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    ::mlir::Block &getBlock() { return getBody().front(); }
    YieldOp getYield();
    /// The operations of the body that do work, in order.
    ::llvm::SmallVector<::accord::WorkOpInterface> getBodies();
    ::accord::WorkOpInterface getMain();
  }];
}
#endif
