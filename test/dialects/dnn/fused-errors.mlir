// What a fused operation may not hold or give.
// RUN: accord-opt %s -split-input-file -verify-diagnostics

func.func @results(%x: tensor<?x8xf32>) {
  // expected-note@below {{of this operation}}
  %y = dnn.fused (%a = %x : tensor<?x8xf32>) -> tensor<?x4xf32> {
    %h = dnn.gelu %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
    // expected-error@below {{'dnn.yield' must give the results of 'dnn.fused' and stash nothing}}
    dnn.yield %h : tensor<?x8xf32>
  }
  return
}

// -----

func.func @contractions(%x: tensor<?x8xf32>, %w: tensor<8x8xf32>) {
  // expected-error@below {{'dnn.fused' holds 2 contractions, the most is 1}}
  %y = dnn.fused (%a = %x : tensor<?x8xf32>, %b = %w : tensor<8x8xf32>) -> tensor<?x8xf32> {
    %h = dnn.linear %a, %b : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    %g = dnn.linear %h, %b : (tensor<?x8xf32>, tensor<8x8xf32>) -> tensor<?x8xf32>
    dnn.yield %g : tensor<?x8xf32>
  }
  return
}

// -----

func.func @nothing(%x: tensor<?x8xf32>) {
  // expected-error@below {{'dnn.fused' holds no operation that does work}}
  %y = dnn.fused (%a = %x : tensor<?x8xf32>) -> tensor<?x2x4xf32> {
    %h = dnn.reshape %a {dims = array<i64: 2, 4>} : (tensor<?x8xf32>) -> tensor<?x2x4xf32>
    dnn.yield %h : tensor<?x2x4xf32>
  }
  return
}

// -----

func.func @repeat(%x: tensor<?x8xf32>) {
  %y = dnn.fused (%a = %x : tensor<?x8xf32>) -> tensor<?x8xf32> {
    // expected-error@below {{'dnn.repeat' cannot be part of 'dnn.fused'}}
    %h = dnn.repeat 2 as "inner" iter(%c = %a : tensor<?x8xf32>) {
      dnn.yield %c : tensor<?x8xf32>
    }
    dnn.yield %h : tensor<?x8xf32>
  }
  return
}

// -----

func.func @end(%x: tensor<?x8xf32>) {
  %y = dnn.fused (%a = %x : tensor<?x8xf32>) -> tensor<?x8xf32> {
    // expected-error@below {{block with no terminator}}
    %h = dnn.gelu %a : (tensor<?x8xf32>) -> tensor<?x8xf32>
  }
  return
}
