// Gradients of what a repeat takes slice by slice, and of what it leaves: the backward repeat leaves and takes them.
// RUN: accord-opt %s -split-input-file --build-training-graph="optimizer=sgd precision=fp32" | FileCheck %s --check-prefix=BUILT
// RUN: accord-opt %s -split-input-file --pass-pipeline="builtin.module(build-training-graph{optimizer=sgd precision=fp32},dnn.training_graph(gather-gradients))" | FileCheck %s --check-prefix=GATHERED

// BUILT-LABEL: dnn.training_graph @elman
// GATHERED-LABEL: dnn.training_graph @elman
dnn.model @elman (%x: tensor<?x5x4xf32>, %t: tensor<?x5x4xf32>) {
  dnn.parameter @in : tensor<4x4xf32>
  dnn.parameter @state : tensor<4x4xf32>
  %wi = dnn.read @in : tensor<4x4xf32>
  %wh = dnn.read @state : tensor<4x4xf32>
  %i = dnn.linear %x, %wi {dnn.name = "i"} : (tensor<?x5x4xf32>, tensor<4x4xf32>) -> tensor<?x5x4xf32>
  %s = dnn.unstack %i {axis = 0 : i64, dnn.name = "s"} : (tensor<?x5x4xf32>) -> !dnn.stash<5 x tensor<?x4xf32>>
  %zero = dnn.constant 0.0 {dnn.name = "zero"} : tensor<?x4xf32>
  %end, %ys = dnn.repeat 5 as "time" iter(%h = %zero : tensor<?x4xf32>) unstash(%xt = %s : !dnn.stash<5 x tensor<?x4xf32>>) stash(!dnn.stash<5 x tensor<?x4xf32>>) {
    %0 = dnn.linear %h, %wh {dnn.name = "p"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    %1 = dnn.add %0, %xt {dnn.name = "sum"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    %2 = dnn.tanh %1 {dnn.name = "tanh"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %2 : tensor<?x4xf32> stash(%2 : tensor<?x4xf32>)
  }
  %y = dnn.stack %ys {axis = 0 : i64, dnn.name = "y"} : (!dnn.stash<5 x tensor<?x4xf32>>) -> tensor<?x5x4xf32>
  %l = dnn.mse %y, %t {dnn.name = "mse"} : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // What the model stashes already is not stashed again: the output of tanh is one stash.
  // BUILT: %{{.*}}, %[[YS:.*]]:2 = dnn.repeat 5 as "time"
  // BUILT: dnn.yield %[[TANH:.*]] : tensor<?x4xf32> stash(%[[TANH]], %{{.*}} : tensor<?x4xf32>, tensor<?x4xf32>)
  // BUILT: %[[DYS:.*]] = dnn.unstack %{{.*}} {axis = 0 : i64, dnn.name = "y.data_gradient"
  // The gradient of the state and an accumulator of the weight are carried; the slices' gradients are stashed.
  // BUILT: %{{.*}}:2, %[[DS:.*]] = dnn.repeat 5 as "time.backward" reverse iter(%[[DH:.*]] = %{{.*}} : tensor<?x4xf32>, %[[ACC:.*]] = %{{.*}} : tensor<4x4xf32>) unstash(%[[DY:.*]] = %[[DYS]] : {{.*}}, %[[T:.*]] = %[[YS]]#0 : {{.*}}, %[[H:.*]] = %[[YS]]#1 : {{.*}}) stash(!dnn.stash<5 x tensor<?x4xf32>>) {
  // BUILT: %[[D:.*]] = dnn.add %[[DH]], %[[DY]]
  // BUILT: %[[G:.*]] = dnn.tanh_grad %[[D]], %[[T]]
  // BUILT: %[[DW:.*]] = dnn.contract %[[G]], %[[H]] over [?, 4, 4]
  // BUILT: %[[NEXT:.*]] = dnn.add %[[ACC]], %[[DW]]
  // BUILT: dnn.yield %{{.*}}, %[[NEXT]] : tensor<?x4xf32>, tensor<4x4xf32> stash(%[[G]] : tensor<?x4xf32>)
  // BUILT: dnn.stack %[[DS]] {axis = 0 : i64, dnn.name = "s.data_gradient"

  // GATHERED: %{{.*}}, %[[YS:.*]]:2 = dnn.repeat 5 as "time"
  // GATHERED: %{{.*}}, %[[DS:.*]] = dnn.repeat 5 as "time.backward" reverse iter(%{{.*}} = %{{.*}} : tensor<?x4xf32>) unstash(
  // GATHERED-NOT: weight_gradient
  // GATHERED: dnn.yield %{{.*}} : tensor<?x4xf32> stash(%{{.*}} : tensor<?x4xf32>)
  // GATHERED: %[[A:.*]] = dnn.stack %[[DS]] {{.*}}weight_gradient
  // GATHERED: %[[B:.*]] = dnn.stack %[[YS]]#1 {{.*}}weight_gradient
  // GATHERED: %[[DW:.*]] = dnn.contract %[[A]], %[[B]] over [?, 5, 4, 4] {dnn.name = "p.state_gradient"
  // GATHERED: dnn.gradient @state, %[[DW]]
}

// -----

// A repeat that takes no slices keeps its accumulator: what would be kept instead is more than it keeps otherwise.
// GATHERED-LABEL: dnn.training_graph @layers
dnn.model @layers (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.repeat 5 as "layer" iter(%h = %x : tensor<?x4xf32>) {
    %0 = dnn.linear %h, %w {dnn.name = "p"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
    dnn.yield %0 : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t {dnn.name = "mse"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // GATHERED: dnn.repeat 5 as "layer.backward" reverse iter(%{{.*}} : tensor<?x4xf32>, %[[ACC:.*]] = %{{.*}} : tensor<4x4xf32>)
  // GATHERED: dnn.add %[[ACC]],
}
