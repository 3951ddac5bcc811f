// One head pair of attention and an MLP in TOSA, batch 1: [1, 6, 16] -> [2, 6, 8] and back.
func.func @block(%x: tensor<1x6x16xf32>, %wq: tensor<1x16x16xf32>, %wk: tensor<1x16x16xf32>, %wv: tensor<1x16x16xf32>, %w1: tensor<1x16x32xf32>, %b1: tensor<1x1x32xf32>, %w2: tensor<1x32x16xf32>) -> tensor<1x6x16xf32> {
  %zp = "tosa.const"() {values = dense<0.0> : tensor<1xf32>} : () -> tensor<1xf32>
  %shift = "tosa.const"() {values = dense<0> : tensor<1xi8>} : () -> tensor<1xi8>
  %heads = tosa.const_shape {values = dense<[6, 2, 8]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %whole = tosa.const_shape {values = dense<[1, 6, 16]> : tensor<3xindex>} : () -> !tosa.shape<3>
  %root = "tosa.const"() {values = dense<0.353553385> : tensor<1x1x1xf32>} : () -> tensor<1x1x1xf32>
  %q0 = tosa.matmul %x, %wq, %zp, %zp : (tensor<1x6x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x16xf32>
  %k0 = tosa.matmul %x, %wk, %zp, %zp : (tensor<1x6x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x16xf32>
  %v0 = tosa.matmul %x, %wv, %zp, %zp : (tensor<1x6x16xf32>, tensor<1x16x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x16xf32>
  %q1 = tosa.reshape %q0, %heads : (tensor<1x6x16xf32>, !tosa.shape<3>) -> tensor<6x2x8xf32>
  %k1 = tosa.reshape %k0, %heads : (tensor<1x6x16xf32>, !tosa.shape<3>) -> tensor<6x2x8xf32>
  %v1 = tosa.reshape %v0, %heads : (tensor<1x6x16xf32>, !tosa.shape<3>) -> tensor<6x2x8xf32>
  %q = tosa.transpose %q1 {perms = array<i32: 1, 0, 2>} : (tensor<6x2x8xf32>) -> tensor<2x6x8xf32>
  %k = tosa.transpose %k1 {perms = array<i32: 1, 2, 0>} : (tensor<6x2x8xf32>) -> tensor<2x8x6xf32>
  %v = tosa.transpose %v1 {perms = array<i32: 1, 0, 2>} : (tensor<6x2x8xf32>) -> tensor<2x6x8xf32>
  %s0 = tosa.matmul %q, %k, %zp, %zp : (tensor<2x6x8xf32>, tensor<2x8x6xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x6x6xf32>
  %s = tosa.mul %s0, %root, %shift : (tensor<2x6x6xf32>, tensor<1x1x1xf32>, tensor<1xi8>) -> tensor<2x6x6xf32>
  %max = tosa.reduce_max %s {axis = 2 : i32} : (tensor<2x6x6xf32>) -> tensor<2x6x1xf32>
  %d = tosa.sub %s, %max : (tensor<2x6x6xf32>, tensor<2x6x1xf32>) -> tensor<2x6x6xf32>
  %e = tosa.exp %d : (tensor<2x6x6xf32>) -> tensor<2x6x6xf32>
  %t = tosa.reduce_sum %e {axis = 2 : i32} : (tensor<2x6x6xf32>) -> tensor<2x6x1xf32>
  %r = tosa.reciprocal %t : (tensor<2x6x1xf32>) -> tensor<2x6x1xf32>
  %p = tosa.mul %e, %r, %shift : (tensor<2x6x6xf32>, tensor<2x6x1xf32>, tensor<1xi8>) -> tensor<2x6x6xf32>
  %o0 = tosa.matmul %p, %v, %zp, %zp : (tensor<2x6x6xf32>, tensor<2x6x8xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<2x6x8xf32>
  %o1 = tosa.transpose %o0 {perms = array<i32: 1, 0, 2>} : (tensor<2x6x8xf32>) -> tensor<6x2x8xf32>
  %o = tosa.reshape %o1, %whole : (tensor<6x2x8xf32>, !tosa.shape<3>) -> tensor<1x6x16xf32>
  %a = tosa.add %o, %x : (tensor<1x6x16xf32>, tensor<1x6x16xf32>) -> tensor<1x6x16xf32>
  %h0 = tosa.matmul %a, %w1, %zp, %zp : (tensor<1x6x16xf32>, tensor<1x16x32xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x32xf32>
  %h1 = tosa.add %h0, %b1 : (tensor<1x6x32xf32>, tensor<1x1x32xf32>) -> tensor<1x6x32xf32>
  %g0 = tosa.sigmoid %h1 : (tensor<1x6x32xf32>) -> tensor<1x6x32xf32>
  %g = tosa.mul %h1, %g0, %shift : (tensor<1x6x32xf32>, tensor<1x6x32xf32>, tensor<1xi8>) -> tensor<1x6x32xf32>
  %y = tosa.matmul %g, %w2, %zp, %zp : (tensor<1x6x32xf32>, tensor<1x32x16xf32>, tensor<1xf32>, tensor<1xf32>) -> tensor<1x6x16xf32>
  return %y : tensor<1x6x16xf32>
}
