// RUN: accord-opt %s --split-input-file --build-training-graph="optimizer=sgd precision=f32" --shard="axis=tensor devices=4" | FileCheck %s

// Two layers: column parallel, then row parallel; the bias of the second is added to the finished sum. Backward the other way round.
// CHECK-LABEL: dnn.training_graph @mlp attributes {dnn.axes = {tensor = 4 : i64}
// CHECK: dnn.parameter @fc1.weight : tensor<16x16xf32> {dnn.parts = [#dnn.part<"tensor", 0 of 4>]}
// CHECK: dnn.parameter @fc1.bias : tensor<16xf32> {dnn.parts = [#dnn.part<"tensor", 0 of 4>]}
// CHECK: dnn.parameter @fc2.weight : tensor<16x16xf32> {dnn.parts = [#dnn.part<"tensor", 1 of 4>]}
// CHECK: dnn.parameter @fc2.bias : tensor<16xf32>
// CHECK: %[[H:.*]] = dnn.linear {{.*}} -> tensor<?x16xf32>
// CHECK: %[[A:.*]] = dnn.gelu %[[H]]
// CHECK: %[[P:.*]] = dnn.linear %[[A]], %{{[a-z0-9_]+}} {dnn.name = "fc2"
// CHECK: %[[S:.*]] = dnn.all_reduce %[[P]] {axis = "tensor", devices = 4 : i64, dnn.name = "fc2.all_reduce", dnn.phase = #dnn.phase<communication>}
// CHECK: dnn.add %[[S]], %{{.*}} {dnn.name = "fc2.biased"
// CHECK-NOT: dnn.all
// CHECK: dnn.optimizer_step
// CHECK: dnn.update @fc1.weight : tensor<16x16xf32>
dnn.model @mlp (%x: tensor<?x16xf32>, %t: tensor<?x16xf32>) {
  dnn.parameter @fc1.weight : tensor<64x16xf32>
  dnn.parameter @fc1.bias : tensor<64xf32>
  dnn.parameter @fc2.weight : tensor<16x64xf32>
  dnn.parameter @fc2.bias : tensor<16xf32>
  %w1 = dnn.read @fc1.weight : tensor<64x16xf32>
  %b1 = dnn.read @fc1.bias : tensor<64xf32>
  %w2 = dnn.read @fc2.weight : tensor<16x64xf32>
  %b2 = dnn.read @fc2.bias : tensor<16xf32>
  %h = dnn.linear %x, %w1, %b1 {dnn.name = "fc1"} : (tensor<?x16xf32>, tensor<64x16xf32>, tensor<64xf32>) -> tensor<?x64xf32>
  %a = dnn.gelu %h {dnn.name = "act"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
  %y = dnn.linear %a, %w2, %b2 {dnn.name = "fc2"} : (tensor<?x64xf32>, tensor<16x64xf32>, tensor<16xf32>) -> tensor<?x16xf32>
  %l = dnn.mse %y, %t {dnn.name = "loss"} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// Rows of a vocabulary, and the loss over its parts: statistics travel, not logits.
// CHECK-LABEL: dnn.training_graph @vocabulary
// CHECK: dnn.parameter @table : tensor<3x8xf32> {dnn.parts = [#dnn.part<"tensor", 0 of 4>]}
// CHECK: %[[E:.*]] = dnn.embedding {{.*}}dnn.parts = [#dnn.part<"tensor", 0 of 4>]
// CHECK: %[[X:.*]] = dnn.all_reduce %[[E]]
// CHECK: %[[L:.*]] = dnn.linear %[[X]]{{.*}} -> tensor<?x5x3xf32>
// CHECK: %[[S:.*]] = dnn.cross_entropy_stats %[[L]]{{.*}}dnn.parts = [#dnn.part<"tensor", 2 of 4>]{{.*}} -> tensor<?x5x3xf32>
// CHECK: %[[G:.*]] = dnn.all_gather %[[S]]{{.*}} -> tensor<?x5x12xf32>
// CHECK: dnn.cross_entropy_join %[[G]]
// CHECK: dnn.cross_entropy_part_grad {{.*}}%[[L]], %{{.*}}, %[[G]]
dnn.model @vocabulary (%ids: tensor<?x5xi32>, %labels: tensor<?x5xi32>) {
  dnn.parameter @table : tensor<12x8xf32>
  %t = dnn.read @table : tensor<12x8xf32>
  %x = dnn.embedding %ids, %t {dnn.name = "tokens"} : (tensor<?x5xi32>, tensor<12x8xf32>) -> tensor<?x5x8xf32>
  %y = dnn.linear %x, %t {dnn.name = "logits"} : (tensor<?x5x8xf32>, tensor<12x8xf32>) -> tensor<?x5x12xf32>
  %l = dnn.cross_entropy %y, %labels {dnn.name = "loss"} : (tensor<?x5x12xf32>, tensor<?x5xi32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
