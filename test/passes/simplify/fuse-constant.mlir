// What has no operands joins as well: a tensor filled with a constant.
// RUN: accord-opt %s --pass-pipeline="builtin.module(dnn.training_graph(fuse))" | FileCheck %s

// CHECK-LABEL: dnn.training_graph @constant
dnn.training_graph @constant attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // CHECK: dnn.fused (%[[X:.*]] = %{{.*}} : tensor<?x4xf32>) -> tensor<?x4xf32> {
    // CHECK-NEXT: %[[C:.*]] = dnn.constant 4.0
    // CHECK-NEXT: %[[Y:.*]] = dnn.mul %[[X]], %[[C]]
    // CHECK-NEXT: dnn.yield %[[Y]]
    %c = dnn.constant 4.0 : tensor<?x4xf32>
    %y = dnn.mul %x, %c : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %l = dnn.mse %y, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
    dnn.loss %l : tensor<f32>
  }
  dnn.optimizer_step {
  }
}
