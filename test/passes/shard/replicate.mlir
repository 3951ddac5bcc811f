// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=f32" --replicate="devices=4 tables=columns" | FileCheck %s

// Each device looks up the ids of all samples in its columns; every sample's row comes together where the sample is.
// CHECK: dnn.axes = {data = 4 : i64}, dnn.batch_axes = ["data"]
// CHECK: dnn.parameter @table : tensor<10x2xf32> {dnn.parts = [#dnn.part<"data", 1 of 4>]}
// CHECK: dnn.parameter @w : tensor<8x8xf32>
// CHECK: dnn.microbatch (%[[IDS:.*]]: tensor<?x3xi32>,
// CHECK: %[[ALL:.*]] = dnn.all_gather %[[IDS]] {{.*}}dimension = 1 : i64{{.*}}stacked{{.*}} -> tensor<?x4x3xi32>
// CHECK: %[[BAGS:.*]] = dnn.embedding_bag %[[ALL]], %{{.*}} -> tensor<?x4x2xf32>
// CHECK: dnn.all_to_all %[[BAGS]] {{.*}}join = 1 : i64, split = 1 : i64, split_stacked{{.*}} -> tensor<?x8xf32>
// CHECK: dnn.all_to_all {{.*}}join = 1 : i64, join_stacked, split = 1 : i64{{.*}} (tensor<?x8xf32>) -> tensor<?x4x2xf32>
// CHECK: dnn.embedding_bag_grad {{.*}} -> tensor<10x2xf32>
// CHECK: dnn.gradient_all_reduce @table : tensor<10x2xf32> {{.*}}local
// CHECK: dnn.update @table : tensor<10x2xf32>
// CHECK: dnn.gradient_all_reduce @w : tensor<8x8xf32> {axis = "data", devices = 4 : i64, dnn.name = "w.gradient.all_reduce"
// CHECK-NEXT: dnn.update @w
dnn.model @net (%ids: tensor<?x3xi32>, %t: tensor<?x8xf32>) {
  dnn.parameter @table : tensor<10x8xf32>
  dnn.parameter @w : tensor<8x8xf32>
  %table = dnn.read @table : tensor<10x8xf32>
  %w = dnn.read @w : tensor<8x8xf32>
  %x = dnn.embedding_bag %ids, %table {dnn.name = "bag"} : (tensor<?x3xi32>, tensor<10x8xf32>) -> tensor<?x8xf32>
  %y = dnn.linear %x, %w {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
  %l = dnn.mse %y, %t : (tensor<?x8xf32>, tensor<?x8xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
