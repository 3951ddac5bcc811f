// What holds operations survives printing and parsing.
// RUN: accord-opt %s | accord-opt | FileCheck %s

// CHECK-LABEL: dnn.model @net (%{{.*}}: tensor<?x4xf32>, %{{.*}}: tensor<?x4xf32>)
// CHECK-SAME: attributes {input_names = ["x", "t"], optimizer = #dnn.optimizer<adamw>, precision = #dnn.precision<mixed, bf16, gradients = f32>}
dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>)
    attributes {input_names = ["x", "t"], optimizer = #dnn.optimizer<adamw>, precision = #dnn.precision<mixed, bf16, gradients = f32>} {
  // CHECK: dnn.parameter @w : tensor<4x4xf32>{{$}}
  dnn.parameter @w : tensor<4x4xf32>
  // CHECK: dnn.parameter @block.w : tensor<4x4xf32> copies 6
  dnn.parameter @block.w : tensor<4x4xf32> copies 6
  // CHECK: dnn.repeat 3 as "outer" iter(%[[A:.*]] = %{{.*}} : tensor<?x4xf32>) {
  %y = dnn.repeat 3 as "outer" iter(%a = %x : tensor<?x4xf32>) {
    // CHECK: %{{.*}}, %[[S:.*]] = dnn.repeat 2 as "inner" iter(%{{.*}} = %[[A]] : tensor<?x4xf32>) stash(!dnn.stash<2 x tensor<?x4xf32>>) {
    %b, %s = dnn.repeat 2 as "inner" iter(%c = %a : tensor<?x4xf32>) stash(!dnn.stash<2 x tensor<?x4xf32>>) {
      // CHECK: dnn.read @block.w : tensor<4x4xf32>
      %w = dnn.read @block.w : tensor<4x4xf32>
      %d = dnn.linear %c, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
      // CHECK: dnn.yield %{{.*}} : tensor<?x4xf32> stash(%{{.*}} : tensor<?x4xf32>)
      dnn.yield %d : tensor<?x4xf32> stash(%c : tensor<?x4xf32>)
    }
    // CHECK: dnn.repeat 2 as "back" reverse iter(%{{.*}} : tensor<?x4xf32>) unstash(%{{.*}} = %[[S]] : !dnn.stash<2 x tensor<?x4xf32>>) {
    %e = dnn.repeat 2 as "back" reverse iter(%f = %b : tensor<?x4xf32>) unstash(%g = %s : !dnn.stash<2 x tensor<?x4xf32>>) {
      %h = dnn.add %f, %g : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %h : tensor<?x4xf32>
    }
    dnn.yield %e : tensor<?x4xf32>
  }
  %w = dnn.read @w : tensor<4x4xf32>
  %z = dnn.linear %y, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %z, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  // CHECK: dnn.loss %{{.*}} : tensor<f32>
  dnn.loss %l : tensor<f32>
}

// CHECK: dnn.train @job of @net {batch = 1536 : i64, optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<tf32>}
dnn.train @job of @net {batch = 1536 : i64, optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<tf32>}

// CHECK-LABEL: dnn.training_graph @step attributes {optimizer = #dnn.optimizer<momentum>, precision = #dnn.precision<f32>}
dnn.training_graph @step attributes {optimizer = #dnn.optimizer<momentum>, precision = #dnn.precision<f32>} {
  dnn.parameter @w : tensor<2x4xf32>
  // CHECK: dnn.microbatch (%{{.*}}: tensor<?x2xf32>, %{{.*}}: tensor<?x4xf32>) {
  dnn.microbatch (%dy: tensor<?x2xf32>, %x: tensor<?x4xf32>) {
    // CHECK: dnn.contract %{{.*}}, %{{.*}} over [?, 2, 4] {dnn.phase = #dnn.phase<weight_gradient>, maps = [
    %dw = dnn.contract %dy, %x over [?, 2, 4] {dnn.phase = #dnn.phase<weight_gradient>, maps = [affine_map<(n, o, i) -> (n, o)>,
      affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>]} : (tensor<?x2xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
    // CHECK: dnn.gradient @w, %{{.*}} : tensor<2x4xf32>
    dnn.gradient @w, %dw : tensor<2x4xf32>
  }
  // CHECK: dnn.optimizer_step {
  dnn.optimizer_step {
    // CHECK: dnn.update @w : tensor<2x4xf32> {optimizer = #dnn.optimizer<momentum>, precision = #dnn.precision<f32>}
    dnn.update @w : tensor<2x4xf32> {optimizer = #dnn.optimizer<momentum>, precision = #dnn.precision<f32>}
  }
}
