// RUN: accord-opt %s -split-input-file -verify-diagnostics --build-training-graph

dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  // expected-error @+1 {{parameter 'w' does not reach the loss}}
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %h = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %x, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %h = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{'dnn.relu_grad' has no gradient but lies between a parameter and the loss}}
  %y = dnn.relu_grad %h, %h : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// expected-error @+1 {{nothing says which optimizer trains model 'net'}}
dnn.model @net (%l: tensor<f32>) attributes {precision = #dnn.precision<f32>} {
  dnn.loss %l : tensor<f32>
}

// -----

// expected-error @+1 {{nothing says in which precision model 'net' is trained}}
dnn.model @net (%l: tensor<f32>) attributes {optimizer = #dnn.optimizer<sgd>} {
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @net (%l: tensor<f32>) {
  dnn.loss %l : tensor<f32>
}
// expected-note @+1 {{the other training}}
dnn.train @a of @net {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>}
// expected-error @+1 {{'b' trains model 'net' with other settings than 'a'}}
dnn.train @b of @net {optimizer = #dnn.optimizer<adam>, precision = #dnn.precision<f32>}
