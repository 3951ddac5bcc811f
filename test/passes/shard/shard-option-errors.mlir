// RUN: accord-opt %s --verify-diagnostics --build-training-graph="optimizer=sgd precision=f32" --shard="devices=1"
// RUN: not accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --replicate="tables=halves" 2>&1 | FileCheck %s
// CHECK: error: tables are whole, or split by rows or columns, not 'halves'
// RUN: not accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --replicate="experts=halves" 2>&1 | FileCheck %s --check-prefix=EXPERTS
// EXPERTS: error: experts are whole or divided, not 'halves'

// expected-error @+1 {{there are at least 2 devices on an axis, found 1}}
dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
