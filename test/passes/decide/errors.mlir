// What goes wrong is said at its place in the user's file, or at the module.
// RUN: not accord-opt %s --search-sparsity="file=nowhere.dnn" 2>&1 | FileCheck %s --check-prefix=FILE
// RUN: not accord-opt %s --search-sparsity="file=%examples/01-first-plan/gpt2_xl.dnn" 2>&1 | FileCheck %s --check-prefix=BLOCK
// RUN: not accord-opt %s --partition-ensemble="file=%examples/01-first-plan/gpt2_xl.dnn" 2>&1 | FileCheck %s --check-prefix=ENSEMBLE
// RUN: not accord-opt %s --explore-accelerators 2>&1 | FileCheck %s --check-prefix=FILES
// RUN: not accord-opt %s --explore-accelerators="files=%examples/01-first-plan/gpt2_xl.dnn" 2>&1 | FileCheck %s --check-prefix=SPACE
// RUN: not accord-opt %s --emit-latency-model="file=%examples/01-first-plan/gpt2_xl.dnn target=nothing" 2>&1 | FileCheck %s --check-prefix=TARGET

// FILE: errors.mlir:{{.*}}: error: cannot read 'nowhere.dnn': no such file or directory
// BLOCK: gpt2_xl.dnn:5:7: error: 'first_plan' has no `sparsity for` block: nothing says which zeros it may have
// ENSEMBLE: error: {{.*}}ensemble
// FILES: error: 'explore-accelerators' needs the option 'files'
// SPACE: 'a100_80g' leaves nothing to choose
// SPACE: error: nothing was mined: see the errors above
// TARGET: error: {{.*}}'nothing'
module {}
