// Passes that decide when each operation runs.
#ifndef ACCORD_SCHEDULE_PASSES
#define ACCORD_SCHEDULE_PASSES
include "mlir/Pass/PassBase.td"

def ListSchedule : Pass<"list-schedule", "::mlir::ModuleOp"> {
  let summary = "add a plan.placement for each training graph: which operation runs when on which core";
  let description = [{
    Prices and schedules the step as `accord compile` does at one micro-batch size. A step that does not fit the device's memory
    gets a placement with its `plan.conflict`.

    Before:
    ```mlir
    accel.accelerator @tiny { … }
    dnn.training_graph @net … { … }
    ```
    After (`--list-schedule="machine=tiny microbatch=8 batch=32"`):
    ```mlir
    accel.accelerator @tiny { … }
    dnn.training_graph @net … { … }
    plan.placement @net.plan model "net" on "tiny" maximize "throughput" value … bound … step 81920 ps {
      plan.memory "dram" capacity 1073741824
      plan.core "tc" [1] : tensor
      plan.region @microbatch [4] length 20000 ps {
        plan.slot "fc" on "tc"[0] start 0 ps duration 512 ps
        …
    ```
  }];
  let options = [
    Option<"machine", "machine", "std::string", "", "accelerator of the module; empty: the only one">,
    Option<"costModel", "cost-model", "std::string", "", "cost model by name; empty: the machine's">,
    Option<"microbatch", "microbatch", "int64_t", "1", "micro-batch size">,
    Option<"batch", "batch", "int64_t", "0", "samples per step, a multiple of the micro-batch; 0: one micro-batch">,
    Option<"effort", "effort", "unsigned", "4", "rounds of improvement">
  ];
  let dependentDialects = ["::accord::plan::PlanDialect"];
}
#endif
