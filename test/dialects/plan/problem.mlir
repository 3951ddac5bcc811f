// RUN: accord-opt %s | FileCheck %s
// RUN: accord-opt %s | accord-opt | FileCheck %s
// RUN: accord-opt %s --mlir-print-op-generic | accord-opt | FileCheck %s
// RUN: accord-opt %s --emit-bytecode | accord-opt | FileCheck %s

// CHECK-LABEL: plan.problem @layer "one layer" {
plan.problem @layer "one layer" {
  // CHECK-NEXT: plan.resource "core" capacity 2
  plan.resource "core" capacity 2
  // CHECK-NEXT: plan.budget "energy" capacity 9
  plan.budget "energy" capacity 9
  // CHECK-NEXT: plan.memory "sram" capacity 64
  plan.memory "sram" capacity 64
  // CHECK-NEXT: plan.task "load" modes duration 3
  plan.task "load" modes duration 3
  // CHECK-NEXT: plan.task "gemm" modes "wide" duration 4 uses "core" 2 consumes "energy" 5 or "narrow" duration 7 uses "core" 1
  plan.task "gemm" modes "wide" duration 4 uses "core" 2 consumes "energy" 5 or "narrow" duration 7 uses "core" 1
  // CHECK-NEXT: plan.task "again" modes "never" absent or duration 2 uses "core" 1
  plan.task "again" modes "never" absent or duration 2 uses "core" 1
  // CHECK-NEXT: plan.precedence "load" before "gemm" delay 1
  plan.precedence "load" before "gemm" delay 1
  // CHECK-NEXT: plan.precedence "#0" before "again"
  plan.precedence "#0" before "again"
  // CHECK-NEXT: plan.time_lag "gemm" to "load" lag -6
  plan.time_lag "gemm" to "load" lag -6
  // CHECK-NEXT: plan.buffer "tile" bytes 48 in "sram" made_by "load" read_by "gemm" unless "again", "again" persistent
  plan.buffer "tile" bytes 48 in "sram" made_by "load" read_by "gemm" unless "again", "again" persistent
  // CHECK-NEXT: plan.buffer "input" bytes 8 in "sram"
  plan.buffer "input" bytes 8 in "sram"
  // CHECK-NEXT: plan.pairing "gemm" with "again" allows 0-0, 1-0, 1-1
  plan.pairing "gemm" with "again" allows 0-0, 1-0, 1-1
}

// CHECK: plan.solution of @layer feasible makespan 8 {
plan.solution of @layer feasible makespan 8 {
  // CHECK-NEXT: plan.start "load" at 0
  plan.start "load" at 0
  // CHECK-NEXT: plan.start "gemm" at 4
  plan.start "gemm" at 4
  // CHECK-NEXT: plan.start "again" at 0
  plan.start "again" at 0
  // CHECK-NEXT: plan.lower_bound 8 kind "path" by "critical path" along ["load", "gemm"]
  plan.lower_bound 8 kind "path" by "critical path" along ["load", "gemm"]
}

// CHECK: plan.solution of @layer unknown stopped "work limit" {
plan.solution of @layer unknown stopped "work limit" {
  // CHECK-NEXT: plan.lower_bound 7 kind "windows" by "windows" {
  plan.lower_bound 7 kind "windows" by "windows" {
    // CHECK-NEXT: plan.step "chain" of "load" early 0 with "#0"
    plan.step "chain" of "load" early 0 with "#0"
    // CHECK-NEXT: plan.step "energy" of "gemm" -1 with "core" from 3 to 7 and ["again"]
    plan.step "energy" of "gemm" -1 with "core" from 3 to 7 and ["again"]
  }
}

// CHECK: plan.solution of @layer infeasible conflict ["too little 'sram'"] {
plan.solution of @layer infeasible conflict ["too little 'sram'"] {
}
