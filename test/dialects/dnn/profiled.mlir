// Something measured: result types follow, the gradient takes what is kept, and impossible ones are refused.
// RUN: accord-opt %s -split-input-file -verify-diagnostics | FileCheck %s

// CHECK-LABEL: @forms
func.func @forms(%x: tensor<?x8xf32>, %ids: tensor<?x3xi32>, %w: tensor<16xf32>, %dy: tensor<?x64xf32>) {
  // CHECK: dnn.profiled %{{.*}}, %{{.*}}, %{{.*}} {backward = 2.300000e-03 : f64, elements = 64 : i64, forward = 1.200000e-03 : f64, trained = true}
  %y = dnn.profiled %x, %ids, %w {forward = 1.2e-3 : f64, backward = 2.3e-3 : f64, elements = 64 : i64, trained = true}
    : (tensor<?x8xf32>, tensor<?x3xi32>, tensor<16xf32>) -> tensor<?x64xf32>
  // CHECK: dnn.profiled %{{.*}} {forward = 0.000000e+00 : f64} : (tensor<?x64xf32>) -> tensor<f32>
  %l = dnn.profiled %y {forward = 0.0 : f64} : (tensor<?x64xf32>) -> tensor<f32>
  // CHECK: dnn.profiled %{{.*}} {{.*}} : (tensor<16xf32>) -> tensor<4xf32>
  %c = dnn.profiled %w {forward = 1.0 : f64, elements = 4 : i64} : (tensor<16xf32>) -> tensor<4xf32>
  // CHECK: dnn.profiled_grad
  %d:2 = dnn.profiled_grad %dy, %x, %ids, %w {backward = 2.3e-3 : f64}
    : (tensor<?x64xf32>, tensor<?x8xf32>, tensor<?x3xi32>, tensor<16xf32>) -> (tensor<?x8xf32>, tensor<16xf32>)
  return
}

// -----

func.func @nothing_read(%w: tensor<16xf32>) {
  // expected-error @+2 {{'profiled' needs an operand that it reads}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dnn.profiled %w {forward = 1.0 : f64, trained = true} : (tensor<16xf32>) -> tensor<f32>
  return
}

// -----

func.func @no_time(%x: tensor<?x8xf32>) {
  // expected-error @+2 {{'profiled' needs 'forward'}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dnn.profiled %x : (tensor<?x8xf32>) -> tensor<f32>
  return
}

// -----

func.func @before_it_began(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{at least 0 s}}
  %y = dnn.profiled %x {forward = -1.0 : f64} : (tensor<?x8xf32>) -> tensor<f32>
  return
}
