// What `accord vote` finds; the text round-trips.
// RUN: accord-opt %s --partition-ensemble="file=%examples/12-vote/resnet.dnn" > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: accord-opt %t.mlir | cmp - %t.mlir
// RUN: accord vote %examples/12-vote/resnet.dnn --json -o %t | FileCheck %s --check-prefix=COMMAND

// Before: an empty module. After:
// CHECK: plan.ensemble @voters of "whole" minimize "step_time" value [[VALUE:[0-9.]+]] bound [[VALUE]] error "0.2298079" by "hold-out bound (Clopper-Pearson)" confidence "0.95"
// CHECK: plan.member "wide" on "a100_40g"[0] by "micro-batch 512 x 1" devices 1 step {{[0-9]+}} ps state 69176400 activations 10985563152
// CHECK: plan.member "wide" on "v100_16g"[0] by "micro-batch 512 x 1" devices 1 step {{[0-9]+}} ps
// CHECK: plan.member "thin" on "a100_40g"[0]

// COMMAND: "objective": {"name": "step_time", "value": 0.1
module {}
