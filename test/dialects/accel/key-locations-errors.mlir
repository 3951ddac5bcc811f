// RUN: not accord-opt %s 2>&1 | FileCheck %s
// An error stands where its key was written, when the front end has said where.

// CHECK: tpu.accel:4:22: error: 'tdp' of 40 W is below 'idle' of 60 W
// CHECK: tpu.accel:4:9: note: 'idle' is here
accel.accelerator @m {
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<1 GB/s>}
  accel.core @tc : tensor {array = [8, 8]}
  accel.power {tdp = #accel.quantity<40 W>, idle = #accel.quantity<60 W>}
    loc(fused<{idle = loc("tpu.accel":4:9), tdp = loc("tpu.accel":4:22)}>["tpu.accel":3:1])
}
