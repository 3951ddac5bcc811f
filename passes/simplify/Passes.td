// Passes that rewrite a training graph to less traffic and the same result.
#ifndef ACCORD_SIMPLIFY_PASSES
#define ACCORD_SIMPLIFY_PASSES
include "mlir/Pass/PassBase.td"

def MergeEqual : Pass<"merge-equal", "::mlir::ModuleOp"> {
  let summary = "compute once what several operations of a block compute";
  let description = [{
    Upstream's `cse` for models and training graphs, in which every operation has a name of its own: two operations of a block are equal if
    kind, operands and attributes are, whatever their names and phases. The first stays, with its name. Two dropouts are never equal.
    Run it behind `canonicalize`, which makes more operations equal, and before `fuse`.

    Before:
    ```mlir
    %a = dnn.gelu %x {dnn.name = "a"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %b = dnn.gelu %x {dnn.name = "b"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %y = dnn.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
    After:
    ```mlir
    %a = dnn.gelu %x {dnn.name = "a"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %y = dnn.add %a, %a : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
}

def InlineSingleRepeats : Pass<"inline-single-repeats", "::mlir::ModuleOp"> {
  let summary = "a repeat of one iteration becomes its body";
  let description = [{
    What runs once is scheduled with what stands around it instead of as a unit of its own. Operations keep the names that they would
    have inside: those without one get the repeat's label as prefix. Repeats that keep or take slices of stacks stay as they are, so run
    it on models, before `build-training-graph`, and behind `recompute`, which looks at repeats.

    Before:
    ```mlir
    %0 = dnn.repeat 1 as "block" iter(%h = %x : tensor<?x8xf32>) {
      %1 = dnn.gelu %h : (tensor<?x8xf32>) -> tensor<?x8xf32>
      dnn.yield %1 : tensor<?x8xf32>
    }
    ```
    After:
    ```mlir
    %0 = dnn.gelu %x {dnn.name = "block.gelu"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    ```
  }];
}

def Fuse : Pass<"fuse", "::accord::dnn::TrainingGraphOp"> {
  let summary = "run element-wise work where its tensor is made: one dnn.fused for a chain of operations";
  let description = [{
    An element-wise operation joins the one that makes the tensor it runs over: a contraction, a normalization or softmax, or other
    element-wise work; a normalization joins the element-wise work before it. What only the members use of each other never reaches memory; a value
    that others use, too, becomes a result. Nothing joins across a region, a phase of the step or a collective, and views
    (`dnn.reshape`) between two members do not part them. FLOPs stay what they are; the result of the step is the same, bit for bit.

    Before:
    ```mlir
    %h = dnn.linear %x, %w {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    %g = dnn.gelu %h {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    ```
    After (`--pass-pipeline="builtin.module(dnn.training_graph(fuse))"`, phases left out); the gradient of gelu reads %h, so it is a result:
    ```mlir
    %h, %g = dnn.fused (%a = %x : tensor<?x8xf32>, %b = %w : tensor<4x8xf32>) -> tensor<?x4xf32>, tensor<?x4xf32> {
      %0 = dnn.linear %a, %b {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
      %1 = dnn.gelu %0 {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %0, %1 : tensor<?x4xf32>, tensor<?x4xf32>
    } {dnn.name = "fc"}
    ```
  }];
  let options = [
    Option<"contractions", "contractions", "bool", "true", "element-wise work behind contractions and convolutions">,
    Option<"normalizations", "normalizations", "bool", "true", "element-wise work before and behind normalizations and softmax">,
    Option<"elementwise", "elementwise", "bool", "true", "chains of element-wise work alone">,
    Option<"maxBodies", "max-bodies", "unsigned", "16", "operations in one dnn.fused, at least 1">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}
#endif
