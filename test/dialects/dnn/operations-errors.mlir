// Shape errors speak of the user's operation and give found against allowed.
// RUN: accord-opt %s -split-input-file -verify-diagnostics

func.func @f(%a0: tensor<?x8x1280xf32>, %a1: tensor<6x1600xf32>) {
  // expected-error @+2 {{'linear' weight takes 1600 inputs but the operand has 1280}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.linear %a0, %a1 : (tensor<?x8x1280xf32>, tensor<6x1600xf32>) -> tensor<?x8x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4xf32>, %a1: tensor<6x4xbf16>) {
  // expected-error @+2 {{'linear' operands have different element types: 'f32' and 'bf16'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.linear %a0, %a1 : (tensor<?x4xf32>, tensor<6x4xbf16>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4xf32>, %a1: tensor<6x4xf32>, %a2: tensor<5xf32>) {
  // expected-error @+2 {{'linear' bias must have 6 elements, found 5}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.linear %a0, %a1, %a2 : (tensor<?x4xf32>, tensor<6x4xf32>, tensor<5xf32>) -> tensor<?x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4xf32>, %a1: tensor<6x4xf32>) {
  // expected-error @+2 {{inferred type(s) 'tensor<?x6xf32>' are incompatible with return type(s) of operation 'tensor<?x7xf32>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.linear %a0, %a1 : (tensor<?x4xf32>, tensor<6x4xf32>) -> tensor<?x7xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>, %a1: tensor<?x5x6xf32>) {
  // expected-error @+2 {{'matmul' sums over 4 columns of ?x8x4 but 5 rows of ?x5x6}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.matmul %a0, %a1 : (tensor<?x8x4xf32>, tensor<?x5x6xf32>) -> tensor<?x8x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x3x8x8xf32>, %a1: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{'conv2d' weight takes 4 channels but the operand has 3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.conv2d %a0, %a1 : (tensor<?x3x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x6x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4x8x8xf32>, %a1: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{'conv2d' groups = 3 must divide the 4 input and 4 output channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.conv2d %a0, %a1 {groups = 3 : i64} : (tensor<?x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x6x6xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4x2x2xf32>, %a1: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{'conv2d' kernel of extent 3 is larger than the padded input of extent 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.conv2d %a0, %a1 : (tensor<?x4x2x2xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x1x1xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4x8x8xf32>, %a1: tensor<4x4x3x3xf32>) {
  // expected-error @+2 {{'conv2d' kernel, stride and dilation must be at least 1, found 3, 0 and 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.conv2d %a0, %a1 {stride = 0 : i64} : (tensor<?x4x8x8xf32>, tensor<4x4x3x3xf32>) -> tensor<?x4x1x1xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x?xf32>, %a1: tensor<?x4xf32>) {
  // expected-error @+2 {{operand 1 of 'add' is ?x?, but only the first extent may be open: the batch}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.add %a0, %a1 : (tensor<?x?xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x3xf32>, %a1: tensor<?x4xf32>) {
  // expected-error @+2 {{'add' cannot broadcast ?x3 with ?x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.add %a0, %a1 : (tensor<?x3xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>) {
  // expected-error @+2 {{'dropout' needs 'rate'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.dropout %a0 : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>, %a1: tensor<8xf32>) {
  // expected-error @+2 {{'layer_norm' scale and offset must have 4 elements, found 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.layer_norm %a0, %a1 : (tensor<?x8x4xf32>, tensor<8xf32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4x4xf32>, %a1: tensor<8xf32>) {
  // expected-error @+2 {{'group_norm' groups = 3 must divide the 8 channels}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.group_norm %a0, %a1 {groups = 3 : i64} : (tensor<?x8x4x4xf32>, tensor<8xf32>) -> tensor<?x8x4x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>) {
  // expected-error @+2 {{'softmax' axis 1 is outside the 1 dimensions of ?x8}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.softmax %a0 {axis = 1 : i64} : (tensor<?x8xf32>) -> tensor<?x8xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>) {
  // expected-error @+2 {{'reshape' to 31 does not keep the 32 elements of ?x8x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.reshape %a0 {dims = array<i64: 31>} : (tensor<?x8x4xf32>) -> tensor<?x31xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>) {
  // expected-error @+2 {{'transpose' must permute the 2 dimensions of ?x8x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.transpose %a0 {permutation = array<i64: 0, 0>} : (tensor<?x8x4xf32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>, %a1: tensor<?x2x5xf32>) {
  // expected-error @+2 {{'concat' cannot join ?x8x4 and ?x2x5 along axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.concat %a0, %a1 {axis = 0 : i64} : (tensor<?x8x4xf32>, tensor<?x2x5xf32>) -> tensor<?x10x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<2x8x4xf32>, %a1: tensor<?x8x4xf32>) {
  // expected-error @+2 {{'concat' cannot join ?x8x4 and 2x8x4 along axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.concat %a0, %a1 {axis = 0 : i64} : (tensor<2x8x4xf32>, tensor<?x8x4xf32>) -> tensor<?x10x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x9xf32>) {
  // expected-error @+2 {{'split' cannot cut 9 into 2 equal parts}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.split %a0 {axis = 0 : i64, parts = 2 : i64} : (tensor<?x9xf32>) -> (tensor<?x4xf32>, tensor<?x4xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>) {
  // expected-error @+2 {{'slice' of 4 from 5 leaves the extent 8 of axis 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.slice %a0 {axis = 0 : i64, size = 4 : i64, start = 5 : i64} : (tensor<?x8xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>, %a1: tensor<100x4xf32>) {
  // expected-error @+2 {{'embedding' ids must be integers, found 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.embedding %a0, %a1 : (tensor<?x8xf32>, tensor<100x4xf32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>) {
  // expected-error @+2 {{'topk' k = 9 must be 1 to the last extent of ?x8}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.topk %a0 {k = 9 : i64} : (tensor<?x8xf32>) -> (tensor<?x9xf32>, tensor<?x9xi32>)
  return
}

// -----

func.func @f(%a0: tensor<?x5x3xf32>, %a1: tensor<12x3xf32>, %a2: tensor<12x4xf32>) {
  // expected-error @+2 {{'lstm' with 4 hidden units needs weights 16x3 and 16x4, found 12x3 and 12x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.lstm %a0, %a1, %a2 : (tensor<?x5x3xf32>, tensor<12x3xf32>, tensor<12x4xf32>) -> (tensor<?x5x4xf32>, tensor<?x5x20xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x8x10xf32>, %a1: tensor<?x10xi32>) {
  // expected-error @+2 {{'cross_entropy' of logits ?x8x10 needs labels ?x8, found ?x10}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.cross_entropy %a0, %a1 : (tensor<?x8x10xf32>, tensor<?x10xi32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>, %a1: tensor<?x9xf32>) {
  // expected-error @+2 {{'mse' compares ?x8 with ?x9}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.mse %a0, %a1 : (tensor<?x8xf32>, tensor<?x9xf32>) -> tensor<f32>
  return
}

// -----

func.func @f(%a0: tensor<?x1x8xf32>) {
  // expected-error @+2 {{'interaction' takes 2 to 1000000 features, found 1}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.interaction %a0 : (tensor<?x1x8xf32>) -> tensor<?x0xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8xf32>) {
  // expected-error @+1 {{'reduce_dimensions' gives 8, found 9}}
  %r = dnn.reduce_dimensions %a0 {dimensions = array<i64: 0>} : (tensor<?x8xf32>) -> tensor<9xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4x4xf32>) {
  // expected-error @+2 {{'alibi' adds to [.., heads, queries, keys], found ?x4x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.alibi %a0 : (tensor<?x4x4xf32>) -> tensor<?x4x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x4xf32>) {
  // expected-error @+2 {{'sinusoids' adds to [.., positions, d], found ?x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.sinusoids %a0 : (tensor<?x4xf32>) -> tensor<?x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<3x4xf32>) {
  // expected-error @+2 {{'relative_bias' table must be [buckets, heads] with at least 4 buckets, found 3x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.relative_bias %a0 {queries = 2 : i64, keys = 2 : i64} : (tensor<3x4xf32>) -> tensor<4x2x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<32x4xf32>) {
  // expected-error @+2 {{'relative_bias' needs queries and keys, and a max_distance above the 8 distances with a bucket of their own, found 2, 2 and 8}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.relative_bias %a0 {queries = 2 : i64, keys = 2 : i64, max_distance = 8 : i64} : (tensor<32x4xf32>) -> tensor<4x2x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x8x4xf32>, %a1: tensor<?x7xi32>) {
  // expected-error @+2 {{'segment_softmax' needs one id per row and at least one segment, found ?x7 ids for ?x8x4}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.segment_softmax %a0, %a1 {segments = 2 : i64} : (tensor<?x8x4xf32>, tensor<?x7xi32>) -> tensor<?x8x4xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x2x4x2xf32>, %a1: tensor<2x3x2xf32>, %a2: tensor<2x2x3xf32>, %a3: tensor<2x4x2xf32>) {
  // expected-error @+2 {{'moe' gates 2x3x2 with a weight of the same shape, found 2x4x2}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.moe_experts %a0, %a1, %a2, %a3 : (tensor<?x2x4x2xf32>, tensor<2x3x2xf32>, tensor<2x2x3xf32>, tensor<2x4x2xf32>) -> (tensor<?x2x4x2xf32>, tensor<?x2x4x6xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x4x4x2xf32>, %a1: tensor<2x3x2xf32>, %a2: tensor<2x2x3xf32>) {
  // expected-error @+2 {{'moe' of slots ?x4x4x2 needs weights [experts, inner, d], [experts, d, inner]; found 2x3x2, 2x2x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:2 = dnn.moe_experts %a0, %a1, %a2 : (tensor<?x4x4x2xf32>, tensor<2x3x2xf32>, tensor<2x2x3xf32>) -> (tensor<?x4x4x2xf32>, tensor<?x4x4x3xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x6x2xf32>, %a1: tensor<2x3xf32>) {
  // expected-error @+2 {{'moe' of ?x6x2 needs a gate [experts, d]; found 2x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:3 = dnn.moe_dispatch %a0, %a1 : (tensor<?x6x2xf32>, tensor<2x3xf32>) -> (tensor<?x2x4x2xf32>, tensor<?x2x4xi32>, tensor<?x2x4xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x6x2xf32>, %a1: tensor<2x2xf32>) {
  // expected-error @+2 {{'moe' sends each token to 1 to 2 experts with a capacity factor above 0, found 3 and 1.250000e+00}}
  // expected-error @+1 {{failed to infer returned types}}
  %r:3 = dnn.moe_dispatch %a0, %a1 {top_k = 3 : i64} : (tensor<?x6x2xf32>, tensor<2x2xf32>) -> (tensor<?x2x12x2xf32>, tensor<?x2x12xi32>, tensor<?x2x12xf32>)
  return
}

// -----

func.func @f(%a0: tensor<?x2x4x2xf32>, %a1: tensor<?x2x4xf32>, %a2: tensor<?x2x4xf32>) {
  // expected-error @+2 {{'moe_combine' tokens must be integers, found 'f32'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.moe_combine %a0, %a1, %a2 {dims = array<i64: 6>} : (tensor<?x2x4x2xf32>, tensor<?x2x4xf32>, tensor<?x2x4xf32>) -> tensor<?x6x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x2x4x2xf32>, %a1: tensor<?x2x4xi32>, %a2: tensor<?x2x3xf32>) {
  // expected-error @+2 {{'moe_combine' takes rows [experts, slots, d] per sample with a token and a weight each, found ?x2x4x2, ?x2x4 and ?x2x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.moe_combine %a0, %a1, %a2 {dims = array<i64: 6>} : (tensor<?x2x4x2xf32>, tensor<?x2x4xi32>, tensor<?x2x3xf32>) -> tensor<?x6x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x2x4x2xf32>, %a1: tensor<?x2x4xi32>, %a2: tensor<?x2x4xf32>) {
  // expected-error @+2 {{'moe_combine' dims are at least 1, found 0}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.moe_combine %a0, %a1, %a2 {dims = array<i64: 0>} : (tensor<?x2x4x2xf32>, tensor<?x2x4xi32>, tensor<?x2x4xf32>) -> tensor<?x0x2xf32>
  return
}

// -----

func.func @f(%a0: tensor<?x5x3xf32>) {
  // expected-error @+2 {{'unstack' needs 'axis'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.unstack %a0 : (tensor<?x5x3xf32>) -> !dnn.stash<5 x tensor<?x3xf32>>
  return
}

// -----

func.func @f(%a0: tensor<?x5x3xf32>) {
  // expected-error @+2 {{'unstack' axis 2 is outside the 2 dimensions of ?x5x3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.unstack %a0 {axis = 2 : i64} : (tensor<?x5x3xf32>) -> !dnn.stash<5 x tensor<?x3xf32>>
  return
}

// -----

func.func @f(%a0: tensor<?xf32>) {
  // expected-error @+2 {{'unstack' axis 0 is outside the 0 dimensions of ?}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.unstack %a0 {axis = 0 : i64} : (tensor<?xf32>) -> !dnn.stash<5 x tensor<f32>>
  return
}

// -----

func.func @f(%a0: tensor<?x5x3xf32>) {
  // expected-error @+2 {{'dnn.unstack' op inferred type(s) '!dnn.stash<5 x tensor<?x3xf32>>' are incompatible with return type(s) of operation '!dnn.stash<4 x tensor<?x3xf32>>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.unstack %a0 {axis = 0 : i64} : (tensor<?x5x3xf32>) -> !dnn.stash<4 x tensor<?x3xf32>>
  return
}

// -----

func.func @f(%a0: !dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>) {
  // expected-error @+2 {{'stack' needs a stash of tensors, found '!dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>'}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.stack %a0 {axis = 0 : i64} : (!dnn.stash<2 x !dnn.stash<3 x tensor<?x4xf32>>>) -> tensor<?x2x4xf32>
  return
}

// -----

func.func @f(%a0: !dnn.stash<3 x tensor<?x4xf32>>) {
  // expected-error @+2 {{'stack' of ?x4 has no axis 2}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.stack %a0 {axis = 2 : i64} : (!dnn.stash<3 x tensor<?x4xf32>>) -> tensor<?x4x3xf32>
  return
}

// -----

func.func @f(%a0: !dnn.stash<3 x tensor<?x4xf32>>) {
  // expected-error @+2 {{'stack' of ?x4 has no axis -3}}
  // expected-error @+1 {{failed to infer returned types}}
  %r = dnn.stack %a0 {axis = -3 : i64} : (!dnn.stash<3 x tensor<?x4xf32>>) -> tensor<3x?x4xf32>
  return
}

// -----

dnn.model @net (%x: tensor<?x4xbf16>) {
  // expected-error @+1 {{a cast gives the same numbers in another floating-point type, found 'tensor<?x4xbf16>' and 'tensor<?x4xbf16>'}}
  %y = dnn.cast %x : (tensor<?x4xbf16>) -> tensor<?x4xbf16>
}

// -----

dnn.model @net (%x: tensor<?x4xbf16>) {
  // expected-error @+1 {{a cast gives the same numbers in another floating-point type, found 'tensor<?x4xbf16>' and 'tensor<?x8xf32>'}}
  %y = dnn.cast %x : (tensor<?x4xbf16>) -> tensor<?x8xf32>
}

// -----

dnn.model @net (%x: tensor<?x16xf8E4M3FN>) {
  dnn.parameter @w : tensor<16x16xbf16>
  %w = dnn.read @w : tensor<16x16xf8E4M3FN>
  // Products of 8 bits are written in bf16.
  // expected-error @+2 {{'dnn.linear' op failed to infer returned types}}
  // expected-error @+1 {{'dnn.linear' op inferred type(s) 'tensor<?x16xbf16>' are incompatible with return type(s) of operation 'tensor<?x16xf8E4M3FN>'}}
  %y = dnn.linear %x, %w : (tensor<?x16xf8E4M3FN>, tensor<16x16xf8E4M3FN>) -> tensor<?x16xf8E4M3FN>
}

// -----

dnn.model @net (%x: tensor<?x16xf32>) {
  // expected-note @+1 {{the parameter is 'tensor<16x16xbf16>'}}
  dnn.parameter @w : tensor<16x16xbf16>
  // expected-error @+1 {{the value of parameter 'w' has type 'tensor<16x16xf32>'}}
  %w = dnn.read @w : tensor<16x16xf32>
}
