// The latency model of `accord latency`: its arguments with their intervals, its samples, and functions that any lowering compiles.
// RUN: accord-opt %s --emit-latency-model="file=%examples/03-own-model/own_cell.dnn" > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: accord-opt %t.mlir | cmp - %t.mlir
// RUN: accord-opt %t.mlir --emit-latency-model="file=%examples/03-own-model/own_cell.dnn" | cmp - %t.mlir
// RUN: accord-opt %t.mlir --pass-pipeline="builtin.module(func.func(canonicalize))" | FileCheck %s --check-prefix=FUNCTION

// Before: an empty module. After:
// CHECK: plan.latency_model @own.latency model "own" on "a100_80g" evaluate @own_evaluate step [[STEP:[0-9.]+]] exact
// CHECK: plan.latency_argument "batch" unit "samples" default 2.000000e+01 from 1.000000e+00 to {{.*}} multiple 1
// CHECK: plan.latency_argument "sequence" {{.*}} held "the model has no parameter 'seq' to change"
// CHECK: plan.latency_sample at [2.000000e+01, {{.*}}] seconds [[STEP]] bytes
// CHECK: func.func @own_evaluate(%{{.*}}: i64
// FUNCTION: func.func @own_evaluate(
module {}
