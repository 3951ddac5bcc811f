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

def InstantiateModels : Pass<"instantiate-models", "::mlir::ModuleOp"> {
  let summary = "for each recomputation policy that a plan.request may choose: a model to train";
  let description = [{
    The first pass of `accord-pipeline`. The model inside the request stays as it is, so that later phases can make other training
    graphs of it; its copies beside the request become the candidates of one device. `recompute` reads their `dnn.recompute_policy`.

    Before:
    ```mlir
    plan.request @gpt2 on "a100" {recompute = ["none", "full"], …} {
      dnn.model @gpt2 (%x: …) { … }
    }
    ```
    After:
    ```mlir
    plan.request @gpt2 on "a100" {recompute = ["none", "full"], …} {
      dnn.model @gpt2 (%x: …) { … }
    }
    dnn.model @gpt2.none (%x: …) attributes {dnn.recompute_policy = "none"} { … }
    dnn.model @gpt2.full (%x: …) attributes {dnn.recompute_policy = "full"} { … }
    ```
  }];
  let dependentDialects = ["::accord::dnn::DnnDialect", "::accord::plan::PlanDialect"];
}

def RunRequestedPasses : Pass<"run-requested-passes", "::mlir::ModuleOp"> {
  let summary = "the passes that a plan.request names, on its models or on its sharded training graphs";
  let description = [{
    `accord compile` writes its options `--model-passes`, `--passes` and `--fuse` into the request, so that `accord-pipeline` does the same
    again. A request without them, or a module without a request, stays as it is.

    Before:
    ```mlir
    plan.request @gpt2 on "a100" {passes = "canonicalize,merge-equal", fuse, …} { … }
    dnn.training_graph @gpt2.none … { … }
    ```
    After: the graph as `canonicalize,merge-equal,dnn.training_graph(fuse)` leaves it.
  }];
  let options = [
    Option<"onModels", "on-models", "bool", "false", "`model_passes`; else `passes`, then `fuse`">
  ];
}

def QuantizeProducts : Pass<"quantize-products", "::mlir::ModuleOp"> {
  let summary = "products of layers with their weights on operands of 8 bits, of models whose precision says so";
  let description = [{
    Runs before `recompute` and `build-training-graph`, on models whose precision has `products` of 8 bits (`mixed(fp8)` in a `.dnn` file). Inside of
    repeats, products of an activation with weights take both in this format and give bf16, as the layers of NVIDIA's Transformer Engine do;
    `build-training-graph` casts the gradients of their results to f8E5M2. Logits, the products of attention and gates stay in bf16. A0613: there is
    no such product.

    Before:
    ```mlir
    %w = dnn.read @b.fc.weight : tensor<64x32xbf16>
    %y = dnn.linear %x, %w {dnn.name = "b.fc"} : (tensor<?x32xbf16>, tensor<64x32xbf16>) -> tensor<?x64xbf16>
    ```
    After:
    ```mlir
    %w = dnn.read @b.fc.weight : tensor<64x32xf8E4M3FN>
    %c = dnn.cast %x {dnn.name = "b.fc.cast"} : (tensor<?x32xbf16>) -> tensor<?x32xf8E4M3FN>
    %y = dnn.linear %c, %w {dnn.name = "b.fc"} : (tensor<?x32xf8E4M3FN>, tensor<64x32xf8E4M3FN>) -> tensor<?x64xbf16>
    ```
  }];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def ExpandRecurrent : Pass<"expand-recurrent", "::mlir::ModuleOp"> {
  let summary = "write dnn.lstm and dnn.gru of models as repeats over time";
  let description = [{
    Runs before `build-training-graph`. The inputs of all steps are projected by one product, as cuDNN does (Appleyard et al., Optimizing
    Performance of Recurrent Neural Networks on GPUs, 2016, section 3.1); what follows needs the step before it and stands in a repeat: the product with the
    state, and the gates. So step after step is scheduled, what each keeps for the backward pass is a value, and gates have FLOPs and bytes.
    Contractions have the FLOPs that the layer has. A bidirectional layer becomes two repeats, one of them `reverse`.

    Before:
    ```mlir
    %y, %kept = dnn.lstm %x, %wi, %wh {dnn.name = "l"}
      : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
    ```
    After (names left out):
    ```mlir
    %i = dnn.linear %x, %wi : (tensor<?x5x3xf32>, tensor<16x3xf32>) -> tensor<?x5x16xf32>
    %s = dnn.unstack %i {axis = 0 : i64} : (tensor<?x5x16xf32>) -> !dnn.stash<5 x tensor<?x16xf32>>
    %zero = dnn.constant 0.0 : tensor<?x4xf32>
    %end:2, %ys = dnn.repeat 5 as "l.time" iter(%h = %zero : tensor<?x4xf32>, %c = %zero : tensor<?x4xf32>)
        unstash(%t = %s : !dnn.stash<5 x tensor<?x16xf32>>) stash(!dnn.stash<5 x tensor<?x4xf32>>) {
      %w = dnn.linear %h, %wh : (tensor<?x4xf32>, tensor<16x4xf32>) -> tensor<?x16xf32>
      ...                                                       // %h2 and %c2 from %w + %t and %c
      dnn.yield %h2, %c2 : tensor<?x4xf32>, tensor<?x4xf32> stash(%h2 : tensor<?x4xf32>)
    }
    %y = dnn.stack %ys {axis = 0 : i64} : (!dnn.stash<5 x tensor<?x4xf32>>) -> tensor<?x5x4xf32>
    ```
  }];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def GatherGradients : Pass<"gather-gradients", "::accord::dnn::TrainingGraphOp"> {
  let summary = "weight gradients of all steps of a sequence as one product behind the backward repeat";
  let description = [{
    A parameter that every step reads gets a summand of its gradient from every step. Added up step by step, the sum is read and written as often as
    there are steps. What the summands are made of is kept instead, and multiplied at once, as cuDNN does (Appleyard et al., Optimizing Performance
    of Recurrent Neural Networks on GPUs, 2016, section 3.2): the products' FLOPs stay what they are, the additions go. Done for products, sums (of biases) and look-ups in
    repeats that walk a tensor; in others what would be kept is more than what a repeat keeps otherwise.

    Before:
    ```mlir
    %end, %dw = dnn.repeat 5 as "l.time.backward" reverse iter(%d = %dh : tensor<?x4xf32>, %sum = %zero : tensor<4x4xf32>)
        unstash(%h = %hs : !dnn.stash<5 x tensor<?x4xf32>>) {
      ...
      %g = dnn.contract %d, %h over [?, 4, 4] {maps = ...} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<4x4xf32>
      %s = dnn.add %sum, %g : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
      dnn.yield %d2, %s : tensor<?x4xf32>, tensor<4x4xf32>
    }
    ```
    After:
    ```mlir
    %end, %ds = dnn.repeat 5 as "l.time.backward" reverse iter(%d = %dh : tensor<?x4xf32>)
        unstash(%h = %hs : !dnn.stash<5 x tensor<?x4xf32>>) stash(!dnn.stash<5 x tensor<?x4xf32>>) {
      ...
      dnn.yield %d2 : tensor<?x4xf32> stash(%d : tensor<?x4xf32>)
    }
    %a = dnn.stack %ds {axis = 0 : i64} : (!dnn.stash<5 x tensor<?x4xf32>>) -> tensor<?x5x4xf32>
    %b = dnn.stack %hs {axis = 0 : i64} : (!dnn.stash<5 x tensor<?x4xf32>>) -> tensor<?x5x4xf32>
    %dw = dnn.contract %a, %b over [?, 5, 4, 4] {maps = ...} : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<4x4xf32>
    ```
  }];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def Recompute : Pass<"recompute", "::mlir::ModuleOp"> {
  let summary = "mark the operations of models whose results are recomputed in the backward pass instead of saved";
  let description = [{
    Runs before `build-training-graph`, which executes marked operations again where the backward pass needs their results; those of phase
    `recompute`. Policies: `full` keeps of every iteration of a repeat what is carried into it (Chen et al., Training Deep Nets with
    Sublinear Memory Cost, 2016); `selective` computes scores, softmax and dropout of attention again (Korthikanti et al., 2022, section 5);
    `none` removes the marks; without a policy they stay as they are. A model with `dnn.recompute_policy` has its own policy. `operations` adds to the policy by name, `repeats` restricts it to some; both take `*`.

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
    Option<"policy", "policy", "std::string", "\"selective\"", "none, selective or full; empty: the model's own, or none">,
    ListOption<"operations", "operations", "std::string", "names of operations, with * for any text">,
    ListOption<"repeats", "repeats", "std::string", "labels of the repeats that the policy is for, with * for any text; all if empty">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}
#endif
