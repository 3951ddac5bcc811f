// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @embedding_1(%a0: tensor<?x8xi32>, %a1: tensor<100x4xbf16>) {
  // CHECK: dnn.embedding %{{.*}}, %{{.*}} : (tensor<?x8xi32>, tensor<100x4xbf16>) -> tensor<?x8x4xbf16>
  %r = dnn.embedding %a0, %a1 : (tensor<?x8xi32>, tensor<100x4xbf16>) -> tensor<?x8x4xbf16>
  return
}
func.func @embedding_grad_2(%a0: tensor<?x8x4xbf16>, %a1: tensor<?x8xi32>) {
  // CHECK: dnn.embedding_grad %{{.*}}, %{{.*}} : (tensor<?x8x4xbf16>, tensor<?x8xi32>) -> tensor<100x4xbf16>
  %r = dnn.embedding_grad %a0, %a1 : (tensor<?x8x4xbf16>, tensor<?x8xi32>) -> tensor<100x4xbf16>
  return
}
func.func @embedding_bag_3(%a0: tensor<?x8xi64>, %a1: tensor<100x4xf32>) {
  // CHECK: dnn.embedding_bag %{{.*}}, %{{.*}} {mode = "mean"} : (tensor<?x8xi64>, tensor<100x4xf32>) -> tensor<?x4xf32>
  %r = dnn.embedding_bag %a0, %a1 {mode = "mean"} : (tensor<?x8xi64>, tensor<100x4xf32>) -> tensor<?x4xf32>
  return
}
func.func @embedding_bag_grad_4(%a0: tensor<?x4xf32>, %a1: tensor<?x8xi64>) {
  // CHECK: dnn.embedding_bag_grad %{{.*}}, %{{.*}} {mode = "mean"} : (tensor<?x4xf32>, tensor<?x8xi64>) -> tensor<100x4xf32>
  %r = dnn.embedding_bag_grad %a0, %a1 {mode = "mean"} : (tensor<?x4xf32>, tensor<?x8xi64>) -> tensor<100x4xf32>
  return
}
func.func @gather_5(%a0: tensor<?x8x4xf32>, %a1: tensor<?x3xi32>) {
  // CHECK: dnn.gather %{{.*}}, %{{.*}} {axis = 1 : i64} : (tensor<?x8x4xf32>, tensor<?x3xi32>) -> tensor<?x8x3xf32>
  %r = dnn.gather %a0, %a1 {axis = 1 : i64} : (tensor<?x8x4xf32>, tensor<?x3xi32>) -> tensor<?x8x3xf32>
  return
}
func.func @gather_grad_6(%a0: tensor<?x3x4xf32>, %a1: tensor<?x3xi32>) {
  // CHECK: dnn.gather_grad %{{.*}}, %{{.*}} {axis = 0 : i64} : (tensor<?x3x4xf32>, tensor<?x3xi32>) -> tensor<?x8x4xf32>
  %r = dnn.gather_grad %a0, %a1 {axis = 0 : i64} : (tensor<?x3x4xf32>, tensor<?x3xi32>) -> tensor<?x8x4xf32>
  return
}
func.func @scatter_7(%a0: tensor<?x8x4xf32>, %a1: tensor<?x3xi32>, %a2: tensor<?x3x4xf32>) {
  // CHECK: dnn.scatter %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x8x4xf32>, tensor<?x3xi32>, tensor<?x3x4xf32>) -> tensor<?x8x4xf32>
  %r = dnn.scatter %a0, %a1, %a2 : (tensor<?x8x4xf32>, tensor<?x3xi32>, tensor<?x3x4xf32>) -> tensor<?x8x4xf32>
  return
}
func.func @segment_sum_8(%a0: tensor<?x8x4xf32>, %a1: tensor<?x8xi32>) {
  // CHECK: dnn.segment_sum %{{.*}}, %{{.*}} {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x2x4xf32>
  %r = dnn.segment_sum %a0, %a1 {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x2x4xf32>
  return
}
func.func @spmm_9(%a0: tensor<?x6xi32>, %a1: tensor<?x9xi32>, %a2: tensor<?x9xf32>, %a3: tensor<?x7x4xf32>) {
  // CHECK: dnn.spmm %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x9xf32>, tensor<?x7x4xf32>) -> tensor<?x5x4xf32>
  %r = dnn.spmm %a0, %a1, %a2, %a3 : (tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x9xf32>, tensor<?x7x4xf32>) -> tensor<?x5x4xf32>
  return
}
func.func @spmm_values_grad_10(%a0: tensor<?x5x4xf32>, %a1: tensor<?x6xi32>, %a2: tensor<?x9xi32>, %a3: tensor<?x7x4xf32>) {
  // CHECK: dnn.spmm_values_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x4xf32>, tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x7x4xf32>) -> tensor<?x9xf32>
  %r = dnn.spmm_values_grad %a0, %a1, %a2, %a3 : (tensor<?x5x4xf32>, tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x7x4xf32>) -> tensor<?x9xf32>
  return
}
func.func @spmm_dense_grad_11(%a0: tensor<?x5x4xf32>, %a1: tensor<?x6xi32>, %a2: tensor<?x9xi32>, %a3: tensor<?x9xf32>) {
  // CHECK: dnn.spmm_dense_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : (tensor<?x5x4xf32>, tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x9xf32>) -> tensor<?x7x4xf32>
  %r = dnn.spmm_dense_grad %a0, %a1, %a2, %a3 : (tensor<?x5x4xf32>, tensor<?x6xi32>, tensor<?x9xi32>, tensor<?x9xf32>) -> tensor<?x7x4xf32>
  return
}
func.func @topk_12(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.topk %{{.*}} {k = 2 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>)
  %r:2 = dnn.topk %a0 {k = 2 : i64} : (tensor<?x8xf32>) -> (tensor<?x2xf32>, tensor<?x2xi32>)
  return
}
func.func @topk_grad_13(%a0: tensor<?x2xf32>, %a1: tensor<?x2xi32>) {
  // CHECK: dnn.topk_grad %{{.*}}, %{{.*}} : (tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x8xf32>
  %r = dnn.topk_grad %a0, %a1 : (tensor<?x2xf32>, tensor<?x2xi32>) -> tensor<?x8xf32>
  return
}
func.func @segment_softmax_14(%a0: tensor<?x8x4xf32>, %a1: tensor<?x8xi32>) {
  // CHECK: dnn.segment_softmax %{{.*}}, %{{.*}} {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x8x4xf32>
  %r = dnn.segment_softmax %a0, %a1 {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x8x4xf32>
  return
}
func.func @segment_softmax_grad_15(%a0: tensor<?x8x4xf32>, %a1: tensor<?x8x4xf32>, %a2: tensor<?x8xi32>) {
  // CHECK: dnn.segment_softmax_grad %{{.*}}, %{{.*}}, %{{.*}} {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x8x4xf32>
  %r = dnn.segment_softmax_grad %a0, %a1, %a2 {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<?x8x4xf32>
  return
}
func.func @relative_bias_16(%a0: tensor<32x16xbf16>) {
  // CHECK: dnn.relative_bias %{{.*}} {bidirectional = false, keys = 7 : i64, queries = 5 : i64} : (tensor<32x16xbf16>) -> tensor<16x5x7xbf16>
  %r = dnn.relative_bias %a0 {bidirectional = false, keys = 7 : i64, queries = 5 : i64} : (tensor<32x16xbf16>) -> tensor<16x5x7xbf16>
  return
}
func.func @relative_bias_grad_17(%a0: tensor<16x5x7xbf16>) {
  // CHECK: dnn.relative_bias_grad %{{.*}} {bidirectional = false, max_distance = 128 : i64} : (tensor<16x5x7xbf16>) -> tensor<32x16xbf16>
  %r = dnn.relative_bias_grad %a0 {bidirectional = false, max_distance = 128 : i64} : (tensor<16x5x7xbf16>) -> tensor<32x16xbf16>
  return
}
