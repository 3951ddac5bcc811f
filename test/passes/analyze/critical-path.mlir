// Two chains meet: 1 + 7 and 1 + 2 + 3; the shorter one has 2 ps to spare. Times are given by hand.
// RUN: accord-opt %s -split-input-file --critical-path | FileCheck %s
// RUN: accord-opt %s -split-input-file --critical-path --critical-path | FileCheck %s

// CHECK: dnn.training_graph @diamond attributes {{.*}}plan.critical_path = array<i64: 9, 0>
dnn.training_graph @diamond attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // CHECK: "a", plan.critical, plan.earliest = 0 : i64, plan.latest = 0 : i64, plan.slack = 0 : i64, plan.time = 1
    %a = dnn.relu %x {dnn.name = "a", plan.time = 1} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "long", plan.critical, plan.earliest = 1 : i64, plan.latest = 1 : i64, plan.slack = 0 : i64, plan.time = 7
    %l = dnn.exp %a {dnn.name = "long", plan.time = 7} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "short1", plan.earliest = 1 : i64, plan.latest = 3 : i64, plan.slack = 2 : i64, plan.time = 2
    %s = dnn.tanh %a {dnn.name = "short1", plan.time = 2} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "short2", plan.earliest = 3 : i64, plan.latest = 5 : i64, plan.slack = 2 : i64, plan.time = 3
    %s2 = dnn.tanh %s {dnn.name = "short2", plan.time = 3} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    // CHECK: "end", plan.critical, plan.earliest = 8 : i64, plan.latest = 8 : i64, plan.slack = 0 : i64, plan.time = 1
    %e = dnn.add %l, %s2 {dnn.name = "end", plan.time = 1} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}

// -----

// A repeat is as long as its longest chain: 10 iterations of 2 + 3.
// CHECK: dnn.training_graph @loop attributes {{.*}}plan.critical_path = array<i64: 50, 0>
dnn.training_graph @loop attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    %y = dnn.repeat 10 as "block" iter(%a = %x : tensor<?x4xf32>) {
      // CHECK: "u", plan.critical, plan.earliest = 0 : i64
      %u = dnn.relu %a {dnn.name = "u", plan.time = 2} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      // CHECK: "v", plan.critical, plan.earliest = 2 : i64
      %v = dnn.tanh %u {dnn.name = "v", plan.time = 3} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %v : tensor<?x4xf32>
    }
    // CHECK: } {plan.critical, plan.earliest = 0 : i64, plan.latest = 0 : i64, plan.slack = 0 : i64, plan.time = 50 : i64}
  }
  dnn.optimizer_step {
  }
}
