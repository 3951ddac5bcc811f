// Equal but for their names: once. Dropouts are drawn each for itself, whatever pass looks at them.
// RUN: accord-opt %s --merge-equal | FileCheck %s --check-prefixes=CHECK,NAMED
// RUN: accord-opt %s --cse | FileCheck %s --check-prefixes=CHECK,UPSTREAM

// CHECK-LABEL: func.func @equal(
func.func @equal(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // NAMED-NEXT: %[[A:.*]] = dnn.gelu %{{.*}} {dnn.name = "a"}
  // NAMED-NEXT: %[[C:.*]] = dnn.silu
  // NAMED-NEXT: %[[Y:.*]] = dnn.add %[[A]], %[[A]]
  // UPSTREAM-COUNT-2: dnn.gelu
  %a = dnn.gelu %x {dnn.name = "a"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = dnn.gelu %x {dnn.name = "b"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = dnn.silu %x {dnn.name = "c"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = dnn.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %z = dnn.add %y, %c : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @attributes(
func.func @attributes(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK: dnn.scale {{.*}}factor = 2.0
  // CHECK: dnn.scale {{.*}}factor = 3.0
  // NAMED-NOT: dnn.scale
  %a = dnn.scale %x {factor = 2.0 : f64, dnn.name = "a"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %b = dnn.scale %x {factor = 3.0 : f64, dnn.name = "b"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %c = dnn.scale %x {factor = 2.0 : f64, dnn.name = "c"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = dnn.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %z = dnn.add %y, %c : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %z : tensor<?x8xf32>
}

// CHECK-LABEL: func.func @random(
func.func @random(%x: tensor<?x8xf32>) -> tensor<?x8xf32> {
  // CHECK-COUNT-2: dnn.dropout
  %a, %m = dnn.dropout %x {rate = 0.5 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  %b, %n = dnn.dropout %x {rate = 0.5 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  %y = dnn.add %a, %b : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return %y : tensor<?x8xf32>
}
