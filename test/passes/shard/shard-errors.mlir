// RUN: accord-opt %s --split-input-file --verify-diagnostics --build-training-graph="optimizer=sgd precision=f32" --shard="axis=tensor devices=3" --shard="axis=tensor devices=2"

// expected-error @+1 {{'net' already has an axis 'tensor' of 3 devices}}
dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  // expected-remark @+1 {{parameter 'w', 'tensor<4x4xf32>', stays whole on each of the 3 devices of axis 'tensor'}}
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
