// Operations that a user states: forms, and their gradients in a training graph.
// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s -build-training-graph | FileCheck %s --check-prefix=GRAPH

// CHECK-LABEL: dnn.model @net
// GRAPH-LABEL: dnn.training_graph @net
dnn.model @net (%q: tensor<?x7x8xf32>, %t: tensor<?x7x9xf32>) attributes {
    optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.parameter @k : tensor<9x8xf32>
  dnn.parameter @v : tensor<8xf32>
  %k = dnn.read @k : tensor<9x8xf32>
  %v = dnn.read @v : tensor<8xf32>
  // CHECK: dnn.custom "scores" %{{.*}}, %{{.*}}, %{{.*}} over [?, 7, 9, 8] {body = #dnn.scalar<mul(x2, tanh(add(x0, x1)))>
  // GRAPH: dnn.custom "scores" {{.*}} dnn.phase = #dnn.phase<forward>
  // The derivative by v: dy tanh(q + k); by k: dy v (1 - tanh(q + k)^2), summed over the batch and i.
  // GRAPH: dnn.custom "scores" {{.*}} over [?, 7, 9, 8] {body = #dnn.scalar<t0 = tanh(add(x0, x1)), mul(x3, mul(x2, sub(1.000000e+00, mul(t0, t0))))>
  // GRAPH-SAME: maps = [#{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}, #{{.*}}]} : (tensor<?x7x8xf32>, tensor<9x8xf32>, tensor<8xf32>, tensor<?x7x9xf32>) -> tensor<9x8xf32>
  // GRAPH: dnn.custom "scores" {{.*}} {body = #dnn.scalar<mul(x2, tanh(add(x0, x1)))>
  // GRAPH-SAME: (tensor<?x7x8xf32>, tensor<9x8xf32>, tensor<?x7x9xf32>) -> tensor<8xf32>
  %s = dnn.custom "scores" %q, %k, %v over [?, 7, 9, 8] {body = #dnn.scalar<mul(x2, tanh(add(x0, x1)))>, maps = [
    affine_map<(n, i, j, d) -> (n, i, d)>, affine_map<(n, i, j, d) -> (j, d)>, affine_map<(n, i, j, d) -> (d)>,
    affine_map<(n, i, j, d) -> (n, i, j)>]} : (tensor<?x7x8xf32>, tensor<9x8xf32>, tensor<8xf32>) -> tensor<?x7x9xf32>
  // What is used more than once has a name.
  // CHECK: body = #dnn.scalar<t0 = exp(neg(x0)), div(select(less(i1, 3.000000e+00), t0, 0.000000e+00), add(t0, 1.000000e+00))>
  // CHECK-SAME: combine = #dnn.combine<max>
  %m = dnn.custom "largest" %s over [?, 7, 9] {combine = #dnn.combine<max>, maps = [
    affine_map<(n, i, j) -> (n, i, j)>, affine_map<(n, i, j) -> (n, i)>],
    body = #dnn.scalar<t0 = exp(neg(x0)), div(select(less(i1, 3.0), t0, 0.0), add(t0, 1.0))>} : (tensor<?x7x9xf32>) -> tensor<?x7xf32>
  // CHECK: gradients = [#dnn.stated<of = [0], reads = [-2]
  %r = dnn.custom "straight" %m over [?, 7] {body = #dnn.scalar<round(x0)>, maps = [
    affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>], gradients = [#dnn.stated<of = [0], reads = [-2],
    domain = [-9223372036854775808, 7], maps = [affine_map<(n, i) -> (n, i)>, affine_map<(n, i) -> (n, i)>],
    body = #dnn.scalar<x0>>]} : (tensor<?x7xf32>) -> tensor<?x7xf32>
  %l1 = dnn.mean %r : (tensor<?x7xf32>) -> tensor<f32>
  %l2 = dnn.mse %s, %t : (tensor<?x7x9xf32>, tensor<?x7x9xf32>) -> tensor<f32>
  %l = dnn.add %l1, %l2 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
