// Convolutions, pools, a residual, a classifier and a product of each sample in Linalg.
#id = affine_map<(n, c, h, w) -> (n, c, h, w)>
#channel = affine_map<(n, c, h, w) -> (c)>
#two = affine_map<(n, o) -> (n, o)>
#last = affine_map<(n, o) -> (o)>
func.func @forward(%x: tensor<?x3x18x18xf32>, %w1: tensor<8x3x3x3xf32>, %b1: tensor<8xf32>, %w2: tensor<8x3x3xf32>, %w3: tensor<8x10xf32>, %b3: tensor<10xf32>, %n: tensor<?x8x8x8xf32>) -> tensor<?x10xf32> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %x, %c0 : tensor<?x3x18x18xf32>
  %e1 = tensor.empty(%batch) : tensor<?x8x16x16xf32>
  %f1 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32>
  %y1 = linalg.conv_2d_nchw_fchw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%x, %w1 : tensor<?x3x18x18xf32>, tensor<8x3x3x3xf32>) outs(%f1 : tensor<?x8x16x16xf32>) -> tensor<?x8x16x16xf32>
  %z1 = linalg.generic {indexing_maps = [#id, #channel, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%y1, %b1 : tensor<?x8x16x16xf32>, tensor<8xf32>) outs(%e1 : tensor<?x8x16x16xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x8x16x16xf32>
  %r1 = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel", "parallel", "parallel"]} ins(%z1 : tensor<?x8x16x16xf32>) outs(%e1 : tensor<?x8x16x16xf32>) {
  ^bb0(%a: f32, %o: f32):
    %s = arith.maximumf %a, %zero : f32
    linalg.yield %s : f32
  } -> tensor<?x8x16x16xf32>
  %e2 = tensor.empty(%batch) : tensor<?x8x8x8xf32>
  %f2 = linalg.fill ins(%low : f32) outs(%e2 : tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %k2 = tensor.empty() : tensor<2x2xf32>
  %p2 = linalg.pooling_nchw_max {dilations = dense<1> : vector<2xi64>, strides = dense<2> : vector<2xi64>} ins(%r1, %k2 : tensor<?x8x16x16xf32>, tensor<2x2xf32>) outs(%f2 : tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %pad = tensor.pad %p2 low[0, 0, 1, 1] high[0, 0, 1, 1] {
  ^bb0(%i: index, %j: index, %k: index, %l: index):
    tensor.yield %zero : f32
  } : tensor<?x8x8x8xf32> to tensor<?x8x10x10xf32>
  %f3 = linalg.fill ins(%zero : f32) outs(%e2 : tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %y3 = linalg.depthwise_conv_2d_nchw_chw {dilations = dense<1> : vector<2xi64>, strides = dense<1> : vector<2xi64>} ins(%pad, %w2 : tensor<?x8x10x10xf32>, tensor<8x3x3xf32>) outs(%f3 : tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %a3 = linalg.add ins(%y3, %n : tensor<?x8x8x8xf32>, tensor<?x8x8x8xf32>) outs(%e2 : tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %e4 = tensor.empty(%batch) : tensor<?x8xf32>
  %f4 = linalg.fill ins(%zero : f32) outs(%e4 : tensor<?x8xf32>) -> tensor<?x8xf32>
  %s4 = linalg.reduce { arith.addf } ins(%a3 : tensor<?x8x8x8xf32>) outs(%f4 : tensor<?x8xf32>) dimensions = [2, 3]
  %m4 = linalg.generic {indexing_maps = [#two, #two], iterator_types = ["parallel", "parallel"]} ins(%s4 : tensor<?x8xf32>) outs(%e4 : tensor<?x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %count = arith.constant 64.0 : f32
    %s = arith.divf %a, %count : f32
    linalg.yield %s : f32
  } -> tensor<?x8xf32>
  %e5 = tensor.empty(%batch) : tensor<?x10xf32>
  %f5 = linalg.fill ins(%zero : f32) outs(%e5 : tensor<?x10xf32>) -> tensor<?x10xf32>
  %y5 = linalg.matmul ins(%m4, %w3 : tensor<?x8xf32>, tensor<8x10xf32>) outs(%f5 : tensor<?x10xf32>) -> tensor<?x10xf32>
  %z5 = linalg.generic {indexing_maps = [#two, #last, #two], iterator_types = ["parallel", "parallel"]} ins(%y5, %b3 : tensor<?x10xf32>, tensor<10xf32>) outs(%e5 : tensor<?x10xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.addf %a, %b : f32
    linalg.yield %s : f32
  } -> tensor<?x10xf32>
  return %z5 : tensor<?x10xf32>
}
