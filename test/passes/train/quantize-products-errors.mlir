// RUN: accord-opt %s -split-input-file -verify-diagnostics --quantize-products --build-training-graph

// Outside of repeats nothing is quantized.
// expected-error @+1 {{nothing of this model would compute in fp8: no product with a weight is in a repeated block, with dimensions that are multiples of 16}}
dnn.model @flat (%x: tensor<?x32xbf16>, %t: tensor<?x32xbf16>)
    attributes {precision = #dnn.precision<mixed, bf16, products = f8E4M3FN>, optimizer = #dnn.optimizer<sgd>} {
  dnn.parameter @w : tensor<32x32xbf16>
  %w = dnn.read @w : tensor<32x32xbf16>
  %y = dnn.linear %x, %w : (tensor<?x32xbf16>, tensor<32x32xbf16>) -> tensor<?x32xbf16>
  %l = dnn.mse %y, %t : (tensor<?x32xbf16>, tensor<?x32xbf16>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}

// -----

// Nor is a product of a dimension that is no multiple of 16.
// expected-error @+1 {{nothing of this model would compute in fp8}}
dnn.model @odd (%x: tensor<?x24xbf16>, %t: tensor<?x24xbf16>)
    attributes {precision = #dnn.precision<mixed, bf16, products = f8E4M3FN>, optimizer = #dnn.optimizer<sgd>} {
  dnn.parameter @b.w : tensor<24x24xbf16> copies 2
  %z = dnn.repeat 2 as "b" iter(%c = %x : tensor<?x24xbf16>) {
    %w = dnn.read @b.w : tensor<24x24xbf16>
    %y = dnn.linear %c, %w : (tensor<?x24xbf16>, tensor<24x24xbf16>) -> tensor<?x24xbf16>
    dnn.yield %y : tensor<?x24xbf16>
  }
  %l = dnn.mse %z, %t : (tensor<?x24xbf16>, tensor<?x24xbf16>) -> tensor<f32>
  dnn.loss %l : tensor<f32>
}
