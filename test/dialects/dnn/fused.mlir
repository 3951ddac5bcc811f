// A fused operation survives printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

// CHECK-LABEL: func.func @fused
func.func @fused(%x: tensor<?x8xf32>, %w: tensor<4x8xf32>) {
  // CHECK: %{{.*}}:2 = dnn.fused (%[[A:.*]] = %{{.*}} : tensor<?x8xf32>, %[[B:.*]] = %{{.*}} : tensor<4x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
  // CHECK-NEXT: %[[H:.*]] = dnn.linear %[[A]], %[[B]] {dnn.name = "fc"}
  // CHECK-NEXT: %[[G:.*]] = dnn.gelu %[[H]]
  // CHECK-NEXT: dnn.yield %[[H]], %[[G]] : tensor<?x4xf32>, tensor<?x4xf32>
  // CHECK-NEXT: } {dnn.name = "fc"}
  %y:2 = dnn.fused (%a = %x : tensor<?x8xf32>, %b = %w : tensor<4x8xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>) {
    %h = dnn.linear %a, %b {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<4x8xf32>) -> tensor<?x4xf32>
    %g = dnn.gelu %h : (tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %h, %g : tensor<?x4xf32>, tensor<?x4xf32>
  } {dnn.name = "fc"}
  return
}
