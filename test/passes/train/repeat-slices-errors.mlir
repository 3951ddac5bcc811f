// RUN: accord-opt %s -split-input-file -verify-diagnostics --build-training-graph="optimizer=sgd precision=fp32"

// A stash that a repeat takes from outside of the repeat around it would need a stash as an accumulator.
dnn.model @captured (%x: tensor<?x3x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x3x4xf32>, tensor<4x4xf32>) -> tensor<?x3x4xf32>
  %s = dnn.unstack %y {axis = 0 : i64} : (tensor<?x3x4xf32>) -> !dnn.stash<3 x tensor<?x4xf32>>
  %zero = dnn.constant 0.0 : tensor<?x4xf32>
  // expected-error @+1 {{repeat 'outer' takes from outside a '!dnn.stash<3 x tensor<?x4xf32>>', which has no gradient there}}
  %h = dnn.repeat 2 as "outer" iter(%a = %zero : tensor<?x4xf32>) {
    %b = dnn.repeat 3 as "inner" iter(%c = %a : tensor<?x4xf32>) unstash(%d = %s : !dnn.stash<3 x tensor<?x4xf32>>) {
      %e = dnn.add %c, %d : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %e : tensor<?x4xf32>
    }
    dnn.yield %b : tensor<?x4xf32>
  }
  %l = dnn.mse %h, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @carried (%x: tensor<?x3x4xf32>, %t: tensor<?x3x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x3x4xf32>, tensor<4x4xf32>) -> tensor<?x3x4xf32>
  %s = dnn.unstack %y {axis = 0 : i64} : (tensor<?x3x4xf32>) -> !dnn.stash<3 x tensor<?x4xf32>>
  // expected-error @+1 {{repeat 'outer' carries a '!dnn.stash<3 x tensor<?x4xf32>>', which has no gradient there}}
  %h = dnn.repeat 2 as "outer" iter(%a = %s : !dnn.stash<3 x tensor<?x4xf32>>) {
    %z = dnn.stack %a {axis = 0 : i64} : (!dnn.stash<3 x tensor<?x4xf32>>) -> tensor<?x3x4xf32>
    %g = dnn.gelu %z : (tensor<?x3x4xf32>) -> tensor<?x3x4xf32>
    %b = dnn.unstack %g {axis = 0 : i64} : (tensor<?x3x4xf32>) -> !dnn.stash<3 x tensor<?x4xf32>>
    dnn.yield %b : !dnn.stash<3 x tensor<?x4xf32>>
  }
  %z = dnn.stack %h {axis = 0 : i64} : (!dnn.stash<3 x tensor<?x4xf32>>) -> tensor<?x3x4xf32>
  %l = dnn.mse %z, %t : (tensor<?x3x4xf32>, tensor<?x3x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// Slices of slices may go from repeat to repeat, but only one repeat may read them: their gradients cannot be added.
dnn.model @nested (%x: tensor<?x4xf32>, %t: tensor<?x4xf32>) {
  dnn.parameter @w : tensor<4x4xf32>
  %w = dnn.read @w : tensor<4x4xf32>
  %y = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<4x4xf32>) -> tensor<?x4xf32>
  // expected-error @+1 {{two repeats read a '!dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>': the gradients of a stash of stashes cannot be added}}
  %h, %s = dnn.repeat 2 as "outer" iter(%a = %y : tensor<?x4xf32>) stash(!dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>) {
    %b, %i = dnn.repeat 3 as "inner" iter(%c = %a : tensor<?x4xf32>) stash(!dnn.stash<3 x tensor<?x4xf32>>) {
      %d = dnn.gelu %c : (tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %d : tensor<?x4xf32> stash(%d : tensor<?x4xf32>)
    }
    dnn.yield %b : tensor<?x4xf32> stash(%i : !dnn.stash<3 x tensor<?x4xf32>>)
  }
  %zero = dnn.constant 0.0 : tensor<?x4xf32>
  %p = dnn.repeat 2 as "first" iter(%a = %zero : tensor<?x4xf32>) unstash(%i = %s : !dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>) {
    %b = dnn.repeat 3 as "first.inner" iter(%c = %a : tensor<?x4xf32>) unstash(%d = %i : !dnn.stash<3 x tensor<?x4xf32>>) {
      %e = dnn.add %c, %d : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %e : tensor<?x4xf32>
    }
    dnn.yield %b : tensor<?x4xf32>
  }
  %q = dnn.repeat 2 as "second" iter(%a = %p : tensor<?x4xf32>) unstash(%i = %s : !dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>) {
    %b = dnn.repeat 3 as "second.inner" iter(%c = %a : tensor<?x4xf32>) unstash(%d = %i : !dnn.stash<3 x tensor<?x4xf32>>) {
      %e = dnn.mul %c, %d : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
      dnn.yield %e : tensor<?x4xf32>
    }
    dnn.yield %b : tensor<?x4xf32>
  }
  %l = dnn.mse %q, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
