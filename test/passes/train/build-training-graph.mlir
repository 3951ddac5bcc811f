// The training step of small models: which gradients, in which phase, under which names.
// RUN: accord-opt %s -split-input-file --build-training-graph="optimizer=adam precision=fp32" | FileCheck %s

// A chain: the first layer needs no data gradient, its input being data.
// CHECK-LABEL: dnn.training_graph @chain attributes {optimizer = #dnn.optimizer<adam>, precision = #dnn.precision<f32>}
dnn.model @chain (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) {
  dnn.parameter @fc1.weight : tensor<8x4xf32>
  dnn.parameter @fc1.bias : tensor<8xf32>
  dnn.parameter @fc2.weight : tensor<2x8xf32>
  %w1 = dnn.read @fc1.weight : tensor<8x4xf32>
  %b1 = dnn.read @fc1.bias : tensor<8xf32>
  %w2 = dnn.read @fc2.weight : tensor<2x8xf32>
  %h = dnn.linear %x, %w1, %b1 {dnn.name = "fc1"} : (tensor<?x4xf32>, tensor<8x4xf32>, tensor<8xf32>) -> tensor<?x8xf32>
  %r = dnn.relu %h {dnn.name = "act"} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  %y = dnn.linear %r, %w2 {dnn.name = "fc2"} : (tensor<?x8xf32>, tensor<2x8xf32>) -> tensor<?x2xf32>
  %l = dnn.mse %y, %t {dnn.name = "mse"} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[X:[a-z0-9]+]]: tensor<?x4xf32>, %[[T:[a-z0-9]+]]: tensor<?x2xf32>
  // CHECK: %[[W2:.*]] = dnn.read @fc2.weight
  // CHECK: dnn.linear %[[X]], {{.*}}dnn.name = "fc1", dnn.phase = #dnn.phase<forward>
  // CHECK: %[[R:.*]] = dnn.relu
  // CHECK: %[[Y:.*]] = dnn.linear %[[R]]
  // CHECK: %[[ONE:.*]] = dnn.constant 1.0{{.*}} {dnn.name = "loss.seed", dnn.phase = #dnn.phase<data_gradient>}
  // CHECK: %[[DY:.*]] = dnn.mse_grad %[[ONE]], %[[Y]], %[[T]] {dnn.name = "mse.data_gradient", dnn.phase = #dnn.phase<data_gradient>}
  // CHECK: %[[DR:.*]] = dnn.contract %[[DY]], %[[W2]] over [?, 2, 8] {dnn.name = "fc2.data_gradient", dnn.phase = #dnn.phase<data_gradient>
  // CHECK: %[[DW2:.*]] = dnn.contract %[[DY]], %[[R]] over [?, 2, 8] {dnn.name = "fc2.weight_gradient", dnn.phase = #dnn.phase<weight_gradient>
  // CHECK: %[[DH:.*]] = dnn.relu_grad %[[DR]], %[[R]] {dnn.name = "act.data_gradient"
  // CHECK-NOT: fc1.data_gradient
  // CHECK: %[[DW1:.*]] = dnn.contract %[[DH]], %[[X]] over [?, 8, 4] {dnn.name = "fc1.weight_gradient"
  // CHECK: %[[DB1:.*]] = dnn.reduce_dimensions %[[DH]] {dimensions = array<i64: 0>, dnn.name = "fc1.bias_gradient", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK: dnn.gradient @fc2.weight, %[[DW2]] {dnn.name = "fc2.weight.gradient", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK: dnn.gradient @fc1.bias, %[[DB1]]
  // CHECK: dnn.gradient @fc1.weight, %[[DW1]]
  // CHECK: dnn.optimizer_step {
  // CHECK-NEXT: dnn.update @fc1.weight : tensor<8x4xf32> {dnn.name = "fc1.weight.update", dnn.phase = #dnn.phase<update>, optimizer = #dnn.optimizer<adam>, precision = #dnn.precision<f32>}
  // CHECK-NEXT: dnn.update @fc1.bias
  // CHECK-NEXT: dnn.update @fc2.weight
}

// -----

// A value used twice and a weight read twice: both gradients are sums, and there is one buffer write.
// CHECK-LABEL: dnn.training_graph @twice
dnn.model @twice (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %v = dnn.read @w : tensor<4x4xf32>
  %h = dnn.linear %x, %w {dnn.name = "a"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %g = dnn.linear %h, %v {dnn.name = "b"} : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  %y = dnn.add %h, %g {dnn.name = "residual"} : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[DY:.*]] = dnn.mse_grad
  // CHECK: %[[D:.*]] = dnn.contract %[[DY]], {{.*}}dnn.name = "b.data_gradient"
  // CHECK: %[[DV:.*]] = dnn.contract %[[DY]], {{.*}}dnn.name = "b.w_gradient"
  // CHECK: %[[DH:.*]] = dnn.add %[[DY]], %[[D]] {dnn.name = "a.gradient_sum", dnn.phase = #dnn.phase<data_gradient>}
  // CHECK: %[[DW:.*]] = dnn.contract %[[DH]], {{.*}}dnn.name = "a.w_gradient"
  // CHECK: %[[SUM:.*]] = dnn.add %[[DV]], %[[DW]] {dnn.name = "w.gradient_sum", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK-NEXT: dnn.gradient @w, %[[SUM]]
  // CHECK-NOT: dnn.gradient
}

// -----

// Embedding tied with the output layer: the lookup's gradient is added to the output's.
// CHECK-LABEL: dnn.training_graph @tied
dnn.model @tied (%ids: tensor<?x8xi32>, %labels: tensor<?x8xi32>) {
  dnn.parameter @table : tensor<100x4xf32>
  %w = dnn.read @table : tensor<100x4xf32>
  %x = dnn.embedding %ids, %w {dnn.name = "embedding"} : (tensor<?x8xi32>, tensor<100x4xf32>) -> tensor<?x8x4xf32>
  %y = dnn.linear %x, %w {dnn.name = "head"} : (tensor<?x8x4xf32>, tensor<100x4xf32>) -> tensor<?x8x100xf32>
  %l = dnn.cross_entropy %y, %labels {dnn.name = "ce"} : (tensor<?x8x100xf32>, tensor<?x8xi32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[A:.*]] = dnn.contract {{.*}}"head.table_gradient"
  // CHECK: %[[B:.*]] = dnn.embedding_grad {{.*}}"embedding.table_gradient", dnn.phase = #dnn.phase<weight_gradient>} : (tensor<?x8x4xf32>, tensor<?x8xi32>) -> tensor<100x4xf32>
  // CHECK: %[[S:.*]] = dnn.add %[[A]], %[[B]] {dnn.name = "table.gradient_sum", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK: dnn.gradient @table, %[[S]]
}

// -----

// A convolutional block with batch normalization, residual, pooling and dropout.
// CHECK-LABEL: dnn.training_graph @conv
dnn.model @conv (%x: tensor<?x8x16x16xf32>, %labels: tensor<?xi32>) {
  dnn.parameter @c.weight : tensor<8x8x3x3xf32>
  dnn.parameter @n.scale : tensor<8xf32>
  dnn.parameter @n.offset : tensor<8xf32>
  dnn.parameter @fc.weight : tensor<10x8xf32>
  %w = dnn.read @c.weight : tensor<8x8x3x3xf32>
  %s = dnn.read @n.scale : tensor<8xf32>
  %o = dnn.read @n.offset : tensor<8xf32>
  %f = dnn.read @fc.weight : tensor<10x8xf32>
  %0 = dnn.conv2d %x, %w {dnn.name = "c", padding = 1 : i64} : (tensor<?x8x16x16xf32>, tensor<8x8x3x3xf32>) -> tensor<?x8x16x16xf32>
  %1 = dnn.batch_norm %0, %s, %o {dnn.name = "n"} : (tensor<?x8x16x16xf32>, tensor<8xf32>, tensor<8xf32>) -> tensor<?x8x16x16xf32>
  %2 = dnn.add %x, %1 {dnn.name = "residual"} : (tensor<?x8x16x16xf32>, tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32>
  %3 = dnn.max_pool %2 {dnn.name = "pool", kernel = 2 : i64} : (tensor<?x8x16x16xf32>) -> tensor<?x8x8x8xf32>
  %4 = dnn.global_avg_pool %3 {dnn.name = "mean"} : (tensor<?x8x8x8xf32>) -> tensor<?x8xf32>
  %5:2 = dnn.dropout %4 {dnn.name = "drop", rate = 5.0e-01 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  %6 = dnn.linear %5#0, %f {dnn.name = "fc"} : (tensor<?x8xf32>, tensor<10x8xf32>) -> tensor<?x10xf32>
  %l = dnn.cross_entropy %6, %labels : (tensor<?x10xf32>, tensor<?xi32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %{{.*}}, %[[MASK:.*]] = dnn.dropout
  // CHECK: %[[D5:.*]] = dnn.dropout_grad %{{.*}}, %[[MASK]] {{.*}}"drop.data_gradient"
  // CHECK: %[[D4:.*]] = dnn.scale %[[D5]] {{.*}}factor = 1.562500e-02
  // CHECK: %[[D3:.*]] = dnn.broadcast %[[D4]]
  // CHECK: %[[D2:.*]] = dnn.max_pool_grad %[[D3]]
  // CHECK: %[[DX:.*]], %[[DS:.*]], %[[DO:.*]] = dnn.batch_norm_grad %[[D2]], {{.*}}"n.data_gradient", dnn.phase = #dnn.phase<data_gradient>
  // CHECK: %[[DW:.*]] = dnn.contract %[[DX]], %{{.*}} over [?, 8, 8, 16, 16, 3, 3] {{.*}}"c.weight_gradient"
  // CHECK: dnn.gradient @n.offset, %[[DO]]
  // CHECK: dnn.gradient @n.scale, %[[DS]]
  // CHECK: dnn.gradient @c.weight, %[[DW]]
}

// -----

// A recurrent layer: one operation gives all its gradients.
// CHECK-LABEL: dnn.training_graph @recurrent
dnn.model @recurrent (%x: tensor<?x5x3xf32>, %t: tensor<?x5x4xf32>) {
  dnn.parameter @p : tensor<3xf32>
  dnn.parameter @wi : tensor<16x3xf32>
  dnn.parameter @wh : tensor<16x4xf32>
  %p = dnn.read @p : tensor<3xf32>
  %wi = dnn.read @wi : tensor<16x3xf32>
  %wh = dnn.read @wh : tensor<16x4xf32>
  %i = dnn.mul %x, %p {dnn.name = "scaled"} : (tensor<?x5x3xf32>, tensor<3xf32>) -> tensor<?x5x3xf32>
  %y, %k = dnn.lstm %i, %wi, %wh {dnn.name = "lstm"} : (tensor<?x5x3xf32>, tensor<16x3xf32>, tensor<16x4xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
  %l = dnn.mse %y, %t : (tensor<?x5x4xf32>, tensor<?x5x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // CHECK: %[[Y:.*]], %[[K:.*]] = dnn.lstm
  // CHECK: %[[G0:.*]], %[[G1:.*]], %[[G2:.*]] = dnn.lstm_grad %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %[[Y]], %[[K]] {{.*}}"lstm.data_gradient"
  // CHECK: %[[M:.*]] = dnn.mul %[[G0]]
  // CHECK: %[[DP:.*]] = dnn.reduce_dimensions %[[M]] {dimensions = array<i64: 0, 1>, dnn.name = "scaled.p_gradient", dnn.phase = #dnn.phase<weight_gradient>}
  // CHECK: dnn.gradient @wh, %[[G2]]
  // CHECK: dnn.gradient @wi, %[[G1]]
  // CHECK: dnn.gradient @p, %[[DP]]
}
