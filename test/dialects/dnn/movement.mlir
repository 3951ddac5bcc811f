// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @reshape_1(%a0: tensor<?x8x4xf32>) {
  // CHECK: dnn.reshape %{{.*}} {dims = array<i64: 32>} : (tensor<?x8x4xf32>) -> tensor<?x32xf32>
  %r = dnn.reshape %a0 {dims = array<i64: 32>} : (tensor<?x8x4xf32>) -> tensor<?x32xf32>
  return
}
func.func @transpose_2(%a0: tensor<?x8x4x2xf32>) {
  // CHECK: dnn.transpose %{{.*}} {permutation = array<i64: 1, 0, 2>} : (tensor<?x8x4x2xf32>) -> tensor<?x4x8x2xf32>
  %r = dnn.transpose %a0 {permutation = array<i64: 1, 0, 2>} : (tensor<?x8x4x2xf32>) -> tensor<?x4x8x2xf32>
  return
}
func.func @concat_3(%a0: tensor<?x8x4xf32>, %a1: tensor<?x2x4xf32>) {
  // CHECK: dnn.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<?x8x4xf32>, tensor<?x2x4xf32>) -> tensor<?x10x4xf32>
  %r = dnn.concat %a0, %a1 {axis = 0 : i64} : (tensor<?x8x4xf32>, tensor<?x2x4xf32>) -> tensor<?x10x4xf32>
  return
}
func.func @split_4(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.split %{{.*}} {axis = -1 : i64, parts = 2 : i64} : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  %r:2 = dnn.split %a0 {axis = -1 : i64, parts = 2 : i64} : (tensor<?x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return
}
func.func @slice_5(%a0: tensor<?x8x3xf32>) {
  // CHECK: dnn.slice %{{.*}} {axis = 0 : i64, size = 4 : i64, start = 1 : i64} : (tensor<?x8x3xf32>) -> tensor<?x4x3xf32>
  %r = dnn.slice %a0 {axis = 0 : i64, size = 4 : i64, start = 1 : i64} : (tensor<?x8x3xf32>) -> tensor<?x4x3xf32>
  return
}
func.func @pad_slice_6(%a0: tensor<?x4x3xf32>) {
  // CHECK: dnn.pad_slice %{{.*}} {axis = 0 : i64, start = 1 : i64} : (tensor<?x4x3xf32>) -> tensor<?x8x3xf32>
  %r = dnn.pad_slice %a0 {axis = 0 : i64, start = 1 : i64} : (tensor<?x4x3xf32>) -> tensor<?x8x3xf32>
  return
}
func.func @reduce_sum_7(%a0: tensor<?x8x3xf32>) {
  // CHECK: dnn.reduce_sum %{{.*}} {axis = 0 : i64} : (tensor<?x8x3xf32>) -> tensor<?x3xf32>
  %r = dnn.reduce_sum %a0 {axis = 0 : i64} : (tensor<?x8x3xf32>) -> tensor<?x3xf32>
  return
}
func.func @reduce_mean_8(%a0: tensor<?x8x3xf32>) {
  // CHECK: dnn.reduce_mean %{{.*}} {axis = -1 : i64} : (tensor<?x8x3xf32>) -> tensor<?x8xf32>
  %r = dnn.reduce_mean %a0 {axis = -1 : i64} : (tensor<?x8x3xf32>) -> tensor<?x8xf32>
  return
}
func.func @reduce_dimensions_9(%a0: tensor<?x8x3xf32>) {
  // CHECK: dnn.reduce_dimensions %{{.*}} {dimensions = array<i64: 0, 1>, kept = array<i64: 1>} : (tensor<?x8x3xf32>) -> tensor<1x3xf32>
  %r = dnn.reduce_dimensions %a0 {dimensions = array<i64: 0, 1>, kept = array<i64: 1>} : (tensor<?x8x3xf32>) -> tensor<1x3xf32>
  return
}
func.func @broadcast_10(%a0: tensor<?x3xf32>) {
  // CHECK: dnn.broadcast %{{.*}} {dimensions = array<i64: 1>} : (tensor<?x3xf32>) -> tensor<?x8x3xf32>
  %r = dnn.broadcast %a0 {dimensions = array<i64: 1>} : (tensor<?x3xf32>) -> tensor<?x8x3xf32>
  return
}
func.func @max_pool_11(%a0: tensor<?x8x9x9xf32>) {
  // CHECK: dnn.max_pool %{{.*}} {kernel = 3 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x9x9xf32>) -> tensor<?x8x5x5xf32>
  %r = dnn.max_pool %a0 {kernel = 3 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x9x9xf32>) -> tensor<?x8x5x5xf32>
  return
}
func.func @max_pool_grad_12(%a0: tensor<?x8x5x5xf32>, %a1: tensor<?x8x9x9xf32>, %a2: tensor<?x8x5x5xf32>) {
  // CHECK: dnn.max_pool_grad %{{.*}}, %{{.*}}, %{{.*}} {kernel = 3 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x5x5xf32>, tensor<?x8x9x9xf32>, tensor<?x8x5x5xf32>) -> tensor<?x8x9x9xf32>
  %r = dnn.max_pool_grad %a0, %a1, %a2 {kernel = 3 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x5x5xf32>, tensor<?x8x9x9xf32>, tensor<?x8x5x5xf32>) -> tensor<?x8x9x9xf32>
  return
}
func.func @avg_pool_13(%a0: tensor<?x8x8x8xf32>) {
  // CHECK: dnn.avg_pool %{{.*}} {kernel = array<i64: 2, 4>} : (tensor<?x8x8x8xf32>) -> tensor<?x8x4x2xf32>
  %r = dnn.avg_pool %a0 {kernel = array<i64: 2, 4>} : (tensor<?x8x8x8xf32>) -> tensor<?x8x4x2xf32>
  return
}
func.func @avg_pool_grad_14(%a0: tensor<?x8x4x4xf32>) {
  // CHECK: dnn.avg_pool_grad %{{.*}} {kernel = 2 : i64, padding = 0 : i64, stride = 2 : i64} : (tensor<?x8x4x4xf32>) -> tensor<?x8x8x8xf32>
  %r = dnn.avg_pool_grad %a0 {kernel = 2 : i64, padding = 0 : i64, stride = 2 : i64} : (tensor<?x8x4x4xf32>) -> tensor<?x8x8x8xf32>
  return
}
func.func @global_avg_pool_15(%a0: tensor<?x8x7x7xf32>) {
  // CHECK: dnn.global_avg_pool %{{.*}} : (tensor<?x8x7x7xf32>) -> tensor<?x8xf32>
  %r = dnn.global_avg_pool %a0 : (tensor<?x8x7x7xf32>) -> tensor<?x8xf32>
  return
}
func.func @upsample_16(%a0: tensor<?x8x7x7xf32>) {
  // CHECK: dnn.upsample %{{.*}} {scale = 2 : i64} : (tensor<?x8x7x7xf32>) -> tensor<?x8x14x14xf32>
  %r = dnn.upsample %a0 {scale = 2 : i64} : (tensor<?x8x7x7xf32>) -> tensor<?x8x14x14xf32>
  return
}
func.func @upsample_grad_17(%a0: tensor<?x8x14x14xf32>) {
  // CHECK: dnn.upsample_grad %{{.*}} {scale = 2 : i64} : (tensor<?x8x14x14xf32>) -> tensor<?x8x7x7xf32>
  %r = dnn.upsample_grad %a0 {scale = 2 : i64} : (tensor<?x8x14x14xf32>) -> tensor<?x8x7x7xf32>
  return
}
func.func @concat_to_every_sample(%a0: tensor<1x4xf32>, %a1: tensor<?x2x4xf32>) {
  // CHECK: dnn.concat %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<1x4xf32>, tensor<?x2x4xf32>) -> tensor<?x3x4xf32>
  %r = dnn.concat %a0, %a1 {axis = 0 : i64} : (tensor<1x4xf32>, tensor<?x2x4xf32>) -> tensor<?x3x4xf32>
  return
}
func.func @unstack_1(%a0: tensor<?x5x3xf32>) {
  // CHECK: dnn.unstack %{{.*}} {axis = 0 : i64} : (tensor<?x5x3xf32>) -> !dnn.stash<5 x tensor<?x3xf32>>
  %r = dnn.unstack %a0 {axis = 0 : i64} : (tensor<?x5x3xf32>) -> !dnn.stash<5 x tensor<?x3xf32>>
  return
}
func.func @unstack_2(%a0: tensor<5x3xf32>) {
  // CHECK: dnn.unstack %{{.*}} {axis = -1 : i64} : (tensor<5x3xf32>) -> !dnn.stash<3 x tensor<5xf32>>
  %r = dnn.unstack %a0 {axis = -1 : i64} : (tensor<5x3xf32>) -> !dnn.stash<3 x tensor<5xf32>>
  return
}
func.func @stack_1(%a0: !dnn.stash<5 x tensor<?x3xf32>>) {
  // CHECK: dnn.stack %{{.*}} {axis = 1 : i64} : (!dnn.stash<5 x tensor<?x3xf32>>) -> tensor<?x3x5xf32>
  %r = dnn.stack %a0 {axis = 1 : i64} : (!dnn.stash<5 x tensor<?x3xf32>>) -> tensor<?x3x5xf32>
  return
}
func.func @stack_2(%a0: !dnn.stash<5 x tensor<f32>>) {
  // CHECK: dnn.stack %{{.*}} {axis = -1 : i64} : (!dnn.stash<5 x tensor<f32>>) -> tensor<5xf32>
  %r = dnn.stack %a0 {axis = -1 : i64} : (!dnn.stash<5 x tensor<f32>>) -> tensor<5xf32>
  return
}
