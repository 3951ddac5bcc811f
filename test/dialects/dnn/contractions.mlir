// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @linear_1(%a0: tensor<?x8x4xbf16>, %a1: tensor<6x4xbf16>, %a2: tensor<6xbf16>) {
  // CHECK: dnn.linear %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4xbf16>, tensor<6x4xbf16>, tensor<6xbf16>) -> tensor<?x8x6xbf16>
  %r = dnn.linear %a0, %a1, %a2 : (tensor<?x8x4xbf16>, tensor<6x4xbf16>, tensor<6xbf16>) -> tensor<?x8x6xbf16>
  return
}
func.func @linear_2(%a0: tensor<?x4xf32>, %a1: tensor<6x4xf32>) {
  // CHECK: dnn.linear %{{.*}}, %{{.*}} : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
  %r = dnn.linear %a0, %a1 : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x6xf32>
  return
}
func.func @matmul_3(%a0: tensor<?x2x8x4xf32>, %a1: tensor<?x2x6x4xf32>) {
  // CHECK: dnn.matmul %{{.*}}, %{{.*}} {transpose_b = true} : (tensor<?x2x8x4xf32>, tensor<?x2x6x4xf32>) -> tensor<?x2x8x6xf32>
  %r = dnn.matmul %a0, %a1 {transpose_b = true} : (tensor<?x2x8x4xf32>, tensor<?x2x6x4xf32>) -> tensor<?x2x8x6xf32>
  return
}
func.func @matmul_4(%a0: tensor<?x4x8xf32>, %a1: tensor<4x6xf32>) {
  // CHECK: dnn.matmul %{{.*}}, %{{.*}} {transpose_a = true} : (tensor<?x4x8xf32>, tensor<4x6xf32>) -> tensor<?x8x6xf32>
  %r = dnn.matmul %a0, %a1 {transpose_a = true} : (tensor<?x4x8xf32>, tensor<4x6xf32>) -> tensor<?x8x6xf32>
  return
}
func.func @conv2d_5(%a0: tensor<?x3x224x224xf32>, %a1: tensor<64x3x7x7xf32>) {
  // CHECK: dnn.conv2d %{{.*}}, %{{.*}} {padding = 3 : i64, stride = 2 : i64} : (tensor<?x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<?x64x112x112xf32>
  %r = dnn.conv2d %a0, %a1 {padding = 3 : i64, stride = 2 : i64} : (tensor<?x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<?x64x112x112xf32>
  return
}
func.func @conv2d_6(%a0: tensor<?x8x9x9xf32>, %a1: tensor<4x4x1x7xf32>, %a2: tensor<4xf32>) {
  // CHECK: dnn.conv2d %{{.*}}, %{{.*}}, %{{.*}} {groups = 2 : i64, padding = array<i64: 0, 3>} : (tensor<?x8x9x9xf32>, tensor<4x4x1x7xf32>, tensor<4xf32>) -> tensor<?x4x9x9xf32>
  %r = dnn.conv2d %a0, %a1, %a2 {groups = 2 : i64, padding = array<i64: 0, 3>} : (tensor<?x8x9x9xf32>, tensor<4x4x1x7xf32>, tensor<4xf32>) -> tensor<?x4x9x9xf32>
  return
}
func.func @depthwise_conv2d_7(%a0: tensor<?x8x9x9xf32>, %a1: tensor<8x1x3x3xf32>) {
  // CHECK: dnn.depthwise_conv2d %{{.*}}, %{{.*}} {stride = 2 : i64} : (tensor<?x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<?x8x4x4xf32>
  %r = dnn.depthwise_conv2d %a0, %a1 {stride = 2 : i64} : (tensor<?x8x9x9xf32>, tensor<8x1x3x3xf32>) -> tensor<?x8x4x4xf32>
  return
}
func.func @conv_transpose2d_8(%a0: tensor<?x8x7x7xf32>, %a1: tensor<8x4x3x3xf32>) {
  // CHECK: dnn.conv_transpose2d %{{.*}}, %{{.*}} {output_padding = 1 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x7x7xf32>, tensor<8x4x3x3xf32>) -> tensor<?x4x14x14xf32>
  %r = dnn.conv_transpose2d %a0, %a1 {output_padding = 1 : i64, padding = 1 : i64, stride = 2 : i64} : (tensor<?x8x7x7xf32>, tensor<8x4x3x3xf32>) -> tensor<?x4x14x14xf32>
  return
}
func.func @interaction_9(%a0: tensor<?x27x128xf32>) {
  // CHECK: dnn.interaction %{{.*}} : (tensor<?x27x128xf32>) -> tensor<?x351xf32>
  %r = dnn.interaction %a0 : (tensor<?x27x128xf32>) -> tensor<?x351xf32>
  return
}
func.func @interaction_grad_10(%a0: tensor<?x351xf32>, %a1: tensor<?x27x128xf32>) {
  // CHECK: dnn.interaction_grad %{{.*}}, %{{.*}} : (tensor<?x351xf32>, tensor<?x27x128xf32>) -> tensor<?x27x128xf32>
  %r = dnn.interaction_grad %a0, %a1 : (tensor<?x351xf32>, tensor<?x27x128xf32>) -> tensor<?x27x128xf32>
  return
}
