// RUN: accord-opt %s --inline-single-repeats | FileCheck %s

// CHECK-LABEL: func.func @once(
// CHECK-SAME: %[[X:.*]]: tensor<?x8xf32>
func.func @once(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-NEXT: %[[A:.*]] = dnn.gelu %[[X]] {dnn.name = "block.gelu"}
  // CHECK-NEXT: %[[B:.*]] = dnn.silu %[[A]] {dnn.name = "own"}
  // CHECK-NEXT: return %[[B]]
  %0 = dnn.repeat 1 as "block" iter(%h = %x : tensor<?x8xf32>) {
    %1 = dnn.gelu %h : (tensor<?x8xf32>) -> tensor<?x8xf32>
    %2 = dnn.silu %1 {dnn.name = "own"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
    dnn.yield %2 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @unchanged(
func.func @unchanged(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: dnn.repeat 2 as "block"
  %0 = dnn.repeat 2 as "block" iter(%h = %x : tensor<?x8xf32>) {
    // CHECK-NEXT: dnn.gelu
    // CHECK-NEXT: dnn.silu
    %1 = dnn.repeat 1 as "inner" iter(%k = %h : tensor<?x8xf32>) {
      %2 = dnn.gelu %k : (tensor<?x8xf32>) -> tensor<?x8xf32>
      dnn.yield %2 : tensor<?x8xf32>
    }
    %3 = dnn.silu %1 : (tensor<?x8xf32>) -> tensor<?x8xf32>
    dnn.yield %3 : tensor<?x8xf32>
  }
  return %0 : tensor<?x8xf32>
}
