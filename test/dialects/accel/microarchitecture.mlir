// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s --emit-bytecode | accord-opt | FileCheck %s

// CHECK-LABEL: accel.microarchitecture @oma with {window = 4 : i64} {
accel.microarchitecture @oma with {window = 4} {
  // CHECK-NEXT: accel.part @opcode.mac : opcode {reads = 3 : i64, writes = 1 : i64}
  accel.part @opcode.mac : opcode {reads = 3, writes = 1}
  // CHECK-NEXT: accel.part @opcode.load : opcode {immediates = 1 : i64, loads = 1 : i64, writes = 1 : i64}
  accel.part @opcode.load : opcode {writes = 1, loads = 1, immediates = 1}
  // CHECK-NEXT: accel.part @fetch : fetch {buffer = 1 : i64, latency = #accel.quantity<1 cycle>, to = @execute, width = 1 : i64}
  accel.part @fetch : fetch {width = 1, buffer = 1, latency = #accel.quantity<1 cycle>, to = @execute}
  // CHECK-NEXT: accel.part @execute : execute {capacity = 2 : i64, units = [@fu, @port]}
  accel.part @execute : execute {capacity = 2, units = [@fu, @port]}
  // CHECK-NEXT: accel.part @fu [2] : unit {entries = 1 : i64, reads = [@r], writes = [@r]}
  accel.part @fu [2] : unit {entries = 1, reads = [@r], writes = [@r]}
  // CHECK-NEXT: accel.part @fu.mac : operation {interval = #accel.quantity<"1">, latency = #accel.quantity<3 cycles>,
  // CHECK-SAME: opcode = @opcode.mac, unit = @fu}
  accel.part @fu.mac : operation {latency = #accel.quantity<3 cycles>, interval = #accel.quantity<"1">,
                                  opcode = @opcode.mac, unit = @fu}
  // CHECK-NEXT: accel.part @port : unit {entries = 2 : i64, loads = [@l1], writes = [@r]}
  accel.part @port : unit {entries = 2, loads = [@l1], writes = [@r]}
  // CHECK-NEXT: accel.part @port.load : operation
  // CHECK-SAME: {latency = #accel.apply<"max" [#accel.reference<"imm0">, #accel.apply<"/" [#accel.reference<"bytes">,
  // CHECK-SAME: #accel.quantity<"4">]>]>, opcode = @opcode.load, unit = @port}
  accel.part @port.load : operation {
    latency = #accel.apply<"max" [#accel.reference<"imm0">, #accel.apply<"/" [#accel.reference<"bytes">, #accel.quantity<"4">]>]>,
    opcode = @opcode.load, unit = @port}
  // CHECK-NEXT: accel.part @r [16] : registers {width = #accel.quantity<32 bit>}
  accel.part @r [16] : registers {width = #accel.quantity<32 bit>}
  // CHECK-NEXT: accel.part @dmem : memory {port_width = #accel.quantity<4 B>, requests = 1 : i64, size = #accel.quantity<12 KiB>}
  accel.part @dmem : memory {size = #accel.quantity<12 KiB>, port_width = #accel.quantity<4 B>, requests = 1}
  // CHECK-NEXT: accel.part @l1 : cache {behind = @dmem, line = #accel.quantity<64 B>, port_width = #accel.quantity<4 B>,
  // CHECK-SAME: replacement = "tree_plru", requests = 4 : i64, sets = 64 : i64, ways = 4 : i64, write = "through"}
  accel.part @l1 : cache {behind = @dmem, sets = 64, ways = 4, line = #accel.quantity<64 B>, requests = 4,
                          port_width = #accel.quantity<4 B>, replacement = "tree_plru", write = "through"}
}
