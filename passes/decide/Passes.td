// Passes that read a training from a file and write a decision about it.
#ifndef ACCORD_DECIDE_PASSES
#define ACCORD_DECIDE_PASSES
include "mlir/Pass/PassBase.td"

/// Which training of which file is meant, as the options of the commands say it.
defvar Decide_File = Option<"file", "file", "std::string", "", "a .dnn file">;
defvar Decide_Train = Option<"train", "train", "std::string", "", "which train block, or which model of a file without one">;
defvar Decide_CostModel = Option<"costModel", "cost-model", "std::string", "", "cost model by name; empty: the machine's">;

def ExploreAccelerators : Pass<"explore-accelerators", "::mlir::ModuleOp"> {
  let summary = "the best accelerator of a design space for trainings: a plan.design_choice";
  let description = [{
    Finds what `accord mine` finds with these options. A space in which no design keeps the requirements gets a choice without
    parameters, with its `plan.conflict`.

    Before:
    ```mlir
    module {
    }
    ```
    After (`--explore-accelerators="files=bert.dnn"`):
    ```mlir
    plan.design_choice @bert_step of "tpu_shapes" designs "16000" minimize "step_time" value 0.39… bound 0.37… by "…" optimal evaluations 46 {
      plan.design_parameter "vmem.capacity" is "8 MiB"
      …
      plan.design_step "bert_step" by "micro-batch 4" batch 16 seconds 0.39… joules 26.5… bytes 9185127472
    }
    ```
  }];
  let options = [
    ListOption<"files", "files", "std::string", ".dnn files">,
    Option<"space", "space", "std::string", "", "accelerator with choices; empty: what the file trains on">,
    Decide_Train,
    Option<"metric", "metric", "std::string", "", "step_time, tdp_time, energy or area_time; empty: the objective of the file">,
    Option<"strategy", "strategy", "std::string", "\"exact\"", "a strategy of accord mine">,
    Option<"aggregation", "aggregation", "std::string", "\"minimax_regret\"", "of several files: minimax_regret or sum">,
    Option<"evaluations", "evaluations", "uint64_t", "0", "at most so many design evaluations; 0: any number">
  ];
  let dependentDialects = ["::accord::plan::PlanDialect"];
}

def SearchSparsity : Pass<"search-sparsity", "::mlir::ModuleOp"> {
  let summary = "which zeros each layer of a training has: a plan.sparsity";
  let description = [{
    Finds what `accord prune` finds: the patterns that the `sparsity for` block of the file allows, with the bound of the choice.

    Before:
    ```mlir
    module {
    }
    ```
    After (`--search-sparsity="file=gpt2.dnn"`):
    ```mlir
    plan.sparsity @gpt2_training model "gpt2_training" on "a100_80g" minimize "step_time" value 41905589779 bound 41905589779 confidence 0.95 {
      plan.layer_sparsity "mlp.y" takes "weights nm(2, 4) transposable as nm(2, 4)" seconds 0.012… at_most 0.012… dense 0.018…
      …
    }
    ```
  }];
  let options = [
    Decide_File,
    Option<"target", "target", "std::string", "", "machine; empty: as the file says">,
    Decide_Train, Decide_CostModel,
    Option<"confidence", "confidence", "double", "0", "of the limits of times and memory; 0: as the file says">
  ];
  let dependentDialects = ["::accord::plan::PlanDialect"];
}

def PartitionEnsemble : Pass<"partition-ensemble", "::mlir::ModuleOp"> {
  let summary = "which members vote, and which devices train them: a plan.ensemble";
  let description = [{
    Finds what `accord vote` finds: members, their devices, and the guaranteed bound of the error of their vote. Where the devices
    have no room there is an ensemble without members, with its `plan.conflict`.

    Before:
    ```mlir
    module {
    }
    ```
    After (`--partition-ensemble="file=resnet.dnn"`):
    ```mlir
    plan.ensemble @voters of "whole" minimize "step_time" value 0.1234… bound 0.1234… error "0.2298079" by "hold-out bound (Clopper-Pearson)" confidence "0.95" {
      plan.member "wide" on "a100_40g"[0] by "micro-batch 512 x 1" devices 1 step 69453541306 ps state … activations …
      …
    }
    ```
  }];
  let options = [
    Decide_File,
    Option<"ensemble", "ensemble", "std::string", "", "which ensemble block; empty: the only one">,
    Decide_CostModel
  ];
  let dependentDialects = ["::accord::plan::PlanDialect"];
}

def EmitLatencyModel : Pass<"emit-latency-model", "::mlir::ModuleOp"> {
  let summary = "step time, memory and FLOPs as functions of sizes: a plan.latency_model and its functions";
  let description = [{
    Makes the latency model that `accord latency` makes. Its arguments with their intervals and its samples become a
    `plan.latency_model`; the coefficients are the constants of the functions beside it, which any lowering of `func` and `arith` compiles.

    Before:
    ```mlir
    module {
    }
    ```
    After (`--emit-latency-model="file=own_cell.dnn"`):
    ```mlir
    plan.latency_model @own model "own" on "a100_80g" evaluate @own_evaluate step 0.0056… exact {
      plan.latency_argument "batch" unit "samples" default 2.0e+01 from 1.0 to 0x1p40 multiple 1
      …
      plan.latency_sample at [2.0e+01, 1.0, …] seconds 0.0056… bytes … flops …
    }
    func.func @own_evaluate(%batch: i64, %microbatch: i64, …) -> (i32, f64, f64, f64) { … }
    ```
  }];
  let options = [
    Decide_File,
    Option<"target", "target", "std::string", "", "machine or cluster; empty: as the file says">,
    Decide_Train, Decide_CostModel
  ];
  let dependentDialects = ["::accord::plan::PlanDialect"]; // and those of the functions that compute the model
}

def ScheduleJobs : Pass<"schedule-jobs", "::mlir::ModuleOp"> {
  let summary = "when each job of each jobs.problem runs, with bounds of the objectives: a jobs.schedule";
  let description = [{
    A schedule of an earlier run is replaced. A problem that nothing keeps gets an `infeasible` schedule.

    Before:
    ```mlir
    jobs.problem @night slots 8 of 900 s minimize ["makespan"] {
      …
    }
    ```
    After:
    ```mlir
    jobs.schedule of @night optimal {
      jobs.value "makespan" is 1890 bound 1890
      jobs.run "vit" in "8 h100" from 0 to 2
      jobs.complete "vit" at 1000
      …
    }
    ```
  }];
  let options = [Option<"effort", "effort", "unsigned", "4", "how much work the search may do: each step more about doubles it">];
  let dependentDialects = ["::accord::jobs::JobsDialect"];
}

def PlaceJobs : Pass<"place-jobs", "::mlir::ModuleOp"> {
  let summary = "the servers that each run of a jobs.schedule holds";
  let description = [{
    A run keeps its servers as long as it lasts, and a job goes back to where it was where it can. A run for which no
    servers are found stays without, with a warning.

    Before:
    ```mlir
    jobs.run "vit" in "8 h100" from 0 to 2
    ```
    After:
    ```mlir
    jobs.run "vit" in "8 h100" from 0 to 2 on 0:8
    ```
  }];
  let dependentDialects = ["::accord::jobs::JobsDialect"];
}
#endif
