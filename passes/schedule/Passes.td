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

def Place : Pass<"place", "::mlir::ModuleOp"> {
  let summary = "where each layer of a request runs on its cluster: a plan.cluster_placement";
  let description = [{
    Asks the `PlacementPlanner` what the stages are, how each is parallelized and what no placement can beat. The training graphs of
    all parallel configurations are built from the model in the request, by the phases train, simplify and shard. Nothing happens to a
    request for one machine.

    Before:
    ```mlir
    accel.accelerator @a100_80g { … }
    accel.cluster @selene { … }
    plan.request @gpt3.request on "selene" {batch = 1536 : i64, …} { dnn.model @gpt3 … }
    ```
    After:
    ```mlir
    …
    plan.cluster_placement @gpt3 model "gpt3" on "selene" minimize "step_time" value … bound … by "…" step … ps {
      plan.pipeline_schedule "interleaved" virtual 2 microbatches 64 devices 512
      plan.pipeline_stage [0] layers ["embedding", "block[0..11]"] on "a100_80g" ranks "0..31" tensor 8 data 4 …
    }
    ```
  }];
  let dependentDialects = ["::accord::plan::PlanDialect", "::accord::dnn::DnnDialect"];
}

def ScheduleStep : Pass<"schedule", "::mlir::ModuleOp"> {
  let summary = "when each operation of a request runs on its machine: a plan.placement";
  let description = [{
    Schedules the training graph of every recomputation policy at every micro-batch size that the request offers, and writes the best plan
    that keeps what is required. When none does, the plan that needs least memory is written with its `plan.conflict`. Nothing happens
    to a request for a cluster, which `place` has answered.

    Before:
    ```mlir
    accel.accelerator @tiny { … }
    plan.request @net.request on "tiny" {batch = 32 : i64, microbatches = array<i64: 8, 16>, recompute = ["none"], …} { … }
    dnn.training_graph @net.none attributes {dnn.recompute_policy = "none", …} { … }
    ```
    After:
    ```mlir
    …
    plan.placement @net model "net" on "tiny" maximize "throughput" value … bound … step 81920 ps {
      plan.region @microbatch [4] length 20000 ps {
        plan.slot "fc" on "tc"[0] start 0 ps duration 512 ps
        …
    ```
  }];
  let dependentDialects = ["::accord::plan::PlanDialect"];
}

def EmitPlan : Pass<"emit-plan", "::mlir::ModuleOp"> {
  let summary = "leave the plans of the module alone";
  let description = [{
    The last phase of `accord-pipeline`: what is left is the file `plan.mlir` of `accord compile`.

    Before:
    ```mlir
    accel.accelerator @tiny { … }
    plan.request @net.request on "tiny" … { … }
    dnn.training_graph @net.none … { … }
    plan.placement @net … { … }
    ```
    After:
    ```mlir
    plan.placement @net … { … }
    ```
  }];
}
#endif
