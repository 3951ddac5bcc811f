// Passes that write what an operation costs, and how critical it is, beside it.
#ifndef ACCORD_ANALYZE_PASSES
#define ACCORD_ANALYZE_PASSES
include "mlir/Pass/PassBase.td"

def EstimateCost : Pass<"estimate-cost", "::mlir::ModuleOp"> {
  let summary = "price every operation of the training graphs on a machine of the module";
  let description = [{
    Adds `plan.core` (not to views and repeats), `plan.time` (picoseconds of one execution, rounded up) and `plan.bound`
    (what binds: compute, a memory's bandwidth) to each operation, and `plan.machine` and `plan.microbatch` to the graph.
    A repeat takes as long as its schedule, which no estimate knows: it gets no time here. With `requested`, the phase `cost` of
    `accord-pipeline`, nothing is priced where the target is a cluster: the costs of a placement are those of its configurations.

    Before:
    ```mlir
    accel.accelerator @tiny { … }
    dnn.training_graph @net … { … %y = dnn.linear %x, %w {dnn.name = "fc"} : … }
    ```
    After (`--estimate-cost="machine=tiny microbatch=8"`):
    ```mlir
    dnn.training_graph @net … {
      … %y = dnn.linear %x, %w {dnn.name = "fc", plan.bound = "compute", plan.core = "tc", plan.time = 512} : …
    ```
  }];
  let options = [
    Option<"machine", "machine", "std::string", "", "accelerator of the module; empty: the only one">,
    Option<"costModel", "cost-model", "std::string", "", "cost model by name; empty: the machine's">,
    Option<"microbatch", "microbatch", "int64_t", "1", "micro-batch size">,
    Option<"requested", "requested", "bool", "false", "machine, cost model and the first micro-batch size of the plan.request">
  ];
}

def CriticalPathPass : Pass<"critical-path", "::mlir::ModuleOp"> {
  let summary = "earliest and latest start, slack and criticality of every operation";
  let description = [{
    Reads `plan.time` (of `estimate-cost`, of another pass or written by hand) and adds to each operation `plan.earliest`,
    `plan.latest` and `plan.slack` (picoseconds from the start of its region's iteration), and `plan.critical` to those on
    the longest chain of dependences with unlimited cores. A repeat gets the `plan.time` of its longest chain over all iterations.
    `plan.critical_path` on the graph is the length of one micro-batch and of the update.

    With `what-if`, `plan.gain` on an operation is how many picoseconds shorter both together are if the operation takes none
    (only on those that gain), and `plan.critical_path_of` on the graph is how long they are if only the operations of one kind
    of core take time. Each operation is timed again, in its region and the ones around it.

    Before:
    ```mlir
    %y = dnn.linear %x, %w {dnn.name = "fc", plan.time = 512} : …
    ```
    After:
    ```mlir
    %y = dnn.linear %x, %w {dnn.name = "fc", plan.critical, plan.earliest = 0, plan.latest = 0, plan.slack = 0, plan.time = 512} : …
    ```
  }];
  let options = [
    Option<"whatIf", "what-if", "bool", "false", "also what each operation and each kind of core contributes">
  ];
}
#endif
