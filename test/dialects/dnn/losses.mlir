// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @cross_entropy_1(%a0: tensor<?x8x10xbf16>, %a1: tensor<?x8xi32>) {
  // CHECK: dnn.cross_entropy %{{.*}}, %{{.*}} : (tensor<?x8x10xbf16>, tensor<?x8xi32>) -> tensor<f32>
  %r = dnn.cross_entropy %a0, %a1 : (tensor<?x8x10xbf16>, tensor<?x8xi32>) -> tensor<f32>
  return
}
func.func @cross_entropy_grad_2(%a0: tensor<f32>, %a1: tensor<?x8x10xbf16>, %a2: tensor<?x8xi32>) {
  // CHECK: dnn.cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<?x8x10xbf16>, tensor<?x8xi32>) -> tensor<?x8x10xbf16>
  %r = dnn.cross_entropy_grad %a0, %a1, %a2 : (tensor<f32>, tensor<?x8x10xbf16>, tensor<?x8xi32>) -> tensor<?x8x10xbf16>
  return
}
func.func @mse_3(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.mse %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  %r = dnn.mse %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  return
}
func.func @mse_grad_4(%a0: tensor<f32>, %a1: tensor<?x8xf32>, %a2: tensor<?x8xf32>) {
  // CHECK: dnn.mse_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.mse_grad %a0, %a1, %a2 : (tensor<f32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @binary_cross_entropy_5(%a0: tensor<?xf32>, %a1: tensor<?xf32>) {
  // CHECK: dnn.binary_cross_entropy %{{.*}}, %{{.*}} : (tensor<?xf32>, tensor<?xf32>) -> tensor<f32>
  %r = dnn.binary_cross_entropy %a0, %a1 : (tensor<?xf32>, tensor<?xf32>) -> tensor<f32>
  return
}
func.func @binary_cross_entropy_grad_6(%a0: tensor<f32>, %a1: tensor<?xf32>, %a2: tensor<?xf32>) {
  // CHECK: dnn.binary_cross_entropy_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %r = dnn.binary_cross_entropy_grad %a0, %a1, %a2 : (tensor<f32>, tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  return
}
func.func @smooth_l1(%a0: tensor<f32>, %a1: tensor<?x8xf32>, %a2: tensor<?x8xf32>) {
  // CHECK: dnn.smooth_l1 %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  %r = dnn.smooth_l1 %a1, %a2 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  // CHECK: dnn.smooth_l1_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<f32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %g = dnn.smooth_l1_grad %a0, %a1, %a2 : (tensor<f32>, tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
