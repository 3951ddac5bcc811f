// Where a gradient cannot be sparse, and what is malformed.
// RUN: accord-opt %s -split-input-file -verify-diagnostics --build-training-graph="optimizer=adam precision=fp32"

dnn.model @tied (%a: tensor<?x3xi32>, %t: tensor<?x100xf32>) {
  dnn.parameter @table : tensor<100x4xf32>
  %w = dnn.read @table : tensor<100x4xf32>
  // expected-error @+1 {{the gradient of table 'table' cannot be sparse: not all of its uses are sparse lookups}}
  %x = dnn.embedding_bag %a, %w {sparse = true} : (tensor<?x3xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
  // expected-note @+1 {{this one is not}}
  %y = dnn.linear %x, %w : (tensor<?x4xf32>, tensor<100x4xf32>) -> tensor<?x100xf32>
  %l = dnn.mse %y, %t : (tensor<?x100xf32>, tensor<?x100xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @repeated (%a: tensor<?x3xi32>, %t: tensor<?x4xf32>) {
  dnn.parameter @table : tensor<100x4xf32>
  %w = dnn.read @table : tensor<100x4xf32>
  %y = dnn.repeat 2 as "block" iter(%h = %t : tensor<?x4xf32>) {
    // expected-error @+1 {{the gradient of table 'table' cannot be sparse: a repeat adds up what its iterations give}}
    %x = dnn.embedding_bag %a, %w {sparse = true} : (tensor<?x3xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
    %s = dnn.add %h, %x : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
    dnn.yield %s : tensor<?x4xf32>
  }
  %l = dnn.mse %y, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

dnn.model @two (%a: tensor<?x3xi32>, %t: tensor<?x4xf32>) {
  dnn.parameter @table : tensor<100x4xf32>
  %w = dnn.read @table : tensor<100x4xf32>
  // expected-error @+1 {{table 'table' has one optimizer, lookups name two}}
  %x = dnn.embedding_bag %a, %w {sparse = true} : (tensor<?x3xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
  %y = dnn.embedding_bag %a, %w {sparse = true, optimizer = "sgd"} : (tensor<?x3xi32>, tensor<100x4xf32>) -> tensor<?x4xf32>
  %s = dnn.add %x, %y : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  %l = dnn.mse %s, %t : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

func.func @join(%a: tensor<100x4xf32, #dnn.rows<3 x i32>>, %b: tensor<100x4xf32, #dnn.rows<5 x i32>>) {
  // expected-error @+1 {{joins the rows of two sparse gradients of one table}}
  %y = dnn.join_rows %a, %b : (tensor<100x4xf32, #dnn.rows<3 x i32>>, tensor<100x4xf32, #dnn.rows<5 x i32>>) -> tensor<100x4xf32, #dnn.rows<9 x i32>>
  return
}

// -----

func.func @rows(%dy: tensor<?x4xf32>, %ids: tensor<?x3xi32>) {
  // expected-error @+1 {{gives #dnn.rows<4 x i32> for ids}}
  %y = dnn.embedding_bag_grad %dy, %ids : (tensor<?x4xf32>, tensor<?x3xi32>) -> tensor<100x4xf32, #dnn.rows<4 x i32>>
  return
}

// -----

func.func @positions(%ids: tensor<3xi32>, %table: tensor<100x4xf32>) {
  // expected-error @+2 {{'embedding' with a sparse gradient needs ids of each sample}}
  // expected-error @+1 {{failed to infer returned types}}
  %y = dnn.embedding %ids, %table {sparse = true} : (tensor<3xi32>, tensor<100x4xf32>) -> tensor<3x4xf32>
  return
}

// -----

// expected-error @+1 {{a sparse gradient has at least 1 row for each sample, found 0}}
func.func @none(%g: tensor<100x4xf32, #dnn.rows<0 x i32>>) { return }
