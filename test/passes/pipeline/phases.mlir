// The phases up to shard make the graph that each device runs; a model without a request is trained as the options say.
// RUN: accord-opt %s --accord-pipeline='until=shard recompute=none data=4' | FileCheck %s
// RUN: not accord-opt %s --accord-pipeline='until=shard passes={nonsense}' 2>&1 | FileCheck %s --check-prefix=BAD

// CHECK-LABEL: dnn.training_graph @net
// CHECK: dnn.gradient_all_reduce @fc.weight
// BAD: nonsense
dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.parameter @fc.weight : tensor<2x4xf32>
  %w = dnn.read @fc.weight : tensor<2x4xf32>
  %y = dnn.linear %x, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
  %l = dnn.mse %y, %t {dnn.name = "loss"} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
