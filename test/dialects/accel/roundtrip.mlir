// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s --emit-bytecode | accord-opt | FileCheck %s

// CHECK-LABEL: accel.accelerator @a100_80g with {clock = #accel.quantity<1410 MHz source "NVIDIA A100 data sheet">} {
accel.accelerator @a100_80g with {clock = #accel.quantity<1410 MHz source "NVIDIA A100 data sheet">} {
  // CHECK-NEXT: accel.memory @hbm : dram {bandwidth = #accel.quantity<2039 GB/s>, capacity = #accel.quantity<80 GiB>}
  accel.memory @hbm : dram {capacity = #accel.quantity<80 GiB>, bandwidth = #accel.quantity<2039 GB/s>}
  // CHECK-NEXT: accel.core @tc [108] : tensor {efficiency = #accel.quantity<"0.85">,
  // CHECK-SAME: peak = {bf16 = #accel.quantity<312 TFLOP/s>, tf32 = #accel.quantity<156 TFLOP/s>}, reads = @hbm,
  // CHECK-SAME: sparse = {m = 4 : i64, n = 2 : i64, on = "weights", pattern = "nm", rate = #accel.quantity<"2">}}
  accel.core @tc [108] : tensor {
    peak = {bf16 = #accel.quantity<312 TFLOP/s>, tf32 = #accel.quantity<156 TFLOP/s>}, reads = @hbm,
    efficiency = #accel.quantity<"0.85">,
    sparse = {pattern = "nm", n = 2, m = 4, rate = #accel.quantity<"2">, on = "weights"}}
  // CHECK-NEXT: accel.core @sm : vector {peak = {fp32 = #accel.quantity<"195 GFLOP/s * 100" = 19500000000000 FLOP/s>}}
  accel.core @sm : vector {peak = {fp32 = #accel.quantity<"195 GFLOP/s * 100" = 19500000000000 FLOP/s>}}
  // CHECK-NEXT: accel.path [@hbm] -> [@tc, @sm]
  accel.path [@hbm] -> [@tc, @sm]
  // CHECK-NEXT: accel.power {idle = #accel.quantity<60 W>, tdp = #accel.quantity<400 W>}
  accel.power {tdp = #accel.quantity<400 W>, idle = #accel.quantity<60 W>}
  // CHECK-NEXT: accel.area {sram = #accel.quantity<"1.4 mm2 per 1 MiB" = 7/5242880000000 m2/B>}
  accel.area {sram = #accel.quantity<"1.4 mm2 per 1 MiB" = 7/5242880000000 m2/B>}
}

// CHECK-LABEL: accel.accelerator @candidate {
accel.accelerator @candidate {
  // CHECK-NEXT: capacity = #accel.choice<pow2 [#accel.quantity<2 MiB>, #accel.quantity<128 MiB>]>
  accel.memory @glb : scratchpad {
    capacity = #accel.choice<pow2 [#accel.quantity<2 MiB>, #accel.quantity<128 MiB>]>, bandwidth = #accel.quantity<4096 B/cycle>}
  // CHECK-NEXT: accel.core @tc [#accel.choice<pow2 [1, 4096]>] : tensor
  // CHECK-SAME: array = [#accel.choice<pow2 [2, 256]>, #accel.choice<range [1, 64, 3]>]
  // CHECK-SAME: dataflow = #accel.choice<set ["output_stationary", "weight_stationary"]>
  accel.core @tc [#accel.choice<pow2 [1, 4096]>] : tensor {
    array = [#accel.choice<pow2 [2, 256]>, #accel.choice<range [1, 64, 3]>],
    dataflow = #accel.choice<set ["output_stationary", "weight_stationary"]>}
  // CHECK-NEXT: lanes = #accel.reference<"tc.array.cols">
  accel.core @vc : vector {lanes = #accel.reference<"tc.array.cols">}
  // CHECK-NEXT: accel.require "area <= 606.68 mm2" label "budget" is #accel.apply<"<=" [#accel.reference<"area">, #accel.quantity<606.68 mm2>]>
  accel.require "area <= 606.68 mm2" label "budget" is #accel.apply<"<=" [#accel.reference<"area">, #accel.quantity<606.68 mm2>]>
  // CHECK-NEXT: accel.prefer "power.tdp <= 200 W" weight <"3">
  accel.prefer "power.tdp <= 200 W" weight <"3">
  // CHECK-NEXT: accel.objective minimize "area" is #accel.reference<"area">
  accel.objective minimize "area" is #accel.reference<"area">
}

// CHECK-LABEL: accel.cluster @selene {
accel.cluster @selene {
  // CHECK-NEXT: accel.server @dgx [128] {
  accel.server @dgx [128] {
    // CHECK-NEXT: accel.device @gpu [8] : @a100_80g
    accel.device @gpu [8] : @a100_80g
    // CHECK-NEXT: accel.host {cpu_cores = 128 : i64, memory = #accel.quantity<2 TiB>}
    accel.host {memory = #accel.quantity<2 TiB>, cpu_cores = 128}
    // CHECK-NEXT: accel.network @nvlink {bandwidth = #accel.quantity<300 GB/s>, connects = [@gpu], latency = #accel.quantity<2 us>, topology = "switch"}
    accel.network @nvlink {connects = [@gpu], topology = "switch", bandwidth = #accel.quantity<300 GB/s>, latency = #accel.quantity<2 us>}
  }
  // CHECK: oversubscription = #accel.quantity<"1">, topology = "fat_tree"
  accel.network @ib {connects = [@dgx], topology = "fat_tree", oversubscription = #accel.quantity<"1">, bandwidth = #accel.quantity<200 GB/s>}
  // CHECK-NEXT: accel.price {amount = #accel.quantity<4.10 USD/h>, per = @gpu}
  accel.price {amount = #accel.quantity<4.10 USD/h>, per = @gpu}
}
