// Every number of an operation is finite and makes sense. 0x7FF0000000000000 is infinity, 0x7FF8000000000000 no number.
// RUN: accord-opt %s -split-input-file -verify-diagnostics

func.func @f(%x: tensor<?x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 0}}
  %r = dnn.layer_norm %x, %s {epsilon = 0.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 0}}
  %r = dnn.rms_norm %x, %s {epsilon = 0x7FF0000000000000 : f64} : (tensor<?x8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 0}}
  %r = dnn.batch_norm %x, %s, %s {epsilon = -1.0 : f64} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>, %s: tensor<8xf32>) {
  // expected-error @+1 {{attribute 'epsilon' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 0}}
  %r = dnn.group_norm %x, %s, %s {groups = 2 : i64, epsilon = 0x7FF8000000000000 : f64} : (tensor<?x8xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{attribute 'rate' failed to satisfy constraint: 64-bit float attribute whose value is at least 0 and less than 1}}
  %r:2 = dnn.dropout %x {rate = 1.0 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  return
}

// -----

func.func @f(%dy: tensor<?x8xf32>, %mask: tensor<?x8xi8>) {
  // expected-error @+1 {{attribute 'rate' failed to satisfy constraint: 64-bit float attribute whose value is at least 0 and less than 1}}
  %r = dnn.dropout_grad %dy, %mask {rate = -0.5 : f64} : (tensor<?x8xf32>, tensor<?x8xi8>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x8xf32>) {
  // expected-error @+1 {{attribute 'factor' failed to satisfy constraint: 64-bit float attribute whose value is finite}}
  %r = dnn.scale %x {factor = 0xFFF0000000000000 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x4x8xf32>) {
  // expected-error @+1 {{attribute 'base' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 1}}
  %r = dnn.rotary %x {base = 1.0 : f64} : (tensor<?x4x8xf32>) -> tensor<?x4x8xf32>
  return
}

// -----

func.func @f(%x: tensor<?x64x16xf32>, %g: tensor<8x16xf32>) {
  // expected-error @+1 {{attribute 'capacity_factor' failed to satisfy constraint: 64-bit float attribute whose value is finite and above 0}}
  %s, %t, %w = dnn.moe_dispatch %x, %g {top_k = 2 : i64, capacity_factor = 0x7FF0000000000000 : f64} : (tensor<?x64x16xf32>, tensor<8x16xf32>) -> (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>)
  return
}

// -----

func.func @f() {
  // expected-error @+1 {{attribute 'value' failed to satisfy constraint: 64-bit float attribute whose value is finite}}
  %r = "dnn.constant"() {value = 0x7FF0000000000000 : f64} : () -> tensor<f32>
  return
}
