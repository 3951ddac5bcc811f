// RUN: accord-opt %s --split-input-file --verify-diagnostics --build-training-graph="optimizer=sgd precision=f32" --divide-sequence="devices=3 exchange=all_to_all"
// RUN: not accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --divide-sequence="exchange=pigeons" 2>&1 | FileCheck %s
// CHECK: error: keys and values are exchanged by ring, all_gather or all_to_all, not 'pigeons'

// expected-error @+1 {{'net' has no input whose sequence 3 devices can divide}}
dnn.model @net (%x: tensor<?x4x4xf32>, %t: tensor<?x4x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x4x4xf32>, tensor<4x4xf32>) -> tensor<?x4x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4x4xf32>, tensor<?x4x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @mean (%x: tensor<?x6x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %h = dnn.linear %x, %w : (tensor<?x6x4xf32>, tensor<4x4xf32>) -> tensor<?x6x4xf32>
  // expected-error @+1 {{'dnn.reduce_mean' needs all of a sequence, which the 3 devices of axis 'context' divide}}
  %y = dnn.reduce_mean %h {axis = 0 : i64} : (tensor<?x6x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @heads (%x: tensor<?x6x8xf32>, %t: tensor<?x6x8xf32>) {
  dnn.parameter @w : tensor<8x8xf32>
  %w = dnn.read @w : tensor<8x8xf32>
  %h = dnn.linear %x, %w : (tensor<?x6x8xf32>, tensor<8x8xf32>) -> tensor<?x6x8xf32>
  %q = dnn.reshape %h {dims = array<i64: 6, 2, 1, 4>} : (tensor<?x6x8xf32>) -> tensor<?x6x2x1x4xf32>
  %k = dnn.reshape %h {dims = array<i64: 6, 2, 4>} : (tensor<?x6x8xf32>) -> tensor<?x6x2x4xf32>
  // expected-error @+1 {{3 devices of axis 'context' do not divide the 2 heads of keys and values, which all_to_all gives each a part of}}
  %y, %l = dnn.flash_attention %q, %k, %k : (tensor<?x6x2x1x4xf32>, tensor<?x6x2x4xf32>, tensor<?x6x2x4xf32>) -> (tensor<?x6x2x1x4xf32>, tensor<?x6x2x1xf32>)
  %z = dnn.reshape %y {dims = array<i64: 6, 8>} : (tensor<?x6x2x1x4xf32>) -> tensor<?x6x8xf32>
  %loss = dnn.mse %z, %t : (tensor<?x6x8xf32>, tensor<?x6x8xf32>) -> tensor<f32>
  dnn.loss %loss : tensor<f32>
}
