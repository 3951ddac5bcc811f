// RUN: accord-opt %s -split-input-file -verify-diagnostics --estimate-cost="machine=big"
// RUN: not accord-opt %s -split-input-file --estimate-cost="machine=small cost-model=guess" 2>&1 | FileCheck %s --check-prefix=MODEL
// RUN: not accord-opt %s -split-input-file --estimate-cost 2>&1 | FileCheck %s --check-prefix=WHICH
// RUN: not accord-opt %s -split-input-file --estimate-cost="machine=small microbatch=0" 2>&1 | FileCheck %s --check-prefix=SAMPLES

// MODEL: error: unknown cost model 'guess', there are 'array', 'instructions', 'mapping_search', 'peak', 'vector'
// WHICH: error: the module has several accelerators, say which: 'machine=name'
// WHICH: note: 'small' is described here
// WHICH: note: 'other' is described here
// WHICH: error: the module has no accelerator
// SAMPLES: error: a micro-batch of 0 samples; it has at least 1

// expected-error@below {{the module has no accelerator 'big'}}
module {
  // expected-note@below {{'small' is described here}}
  accel.accelerator @small {
    accel.memory @dram : dram {capacity = #accel.quantity<1 GiB>, bandwidth = #accel.quantity<1 GB/s>}
    accel.core @vc [1] : vector {peak = {fp32 = #accel.quantity<1 MFLOP/s>}, reads = @dram}
    accel.path [@dram] -> [@vc]
  }
  // expected-note@below {{'other' is described here}}
  accel.accelerator @other {
    accel.memory @dram : dram {capacity = #accel.quantity<1 GiB>, bandwidth = #accel.quantity<1 GB/s>}
    accel.core @vc [1] : vector {peak = {fp32 = #accel.quantity<1 MFLOP/s>}, reads = @dram}
    accel.path [@dram] -> [@vc]
  }
  dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
    dnn.microbatch (%x: tensor<?x4xf32>) {
      %y = dnn.relu %x {dnn.name = "act", dnn.phase = #dnn.phase<forward>} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    }
    dnn.optimizer_step {
    }
  }
}

// -----

// expected-error@below {{the module has no accelerator 'big'}}
module {
}
