// Recurrent layers over time: one product for all inputs, then a repeat.
// RUN: accord-opt %s -split-input-file --expand-recurrent | FileCheck %s

// CHECK-LABEL: dnn.model @lstm
dnn.model @lstm (%x: tensor<?x5x3xf32>, %t: tensor<?x5x4xf32>) {
  dnn.parameter @wi : tensor<16x3xf32>
  dnn.parameter @wh : tensor<16x4xf32>
  dnn.parameter @b : tensor<2x16xf32>
  %wi = dnn.read @wi : tensor<16x3xf32>
  %wh = dnn.read @wh : tensor<16x4xf32>
  %b = dnn.read @b : tensor<2x16xf32>
  // Both biases are added to the same sum. A mark on the layer is one on what it becomes, but for the repeat.
  // CHECK: %[[B:.*]] = dnn.reduce_sum %{{.*}} {axis = 0 : i64, dnn.name = "l.bias_sum", dnn.recompute}
  // CHECK: %[[I:.*]] = dnn.linear %{{.*}}, %{{.*}}, %[[B]] {dnn.name = "l.input", dnn.recompute} : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16xf32>)
  // CHECK: %[[S:.*]] = dnn.unstack %[[I]] {axis = 0 : i64, dnn.name = "l.inputs", dnn.recompute} : (tensor<?x5x16xf32>) -> !dnn.stash<5 x tensor<?x16xf32>>
  // CHECK: %[[Z:.*]] = dnn.constant 0.000000e+00 {{.*}} : tensor<?x4xf32>
  // CHECK: %{{.*}}:2, %[[YS:.*]] = dnn.repeat 5 as "l.time" iter(%[[H:.*]] = %[[Z]] : tensor<?x4xf32>, %[[C:.*]] = %[[Z]] : tensor<?x4xf32>) unstash(%[[T:.*]] = %[[S]] : !dnn.stash<5 x tensor<?x16xf32>>) stash(!dnn.stash<5 x tensor<?x4xf32>>) {
  // CHECK: %[[P:.*]] = dnn.linear %[[H]], %{{.*}} {dnn.name = "l.state", dnn.recompute} : (tensor<?x4xf32>, tensor<16x4xf32>)
  // CHECK: %[[SUM:.*]] = dnn.add %[[P]], %[[T]]
  // CHECK: dnn.split %[[SUM]] {axis = -1 : i64, dnn.name = "l.gates", dnn.recompute, parts = 4 : i64}
  // CHECK: %[[C2:.*]] = dnn.add {{.*}} {dnn.name = "l.cell"
  // CHECK: %[[H2:.*]] = dnn.mul {{.*}} {dnn.name = "l.hidden"
  // CHECK: dnn.yield %[[H2]], %[[C2]] : tensor<?x4xf32>, tensor<?x4xf32> stash(%[[H2]] : tensor<?x4xf32>)
  // CHECK-NEXT: }{{$}}
  // CHECK: dnn.stack %[[YS]] {axis = 0 : i64, dnn.name = "l", dnn.recompute} : (!dnn.stash<5 x tensor<?x4xf32>>) -> tensor<?x5x4xf32>
  // CHECK-NOT: dnn.lstm
  %y, %k = dnn.lstm %x, %wi, %wh, %b {dnn.name = "l", dnn.recompute} : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x16xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
  %l = dnn.mse %y, %t : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// Both directions of a GRU; the state's bias is inside of what is reset, so it stays with the product.
// CHECK-LABEL: dnn.model @gru
dnn.model @gru (%x: tensor<?x5x3xf32>, %t: tensor<?x5x8xf32>) {
  dnn.parameter @wi : tensor<2x12x3xf32>
  dnn.parameter @wh : tensor<2x12x4xf32>
  dnn.parameter @b : tensor<2x2x12xf32>
  %wi = dnn.read @wi : tensor<2x12x3xf32>
  %wh = dnn.read @wh : tensor<2x12x4xf32>
  %b = dnn.read @b : tensor<2x2x12xf32>
  // CHECK: dnn.split %{{.*}} {axis = 0 : i64, dnn.name = "g.weight_ih", parts = 2 : i64} : (tensor<2x12x3xf32>)
  // CHECK: dnn.repeat 5 as "g.ahead.time" iter(
  // CHECK: dnn.linear %{{.*}}, %{{.*}}, %{{.*}} {dnn.name = "g.ahead.state"} : (tensor<?x4xf32>, tensor<12x4xf32>, tensor<12xf32>)
  // CHECK: %[[A:.*]] = dnn.stack %{{.*}} {axis = 0 : i64, dnn.name = "g.ahead.outputs"}
  // CHECK: dnn.repeat 5 as "g.reverse.time" reverse iter(
  // CHECK: %[[R:.*]] = dnn.stack %{{.*}} {axis = 0 : i64, dnn.name = "g.reverse.outputs"}
  // CHECK: %[[Y:.*]] = dnn.concat %[[A]], %[[R]] {axis = -1 : i64, dnn.name = "g"} : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<?x5x8xf32>
  // CHECK: dnn.mse %[[Y]]
  %y, %k = dnn.gru %x, %wi, %wh, %b {bidirectional = true, dnn.name = "g"} : (tensor<?x5x3xf32>, tensor<2x12x3xf32>, tensor<2x12x4xf32>, tensor<2x2x12xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x32xf32>)
  %l = dnn.mse %y, %t : (tensor<?x5x8xf32>, tensor<?x5x8xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
