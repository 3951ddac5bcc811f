// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --replicate="devices=4 experts=divided" --verify-diagnostics | FileCheck %s

// Each device has two of eight experts. Slots travel to their experts and rows come back; what arrived is kept for the backward pass, in
// which gradients travel the same way.
// CHECK: dnn.parameter @gate : tensor<8x6xf32>
// CHECK: dnn.parameter @up : tensor<2x5x6xf32> copies 2 {dnn.parts = [#dnn.part<"data", 0 of 4>]}
// CHECK: dnn.parameter @down : tensor<2x6x5xf32> copies 2 {dnn.parts = [#dnn.part<"data", 0 of 4>]}
// CHECK: dnn.parameter @odd : tensor<2x5x6xf32>
// CHECK: stash({{.*}}!dnn.stash<2 x tensor<?x4x2x1x6xf32>>{{.*}})
// CHECK: %[[SLOTS:.*]], %[[TOKENS:.*]], %[[WEIGHTS:.*]] = dnn.moe_dispatch {{.*}} -> (tensor<?x8x1x6xf32>, tensor<?x8x1xi32>, tensor<?x8x1xf32>)
// CHECK: %[[SENT:.*]] = dnn.all_to_all %[[SLOTS]] {axis = "data", devices = 4 : i64, {{.*}}join = 1 : i64, join_stacked, split = 1 : i64} : (tensor<?x8x1x6xf32>) -> tensor<?x4x2x1x6xf32>
// CHECK: %[[ROWS:.*]], %[[KEPT:.*]] = dnn.moe_experts %[[SENT]], {{.*}} -> (tensor<?x4x2x1x6xf32>, tensor<?x4x2x1x5xf32>)
// CHECK: %[[BACK:.*]] = dnn.all_to_all %[[ROWS]] {{.*}}join = 1 : i64, split = 1 : i64, split_stacked} : (tensor<?x4x2x1x6xf32>) -> tensor<?x8x1x6xf32>
// CHECK: dnn.moe_combine %[[BACK]], %[[TOKENS]], %[[WEIGHTS]]
// CHECK: dnn.yield
// CHECK: reverse
// CHECK: %[[DY:.*]], %{{.*}} = dnn.moe_combine_grad
// CHECK-NOT: dnn.moe_experts_grad
// CHECK: %[[DSENT:.*]] = dnn.all_to_all %[[DY]] {{.*}} -> tensor<?x4x2x1x6xf32>
// CHECK-NOT: dnn.all_to_all
// CHECK: dnn.moe_experts_grad %[[DSENT]], {{.*}} -> (tensor<?x4x2x1x6xf32>, tensor<2x5x6xf32>, tensor<2x6x5xf32>)
// CHECK-NEXT: dnn.all_to_all {{.*}} -> tensor<?x8x1x6xf32>
// CHECK: dnn.gradient_all_reduce @gate {{.*}}phase<communication>
// CHECK: dnn.gradient_all_reduce @up : tensor<2x5x6xf32> copies 2 {{.*}}local
// CHECK: dnn.gradient_all_reduce @odd
// CHECK-NOT: local
// CHECK: dnn.update @odd
dnn.model @net (%x: tensor<?x8x6xf32>, %t: tensor<?x8x6xf32>) {
  dnn.parameter @gate : tensor<8x6xf32> copies 2
  dnn.parameter @up : tensor<8x5x6xf32> copies 2
  dnn.parameter @down : tensor<8x6x5xf32> copies 2
  dnn.parameter @two : tensor<2x6xf32>
  // expected-remark @+1 {{experts' weight 'odd', 'tensor<2x5x6xf32>', stays whole on each of the 4 devices of axis 'data'}}
  dnn.parameter @odd : tensor<2x5x6xf32>
  // expected-remark @+1 {{experts' weight 'end', 'tensor<2x6x5xf32>', stays whole on each of the 4 devices of axis 'data'}}
  dnn.parameter @end : tensor<2x6x5xf32>
  %r = dnn.repeat 2 as "block" iter(%h = %x : tensor<?x8x6xf32>) {
    %gate = dnn.read @gate : tensor<8x6xf32>
    %up = dnn.read @up : tensor<8x5x6xf32>
    %down = dnn.read @down : tensor<8x6x5xf32>
    %s, %k, %w = dnn.moe_dispatch %h, %gate {capacity_factor = 1.0 : f64} : (tensor<?x8x6xf32>, tensor<8x6xf32>) -> (tensor<?x8x1x6xf32>, tensor<?x8x1xi32>, tensor<?x8x1xf32>)
    %y, %kept = dnn.moe_experts %s, %up, %down : (tensor<?x8x1x6xf32>, tensor<8x5x6xf32>, tensor<8x6x5xf32>) -> (tensor<?x8x1x6xf32>, tensor<?x8x1x5xf32>)
    %z = dnn.moe_combine %y, %k, %w {dims = array<i64: 8>} : (tensor<?x8x1x6xf32>, tensor<?x8x1xi32>, tensor<?x8x1xf32>) -> tensor<?x8x6xf32>
    dnn.yield %z : tensor<?x8x6xf32>
  }
  %two = dnn.read @two : tensor<2x6xf32>
  %odd = dnn.read @odd : tensor<2x5x6xf32>
  %end = dnn.read @end : tensor<2x6x5xf32>
  %s, %k, %w = dnn.moe_dispatch %r, %two {capacity_factor = 1.0 : f64} : (tensor<?x8x6xf32>, tensor<2x6xf32>) -> (tensor<?x2x4x6xf32>, tensor<?x2x4xi32>, tensor<?x2x4xf32>)
  %y, %kept = dnn.moe_experts %s, %odd, %end : (tensor<?x2x4x6xf32>, tensor<2x5x6xf32>, tensor<2x6x5xf32>) -> (tensor<?x2x4x6xf32>, tensor<?x2x4x5xf32>)
  %z = dnn.moe_combine %y, %k, %w {dims = array<i64: 8>} : (tensor<?x2x4x6xf32>, tensor<?x2x4xi32>, tensor<?x2x4xf32>) -> tensor<?x8x6xf32>
  %l = dnn.mse %z, %t : (tensor<?x8x6xf32>, tensor<?x8x6xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
