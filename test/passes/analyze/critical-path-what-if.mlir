// What each operation contributes: 1 + 7 + 1 against 1 + 2 + 3 + 1. Without "long" two are left of nine.
// RUN: accord-opt %s -split-input-file --critical-path=what-if=true | FileCheck %s
// RUN: accord-opt %s -split-input-file --critical-path=what-if=true --critical-path=what-if=true | FileCheck %s

// CHECK: dnn.training_graph @diamond attributes {{.*}}plan.critical_path = array<i64: 9, 0>, plan.critical_path_of = {vector = 9 : i64}
dnn.training_graph @diamond attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // CHECK: "a", {{.*}}plan.gain = 1 : i64
    %a = dnn.relu %x {dnn.name = "a", plan.time = 1} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "long", {{.*}}plan.gain = 2 : i64
    %l = dnn.exp %a {dnn.name = "long", plan.time = 7} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "short1"
    // CHECK-NOT: plan.gain
    // CHECK-SAME: plan.time = 2
    %s = dnn.tanh %a {dnn.name = "short1", plan.time = 2} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %s2 = dnn.tanh %s {dnn.name = "short2", plan.time = 3} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "end", {{.*}}plan.gain = 1 : i64
    %e = dnn.add %l, %s2 {dnn.name = "end", plan.time = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}

// -----

// Beside the chain over iterations, 10 * 2, each iteration has a branch of 5: it only counts at the end.
// CHECK: dnn.training_graph @loop attributes {{.*}}plan.critical_path = array<i64: 25, 0>
dnn.training_graph @loop attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    %y = dnn.repeat 10 as "block" iter(%a = %x : tensor<?x4xf32>) {
      // CHECK: "u", {{.*}}plan.gain = 20 : i64
      %u = dnn.relu %a {dnn.name = "u", plan.time = 2} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      // CHECK: "v", {{.*}}plan.gain = 5 : i64
      %v = dnn.tanh %u {dnn.name = "v", plan.time = 5} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %u : tensor<?x4xf32>
    }
  }
  dnn.optimizer_step {
  }
}
