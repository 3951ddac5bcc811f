// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @layer_norm_1(%a0: tensor<?x8x4xf32>, %a1: tensor<4xf32>, %a2: tensor<4xf32>) {
  // CHECK: dnn.layer_norm %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  %r = dnn.layer_norm %a0, %a1, %a2 : (tensor<?x8x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  return
}
func.func @layer_norm_2(%a0: tensor<?x8x4xf32>, %a1: tensor<4xf32>) {
  // CHECK: dnn.layer_norm %{{.*}}, %{{.*}} {epsilon = 5.000000e-01 : f64} : (tensor<?x8x4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  %r = dnn.layer_norm %a0, %a1 {epsilon = 5.000000e-01 : f64} : (tensor<?x8x4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  return
}
func.func @rms_norm_3(%a0: tensor<?x8x4xf32>, %a1: tensor<4xf32>) {
  // CHECK: dnn.rms_norm %{{.*}}, %{{.*}} : (tensor<?x8x4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  %r = dnn.rms_norm %a0, %a1 : (tensor<?x8x4xf32>, tensor<4xf32>) -> tensor<?x8x4xf32>
  return
}
func.func @batch_norm_4(%a0: tensor<?x8x4x4xf32>, %a1: tensor<8xf32>, %a2: tensor<8xf32>) {
  // CHECK: dnn.batch_norm %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  %r = dnn.batch_norm %a0, %a1, %a2 : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  return
}
func.func @group_norm_5(%a0: tensor<?x8x4x4xf32>, %a1: tensor<8xf32>, %a2: tensor<8xf32>) {
  // CHECK: dnn.group_norm %{{.*}}, %{{.*}}, %{{.*}} {groups = 2 : i64} : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  %r = dnn.group_norm %a0, %a1, %a2 {groups = 2 : i64} : (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  return
}
func.func @softmax_6(%a0: tensor<?x8x8xf32>) {
  // CHECK: dnn.softmax %{{.*}} {causal = true} : (tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %r = dnn.softmax %a0 {causal = true} : (tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  return
}
func.func @softmax_7(%a0: tensor<?x8x8xf32>) {
  // CHECK: dnn.softmax %{{.*}} {axis = 0 : i64} : (tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %r = dnn.softmax %a0 {axis = 0 : i64} : (tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  return
}
func.func @softmax_grad_8(%a0: tensor<?x8x8xf32>, %a1: tensor<?x8x8xf32>) {
  // CHECK: dnn.softmax_grad %{{.*}}, %{{.*}} : (tensor<?x8x8xf32>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  %r = dnn.softmax_grad %a0, %a1 : (tensor<?x8x8xf32>, tensor<?x8x8xf32>) -> tensor<?x8x8xf32>
  return
}
func.func @layer_norm_grad_9(%a0: tensor<?x8x4xf32>, %a1: tensor<?x8x4xf32>, %a2: tensor<4xf32>) {
  // CHECK: dnn.layer_norm_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<4xf32>) -> (tensor<?x8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  %r:3 = dnn.layer_norm_grad %a0, %a1, %a2 : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<4xf32>) -> (tensor<?x8x4xf32>, tensor<4xf32>, tensor<4xf32>)
  return
}
func.func @rms_norm_grad_10(%a0: tensor<?x8x4xf32>, %a1: tensor<?x8x4xf32>, %a2: tensor<4xf32>) {
  // CHECK: dnn.rms_norm_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<4xf32>) -> (tensor<?x8x4xf32>, tensor<4xf32>)
  %r:2 = dnn.rms_norm_grad %a0, %a1, %a2 : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<4xf32>) -> (tensor<?x8x4xf32>, tensor<4xf32>)
  return
}
func.func @batch_norm_grad_11(%a0: tensor<?x8x4x4xf32>, %a1: tensor<?x8x4x4xf32>, %a2: tensor<8xf32>) {
  // CHECK: dnn.batch_norm_grad %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4x4xf32>, tensor<?x8x4x4xf32>, tensor<8xf32>) -> (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  %r:3 = dnn.batch_norm_grad %a0, %a1, %a2 : (tensor<?x8x4x4xf32>, tensor<?x8x4x4xf32>, tensor<8xf32>) -> (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}
func.func @group_norm_grad_12(%a0: tensor<?x8x4x4xf32>, %a1: tensor<?x8x4x4xf32>, %a2: tensor<8xf32>) {
  // CHECK: dnn.group_norm_grad %{{.*}}, %{{.*}}, %{{.*}} {groups = 2 : i64} : (tensor<?x8x4x4xf32>, tensor<?x8x4x4xf32>, tensor<8xf32>) -> (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  %r:3 = dnn.group_norm_grad %a0, %a1, %a2 {groups = 2 : i64} : (tensor<?x8x4x4xf32>, tensor<?x8x4x4xf32>, tensor<8xf32>) -> (tensor<?x8x4x4xf32>, tensor<8xf32>, tensor<8xf32>)
  return
}
