// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --divide-sequence="devices=4" | FileCheck %s
// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --divide-sequence="devices=2 exchange=all_to_all" | FileCheck %s --check-prefix=HEADS

// Four devices have two of eight positions each. Keys and values go round a ring, in the backward pass again, and their gradients
// are added up on the way; weights are whole, and the mean of their gradients is taken once.
// CHECK: dnn.axes = {context = 4 : i64}, dnn.input_parts = {{\[}}[#dnn.part<"context", 1 of 4>], [#dnn.part<"context", 1 of 4>]]
// CHECK: dnn.parameter @w : tensor<8x8xf32>
// CHECK: dnn.microbatch (%{{.*}}: tensor<?x2x8xf32>, %{{.*}}: tensor<?x2x8xf32>)
// CHECK: dnn.all_gather {{.*}}dnn.ring{{.*}} : (tensor<?x2x2x4xf32>) -> tensor<?x8x2x4xf32>
// CHECK: dnn.flash_attention {{.*}}dnn.parts = [#dnn.part<"context", 1 of 4>]{{.*}} -> (tensor<?x2x2x1x4xf32>, tensor<?x2x2x1xf32>)
// CHECK: dnn.flash_attention_grad {{.*}} -> (tensor<?x2x2x1x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>)
// CHECK-COUNT-2: dnn.reduce_scatter {{.*}}dnn.ring{{.*}} : (tensor<?x8x2x4xf32>) -> tensor<?x2x2x4xf32>
// CHECK: dnn.gradient_all_reduce @w {{.*}}axis = "context", devices = 4

// Two devices have one of two heads each while they attend, to all positions.
// HEADS: dnn.all_to_all {{.*}}join = 1 : i64, split = 2 : i64} : (tensor<?x4x2x1x4xf32>) -> tensor<?x8x1x1x4xf32>
// HEADS: dnn.flash_attention {{.*}} -> (tensor<?x8x1x1x4xf32>, tensor<?x8x1x1xf32>)
// HEADS-NEXT: dnn.all_to_all {{.*}}join = 2 : i64, split = 1 : i64} : (tensor<?x8x1x1x4xf32>) -> tensor<?x4x2x1x4xf32>
// HEADS-NOT: dnn.ring
dnn.model @net (%x: tensor<?x8x8xf32>, %t: tensor<?x8x8xf32>) {
  dnn.parameter @w : tensor<8x8xf32>
  %w = dnn.read @w : tensor<8x8xf32>
  %h = dnn.linear %x, %w : (tensor<?x8x8xf32>, tensor<8x8xf32>) -> tensor<?x8x8xf32>
  %q = dnn.reshape %h {dims = array<i64: 8, 2, 1, 4>} : (tensor<?x8x8xf32>) -> tensor<?x8x2x1x4xf32>
  %k = dnn.reshape %h {dims = array<i64: 8, 2, 4>} : (tensor<?x8x8xf32>) -> tensor<?x8x2x4xf32>
  %y, %l = dnn.flash_attention %q, %k, %k {causal = true} : (tensor<?x8x2x1x4xf32>, tensor<?x8x2x4xf32>, tensor<?x8x2x4xf32>) -> (tensor<?x8x2x1x4xf32>, tensor<?x8x2x1xf32>)
  %z = dnn.reshape %y {dims = array<i64: 8, 8>} : (tensor<?x8x2x1x4xf32>) -> tensor<?x8x8xf32>
  %loss = dnn.mse %z, %t : (tensor<?x8x8xf32>, tensor<?x8x8xf32>) -> tensor<f32>
  dnn.loss %loss : tensor<f32>
}
