// What `accord prune` finds, beside whatever the module holds; the text round-trips, and a second run replaces the first.
// RUN: accord-opt %s --search-sparsity="file=%examples/11-prune/gpt2.dnn" > %t.mlir
// RUN: FileCheck %s < %t.mlir
// RUN: accord-opt %t.mlir | cmp - %t.mlir
// RUN: accord-opt %t.mlir --search-sparsity="file=%examples/11-prune/gpt2.dnn" | cmp - %t.mlir
// RUN: accord-opt %s --search-sparsity="file=%examples/11-prune/resnet18.dnn" | FileCheck %s --check-prefix=FABRIC
// RUN: accord prune --ideal %examples/11-prune/gpt2.dnn --json -o %t | FileCheck %s --check-prefix=COMMAND

// Before: an empty module. After:
// CHECK: plan.sparsity @gpt2_training model "gpt2_training" on "a100_80g" minimize "step_time" value 49564447543 bound 49564447543 confidence
// CHECK: plan.assumption "operations run one after the other; activations are kept whole"
// CHECK: plan.layer_sparsity "gpt_logits.block.attn.linear" takes "weights nm(2, 4) as nm(2, 4)" seconds {{.*}} expected {{.*}} dense
// CHECK: plan.layer_sparsity "gpt_logits.block.mlp.y" takes "weights nm(2, 4) transposable as nm(2, 4)"

// FABRIC: plan.sparsity @resnet18_images model "resnet18_images" on "u250" minimize "throughput" value 451584000 bound 451584000
// FABRIC: plan.layer_sparsity "resnet_features.conv_bn.conv" takes "dense" multipliers 1176 cycles 1.003520e+05

// COMMAND: "value": 49564447543
module {}
