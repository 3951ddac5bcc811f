// Passes that divide a training step among devices.
#ifndef ACCORD_SHARD_PASSES
#define ACCORD_SHARD_PASSES
include "mlir/Pass/PassBase.td"

def Shard : Pass<"shard", "::mlir::ModuleOp"> {
  let summary = "divide the parameters and the work of a training step among the devices of an axis";
  let description = [{
    Tensor parallelism (Shoeybi et al., Megatron-LM, 2019): weights of contractions and tables of lookups are split, and the
    collectives that this needs are inserted, forward and backward. The graph becomes the program that each device runs. How an
    operation can be shared follows from its indexing maps, so any network is divided, not only transformers; a dimension that
    the devices do not divide stays whole, with a remark. With `sequence`, what lies between the layers is split along the sequence
    (Korthikanti et al., 2022). Run again with another axis it divides the parts.

    Before:
    ```mlir
    %h = dnn.linear %x, %w1 {dnn.name = "fc1"} : (tensor<?x16xf32>, tensor<64x16xf32>) -> tensor<?x64xf32>
    %a = dnn.gelu %h {dnn.name = "act"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %y = dnn.linear %a, %w2 {dnn.name = "fc2"} : (tensor<?x64xf32>, tensor<16x64xf32>) -> tensor<?x16xf32>
    ```
    After (`--shard="axis=tensor devices=4"`):
    ```mlir
    %h = dnn.linear %x, %w1 {dnn.name = "fc1"} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %a = dnn.gelu %h {dnn.name = "act"} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    %p = dnn.linear %a, %w2 {dnn.name = "fc2"} : (tensor<?x16xf32>, tensor<16x16xf32>) -> tensor<?x16xf32>
    %y = dnn.all_reduce %p {axis = "tensor", devices = 4 : i64, dnn.name = "fc2.all_reduce"} : (tensor<?x16xf32>) -> tensor<?x16xf32>
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"tensor\"", "name of the axis of devices">,
    Option<"devices", "devices", "int64_t", "2", "devices on the axis">,
    Option<"sequence", "sequence", "bool", "false", "split what lies between the layers along the sequence">,
    Option<"keepGathered", "keep-gathered", "bool", "false", "keep what is gathered in the forward pass for the backward pass">,
    Option<"expertReplicas", "expert-replicas", "int64_t", "1", "replicas that divide the experts after this">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def DivideSequence : Pass<"divide-sequence", "::mlir::ModuleOp"> {
  let summary = "context parallelism: each device of the axis has a part of every sequence";
  let description = [{
    What is computed for one token after the other is divided along the sequence; parameters are whole on each device, and the mean of their
    gradients is taken once per step. Attention needs the keys and values of all devices. `exchange=ring` and `all_gather` gather them
    before it, in the backward pass again, and reduce-scatter their gradients; the collectives of a ring, marked `dnn.ring`, go on beside the
    attention (Liu et al., Ring Attention, 2023). `all_to_all` divides the heads for it instead (Jacobs et al., DeepSpeed Ulysses, 2023).
    Runs after `shard` and before `replicate`.

    Before:
    ```mlir
    %y, %l = dnn.flash_attention %q, %k, %v : (tensor<?x8x2x1x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>) -> (tensor<?x8x2x1x4xf32>, tensor<?x8x2x1xf32>)
    ```
    After (`--divide-sequence="devices=4 exchange=all_gather"`):
    ```mlir
    %k1 = dnn.all_gather %k {axis = "context", devices = 4 : i64, dimension = 1 : i64} : (tensor<?x2x2x4xf32>) -> tensor<?x8x2x4xf32>
    %v1 = dnn.all_gather %v {axis = "context", devices = 4 : i64, dimension = 1 : i64} : (tensor<?x2x2x4xf32>) -> tensor<?x8x2x4xf32>
    %y, %l = dnn.flash_attention %q, %k1, %v1 : (tensor<?x2x2x1x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>) -> (tensor<?x2x2x1x4xf32>, tensor<?x2x2x1xf32>)
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"context\"", "name of the axis of devices">,
    Option<"devices", "devices", "int64_t", "2", "devices on the axis">,
    Option<"exchange", "exchange", "std::string", "\"ring\"", "of keys and values: ring, all_gather or all_to_all">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}

def Replicate : Pass<"replicate", "::mlir::ModuleOp"> {
  let summary = "data parallelism: each device of the axis takes samples of its own";
  let description = [{
    The mean of the gradients over the devices is taken once per step, after the last micro-batch. `tables` divides embedding tables among
    the devices instead of replicating them, by rows or by columns (Naumov et al., DLRM, 2019): ids and rows travel, gradients of
    tables do not. `experts=divided` divides the experts of every mixture among them: tokens travel to their experts and back
    (Lepikhin et al., GShard, 2020).

    Before:
    ```mlir
    dnn.optimizer_step {
      dnn.update @fc.weight : tensor<2x4xf32> {...}
    }
    ```
    After (`--replicate="devices=4"`):
    ```mlir
    dnn.optimizer_step {
      dnn.gradient_all_reduce @fc.weight : tensor<2x4xf32> {axis = "data", devices = 4 : i64, ...}
      dnn.update @fc.weight : tensor<2x4xf32> {...}
    }
    ```
  }];
  let options = [
    Option<"axis", "axis", "std::string", "\"data\"", "name of the axis of devices">,
    Option<"devices", "devices", "int64_t", "2", "devices on the axis">,
    Option<"tables", "tables", "std::string", "\"whole\"", "embedding tables: whole, rows or columns">,
    Option<"experts", "experts", "std::string", "\"whole\"", "experts: whole or divided">
  ];
  let dependentDialects = ["::accord::dnn::DnnDialect"];
}
#endif
