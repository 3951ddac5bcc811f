// A step small enough to do by hand.
// RUN: accord-opt %s --build-training-graph --interpret="batch=1 check-derivatives" | FileCheck %s

// loss = mean((2 * w)^2) with w = (1, -3): (4 + 36) / 2 = 20; gradient 4 w.
// CHECK: dnn.training_graph @net attributes {dnn.derivative_error = {{[0-9.E-]+}} : f64, dnn.derivatives_checked = 2 : i64, dnn.loss_value = 2.000000e+01 : f64
// CHECK: dnn.parameter @w : tensor<2xf32> {dnn.gradient_value = dense<{{\[\[}}4.000000e+00, -1.200000e+01]]> : tensor<1x2xf64>
dnn.model @net () attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.parameter @w : tensor<2xf32> {dnn.value = dense<[1.0, -3.0]> : tensor<2xf64>}
  %w = dnn.read @w : tensor<2xf32>
  %y = dnn.scale %w {factor = 2.0 : f64} : (tensor<2xf32>) -> tensor<2xf32>
  %zero = dnn.constant 0.0 : tensor<2xf32>
  %l = dnn.mse %y, %zero : (tensor<2xf32>, tensor<2xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
