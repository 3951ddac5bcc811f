// What does nothing, or undoes what was done, is gone after canonicalization.
// RUN: accord-opt %s -split-input-file --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x3xf32>)
func.func @views(%x: tensor<?x2x3xf32>) -> (tensor<?x2x3xf32>, tensor<?x3x2xf32>, tensor<?x2x3xf32>, tensor<?x3x2xf32>) {
  %a = dnn.reshape %x {dims = array<i64: 6>} : (tensor<?x2x3xf32>) -> tensor<?x6xf32>
  %b = dnn.reshape %a {dims = array<i64: 2, 3>} : (tensor<?x6xf32>) -> tensor<?x2x3xf32>
  // CHECK-NEXT: %[[R:.*]] = dnn.reshape %[[X]] {dims = array<i64: 3, 2>, dnn.name = "kept"} : (tensor<?x2x3xf32>) -> tensor<?x3x2xf32>
  %c = dnn.reshape %a {dims = array<i64: 3, 2>, dnn.name = "kept"} : (tensor<?x6xf32>) -> tensor<?x3x2xf32>
  %d = dnn.transpose %x {permutation = array<i64: 1, 0>} : (tensor<?x2x3xf32>) -> tensor<?x3x2xf32>
  %e = dnn.transpose %d {permutation = array<i64: 1, 0>} : (tensor<?x3x2xf32>) -> tensor<?x2x3xf32>
  // CHECK-NEXT: %[[T:.*]] = dnn.transpose %[[X]] {permutation = array<i64: 1, 0>}
  // CHECK-NEXT: return %[[X]], %[[R]], %[[X]], %[[T]]
  return %b, %c, %e, %d : tensor<?x2x3xf32>, tensor<?x3x2xf32>, tensor<?x2x3xf32>, tensor<?x3x2xf32>
}

// -----

// p then q: dimension i of the result is dimension p[q[i]] of the operand.
// CHECK-LABEL: func.func @permutations
func.func @permutations(%x: tensor<?x2x3x4xf32>) -> tensor<?x4x3x2xf32> {
  // CHECK-NEXT: dnn.transpose %{{.*}} {permutation = array<i64: 2, 1, 0>} : (tensor<?x2x3x4xf32>) -> tensor<?x4x3x2xf32>
  // CHECK-NEXT: return
  %a = dnn.transpose %x {permutation = array<i64: 1, 2, 0>} : (tensor<?x2x3x4xf32>) -> tensor<?x3x4x2xf32>
  %b = dnn.transpose %a {permutation = array<i64: 1, 0, 2>} : (tensor<?x3x4x2xf32>) -> tensor<?x4x3x2xf32>
  return %b : tensor<?x4x3x2xf32>
}

// -----

// CHECK-LABEL: func.func @pieces(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>)
func.func @pieces(%x: tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) {
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]]
  %a = dnn.concat %x {axis = 0 : i64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %b = dnn.split %x {parts = 1 : i64, axis = 0 : i64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %c = dnn.slice %x {axis = 0 : i64, size = 6 : i64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  return %a, %b, %c : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

// CHECK-LABEL: func.func @neutral(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>)
func.func @neutral(%x: tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) {
  %zero = dnn.constant 0.0 : tensor<?x6xf32>
  %one = dnn.constant 1.0 : tensor<f32>
  // CHECK-NEXT: return %[[X]], %[[X]], %[[X]], %[[X]], %[[X]], %[[X]]
  %a = dnn.add %zero, %x : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %b = dnn.sub %x, %zero : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  %c = dnn.mul %x, %one : (tensor<?x6xf32>, tensor<f32>) -> tensor<?x6xf32>
  %d = dnn.div %x, %one : (tensor<?x6xf32>, tensor<f32>) -> tensor<?x6xf32>
  %e0 = dnn.neg %x : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %e = dnn.neg %e0 : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %f = dnn.scale %x {factor = 1.0 : f64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  return %a, %b, %c, %d, %e, %f : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

// Zero minus x is no x; a scalar plus a broadcast zero has another shape; a zero does not swallow the divisor.
// CHECK-LABEL: func.func @other
func.func @other(%x: tensor<?x6xf32>, %s: tensor<f32>) -> (tensor<?x6xf32>, tensor<?x6xf32>) {
  %zero = dnn.constant 0.0 : tensor<?x6xf32>
  // CHECK: dnn.sub
  %a = dnn.sub %zero, %x : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
  // CHECK: dnn.add
  %b = dnn.add %zero, %s : (tensor<?x6xf32>, tensor<f32>) -> tensor<?x6xf32>
  return %a, %b : tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

// CHECK-LABEL: func.func @scales
func.func @scales(%x: tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) {
  // CHECK-NEXT: %[[A:.*]] = dnn.scale %{{.*}} {dnn.name = "outer", factor = 6.000000e+00 : f64}
  %a = dnn.scale %x {factor = 2.0 : f64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %b = dnn.scale %a {factor = 3.0 : f64, dnn.name = "outer"} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  // The first is read by others: two stay two.
  // CHECK-NEXT: %[[C:.*]] = dnn.scale {{.*}}factor = 4.0
  // CHECK-NEXT: %[[D:.*]] = dnn.scale %[[C]] {{.*}}factor = 5.0
  %c = dnn.scale %x {factor = 4.0 : f64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  %d = dnn.scale %c {factor = 5.0 : f64} : (tensor<?x6xf32>) -> tensor<?x6xf32>
  return %b, %c, %d : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

// CHECK-LABEL: func.func @dropout(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>)
func.func @dropout(%x: tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>) {
  %y, %m = dnn.dropout %x {rate = 0.0 : f64} : (tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xi8>)
  %d = dnn.dropout_grad %y, %m {rate = 0.0 : f64} : (tensor<?x6xf32>, tensor<?x6xi8>) -> tensor<?x6xf32>
  // CHECK-NEXT: %[[Y:.*]], %{{.*}} = dnn.dropout %[[X]] {rate = 5.000000e-01 : f64}
  // CHECK-NEXT: return %[[X]], %[[X]], %[[Y]]
  %z, %n = dnn.dropout %x {rate = 0.5 : f64} : (tensor<?x6xf32>) -> (tensor<?x6xf32>, tensor<?x6xi8>)
  return %y, %d, %z : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32>
}

// -----

// Invariant: %i. Carried for nobody: %u. Stashed for nobody: the second. Never read: the slice %q.
// CHECK-LABEL: func.func @repeats(
// CHECK-SAME: %[[X:.*]]: tensor<?x6xf32>, %[[I:.*]]: tensor<?x6xf32>,
func.func @repeats(%x: tensor<?x6xf32>, %i: tensor<?x6xf32>, %s: !dnn.stash<3 x tensor<?x6xf32>>) -> (tensor<?x6xf32>, tensor<?x6xf32>, !dnn.stash<3 x tensor<?x6xf32>>) {
  // CHECK-NEXT: %[[Y:.*]], %[[S:.*]] = dnn.repeat 3 as "r" iter(%[[C:.*]] = %[[X]] : tensor<?x6xf32>) stash(!dnn.stash<3 x tensor<?x6xf32>>) {
  // CHECK-NEXT: %[[H:.*]] = dnn.add %[[C]], %[[I]]
  // CHECK-NEXT: dnn.yield %[[H]] : tensor<?x6xf32> stash(%[[C]] : tensor<?x6xf32>)
  // CHECK-NEXT: } {dnn.name = "r"}
  // CHECK-NEXT: return %[[Y]], %[[I]], %[[S]]
  %y:5 = dnn.repeat 3 as "r" iter(%c = %x : tensor<?x6xf32>, %v = %i : tensor<?x6xf32>, %u = %x : tensor<?x6xf32>) unstash(%q = %s : !dnn.stash<3 x tensor<?x6xf32>>) stash(!dnn.stash<3 x tensor<?x6xf32>>, !dnn.stash<3 x tensor<?x6xf32>>) {
    %h = dnn.add %c, %v : (tensor<?x6xf32>, tensor<?x6xf32>) -> tensor<?x6xf32>
    dnn.yield %h, %v, %h : tensor<?x6xf32>, tensor<?x6xf32>, tensor<?x6xf32> stash(%c, %h : tensor<?x6xf32>, tensor<?x6xf32>)
  } {dnn.name = "r"}
  return %y#0, %y#1, %y#3 : tensor<?x6xf32>, tensor<?x6xf32>, !dnn.stash<3 x tensor<?x6xf32>>
}

// -----

// Taking apart what was put together along the same axis, and the other way round.
// CHECK-LABEL: func.func @slices(
// CHECK-SAME: %[[X:.*]]: tensor<?x2x3xf32>, %[[S:.*]]: !dnn.stash<2 x tensor<?x3xf32>>)
func.func @slices(%x: tensor<?x2x3xf32>, %s: !dnn.stash<2 x tensor<?x3xf32>>)
    -> (tensor<?x2x3xf32>, !dnn.stash<2 x tensor<?x3xf32>>, !dnn.stash<3 x tensor<?x2xf32>>) {
  %a = dnn.unstack %x {axis = 1 : i64} : (tensor<?x2x3xf32>) -> !dnn.stash<3 x tensor<?x2xf32>>
  %b = dnn.stack %a {axis = -1 : i64} : (!dnn.stash<3 x tensor<?x2xf32>>) -> tensor<?x2x3xf32>
  %c = dnn.stack %s {axis = 0 : i64} : (!dnn.stash<2 x tensor<?x3xf32>>) -> tensor<?x2x3xf32>
  %d = dnn.unstack %c {axis = 0 : i64} : (tensor<?x2x3xf32>) -> !dnn.stash<2 x tensor<?x3xf32>>
  // Along another axis it is another tensor.
  // CHECK-NEXT: %[[C:.*]] = dnn.stack %[[S]]
  // CHECK-NEXT: %[[E:.*]] = dnn.unstack %[[C]] {axis = 1 : i64}
  // CHECK-NEXT: return %[[X]], %[[S]], %[[E]]
  %e = dnn.unstack %c {axis = 1 : i64} : (tensor<?x2x3xf32>) -> !dnn.stash<3 x tensor<?x2xf32>>
  return %b, %d, %e : tensor<?x2x3xf32>, !dnn.stash<2 x tensor<?x3xf32>>, !dnn.stash<3 x tensor<?x2xf32>>
}
