// Decisions beside the plan of one training: a mined accelerator, zeros of layers, members of a vote, a latency model.
#ifndef ACCORD_PLAN_DECISION_OPS
#define ACCORD_PLAN_DECISION_OPS

/// A decision holds its parts, and the conflicts and assumptions in words.
class Plan_Decision<string word> : Plan_Op<word, [Symbol, NoTerminator, SingleBlock, NoRegionArguments,
                                                  IsolatedFromAbove]> {
  let regions = (region SizedRegion<1>:$body);
  let hasVerifier = 1;
}

def Plan_DesignChoiceOp : Plan_Decision<"design_choice"> {
  let summary = "the best accelerator of a design space for one or several trainings";
  let description = [{
    `designs` is the size of the space, in digits as it may pass 64 bits. Value and bound are of the metric, in base units (seconds for
    `step_time`). A choice without parameters is infeasible: its value is infinite, and a `plan.conflict` says why. It is `optimal`
    where no design of the space has a lower value as designs are scheduled.

    ```mlir
    plan.design_choice @bert_step of "tpu_shapes" designs "16000" minimize "step_time" value 3.9e-01 bound 3.7e-01 by "branch and bound"
        optimal evaluations 46 {
      plan.design_parameter "mxu.count" is "8"
      plan.design_step "bert_step" by "micro-batch 4" batch 16 seconds 3.9e-01 joules 2.6e+01 bytes 9185127472
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$space, StrAttr:$designs, StrAttr:$metric, F64Attr:$value,
                       F64Attr:$bound, StrAttr:$proof, UnitAttr:$optimal, Plan_Natural:$evaluations);
  let assemblyFormat = [{
    $sym_name `of` $space `designs` $designs `minimize` $metric `value` $value `bound` $bound `by` $proof
    (`optimal` $optimal^)? `evaluations` $evaluations attr-dict-with-keyword $body
  }];
}

def Plan_DesignParameterOp : Plan_Op<"design_parameter", [HasParent<"DesignChoiceOp">]> {
  let summary = "what the best design has for a number that the space leaves open, as the file writes it";
  let arguments = (ins StrAttr:$name, StrAttr:$value);
  let assemblyFormat = "$name `is` $value attr-dict";
}

def Plan_DesignStepOp : Plan_Op<"design_step", [HasParent<"DesignChoiceOp">]> {
  let summary = "what a step of one training takes on the best design";
  let arguments = (ins StrAttr:$job, StrAttr:$alternative, Plan_Count:$batch, F64Attr:$seconds, F64Attr:$joules,
                       Plan_Natural:$bytes);
  let assemblyFormat = [{
    $job `by` $alternative `batch` $batch `seconds` $seconds `joules` $joules `bytes` $bytes attr-dict
  }];
}

def Plan_SparsityOp : Plan_Decision<"sparsity"> {
  let summary = "which zeros each layer of a training has";
  let description = [{
    Value and bound are sums over the layers in whole picoseconds, picojoules or bytes, as the objective says; of a dataflow device
    they are the picoseconds of the slowest layer. Times in layers are seconds of a step: the mean, what is not exceeded with the
    `confidence`, and what the dense layer takes. `accuracy` is guaranteed or estimated as its basis says.

    ```mlir
    plan.sparsity @gpt2 model "gpt2" on "a100_80g" minimize "step_time" value 41905589779 bound 41905589779 confidence 0.95 {
      plan.layer_sparsity "mlp.y" takes "weights nm(2, 4) as nm(2, 4)" seconds 1.2e-02 at_most 1.2e-02 dense 1.8e-02
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$model, StrAttr:$machine, StrAttr:$objective,
                       Plan_Natural:$value, Plan_Natural:$bound, F64Attr:$confidence);
  let assemblyFormat = [{
    $sym_name `model` $model `on` $machine `minimize` $objective `value` $value `bound` $bound `confidence` $confidence
    attr-dict-with-keyword $body
  }];
}

def Plan_LayerSparsityOp : Plan_Op<"layer_sparsity", [ParentOneOf<["SparsityOp", "ClusterPlacementOp"]>]> {
  let summary = "the zeros of one layer; on a dataflow device its multipliers and cycles";
  let description = [{
    On a cluster a layer has no times of its own: those of its stage are with its zeros. `seconds` is ideal, at the rates of the core; `expected` has kernels as they were measured or published.
  }];
  let arguments = (ins StrAttr:$layer, StrAttr:$zeros, OptionalAttr<F64Attr>:$seconds, OptionalAttr<F64Attr>:$expected,
                       OptionalAttr<F64Attr>:$dense, OptionalAttr<Plan_Natural>:$multipliers,
                       OptionalAttr<F64Attr>:$cycles);
  let assemblyFormat = [{
    $layer `takes` $zeros (`seconds` $seconds^ `expected` $expected `dense` $dense)?
    (`multipliers` $multipliers^ `cycles` $cycles)? attr-dict
  }];
}

def Plan_AccuracyOp : Plan_Op<"accuracy", [ParentOneOf<["SparsityOp", "ClusterPlacementOp"]>]> {
  let summary = "the least accuracy with these zeros, an exact number, and what says so";
  let arguments = (ins StrAttr:$metric, StrAttr:$min, UnitAttr:$guaranteed, StrAttr:$basis);
  let assemblyFormat = "$metric `at_least` $min (`guaranteed` $guaranteed^)? `by` $basis attr-dict";
}

def Plan_EnsembleOp : Plan_Decision<"ensemble"> {
  let summary = "which members vote, on which devices they are trained, and what error their vote has at most";
  let description = [{
    Value and bound are of the objective in the unit that `accord vote` prints (seconds for `step_time`). `error` is an exact number: the guaranteed
    bound of the vote's error, which holds with `confidence`, by the bound with that name. An ensemble without members is
    infeasible; a `plan.conflict` says why.

    ```mlir
    plan.ensemble @voters of "whole" minimize "step_time" value 1.23e-01 bound 1.23e-01 error "0.2298079" by "hold-out bound"
        confidence "0.95" {
      plan.member "wide" on "v100_16g"[0] by "micro-batch 512 x 1" devices 1 step 123416277278 ps state 1024 activations 2048
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$training, StrAttr:$objective, F64Attr:$value, F64Attr:$bound,
                       StrAttr:$error, StrAttr:$proof, StrAttr:$confidence);
  let assemblyFormat = [{
    $sym_name `of` $training `minimize` $objective `value` $value `bound` $bound `error` $error `by` $proof
    `confidence` $confidence attr-dict-with-keyword $body
  }];
}

def Plan_MemberOp : Plan_Op<"member", [HasParent<"EnsembleOp">]> {
  let summary = "one member of a vote, and the first of the devices that train it";
  let description = [{
    `state` and `activations` are bytes of one device.
  }];
  let arguments = (ins StrAttr:$kind, StrAttr:$device, Plan_Natural:$first, StrAttr:$alternative, Plan_Count:$devices,
                       Plan_Natural:$step, Plan_Natural:$state, Plan_Natural:$activations);
  let assemblyFormat = [{
    $kind `on` $device `` custom<Where>($first) `by` $alternative `devices` $devices `step` $step `ps` `state` $state
    `activations` $activations attr-dict
  }];
}

def Plan_LatencyModelOp : Plan_Decision<"latency_model"> {
  let summary = "step time, memory and FLOPs of a training as a function of its sizes and of the machine";
  let description = [{
    `evaluate` is the function of the module that computes the model: its operands are the arguments in their order, its results a
    status (0 where the model holds), seconds, bytes and FLOPs. `step` is what the plan takes, in seconds. The model is `exact` where it gives
    the same there; else it is a little below. A held argument has one value, for the `reason` that it states.

    ```mlir
    plan.latency_model @own model "own" on "a100_80g" evaluate @own_evaluate step 5.6e-03 exact {
      plan.latency_argument "batch" unit "samples" default 2.0e+01 from 1.0 to 1.0e+12 multiple 1
      plan.latency_sample at [20.0] seconds 5.6e-03 bytes 1.3e+08 flops 4.1e+10
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$model, StrAttr:$machine, FlatSymbolRefAttr:$function,
                       F64Attr:$step, UnitAttr:$exact);
  let assemblyFormat = [{
    $sym_name `model` $model `on` $machine `evaluate` $function `step` $step (`exact` $exact^)? attr-dict-with-keyword
    $body
  }];
}

def Plan_LatencyArgumentOp : Plan_Op<"latency_argument", [HasParent<"LatencyModelOp">]> {
  let summary = "something that a latency model may be asked at, and the interval where it holds";
  let arguments = (ins StrAttr:$name, StrAttr:$unit, F64Attr:$initial, F64Attr:$min, F64Attr:$max, Plan_Count:$multiple,
                       OptionalAttr<DenseI64ArrayAttr>:$allowed, OptionalAttr<StrAttr>:$reason);
  let assemblyFormat = [{
    $name `unit` $unit `default` $initial `from` $min `to` $max `multiple` $multiple (`among` $allowed^)?
    (`held` $reason^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_LatencySampleOp : Plan_Op<"latency_sample", [HasParent<"LatencyModelOp">]> {
  let summary = "what the model gives at one choice of its arguments: each form of it is checked with these";
  let arguments = (ins F64ArrayAttr:$arguments, F64Attr:$seconds, F64Attr:$bytes, F64Attr:$flops);
  let assemblyFormat = "`at` $arguments `seconds` $seconds `bytes` $bytes `flops` $flops attr-dict";
}
#endif
