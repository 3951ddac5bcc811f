// Result types follow from operands and attributes; operations survive printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

func.func @relu_1(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.relu %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.relu %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @gelu_2(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.gelu %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.gelu %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @silu_3(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.silu %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.silu %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @sigmoid_4(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.sigmoid %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.sigmoid %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @softplus(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.softplus %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.softplus %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @tanh_5(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.tanh %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.tanh %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @exp_6(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.exp %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.exp %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @sqrt_7(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.sqrt %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.sqrt %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @neg_8(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.neg %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.neg %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @relu_grad_9(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.relu_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.relu_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @gelu_grad_10(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.gelu_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.gelu_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @silu_grad_11(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.silu_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.silu_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @sigmoid_grad_12(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.sigmoid_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.sigmoid_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @tanh_grad_13(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.tanh_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.tanh_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @sqrt_grad_14(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.sqrt_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.sqrt_grad %a0, %a1 : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @add_15(%a0: tensor<?x4x8xf32>, %a1: tensor<4x8xf32>) {
  // CHECK: dnn.add %{{.*}}, %{{.*}} : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  %r = dnn.add %a0, %a1 : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  return
}
func.func @sub_16(%a0: tensor<?x4x8xf32>, %a1: tensor<4x8xf32>) {
  // CHECK: dnn.sub %{{.*}}, %{{.*}} : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  %r = dnn.sub %a0, %a1 : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  return
}
func.func @mul_17(%a0: tensor<?x4x8xf32>, %a1: tensor<4x8xf32>) {
  // CHECK: dnn.mul %{{.*}}, %{{.*}} : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  %r = dnn.mul %a0, %a1 : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  return
}
func.func @div_18(%a0: tensor<?x4x8xf32>, %a1: tensor<4x8xf32>) {
  // CHECK: dnn.div %{{.*}}, %{{.*}} : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  %r = dnn.div %a0, %a1 : (tensor<?x4x8xf32>, tensor<4x8xf32>) -> tensor<?x4x8xf32>
  return
}
func.func @scale_19(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.scale %{{.*}} {factor = 1.250000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.scale %a0 {factor = 1.250000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @dropout_20(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.dropout %{{.*}} {rate = 1.000000e-01 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  %r:2 = dnn.dropout %a0 {rate = 1.000000e-01 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  return
}
func.func @dropout_grad_21(%a0: tensor<?x8xf32>, %a1: tensor<?x8xi8>) {
  // CHECK: dnn.dropout_grad %{{.*}}, %{{.*}} {rate = 1.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xi8>) -> tensor<?x8xf32>
  %r = dnn.dropout_grad %a0, %a1 {rate = 1.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xi8>) -> tensor<?x8xf32>
  return
}
func.func @rotary_22(%a0: tensor<?x2x8x4xf32>) {
  // CHECK: dnn.rotary %{{.*}} {inverse} : (tensor<?x2x8x4xf32>) -> tensor<?x2x8x4xf32>
  %r = dnn.rotary %a0 {inverse} : (tensor<?x2x8x4xf32>) -> tensor<?x2x8x4xf32>
  return
}
func.func @relu6(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.relu6 %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.relu6 %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: dnn.relu6_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %g = dnn.relu6_grad %a0, %r : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @hard_sigmoid(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.hard_sigmoid %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.hard_sigmoid %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: dnn.hard_sigmoid_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %g = dnn.hard_sigmoid_grad %a0, %r : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @hard_swish(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.hard_swish %{{.*}} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.hard_swish %a0 : (tensor<?x8xf32>) -> tensor<?x8xf32>
  // CHECK: dnn.hard_swish_grad %{{.*}}, %{{.*}} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %g = dnn.hard_swish_grad %a0, %r : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @leaky_relu_23(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.leaky_relu %{{.*}} {slope = 2.000000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.leaky_relu %a0 {slope = 2.000000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @leaky_relu_grad_24(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.leaky_relu_grad %{{.*}}, %{{.*}} {slope = 2.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.leaky_relu_grad %a0, %a1 {slope = 2.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @elu_25(%a0: tensor<?x8xf32>) {
  // CHECK: dnn.elu %{{.*}} {alpha = 5.000000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.elu %a0 {alpha = 5.000000e-01 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @elu_grad_26(%a0: tensor<?x8xf32>, %a1: tensor<?x8xf32>) {
  // CHECK: dnn.elu_grad %{{.*}}, %{{.*}} {alpha = 5.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  %r = dnn.elu_grad %a0, %a1 {alpha = 5.000000e-01 : f64} : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}
func.func @sinusoids_27(%a0: tensor<?x5x8xbf16>) {
  // CHECK: dnn.sinusoids %{{.*}} : (tensor<?x5x8xbf16>) -> tensor<?x5x8xbf16>
  %r = dnn.sinusoids %a0 : (tensor<?x5x8xbf16>) -> tensor<?x5x8xbf16>
  return
}
func.func @alibi_28(%a0: tensor<?x4x5x5xbf16>) {
  // CHECK: dnn.alibi %{{.*}} : (tensor<?x4x5x5xbf16>) -> tensor<?x4x5x5xbf16>
  %r = dnn.alibi %a0 : (tensor<?x4x5x5xbf16>) -> tensor<?x4x5x5xbf16>
  return
}
func.func @cast(%a0: tensor<?x8xbf16>) {
  // CHECK: dnn.cast %{{.*}} : (tensor<?x8xbf16>) -> tensor<?x8xf8E4M3FN>
  %r = dnn.cast %a0 : (tensor<?x8xbf16>) -> tensor<?x8xf8E4M3FN>
  return
}
