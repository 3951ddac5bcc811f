// A small network in TOSA: layouts are channels last; one transpose of the file comes first.
func.func @forward(%x: tensor<?x3x16x16xf32>) -> tensor<?x10xf32> {
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %shift = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %w1 = "tosa.const"() {values = dense_resource<w1> : tensor<8x3x3x3xf32>} : () -> tensor<8x3x3x3xf32>
  %b1 = "tosa.const"() {values = dense<0.5> : tensor<8xf32>} : () -> tensor<8xf32>
  %w2 = "tosa.const"() {values = dense<0.1> : tensor<3x3x8x1xf32>} : () -> tensor<3x3x8x1xf32>
  %b2 = "tosa.const"() {values = dense<0.0> : tensor<8xf32>} : () -> tensor<8xf32>
  %w3 = "tosa.const"() {values = dense<0.1> : tensor<1x8x10xf32>} : () -> tensor<1x8x10xf32>
  %b3 = "tosa.const"() {values = dense<0.1> : tensor<1x10xf32>} : () -> tensor<1x10xf32>
  %nhwc = tosa.transpose %x {perms = array<i32: 0, 2, 3, 1>} : (tensor<?x3x16x16xf32>) -> tensor<?x16x16x3xf32>
  %c1 = tosa.conv2d %nhwc, %w1, %b1, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<?x16x16x3xf32>, tensor<8x3x3x3xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x16x16x8xf32>
  %r1 = tosa.clamp %c1 {min_val = 0.0 : f32, max_val = 3.4028235E+38 : f32} : (tensor<?x16x16x8xf32>) -> tensor<?x16x16x8xf32>
  %p1 = tosa.max_pool2d %r1 {kernel = array<i64: 2, 2>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 2, 2>} : (tensor<?x16x16x8xf32>) -> tensor<?x8x8x8xf32>
  %c2 = tosa.depthwise_conv2d %p1, %w2, %b2, %zp, %zp {acc_type = f32, dilation = array<i64: 1, 1>, pad = array<i64: 1, 1, 1, 1>, stride = array<i64: 1, 1>} : (tensor<?x8x8x8xf32>, tensor<3x3x8x1xf32>, tensor<8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x8x8x8xf32>
  %r2 = tosa.clamp %c2 {min_val = 0.0 : f32, max_val = 6.0 : f32} : (tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %a2 = tosa.add %r2, %p1 : (tensor<?x8x8x8xf32>, tensor<?x8x8x8xf32>) -> tensor<?x8x8x8xf32>
  %p2 = tosa.avg_pool2d %a2, %zp, %zp {acc_type = f32, kernel = array<i64: 8, 8>, pad = array<i64: 0, 0, 0, 0>, stride = array<i64: 1, 1>} : (tensor<?x8x8x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<?x1x1x8xf32>
  %s1 = tosa.const_shape {values = dense<[1, -1, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %flat = tosa.reshape %p2, %s1 : (tensor<?x1x1x8xf32>, !tosa.shape<3>) -> tensor<1x?x8xf32>
  %m = tosa.matmul %flat, %w3, %zp, %zp : (tensor<1x?x8xf32>, tensor<1x8x10xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x?x10xf32>
  %s2 = tosa.const_shape {values = dense<[-1, 10]> : tensor<2xindex>} : () -> !tosa.shape<2>
  %y = tosa.reshape %m, %s2 : (tensor<1x?x10xf32>, !tosa.shape<2>) -> tensor<?x10xf32>
  %z = tosa.add %y, %b3 : (tensor<?x10xf32>, tensor<1x10xf32>) -> tensor<?x10xf32>
  return %z : tensor<?x10xf32>
}
