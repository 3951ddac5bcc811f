// The pass that runs a training graph.
#ifndef ACCORD_INTERPRET_PASSES
#define ACCORD_INTERPRET_PASSES
include "mlir/Pass/PassBase.td"

def Interpret : Pass<"interpret", "::mlir::ModuleOp"> {
  let summary = "run every training graph on random values in double precision";
  let description = [{
    Adds `dnn.loss_value` to each `dnn.training_graph` and `dnn.gradient_value` (with a leading dimension of copies) to each
    `dnn.parameter`. `check-derivatives` holds the gradients against central finite differences of the loss and fails, at the
    parameter, when one is off by more than `tolerance`. A parameter that carries `dnn.value` (dense floats of its shape)
    has that value. For tensors that a person could print: it is slow.

    Before:
    ```mlir
    dnn.training_graph @net … {
      dnn.parameter @w {dnn.value = dense<[2.0]> : tensor<1xf64>} : tensor<1xf32>
      …
    ```
    After (`--interpret="check-derivatives"`):
    ```mlir
    dnn.training_graph @net attributes {dnn.derivative_error = …, dnn.derivatives_checked = 1, dnn.loss_value = 0.25 …} {
      dnn.parameter @w {dnn.gradient_value = dense<[[1.5]]> : tensor<1x1xf64>, …} : tensor<1xf32>
      …
    ```
  }];
  let options = [
    Option<"batch", "batch", "int64_t", "2", "samples of the micro-batch">,
    Option<"seed", "seed", "uint64_t", "1", "another seed is another run">,
    Option<"derivatives", "check-derivatives", "bool", "false", "compare gradients with finite differences">,
    Option<"tolerance", "tolerance", "double", "1e-6", "largest relative error of a derivative">
  ];
}
#endif
