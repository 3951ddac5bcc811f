// A placement beside the graph: 4 micro-batches of a chain whose lengths are arithmetic by hand.
// RUN: accord-opt %s --list-schedule="machine=tiny microbatch=8 batch=32" | FileCheck %s
// RUN: accord-opt %s --list-schedule="microbatch=8 batch=32" --list-schedule="microbatch=8 batch=32" | FileCheck %s
// RUN: accord-opt %s --list-schedule="microbatch=400000000" | FileCheck %s --check-prefix=FULL

accel.accelerator @tiny {
  accel.memory @dram : dram {capacity = #accel.quantity<1 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @vc [1] : vector {peak = {fp32 = #accel.quantity<1 MFLOP/s>}, reads = @dram}
  accel.path [@dram] -> [@vc]
}

// 32 elements at one FLOP each and 1 MFLOP/s: 32 us an operation.
dnn.training_graph @net attributes {optimizer = #dnn.optimizer<sgd>, precision = #dnn.precision<f32>} {
  dnn.microbatch (%x: tensor<?x4xf32>) {
    %y = dnn.relu %x {dnn.name = "first"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
    %z = dnn.neg %y {dnn.name = "second"} : (tensor<?x4xf32>) -> tensor<?x4xf32>
  }
  dnn.optimizer_step {
  }
}
// CHECK: dnn.training_graph @net
// CHECK: plan.placement @net.plan model "net" on "tiny" maximize "throughput" value {{.*}} bound {{.*}} step 256000000 ps {
// CHECK: plan.memory "dram" capacity 1073741824
// CHECK: plan.core "vc" [1] : vector
// CHECK: plan.region @microbatch [4] length 64000000 ps {
// CHECK-NEXT: plan.slot "first" on "vc"[0] start 0 ps duration 32000000 ps
// CHECK-NEXT: plan.slot "second" on "vc"[0] start 32000000 ps duration 32000000 ps after ["first"]
// CHECK: plan.bound {{.*}} step 256000000 ps
// CHECK-NOT: plan.placement

// 400000000 x 4 x 4 B do not fit in 1 GiB: the placement says so.
// FULL: plan.conflict "device memory"
