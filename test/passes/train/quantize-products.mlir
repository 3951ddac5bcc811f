// RUN: accord-opt %s --quantize-products | FileCheck %s
// RUN: accord-opt %s --quantize-products --build-training-graph | FileCheck %s --check-prefix=STEP
// RUN: accord-opt %s --quantize-products --build-training-graph | accord-opt | FileCheck %s --check-prefix=STEP
// RUN: accord-opt %s --quantize-products --recompute="policy=full" --build-training-graph | FileCheck %s --check-prefix=FULL

// The first product and the one that gates it take one cast; the weights are read in the format. The norm's scale, the
// bias, products outside of the repeat and of two activations stay.
// CHECK-LABEL: dnn.model @net
// CHECK: dnn.repeat 3 as "block" iter(%[[X:.*]] = %{{.*}})
// CHECK-NEXT: %[[W1:.*]] = dnn.read @block.up.weight : tensor<64x32xf8E4M3FN>
// CHECK-NEXT: %[[W2:.*]] = dnn.read @block.gate.weight : tensor<64x32xf8E4M3FN>
// CHECK-NEXT: %[[W3:.*]] = dnn.read @block.down.weight : tensor<32x64xf8E4M3FN>
// CHECK-NEXT: %[[B:.*]] = dnn.read @block.down.bias : tensor<32xbf16>
// CHECK-NEXT: %[[X8:.*]] = dnn.cast %[[X]] {dnn.name = "block.up.cast"} : (tensor<?x32xbf16>) -> tensor<?x32xf8E4M3FN>
// CHECK-NEXT: %[[H:.*]] = dnn.linear %[[X8]], %[[W1]] {{.*}} -> tensor<?x64xbf16>
// CHECK-NEXT: %[[G:.*]] = dnn.linear %[[X8]], %[[W2]] {{.*}} -> tensor<?x64xbf16>
// CHECK-NEXT: %[[P:.*]] = dnn.mul %[[H]], %[[G]]
// CHECK-NEXT: %[[P8:.*]] = dnn.cast %[[P]]
// CHECK-NEXT: dnn.linear %[[P8]], %[[W3]], %[[B]] {{.*}} : (tensor<?x64xf8E4M3FN>, tensor<32x64xf8E4M3FN>, tensor<32xbf16>) -> tensor<?x32xbf16>
// CHECK: dnn.linear %{{.*}} : (tensor<?x32xbf16>, tensor<16x32xbf16>) -> tensor<?x16xbf16>

// What is saved for weight gradients is of 8 bits; the factors of the product of activations are not.
// STEP: precision = #dnn.precision<mixed, bf16, products = f8E4M3FN>
// STEP: dnn.repeat 3 as "block" iter
// STEP-SAME: stash(!dnn.stash<3 x tensor<?x64xf8E4M3FN>>, !dnn.stash<3 x tensor<?x64xbf16>>, !dnn.stash<3 x tensor<?x64xbf16>>, !dnn.stash<3 x tensor<?x32xf8E4M3FN>>)
// STEP: dnn.repeat 3 as "block.backward" reverse
// A gradient of a result is cast once, for both products that take it; they give bf16.
// STEP: %[[D:.*]] = dnn.cast %{{.*}} {dnn.name = "block.down.gradient_cast", dnn.phase = #dnn.phase<data_gradient>} : (tensor<?x32xbf16>) -> tensor<?x32xf8E5M2>
// STEP: dnn.contract %[[D]], %{{.*}} over [?, 32, 64] {{.*}} : (tensor<?x32xf8E5M2>, tensor<32x64xf8E4M3FN>) -> tensor<?x64xbf16>
// STEP: dnn.contract %[[D]], %{{.*}} over [?, 32, 64] {{.*}} : (tensor<?x32xf8E5M2>, tensor<?x64xf8E4M3FN>) -> tensor<32x64xbf16>
// STEP: dnn.reduce_dimensions %{{.*}} : (tensor<?x32xbf16>) -> tensor<32xbf16>
// STEP: "block.gate.gradient_cast"
// STEP: "block.up.gradient_cast"
// STEP-NOT: dnn.cast
// The update quantizes what is read so, and nothing else.
// STEP-DAG: dnn.update @block.up.weight {{.*}}quantized = f8E4M3FN
// STEP-DAG: dnn.update @block.gate.weight {{.*}}quantized = f8E4M3FN
// STEP-DAG: dnn.update @block.down.weight {{.*}}quantized = f8E4M3FN
// STEP-DAG: dnn.update @block.down.bias : tensor<32xbf16> copies 3 {dnn.name = "block.down.bias.update", dnn.phase = #dnn.phase<update>, optimizer = #dnn.optimizer<adam>, precision = {{.*}}>}
// STEP-DAG: dnn.update @head : tensor<16x32xbf16> {dnn.name = "head.update", dnn.phase = #dnn.phase<update>, optimizer = #dnn.optimizer<adam>, precision = {{.*}}>}

// The input of an iteration is kept as it is, and cast again.
// FULL: dnn.repeat 3 as "block" iter
// FULL-SAME: stash(!dnn.stash<3 x tensor<?x32xbf16>>) {
// FULL: dnn.cast {{.*}}dnn.again = "block.up.cast"
dnn.model @net (%x: tensor<?x32xbf16>, %t: tensor<?x16xbf16>)
    attributes {precision = #dnn.precision<mixed, bf16, products = f8E4M3FN>, optimizer = #dnn.optimizer<adam>} {
  dnn.parameter @block.up.weight : tensor<64x32xbf16> copies 3
  dnn.parameter @block.gate.weight : tensor<64x32xbf16> copies 3
  dnn.parameter @block.down.weight : tensor<32x64xbf16> copies 3
  dnn.parameter @block.down.bias : tensor<32xbf16> copies 3
  dnn.parameter @head : tensor<16x32xbf16>
  %z = dnn.repeat 3 as "block" iter(%c = %x : tensor<?x32xbf16>) {
    %w1 = dnn.read @block.up.weight : tensor<64x32xbf16>
    %w2 = dnn.read @block.gate.weight : tensor<64x32xbf16>
    %w3 = dnn.read @block.down.weight : tensor<32x64xbf16>
    %b = dnn.read @block.down.bias : tensor<32xbf16>
    %h = dnn.linear %c, %w1 {dnn.name = "block.up"} : (tensor<?x32xbf16>, tensor<64x32xbf16>) -> tensor<?x64xbf16>
    %g = dnn.linear %c, %w2 {dnn.name = "block.gate"} : (tensor<?x32xbf16>, tensor<64x32xbf16>) -> tensor<?x64xbf16>
    %p = dnn.mul %h, %g {dnn.name = "block.mul"} : (tensor<?x64xbf16>, tensor<?x64xbf16>) -> tensor<?x64xbf16>
    %y = dnn.linear %p, %w3, %b {dnn.name = "block.down"} : (tensor<?x64xbf16>, tensor<32x64xbf16>, tensor<32xbf16>) -> tensor<?x32xbf16>
    dnn.yield %y : tensor<?x32xbf16>
  }
  %wh = dnn.read @head : tensor<16x32xbf16>
  %o = dnn.linear %z, %wh {dnn.name = "head"} : (tensor<?x32xbf16>, tensor<16x32xbf16>) -> tensor<?x16xbf16>
  %l = dnn.mse %o, %t {dnn.name = "loss"} : (tensor<?x16xbf16>, tensor<?x16xbf16>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
