// RUN: accord-opt %s -split-input-file -verify-diagnostics --build-training-graph="optimizer=sgd precision=fp32" --interpret

// expected-error @+1 {{'large' is too large to interpret; scale it down}}
dnn.model @large (%x: tensor<?x4096x4096xf32>) {
  dnn.parameter @w : tensor<4096x4096xf32>
  %w = dnn.read @w : tensor<4096x4096xf32>
  %y = dnn.linear %x, %w : (tensor<?x4096x4096xf32>, tensor<4096x4096xf32>) -> tensor<?x4096x4096xf32>
  %l = dnn.mse %y, %x : (tensor<?x4096x4096xf32>, tensor<?x4096x4096xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// expected-error @+1 {{the value of parameter 'w' has another shape}}
dnn.model @shape (%x: tensor<?x2xf32>) {
  dnn.parameter @w : tensor<2xf32> {dnn.value = dense<[1.0, 2.0, 3.0]> : tensor<3xf64>}
  %w = dnn.read @w : tensor<2xf32>
  %y = dnn.mul %x, %w : (tensor<?x2xf32>, tensor<2xf32>) -> tensor<?x2xf32>
  %l = dnn.mse %y, %x : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// expected-error @+1 {{cannot be interpreted: only its time is known, not what it computes}}
dnn.model @measured(%x: tensor<?x2xf32>) {
  dnn.parameter @weights : tensor<3xf32>
  %w = dnn.read @weights : tensor<3xf32>
  %y = dnn.profiled %x, %w {forward = 1.0 : f64, trained = true, dnn.name = "layer"} : (tensor<?x2xf32>, tensor<3xf32>) -> tensor<f32>
  dnn.loss %y : tensor<f32>
}
