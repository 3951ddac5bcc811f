// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s --emit-bytecode | accord-opt | FileCheck %s

// CHECK-LABEL: plan.placement @mlp model "mlp" on "a100" minimize "step_time" value 2.100000e-08 bound 1.500000e-08 step 21000 ps {
plan.placement @mlp model "mlp" on "a100" minimize "step_time" value 2.1e-08 bound 1.5e-08 step 21000 ps {
  // CHECK-NEXT: plan.memory "hbm" capacity 85899345920
  plan.memory "hbm" capacity 85899345920
  // CHECK-NEXT: plan.core "tc" [2] : tensor
  plan.core "tc" [2] : tensor
  // CHECK-NEXT: plan.stage "s0" on "gpu"[0] runs [@step]
  plan.stage "s0" on "gpu"[0] runs [@step]
  // CHECK-NEXT: plan.region @step [2] length 10000 ps {
  plan.region @step [2] length 10000 ps {
    // CHECK-NEXT: plan.slot "fc1" on "tc"[0] start 0 ps duration 6000 ps
    plan.slot "fc1" on "tc"[0] start 0 ps duration 6000 ps
    // CHECK-NEXT: plan.slot "view" start 6000 ps duration 0 ps after ["fc1"]
    plan.slot "view" start 6000 ps duration 0 ps after ["fc1"]
    // CHECK-NEXT: plan.slot "fc2" on "tc"[1] start 6000 ps duration 400 ps after ["fc1", "view"]
    plan.slot "fc2" on "tc"[1] start 6000 ps duration 400 ps after ["fc1", "view"]
    // CHECK-NEXT: plan.slot "block" runs @block start 6400 ps duration 3600 ps
    plan.slot "block" runs @block start 6400 ps duration 3600 ps
    // CHECK-NEXT: plan.transfer "x" from "gpu0" to "gpu1" bytes 4096 start 6000 ps duration 10 ps after ["fc1"]
    plan.transfer "x" from "gpu0" to "gpu1" bytes 4096 start 6000 ps duration 10 ps after ["fc1"]
  }
  // CHECK: plan.region @block [36] length 100 ps {
  plan.region @block [36] length 100 ps {
    plan.slot "a" on "tc"[0] start 0 ps duration 100 ps
  }
  // CHECK: plan.region @update [1] length 1000 ps {
  // CHECK-NEXT: }
  plan.region @update [1] length 1000 ps {
  }
  // CHECK-NEXT: plan.residency "weights" in "hbm" bytes 4096
  plan.residency "weights" in "hbm" bytes 4096
  // CHECK-NEXT: plan.shard "fc1.weight" dimension 0 into 8 over "nvlink"
  plan.shard "fc1.weight" dimension 0 into 8 over "nvlink"
  // CHECK-NEXT: plan.bound "core tc" step 15000 ps
  plan.bound "core tc" step 15000 ps
  // CHECK-NEXT: plan.certificate "step >= 15000 ps" by "core tc" in "certificate/step.smt2"
  plan.certificate "step >= 15000 ps" by "core tc" in "certificate/step.smt2"
  // CHECK-NEXT: plan.assumption "every core reaches its peak"
  plan.assumption "every core reaches its peak"
}
