// Passes that turn a model into a training step.
#ifndef ACCORD_TRAIN_PASSES
#define ACCORD_TRAIN_PASSES
include "mlir/Pass/PassBase.td"

def BuildTrainingGraph : Pass<"build-training-graph", "::mlir::ModuleOp"> {
  let summary = "replace each dnn.model by a dnn.training_graph: forward, backward, updates";
  let description = [{
    Differentiates every model in reverse and adds one update per parameter. Optimizer and precision come from the
    options, else from the `dnn.train` that names the model, else from the model's attributes.

    Before:
    ```mlir
    dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) {
      dnn.parameter @fc.weight : tensor<2x4xf32>
      %w = dnn.read @fc.weight : tensor<2x4xf32>
      %y = dnn.linear %x, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
      %l = dnn.mse %y, %t {dnn.name = "loss"} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
      dnn.loss %l : tensor<f32>
    }
    ```
    After (`--build-training-graph="optimizer=sgd precision=f32"`, phases left out):
    ```mlir
    dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
      dnn.parameter @fc.weight : tensor<2x4xf32>
      dnn.microbatch (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) {
        ...                                                     // forward as above
        %one = dnn.constant 1.0 : tensor<f32>
        %dy = dnn.mse_grad %one, %y, %t {dnn.name = "loss.data_gradient"} : ...
        %dw = dnn.contract %dy, %x over [?, 2, 4] {dnn.name = "fc.weight_gradient", maps = ...} : ...
        dnn.gradient @fc.weight, %dw : tensor<2x4xf32>
      }
      dnn.optimizer_step { dnn.update @fc.weight : tensor<2x4xf32> {...} }
    }
    ```
  }];
  let options = [
    Option<"optimizer", "optimizer", "std::string", "", "sgd, momentum, adam or adamw; empty: as the model says">,
    Option<"precision", "precision", "std::string", "", "f32, bf16, mixed(bf16), …; empty: as the model says">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def Recompute : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "mark the operations of models whose results are not kept for the backward pass but computed again";
  let description = [{
    Runs before `build-training-graph`, which executes marked operations again where the backward pass needs their results; those of phase
    `recompute`. Policies: `full` keeps of every iteration of a repeat what is carried into it (Chen et al., Training Deep Nets with
    Sublinear Memory Cost, 2016); `selective` computes scores, softmax and dropout of attention again (Korthikanti et al., 2022, section 5);
    `none` removes the marks. `operations` adds to the policy by name, `repeats` restricts it to some; both take `*`.

    Before:
    ```mlir
    %h = dnn.gelu %x {dnn.name = "act"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
    After (`--recompute="policy=none operations=act"`):
    ```mlir
    %h = dnn.gelu %x {dnn.name = "act", dnn.recompute} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    ```
  }];
  let options = [
    Option<"policy", "policy", "std::string", "\"selective\"", "none, selective or full">,
    ListOption<"operations", "operations", "std::string", "names of operations, with * for any text">,
    ListOption<"repeats", "repeats", "std::string", "labels of the repeats that the policy is for, with * for any text; all if empty">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}
#endif
