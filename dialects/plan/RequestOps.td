// What is to be planned: one training, and everything that was said about it.
#ifndef ACCORD_PLAN_REQUEST_OPS
#define ACCORD_PLAN_REQUEST_OPS

def Plan_RequestOp : Plan_Op<"request", [Symbol, SymbolTable, NoTerminator, SingleBlock, NoRegionArguments,
                                         IsolatedFromAbove]> {
  let summary = "one training job: its model, its target, what may be chosen and what is required";
  let description = [{
    With the machines and clusters of the module it holds all that the phases of `accord-pipeline` need. The model inside has
    precision and optimizer as attributes. `target` names an accelerator or a cluster of the module. The attributes are the settings of
    the training, in base units; `accord compile --until=PHASE` writes them.

    ```mlir
    plan.request @tiny.request on "a100_80g" attributes {batch = 32 : i64, microbatches = array<i64: 1, 2>, objective = "throughput",
        recompute = ["none", "full"]} {
      dnn.model @tiny (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) attributes {…} { … }
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$target, Plan_Count:$batch, DenseI64ArrayAttr:$microbatches,
                       StrArrayAttr:$recompute, StrAttr:$objective);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name `on` $target attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
  let extraClassDeclaration = [{
    /// The `dnn.model` inside.
    ::mlir::Operation *getModel() { return &getBody().front().front(); }
  }];
}

def Plan_ClusterPlacementOp : Plan_Op<"cluster_placement", [Symbol, NoTerminator, SingleBlock, NoRegionArguments,
                                                            IsolatedFromAbove]> {
  let summary = "one job on one cluster: its pipeline stages, how each is parallelized, objective and bound";
  let description = [{
    Value and bound are of the objective, in its base unit (picoseconds for `step_time`). A placement without stages is infeasible;
    a `plan.conflict` says why. With `virtual` v above 1 the stages s, p + s, ... run on the same devices.

    ```mlir
    plan.cluster_placement @gpt3 model "gpt3" on "selene" minimize "step_time" value 5.6e+12 bound 5.5e+12 by "work" step 5600000000000 ps {
      plan.pipeline_schedule "interleaved" virtual 2 microbatches 64 devices 512
      plan.pipeline_stage [0] layers ["embedding", "block[0..11]"] on "a100_80g" ranks "0..31" tensor 8 data 4 microbatch 1 zero 1
        recompute {none = ["embedding"], selective = ["block[0..11]"]} memory 70000000000
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$model, StrAttr:$cluster, StrAttr:$objective,
                       F64Attr:$value, F64Attr:$bound, StrAttr:$proof, Plan_Natural:$step);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `model` $model `on` $cluster `minimize` $objective `value` $value `bound` $bound `by` $proof `step` $step `ps`
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_PipelineScheduleOp : Plan_Op<"pipeline_schedule", [HasParent<"ClusterPlacementOp">]> {
  let summary = "in which order the stages run their micro-batches, and on how many devices in all";
  let arguments = (ins StrAttr:$schedule, Plan_Count:$virtual_stages, Plan_Count:$microbatches, Plan_Count:$devices);
  let assemblyFormat = "$schedule `virtual` $virtual_stages `microbatches` $microbatches `devices` $devices attr-dict";
}

def Plan_PipelineStageOp : Plan_Op<"pipeline_stage", [HasParent<"ClusterPlacementOp">]> {
  let summary = "layers that one group of devices runs, and how the devices share them";
  let description = [{
    `tensor` times `data` devices of one type run the stage. `recompute` names, by policy, the layers whose activations are computed again
    in the backward pass. `memory` is the peak of one device of the group, in bytes.
  }];
  let arguments = (ins Plan_Natural:$index, StrArrayAttr:$layers, StrAttr:$device, StrAttr:$ranks, Plan_Count:$tensor,
                       Plan_Count:$data, Plan_Count:$microbatch, Plan_Natural:$zero, UnitAttr:$sequence,
                       OptionalAttr<StrAttr>:$features, DictionaryAttr:$recompute, Plan_Natural:$memory);
  let plain = 0;
  let assemblyFormat = [{
    custom<Where>($index) `layers` $layers `on` $device `ranks` $ranks `tensor` $tensor `data` $data
    `microbatch` $microbatch `zero` $zero (`sequence` $sequence^)? (`with` $features^)? `recompute` $recompute `memory` $memory
    attr-dict
  }];
}
#endif
