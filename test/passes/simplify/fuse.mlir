// What runs as one, what becomes a result, and what parts two operations.
// RUN: accord-opt %s --pass-pipeline="builtin.module(build-training-graph{optimizer=sgd precision=fp32},dnn.training_graph(fuse))" | FileCheck %s
// RUN: accord-opt %s --pass-pipeline="builtin.module(build-training-graph{optimizer=sgd precision=fp32},dnn.training_graph(fuse{contractions=false}))" | FileCheck %s --check-prefix=PART
// RUN: accord-opt %s --pass-pipeline="builtin.module(build-training-graph{optimizer=sgd precision=fp32},dnn.training_graph(fuse),interpret{check-derivatives batch=2})" | FileCheck %s --check-prefix=CHECKED
// CHECKED: dnn.derivatives_checked

dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @a.weight : tensor<8x4xf32> copies 3
  dnn.parameter @b.weight : tensor<4x8xf32> copies 3
  dnn.parameter @norm : tensor<4xf32>
  // CHECK: dnn.repeat 3 as "block" iter(%[[X:.*]] = %{{.*}} : tensor<?x4xf32>)
  %y = dnn.repeat 3 as "block" iter(%c = %x : tensor<?x4xf32>) {
    %wa = dnn.read @a.weight : tensor<8x4xf32>
    %wb = dnn.read @b.weight : tensor<4x8xf32>
    // Through the view; the gradient of gelu reads what it was given, so that is a result.
    // CHECK: %[[A:.*]]:2 = dnn.fused (%[[P:.*]] = %[[X]] : tensor<?x4xf32>, %[[Q:.*]] = %{{.*}} : tensor<8x4xf32>) -> (tensor<?x8xf32>, tensor<?x2x4xf32>) {
    // CHECK-NEXT: %[[H:.*]] = dnn.linear %[[P]], %[[Q]] {dnn.name = "a", dnn.phase = #dnn.phase<forward>}
    // CHECK-NEXT: %[[V:.*]] = dnn.reshape %[[H]]
    // CHECK-NEXT: %[[G:.*]] = dnn.gelu %[[V]] {dnn.name = "act", dnn.phase = #dnn.phase<forward>}
    // CHECK-NEXT: dnn.yield %[[H]], %[[G]]
    // CHECK-NEXT: } {dnn.name = "a", dnn.phase = #dnn.phase<forward>}
    // PART: dnn.linear
    // PART-NOT: dnn.fused
    // PART: dnn.gelu
    %h = dnn.linear %c, %wa {dnn.name = "a"} : (tensor<?x4xf32>, tensor<8x4xf32>) -> tensor<?x8xf32>
    %v = dnn.reshape %h {dims = array<i64: 2, 4>} : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
    %g = dnn.gelu %v {dnn.name = "act"} : (tensor<?x2x4xf32>) -> tensor<?x2x4xf32>
    %f = dnn.reshape %g {dims = array<i64: 8>} : (tensor<?x2x4xf32>) -> tensor<?x8xf32>
    // The product does not leave the core: the sum behind it is all that is used.
    // CHECK: dnn.fused ({{.*}} : tensor<?x8xf32>, {{.*}} : tensor<4x8xf32>, {{.*}} = %[[X]] : tensor<?x4xf32>) -> tensor<?x4xf32> {
    // CHECK-NEXT: dnn.linear {{.*}}dnn.name = "b"
    // CHECK-NEXT: dnn.add {{.*}}dnn.name = "sum"
    // CHECK-NEXT: dnn.yield %{{[0-9]+}} : tensor<?x4xf32>
    %m = dnn.linear %f, %wb {dnn.name = "b"} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    %s = dnn.add %c, %m {dnn.name = "sum"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %s : tensor<?x4xf32>
  }
  // Nothing joins across the repeat; the normalization takes the work before and behind it.
  // CHECK: dnn.fused
  // CHECK-NEXT: dnn.relu {{.*}}dnn.name = "before"
  // CHECK-NEXT: dnn.rms_norm {{.*}}dnn.name = "norm"
  // CHECK-NEXT: dnn.scale {{.*}}dnn.name = "behind"
  // CHECK: } {dnn.name = "norm", dnn.phase = #dnn.phase<forward>}
  // CHECK-NEXT: dnn.mse
  %n = dnn.read @norm : tensor<4xf32>
  %r = dnn.relu %y {dnn.name = "before"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %o = dnn.rms_norm %r, %n {dnn.name = "norm"} : (tensor<?x4xf32>, tensor<4xf32>) -> tensor<?x4xf32>
  %z = dnn.scale %o {factor = 0.5 : f64, dnn.name = "behind"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %z, %t {dnn.name = "mse"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // The forward pass is no part of the backward pass, whatever reads what.
  // CHECK: dnn.repeat 3 as "block.backward" reverse
  // CHECK: dnn.fused
  // CHECK-NEXT: dnn.contract {{.*}}dnn.name = "b.data_gradient"
  // CHECK-NEXT: dnn.reshape
  // CHECK-NEXT: dnn.gelu_grad {{.*}}dnn.name = "act.data_gradient"
}
