// A repeat is differentiated as a region: stash what the backward needs, run in reverse, accumulate for what is captured.
// RUN: accord-opt %s -split-input-file --build-training-graph="optimizer=sgd precision=fp32" | FileCheck %s

// CHECK-LABEL: dnn.training_graph @block
dnn.model @block (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @in.weight : tensor<4x4xf32>
  dnn.parameter @block.fc.weight : tensor<4x4xf32> copies 48
  %wi = dnn.read @in.weight : tensor<4x4xf32>
  %x0 = dnn.linear %x, %wi {dnn.name = "in"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %y = dnn.repeat 48 as "block" iter(%a = %x0 : tensor<?x4xf32>) {
    %w = dnn.read @block.fc.weight : tensor<4x4xf32>
    %0 = dnn.linear %a, %w {dnn.name = "block.fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %r = dnn.reshape %0 {dims = array<i64: 2, 2>, dnn.name = "block.view"} : (tensor<?x4xf32>) -> tensor<?x2x2xf32>
    %1 = dnn.gelu %r {dnn.name = "block.gelu"} : (tensor<?x2x2xf32>) -> tensor<?x2x2xf32>
    %2 = dnn.reshape %1 {dims = array<i64: 4>, dnn.name = "block.flat"} : (tensor<?x2x2xf32>) -> tensor<?x4xf32>
    %3 = dnn.add %a, %2 {dnn.name = "block.residual"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %3 : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t {dnn.name = "mse"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // The linear's input and output are stashed; the reshape is made again, the weight read again.
  // CHECK: %[[Y:.*]], %[[S:.*]]:2 = dnn.repeat 48 as "block" iter(%[[A:.*]] = %{{.*}} : tensor<?x4xf32>) stash(!dnn.stash<48 x tensor<?x4xf32>>, !dnn.stash<48 x tensor<?x4xf32>>) {
  // CHECK: %[[FC:.*]] = dnn.linear
  // CHECK: dnn.yield %{{.*}} : tensor<?x4xf32> stash(%[[FC]], %[[A]] : tensor<?x4xf32>, tensor<?x4xf32>)
  // CHECK: %[[DY:.*]] = dnn.mse_grad
  // CHECK: %[[DX0:.*]] = dnn.repeat 48 as "block.backward" reverse iter(%[[D:.*]] = %[[DY]] : tensor<?x4xf32>) unstash(%[[U0:.*]] = %[[S]]#0 : {{.*}}, %[[U1:.*]] = %[[S]]#1 : {{.*}}) {
  // CHECK-NEXT: %[[D2:.*]] = dnn.reshape %[[D]] {{.*}}"block.flat.data_gradient"
  // CHECK-NEXT: %[[AGAIN:.*]] = dnn.reshape %[[U0]] {{.*}}"block.view.again"
  // CHECK-NEXT: %[[D1:.*]] = dnn.gelu_grad %[[D2]], %[[AGAIN]]
  // CHECK-NEXT: %[[D0:.*]] = dnn.reshape %[[D1]]
  // CHECK-NEXT: %[[W:.*]] = dnn.read @block.fc.weight
  // CHECK-NEXT: %[[DA:.*]] = dnn.contract %[[D0]], %[[W]] {{.*}}"block.fc.data_gradient"
  // CHECK-NEXT: %[[DW:.*]] = dnn.contract %[[D0]], %[[U1]] {{.*}}"block.fc.weight_gradient"
  // CHECK-NEXT: %[[SUM:.*]] = dnn.add %[[D]], %[[DA]]
  // CHECK-NEXT: dnn.gradient @block.fc.weight, %[[DW]]
  // CHECK-NEXT: dnn.yield %[[SUM]]
  // CHECK: dnn.contract %[[DX0]], %{{.*}} {{.*}}"in.weight_gradient"
}

// -----

// A captured weight and a captured activation get accumulators; a captured integer input is used as it is.
// CHECK-LABEL: dnn.training_graph @captured
dnn.model @captured (%ids: tensor<?xi32>, %x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @shared : tensor<4x4xf32>
  dnn.parameter @table : tensor<9x4xf32> copies 3
  %w = dnn.read @shared : tensor<4x4xf32>
  %m = dnn.linear %x, %w {dnn.name = "memory"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %y = dnn.repeat 3 as "loop" iter(%a = %x : tensor<?x4xf32>) {
    %tb = dnn.read @table : tensor<9x4xf32>
    %e = dnn.embedding %ids, %tb {dnn.name = "e"} : (tensor<?xi32>, tensor<9x4xf32>) -> tensor<?x4xf32>
    %0 = dnn.linear %a, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = dnn.mul %0, %m {dnn.name = "gate"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = dnn.add %1, %e {dnn.name = "sum"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %2 : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: dnn.microbatch (%[[IDS:[a-z0-9]+]]: tensor<?xi32>
  // CHECK: %[[W:.*]] = dnn.read @shared
  // CHECK: %[[M:.*]] = dnn.linear
  // CHECK: stash(!dnn.stash<3 x tensor<?x4xf32>>, !dnn.stash<3 x tensor<?x4xf32>>) {
  // CHECK-DAG: %[[ZM:.*]] = dnn.constant 0.{{.*}} {dnn.name = "memory.zero_gradient", dnn.phase = #dnn.phase<data_gradient>}
  // CHECK-DAG: %[[ZW:.*]] = dnn.constant 0.{{.*}} {dnn.name = "shared.zero_gradient", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK: %[[B:.*]]:3 = dnn.repeat 3 as "loop.backward" reverse iter(%[[D:.*]] = %{{.*}} : tensor<?x4xf32>, %[[AM:.*]] = %[[ZM]] : tensor<?x4xf32>, %[[AW:.*]] = %[[ZW]] : tensor<4x4xf32>)
  // CHECK: dnn.mul %[[D]], %[[M]] {{.*}}"gate.data_gradient"
  // CHECK: dnn.contract %{{.*}}, %[[W]] {{.*}}"fc.data_gradient"
  // CHECK: dnn.embedding_grad %[[D]], %[[IDS]]
  // CHECK: %[[SM:.*]] = dnn.add %[[AM]]
  // CHECK: %[[SW:.*]] = dnn.add %[[AW]]
  // CHECK: dnn.yield %{{.*}}, %[[SM]], %[[SW]]
  // CHECK: %[[DW:.*]] = dnn.contract %[[B]]#1, %{{.*}}"memory.shared_gradient"
  // CHECK: %[[S:.*]] = dnn.add %[[B]]#2, %[[DW]]
  // CHECK: dnn.gradient @shared, %[[S]]
}

// -----

// Nested: the inner stash is stashed by the outer repeat.
// CHECK-LABEL: dnn.training_graph @nested
dnn.model @nested (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32> copies 6
  dnn.parameter @v : tensor<4x4xf32> copies 3
  %y = dnn.repeat 3 as "outer" iter(%a = %x : tensor<?x4xf32>) {
    %v = dnn.read @v : tensor<4x4xf32>
    %b = dnn.repeat 2 as "inner" iter(%c = %a : tensor<?x4xf32>) {
      %w = dnn.read @w : tensor<4x4xf32>
      %0 = dnn.linear %c, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = dnn.linear %0, %v {dnn.name = "shared"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      dnn.yield %1 : tensor<?x4xf32>
    }
    dnn.yield %b : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %{{.*}}, %[[S:.*]]:2 = dnn.repeat 3 as "outer" {{.*}} stash(!dnn.stash<3 x !dnn.stash<2 x tensor<?x4xf32>>>, !dnn.stash<3 x !dnn.stash<2 x tensor<?x4xf32>>>) {
  // CHECK: %{{.*}}, %[[I:.*]]:2 = dnn.repeat 2 as "inner" {{.*}} stash(!dnn.stash<2 x tensor<?x4xf32>>, !dnn.stash<2 x tensor<?x4xf32>>) {
  // CHECK: dnn.yield %{{.*}} : tensor<?x4xf32> stash(%[[I]]#0, %[[I]]#1 : !dnn.stash<2 x tensor<?x4xf32>>, !dnn.stash<2 x tensor<?x4xf32>>)
  // CHECK: dnn.repeat 3 as "outer.backward" reverse {{.*}} unstash(%[[U0:.*]] = %[[S]]#0 : {{.*}}, %[[U1:.*]] = %[[S]]#1 : {{.*}}) {
  // CHECK: dnn.read @v {{.*}}"v.read.again"
  // CHECK: dnn.repeat 2 as "inner.backward" reverse {{.*}} unstash(%{{.*}} = %[[U0]] : {{.*}}, %{{.*}} = %[[U1]] : {{.*}}) {
  // CHECK: dnn.gradient @w
  // CHECK: dnn.gradient @v
}

// -----

// A carried value that only feeds the other one in the next iteration: its gradient starts at zero.
// CHECK-LABEL: dnn.training_graph @swap
dnn.model @swap (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32> copies 4
  %y:2 = dnn.repeat 4 as "swap" iter(%a = %x : tensor<?x4xf32>, %b = %x : tensor<?x4xf32>) {
    %w = dnn.read @w : tensor<4x4xf32>
    %0 = dnn.linear %a, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    dnn.yield %b, %0 : tensor<?x4xf32>, tensor<?x4xf32>
  }
  %l = dnn.mse %y#0, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[D:.*]] = dnn.mse_grad
  // CHECK: %[[Z:.*]] = dnn.constant 0.
  // CHECK: dnn.repeat 4 as "swap.backward" reverse iter(%[[DA:.*]] = %[[D]] : tensor<?x4xf32>, %[[DB:.*]] = %[[Z]] : tensor<?x4xf32>)
  // CHECK: %[[G:.*]] = dnn.contract %[[DB]], %{{.*}}"fc.data_gradient"
  // CHECK: dnn.yield %[[G]], %[[DA]]
}

// -----

// A repeat in a repeat: what the outer one hands back is one gradient, and nothing accumulates what the inner one gave.
// CHECK-LABEL: dnn.training_graph @nested
dnn.model @nested (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @in.weight : tensor<4x4xf32>
  dnn.parameter @fc.weight : tensor<4x4xf32> copies 12
  %wi = dnn.read @in.weight : tensor<4x4xf32>
  %x0 = dnn.linear %x, %wi {dnn.name = "in"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %y = dnn.repeat 3 as "outer" iter(%a = %x0 : tensor<?x4xf32>) {
    %z = dnn.repeat 4 as "inner" iter(%b = %a : tensor<?x4xf32>) {
      %w = dnn.read @fc.weight : tensor<4x4xf32>
      %0 = dnn.linear %b, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      %1 = dnn.relu %0 {dnn.name = "relu"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %1 : tensor<?x4xf32>
    }
    dnn.yield %z : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t {dnn.name = "mse"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: dnn.repeat 3 as "outer.backward" reverse iter(%{{[a-z0-9]+}} = %{{[a-z0-9]+}} : tensor<?x4xf32>) unstash(
  // CHECK-NEXT: %[[INNER:.*]] = dnn.repeat 4 as "inner.backward" reverse iter(%{{[a-z0-9]+}} = %{{[a-z0-9]+}} : tensor<?x4xf32>) unstash(
  // CHECK-NOT: dnn.add
  // CHECK: dnn.yield %[[INNER]]
}
