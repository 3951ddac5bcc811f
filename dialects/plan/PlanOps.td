// Operations of the plan dialect.
#ifndef ACCORD_PLAN_OPS
#define ACCORD_PLAN_OPS

include "dialects/plan/PlanDialect.td"
include "mlir/IR/CommonAttrConstraints.td"
include "mlir/IR/SymbolInterfaces.td"

class Plan_Op<string word, list<Trait> traits = []> : Op<Plan_Dialect, word, traits> {
  bit plain = 1; // whether its builder takes values
  let skipDefaultBuilders = 1;
  let builders = [Accord_Builder<results, arguments, !size(regions), plain>.builder];
}

/// Picoseconds or bytes, never negative.
defvar Plan_Natural = ConfinedAttr<I64Attr, [IntNonNegative]>;
defvar Plan_Count = ConfinedAttr<I64Attr, [IntPositive]>;

def Plan_PlacementOp : Plan_Op<"placement", [Symbol, SymbolTable, NoTerminator, SingleBlock, NoRegionArguments,
                                             IsolatedFromAbove]> {
  let summary = "one job on one machine: resources, regions, memory, objective and bound";
  let description = [{
    `step` is what one training step takes: the sum of count times length over the regions that no slot runs. With a
    `plan.conflict` inside, the placement is infeasible and says why; its memory need not fit then.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$model, StrAttr:$machine, StrAttr:$direction,
                       StrAttr:$objective, F64Attr:$value, F64Attr:$bound, Plan_Natural:$step);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `model` $model `on` $machine custom<Word>($direction) $objective `value` $value `bound` $bound
    `step` $step `ps` attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

class Plan_Part<string word, list<Trait> traits = []>
    : Plan_Op<word, !listconcat([HasParent<"PlacementOp">], traits)>;

def Plan_MemoryOp : Plan_Op<"memory", [ParentOneOf<["PlacementOp", "ProblemOp"]>]> {
  let summary = "a memory of the machine and its capacity in bytes";
  let arguments = (ins StrAttr:$name, Plan_Natural:$capacity);
  let assemblyFormat = "$name `capacity` $capacity attr-dict";
}

def Plan_CoreOp : Plan_Part<"core"> {
  let summary = "cores of one kind, and how many";
  let arguments = (ins StrAttr:$name, Plan_Count:$count, StrAttr:$kind);
  let assemblyFormat = "$name `` custom<Instance>($count) `:` custom<Word>($kind) attr-dict";
}

def Plan_RegionOp : Plan_Part<"region", [Symbol, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "operations that run together `count` times, each iteration `length` after the one before";
  let description = [{
    With an `overhang` an iteration goes on for so long after the next one has started: slots may then end after
    `length`, and lanes are free of overlaps in a period, into which all iterations put one execution of each slot.

    ```mlir
    plan.region @block[24] length 4800 ps overhang 1200 ps { … }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Plan_Count:$count, Plan_Natural:$length,
                       OptionalAttr<Plan_Natural>:$overhang);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `` custom<Instance>($count) `length` $length `ps` (`overhang` $overhang^ `ps`)? attr-dict-with-keyword $body
  }];
  let extraClassDeclaration = [{
    /// From the first start of an iteration to its last end.
    __int128 iteration() { return __int128(getLength()) + getOverhang().value_or(0); }
  }];
  let hasRegionVerifier = 1;
}

def Plan_SlotOp : Plan_Op<"slot", [HasParent<"RegionOp">]> {
  let summary = "when one operation runs, on which instance of which core";
  let description = [{
    Times are relative to the start of the region's iteration. A slot that `runs` a region lasts all its iterations and holds every
    core its slots use; a slot with neither core nor region is a view, which needs none.

    ```mlir
    plan.slot "block.fc1" on "tc"[0] start 123 ps duration 456 ps after ["block.ln1"]
    plan.slot "block" runs @block start 579 ps duration 4800 ps after ["block.fc1"]
    ```
  }];
  let arguments = (ins StrAttr:$name, OptionalAttr<StrAttr>:$core, OptionalAttr<Plan_Natural>:$instance,
                       OptionalAttr<FlatSymbolRefAttr>:$runs, Plan_Natural:$start, Plan_Natural:$duration,
                       OptionalAttr<StrArrayAttr>:$after);
  let plain = 0;
  let assemblyFormat = [{
    $name (`on` $core^ `` custom<Where>($instance))? (`runs` $runs^)? `start` $start `ps` `duration` $duration `ps`
    (`after` $after^)? attr-dict
  }];
  let extraClassDeclaration = [{
    /// Of the iteration; wider than 64 bits so that no sum wraps.
    __int128 begin() { return getStart(); }
    __int128 end() { return begin() + getDuration(); }
  }];
  let hasVerifier = 1;
}

def Plan_TransferOp : Plan_Op<"transfer", [ParentOneOf<["PlacementOp", "RegionOp"]>]> {
  let summary = "bytes moved between two memories, devices or stages";
  let arguments = (ins StrAttr:$name, StrAttr:$from, StrAttr:$to, Plan_Natural:$bytes, Plan_Natural:$start,
                       Plan_Natural:$duration, OptionalAttr<StrArrayAttr>:$after);
  let assemblyFormat = [{
    $name `from` $from `to` $to `bytes` $bytes `start` $start `ps` `duration` $duration `ps` (`after` $after^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_ResidencyOp : Plan_Part<"residency"> {
  let summary = "bytes of one category in a memory when most of it is in use";
  let arguments = (ins StrAttr:$category, StrAttr:$memory, Plan_Natural:$bytes);
  let assemblyFormat = "$category `in` $memory `bytes` $bytes attr-dict";
}

def Plan_StageOp : Plan_Part<"stage"> {
  let summary = "regions that one device of a pipeline runs";
  let arguments = (ins StrAttr:$name, StrAttr:$device, Plan_Natural:$instance, FlatSymbolRefArrayAttr:$regions);
  let assemblyFormat = "$name `on` $device `` custom<Where>($instance) `runs` $regions attr-dict";
}

def Plan_ShardOp : Plan_Part<"shard"> {
  let summary = "a tensor divided into equal parts along one dimension, over a network or a group of devices";
  let arguments = (ins StrAttr:$tensor, Plan_Natural:$dimension, Plan_Count:$parts, StrAttr:$over);
  let assemblyFormat = "$tensor `dimension` $dimension `into` $parts `over` $over attr-dict";
}

def Plan_BoundOp : Plan_Part<"bound"> {
  let summary = "no schedule of this problem has a shorter step, and why";
  let arguments = (ins StrAttr:$proof, Plan_Natural:$step);
  let assemblyFormat = "$proof `step` $step `ps` attr-dict";
}

def Plan_CertificateOp : Plan_Part<"certificate"> {
  let summary = "an SMT query about this placement, what proves it and the file to check it with";
  let arguments = (ins StrAttr:$claim, StrAttr:$proof, OptionalAttr<StrAttr>:$file);
  let assemblyFormat = "$claim `by` $proof (`in` $file^)? attr-dict";
}

class Plan_Remark<string word>
    : Plan_Op<word, [ParentOneOf<["PlacementOp", "ClusterPlacementOp", "DesignChoiceOp", "SparsityOp", "EnsembleOp",
                                  "LatencyModelOp"]>]>;

def Plan_ConflictOp : Plan_Remark<"conflict"> {
  let summary = "a constraint that cannot be met, and by how much";
  let arguments = (ins StrAttr:$constraint, StrAttr:$detail);
  let assemblyFormat = "$constraint `:` $detail attr-dict";
}

def Plan_AssumptionOp : Plan_Remark<"assumption"> {
  let summary = "a default that changes a number, in words";
  let arguments = (ins StrAttr:$text);
  let assemblyFormat = "$text attr-dict";
}

include "dialects/plan/ProblemOps.td"
include "dialects/plan/RequestOps.td"
include "dialects/plan/DecisionOps.td"

#endif
