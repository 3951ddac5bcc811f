// What each operation costs, against arithmetic by hand: the core does 1 TFLOP/s, the memory 1 GB/s.
// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=fp32" --estimate-cost="machine=tiny microbatch=8" | FileCheck %s
// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=fp32" --estimate-cost="microbatch=8" | FileCheck %s
// RUN: accord-opt %s --build-training-graph="optimizer=sgd precision=fp32" --estimate-cost=microbatch=8 | accord-opt | FileCheck %s

accel.accelerator @tiny {
  accel.memory @dram : dram {capacity = #accel.quantity<1 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc [1] : tensor {peak = {fp32 = #accel.quantity<1 TFLOP/s>}, reads = @dram}
  accel.core @vc [1] : vector {peak = {fp32 = #accel.quantity<1 MFLOP/s>}, reads = @dram}
  accel.path [@dram] -> [@tc, @vc]
}

// CHECK: dnn.training_graph @net attributes {{.*}}plan.machine = "tiny", plan.microbatch = 8 : i64
dnn.model @net (%x: tensor<?x4xf32>, %t: tensor<?x2xf32>) {
  dnn.parameter @fc.weight : tensor<2x4xf32>
  %w = dnn.read @fc.weight : tensor<2x4xf32>
  // Reads 8x4 and 2x4, writes 8x2, 4 bytes each: 224 B at 1 GB/s.
  // CHECK: dnn.linear {{.*}}dnn.name = "fc", {{.*}}plan.bound = "bandwidth dram", plan.core = "tc", plan.time = 224000 : i64
  %y = dnn.linear %x, %w {dnn.name = "fc"} : (tensor<?x4xf32>, tensor<2x4xf32>) -> tensor<?x2xf32>
  // A view needs no core and no time.
  // CHECK: dnn.reshape {{.*}}dnn.name = "view", {{.*}}plan.bound = "view", plan.time = 0 : i64
  %v = dnn.reshape %y {dims = array<i64: 2>, dnn.name = "view"} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  // One FLOP per element at 1 MFLOP/s: 16 us, far above 128 B at 1 GB/s.
  // CHECK: dnn.relu {{.*}}dnn.name = "act", {{.*}}plan.bound = "compute", plan.core = "vc", plan.time = 16000000 : i64
  %r = dnn.relu %v {dnn.name = "act"} : (tensor<?x2xf32>) -> tensor<?x2xf32>
  %l = dnn.mse %r, %t {dnn.name = "loss"} : (tensor<?x2xf32>, tensor<?x2xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
  // sgd is 2 FLOP for each of 8 scalars.
  // CHECK: dnn.update @fc.weight {{.*}}plan.bound = "compute", plan.core = "vc", plan.time = 16000000 : i64
}
