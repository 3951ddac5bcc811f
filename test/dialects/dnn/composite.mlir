// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @lstm_1(%a0: tensor<?x5x3xf32>, %a1: tensor<16x3xf32>, %a2: tensor<16x4xf32>, %a3: tensor<2x16xf32>) {
  // CHECK: dnn.lstm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x16xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
  %r:2 = dnn.lstm %a0, %a1, %a2, %a3 : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x16xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
  return
}
func.func @lstm_2(%a0: tensor<?x5x3xf32>, %a1: tensor<2x16x3xf32>, %a2: tensor<2x16x4xf32>) {
  // CHECK: dnn.lstm %{{.*}}, %{{.*}}, %{{.*}} {bidirectional = true} : (tensor<?x5x3xf32>, tensor<2x16x3xf32>, tensor<2x16x4xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x40xf32>)
  %r:2 = dnn.lstm %a0, %a1, %a2 {bidirectional = true} : (tensor<?x5x3xf32>, tensor<2x16x3xf32>, tensor<2x16x4xf32>) -> (tensor<?x5x8xf32>, tensor<?x5x40xf32>)
  return
}
func.func @lstm_grad_3(%a0: tensor<?x5x4xf32>, %a1: tensor<?x5x3xf32>, %a2: tensor<16x3xf32>, %a3: tensor<16x4xf32>, %a4: tensor<?x5x4xf32>, %a5: tensor<?x5x20xf32>) {
  // CHECK: dnn.lstm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x4xf32>, tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<?x5x4xf32>, tensor<?x5x20xf32>) -> (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x16xf32>)
  %r:4 = dnn.lstm_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<?x5x4xf32>, tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<?x5x4xf32>, tensor<?x5x20xf32>) -> (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>, tensor<2x16xf32>)
  return
}
func.func @gru_4(%a0: tensor<?x5x3xf32>, %a1: tensor<12x3xf32>, %a2: tensor<12x4xf32>) {
  // CHECK: dnn.gru %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x16xf32>)
  %r:2 = dnn.gru %a0, %a1, %a2 : (tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x16xf32>)
  return
}
func.func @gru_grad_5(%a0: tensor<?x5x4xf32>, %a1: tensor<?x5x3xf32>, %a2: tensor<12x3xf32>, %a3: tensor<12x4xf32>, %a4: tensor<?x5x4xf32>, %a5: tensor<?x5x16xf32>) {
  // CHECK: dnn.gru_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x4xf32>, tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<?x5x4xf32>, tensor<?x5x16xf32>) -> (tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>)
  %r:3 = dnn.gru_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<?x5x4xf32>, tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>, tensor<?x5x4xf32>, tensor<?x5x16xf32>) -> (tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>)
  return
}
func.func @moe_dispatch_6(%a0: tensor<?x64x16xf32>, %a1: tensor<8x16xf32>) {
  // CHECK: dnn.moe_dispatch %{{.*}}, %{{.*}} {normalize = true, top_k = 2 : i64} : (tensor<?x64x16xf32>, tensor<8x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>)
  %r:3 = dnn.moe_dispatch %a0, %a1 {normalize = true, top_k = 2 : i64} : (tensor<?x64x16xf32>, tensor<8x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>)
  return
}
func.func @moe_dispatch_grad_7(%a0: tensor<?x8x20x16xf32>, %a1: tensor<?x8x20xf32>, %a2: tensor<?x64x16xf32>, %a3: tensor<8x16xf32>, %a4: tensor<?x8x20xi32>) {
  // CHECK: dnn.moe_dispatch_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {normalize = true, top_k = 2 : i64} : (tensor<?x8x20x16xf32>, tensor<?x8x20xf32>, tensor<?x64x16xf32>, tensor<8x16xf32>, tensor<?x8x20xi32>) -> (tensor<?x64x16xf32>, tensor<8x16xf32>)
  %r:2 = dnn.moe_dispatch_grad %a0, %a1, %a2, %a3, %a4 {normalize = true, top_k = 2 : i64} : (tensor<?x8x20x16xf32>, tensor<?x8x20xf32>, tensor<?x64x16xf32>, tensor<8x16xf32>, tensor<?x8x20xi32>) -> (tensor<?x64x16xf32>, tensor<8x16xf32>)
  return
}
func.func @moe_experts_8(%a0: tensor<?x8x20x16xf32>, %a1: tensor<8x32x16xf32>, %a2: tensor<8x16x32xf32>) {
  // CHECK: dnn.moe_experts %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20x32xf32>)
  %r:2 = dnn.moe_experts %a0, %a1, %a2 : (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20x32xf32>)
  return
}
func.func @moe_experts_9(%a0: tensor<?x8x20x16xf32>, %a1: tensor<8x32x16xf32>, %a2: tensor<8x16x32xf32>, %a3: tensor<8x32x16xf32>) {
  // CHECK: dnn.moe_experts %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<8x32x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20x64xf32>)
  %r:2 = dnn.moe_experts %a0, %a1, %a2, %a3 : (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<8x32x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20x64xf32>)
  return
}
func.func @moe_experts_of_peers_10(%a0: tensor<?x2x4x20x16xf32>, %a1: tensor<4x32x16xf32>, %a2: tensor<4x16x32xf32>) {
  // CHECK: dnn.moe_experts %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x2x4x20x16xf32>, tensor<4x32x16xf32>, tensor<4x16x32xf32>) -> (tensor<?x2x4x20x16xf32>, tensor<?x2x4x20x32xf32>)
  %r:2 = dnn.moe_experts %a0, %a1, %a2 : (tensor<?x2x4x20x16xf32>, tensor<4x32x16xf32>, tensor<4x16x32xf32>) -> (tensor<?x2x4x20x16xf32>, tensor<?x2x4x20x32xf32>)
  return
}
func.func @moe_experts_grad_11(%a0: tensor<?x8x20x16xf32>, %a1: tensor<?x8x20x16xf32>, %a2: tensor<8x32x16xf32>, %a3: tensor<8x16x32xf32>, %a4: tensor<?x8x20x32xf32>) {
  // CHECK: dnn.moe_experts_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x20x16xf32>, tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<?x8x20x32xf32>) -> (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>)
  %r:3 = dnn.moe_experts_grad %a0, %a1, %a2, %a3, %a4 : (tensor<?x8x20x16xf32>, tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<?x8x20x32xf32>) -> (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>)
  return
}
func.func @moe_experts_grad_12(%a0: tensor<?x8x20x16xf32>, %a1: tensor<?x8x20x16xf32>, %a2: tensor<8x32x16xf32>, %a3: tensor<8x16x32xf32>, %a4: tensor<?x8x20x64xf32>, %a5: tensor<8x32x16xf32>) {
  // CHECK: dnn.moe_experts_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x20x16xf32>, tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<?x8x20x64xf32>, tensor<8x32x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<8x32x16xf32>)
  %r:4 = dnn.moe_experts_grad %a0, %a1, %a2, %a3, %a4, %a5 : (tensor<?x8x20x16xf32>, tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<?x8x20x64xf32>, tensor<8x32x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>, tensor<8x32x16xf32>)
  return
}
func.func @moe_combine_13(%a0: tensor<?x8x20x16xf32>, %a1: tensor<?x8x20xi32>, %a2: tensor<?x8x20xf32>) {
  // CHECK: dnn.moe_combine %{{.*}}, %{{.*}}, %{{.*}} {dims = array<i64: 64>} : (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>) -> tensor<?x64x16xf32>
  %r = dnn.moe_combine %a0, %a1, %a2 {dims = array<i64: 64>} : (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>) -> tensor<?x64x16xf32>
  return
}
func.func @moe_combine_grad_14(%a0: tensor<?x64x16xf32>, %a1: tensor<?x8x20x16xf32>, %a2: tensor<?x8x20xi32>, %a3: tensor<?x8x20xf32>) {
  // CHECK: dnn.moe_combine_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x64x16xf32>, tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20xf32>)
  %r:2 = dnn.moe_combine_grad %a0, %a1, %a2, %a3 : (tensor<?x64x16xf32>, tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20xf32>)
  return
}
