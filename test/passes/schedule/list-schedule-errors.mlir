// RUN: not accord-opt %s --list-schedule="machine=big" 2>&1 | FileCheck %s --check-prefix=MACHINE
// RUN: not accord-opt %s --list-schedule="cost-model=guess" 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: not accord-opt %s --list-schedule="microbatch=8 batch=12" 2>&1 | FileCheck %s --check-prefix=BATCH
// RUN: not accord-opt %s --list-schedule="microbatch=0" 2>&1 | FileCheck %s --check-prefix=NONE

// MACHINE: error: the module has no accelerator 'big'
// MACHINE: list-schedule-errors.mlir:[[#@LINE+5]]:1: note: 'tiny' is described here
// MODEL: list-schedule-errors.mlir:[[#@LINE+10]]:1: error: unknown cost model 'guess', there are 'array', 'instructions', 'mapping_search', 'peak', 'vector'
// BATCH: list-schedule-errors.mlir:[[#@LINE+9]]:1: error: a batch of 12 samples is no multiple of a micro-batch of 8
// NONE: error: a batch of 0 samples is no multiple of a micro-batch of 0

accel.accelerator @tiny {
  accel.memory @dram : dram {capacity = #accel.quantity<1 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @vc [1] : vector {peak = {fp32 = #accel.quantity<1 MFLOP/s>}, reads = @dram}
  accel.path [@dram] -> [@vc]
}

dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    %y = dnn.relu %x {dnn.name = "act"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}
