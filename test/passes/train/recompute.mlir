// RUN: accord-opt %s --recompute="policy=none operations=act*" --build-training-graph="optimizer=sgd precision=f32" | FileCheck %s --check-prefixes=CHECK,NAMED
// RUN: accord-opt %s --recompute="policy=full" --build-training-graph="optimizer=sgd precision=f32" | FileCheck %s --check-prefixes=CHECK,FULL
// RUN: accord-opt %s --recompute="policy=full repeats=other" --build-training-graph="optimizer=sgd precision=f32" | FileCheck %s --check-prefixes=CHECK,OTHER
// RUN: not accord-opt %s --recompute="policy=some" 2>&1 | FileCheck %s --check-prefix=POLICY
// RUN: not accord-opt %s --recompute="operations=a[" 2>&1 | FileCheck %s --check-prefix=PATTERN
// POLICY: there is no policy 'some'; there are none, selective and full
// PATTERN: 'a[' is no pattern:

// Without marks: the layer's input, both factors' input and the activation are kept.
// CHECK: dnn.repeat 3 as "block" iter
// OTHER-SAME: stash(!dnn.stash<3 x tensor<?x64xf32>>, !dnn.stash<3 x tensor<?x64xf32>>, !dnn.stash<3 x tensor<?x16xf32>>)
// What is named is executed again from what is kept.
// NAMED-SAME: stash(!dnn.stash<3 x tensor<?x64xf32>>, !dnn.stash<3 x tensor<?x16xf32>>)
// The whole layer is: from its input.
// FULL-SAME: stash(!dnn.stash<3 x tensor<?x16xf32>>) {
// CHECK: dnn.repeat 3 as "block.backward" reverse
// FULL: dnn.linear {{.*}}dnn.again = "fc1", dnn.name = "fc1.again", dnn.phase = #dnn.phase<recompute>
// FULL: dnn.gelu {{.*}}dnn.again = "act"
// NAMED: dnn.gelu {{.*}}dnn.again = "act", dnn.name = "act.again", dnn.phase = #dnn.phase<recompute>
// OTHER-NOT: recompute
dnn.model @net (%x: tensor<?x16xf32>, %t: tensor<?x16xf32>) {
  dnn.parameter @fc1.weight : tensor<64x16xf32> copies 3
  dnn.parameter @fc2.weight : tensor<16x64xf32> copies 3
  %z = dnn.repeat 3 as "block" iter(%c = %x : tensor<?x16xf32>) {
    %w1 = dnn.read @fc1.weight : tensor<64x16xf32>
    %w2 = dnn.read @fc2.weight : tensor<16x64xf32>
    %h = dnn.linear %c, %w1 {dnn.name = "fc1"} : (tensor<?x16xf32>, tensor<64x16xf32>) -> tensor<?x64xf32>
    %a = dnn.gelu %h {dnn.name = "act"} : (tensor<?x64xf32>) -> tensor<?x64xf32>
    %y = dnn.linear %a, %w2 {dnn.name = "fc2"} : (tensor<?x64xf32>, tensor<16x64xf32>) -> tensor<?x16xf32>
    dnn.yield %y : tensor<?x16xf32>
  }
  %l = dnn.mse %z, %t {dnn.name = "loss"} : (tensor<?x16xf32>, tensor<?x16xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
