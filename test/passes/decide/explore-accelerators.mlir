// What `accord mine` finds; the text round-trips.
// RUN: accord-opt %s --explore-accelerators="files=%examples/08-mine/bert.dnn" > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: accord-opt %t.mlir | cmp - %t.mlir
// RUN: accord mine %examples/08-mine/bert.dnn --json -o %t | FileCheck %s --check-prefix=COMMAND

// Before: an empty module. After:
// CHECK: plan.design_choice @bert_step of "tpu_shapes" designs "16000" minimize "step_time" value 0.39098084076399997 bound 0.39098084076399997 by "branch and bound: nothing below the best; 0 open nodes; 29 designs bounded by what can run at once" optimal evaluations 52
// CHECK: plan.design_parameter "vmem.capacity" is "8 MiB"
// CHECK: plan.design_parameter "vpu.lanes" is "2048"
// CHECK: plan.design_step "bert_step" by "micro-batch 4" batch 16 seconds 0.39098084076399997 joules {{.*}} bytes 9185127472

// COMMAND-DAG: "memory_bytes": 9185127472
// COMMAND-DAG: "value": 0.39098084076399997
// COMMAND-DAG: "bound": 0.39098084076399997
module {}
