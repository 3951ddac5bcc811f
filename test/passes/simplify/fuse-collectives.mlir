// A collective joins nothing, element-wise as it looks.
// RUN: accord-opt %s --pass-pipeline="builtin.module(dnn.training_graph(fuse))" | FileCheck %s

// CHECK-LABEL: dnn.training_graph @shared
dnn.training_graph @shared attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    // CHECK: dnn.gelu
    // CHECK-NEXT: dnn.all_reduce
    // CHECK-NEXT: dnn.fused
    // CHECK-NEXT: dnn.silu
    // CHECK-NEXT: dnn.tanh
    %a = dnn.gelu %x : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %b = dnn.all_reduce %a {axis = "tensor", devices = 2 : i64} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %c = dnn.silu %b : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %d = dnn.tanh %c : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %l = dnn.mse %d, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
    dnn.loss %l : tensor<f32>
  }
  dnn.optimizer_step {
  }
}
