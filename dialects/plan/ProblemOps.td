// A scheduling problem, a schedule of it, and what proves that none is shorter.
#ifndef ACCORD_PLAN_PROBLEM_OPS
#define ACCORD_PLAN_PROBLEM_OPS

def Plan_ProblemOp : Plan_Op<"problem", [Symbol, NoTerminator, SingleBlock, NoRegionArguments, IsolatedFromAbove]> {
  let summary = "tasks, their ways of running, and what they share";
  let description = [{
    Times are whole numbers of any unit. Parts name each other by their names, or by number where names are missing or
    alike: "#3" is the fourth.

    ```mlir
    plan.problem @layer {
      plan.resource "core" capacity 2
      plan.memory "sram" capacity 64
      plan.task "load" modes duration 3
      plan.task "gemm" modes "wide" duration 4 uses "core" 2 or "narrow" duration 7 uses "core" 1
      plan.task "again" modes "never" absent or "" duration 2 uses "core" 1
      plan.precedence "load" before "gemm" delay 1
      plan.buffer "tile" bytes 48 in "sram" made_by "load" read_by "gemm" unless "again"
      plan.pairing "gemm" with "again" allows 0-0, 1-0, 1-1
    }
    plan.solution of @layer feasible makespan 8 {
      plan.start "load" at 0
      plan.start "gemm" at 4
      plan.start "again" at 0
      plan.lower_bound 8 kind "path" by "critical path" along ["load", "gemm"]
    }
    ```
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<StrAttr>:$title);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name ($title^)? attr-dict-with-keyword $body";
  let hasRegionVerifier = 1;
}

class Plan_ProblemPart<string word> : Plan_Op<word, [HasParent<"ProblemOp">]>;

def Plan_ResourceOp : Plan_ProblemPart<"resource"> {
  let summary = "something free again when a task ends: cores, ports, links";
  let arguments = (ins StrAttr:$name, Plan_Natural:$capacity);
  let assemblyFormat = "$name `capacity` $capacity attr-dict";
}

def Plan_BudgetOp : Plan_ProblemPart<"budget"> {
  let summary = "what all chosen modes together may spend";
  let arguments = (ins StrAttr:$name, Plan_Natural:$capacity);
  let assemblyFormat = "$name `capacity` $capacity attr-dict";
}

def Plan_TaskOp : Plan_ProblemPart<"task"> {
  let summary = "what must happen, in one of its modes";
  let description = [{
    A mode is `"name" duration 3 uses "core" 2, "link" 1 consumes "energy" 5`, or `"name" absent`: the task does not happen.
  }];
  let arguments = (ins StrAttr:$name, ArrayAttr:$modes);
  let assemblyFormat = "$name `modes` custom<Modes>($modes) attr-dict";
  let hasVerifier = 1;
}

def Plan_PrecedenceOp : Plan_ProblemPart<"precedence"> {
  let summary = "`after` starts when `before` has ended and `delay` has passed, where both happen";
  let arguments = (ins StrAttr:$before, StrAttr:$after, OptionalAttr<Plan_Natural>:$delay);
  let plain = 0;
  let assemblyFormat = "$before `before` $after (`delay` $delay^)? attr-dict";
}

def Plan_TimeLagOp : Plan_ProblemPart<"time_lag"> {
  let summary = "`after` starts at least `lag` after the start of `before`, where both happen; a negative lag is a maximum";
  let arguments = (ins StrAttr:$before, StrAttr:$after, I64Attr:$lag);
  let plain = 0;
  let assemblyFormat = "$before `to` $after `lag` $lag attr-dict";
}

def Plan_BufferOp : Plan_ProblemPart<"buffer"> {
  let summary = "bytes from the start of the task that makes them to the end of the last that reads them";
  let arguments = (ins StrAttr:$name, Plan_Natural:$bytes, StrAttr:$memory, OptionalAttr<StrAttr>:$producer,
                       OptionalAttr<ArrayAttr>:$readers, UnitAttr:$persistent);
  let plain = 0;
  let assemblyFormat = [{
    $name `bytes` $bytes `in` $memory (`made_by` $producer^)? (`read_by` custom<Readers>($readers)^)? (`persistent` $persistent^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_PairingOp : Plan_ProblemPart<"pairing"> {
  let summary = "modes of two tasks that go together, by number; all others do not";
  let arguments = (ins StrAttr:$a, StrAttr:$b, DenseI64ArrayAttr:$allowed);
  let plain = 0;
  let assemblyFormat = "$a `with` $b `allows` custom<Pairs>($allowed) attr-dict";
  let hasVerifier = 1;
}

def Plan_SolutionOp : Plan_Op<"solution", [NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "a schedule of a problem, or that there is none";
  let arguments = (ins FlatSymbolRefAttr:$problem, StrAttr:$verdict, OptionalAttr<Plan_Natural>:$makespan,
                       OptionalAttr<StrArrayAttr>:$conflict, OptionalAttr<StrAttr>:$stopped);
  let plain = 0;
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    `of` $problem custom<Word>($verdict) (`makespan` $makespan^)? (`conflict` $conflict^)? (`stopped` $stopped^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
}

def Plan_StartOp : Plan_Op<"start", [HasParent<"SolutionOp">]> {
  let summary = "when a task starts, and in which mode; 0 where it does not happen";
  let arguments = (ins StrAttr:$task, Plan_Natural:$start, OptionalAttr<Plan_Natural>:$mode);
  let plain = 0;
  let assemblyFormat = "$task `at` $start (`mode` $mode^)? attr-dict";
}

def Plan_LowerBoundOp : Plan_Op<"lower_bound", [HasParent<"SolutionOp">, NoTerminator, SingleBlock, NoRegionArguments]> {
  let summary = "no schedule is shorter, and what proves it";
  let arguments = (ins Plan_Natural:$value, StrAttr:$kind, StrAttr:$proof, OptionalAttr<StrArrayAttr>:$tasks,
                       OptionalAttr<StrAttr>:$resource, OptionalAttr<Plan_Natural>:$unit,
                       OptionalAttr<DenseI64ArrayAttr>:$weights);
  let plain = 0;
  let regions = (region AnyRegion:$steps);
  let assemblyFormat = [{
    $value `kind` $kind `by` $proof (`along` $tasks^)? (`sharing` $resource^)? (`unit` $unit^)?
    (`weights` $weights^)? ($steps^)?
    attr-dict
  }];
  let hasVerifier = 1;
}

def Plan_StepOp : Plan_Op<"step", [HasParent<"LowerBoundOp">]> {
  let summary = "one step of a proof by windows";
  let arguments = (ins StrAttr:$rule, StrAttr:$task, UnitAttr:$early, I64Attr:$time, StrAttr:$other,
                       OptionalAttr<I64Attr>:$begin, OptionalAttr<I64Attr>:$end, OptionalAttr<StrArrayAttr>:$tasks);
  let plain = 0;
  let assemblyFormat = [{
    $rule `of` $task (`early` $early^)? $time `with` $other (`from` $begin^)? (`to` $end^)? (`and` $tasks^)? attr-dict
  }];
  let hasVerifier = 1;
}

#endif
