// Lookups with sparse gradients: what is stored, joined and updated.
// RUN: accord-opt %s --build-training-graph="optimizer=adam precision=fp32" | FileCheck %s
// RUN: accord-opt %s --build-training-graph="optimizer=adam precision=fp32" | accord-opt | FileCheck %s

// CHECK-LABEL: dnn.training_graph @twice
dnn.model @twice (%a: tensor<?x3xi32>, %b: tensor<?x5xi32>, %t: tensor<?x4xf32>) {
  dnn.parameter @table : tensor<100x4xf32>
  %w = dnn.read @table : tensor<100x4xf32>
  %x = dnn.embedding_bag %a, %w {sparse = true, optimizer = "rowwise_adagrad"} : (tensor<?x3xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
  %y = dnn.embedding_bag %b, %w {sparse = true, optimizer = "rowwise_adagrad"} : (tensor<?x5xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
  %s = dnn.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %s, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[B:.*]] = dnn.embedding_bag_grad {{.*}} -> tensor<100x4xf32, #dnn.rows<5 x i32>>
  // CHECK: %[[A:.*]] = dnn.embedding_bag_grad {{.*}} -> tensor<100x4xf32, #dnn.rows<3 x i32>>
  // CHECK: %[[G:.*]] = dnn.join_rows %[[B]], %[[A]] {{.*}} -> tensor<100x4xf32, #dnn.rows<8 x i32>>
  // CHECK: dnn.gradient @table, %[[G]]
  // CHECK: dnn.update @table : tensor<100x4xf32> {{.*}}optimizer = #dnn.optimizer<rowwise_adagrad>{{.*}}rows = #dnn.rows<8 x i32>
}
