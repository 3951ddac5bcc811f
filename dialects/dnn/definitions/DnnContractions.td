// Multiply-accumulates over two tensors. Their gradients are `dnn.contract`s with permuted maps. Products of operands of 8 bits are
// accumulated in fp32 and written in bf16, those of values and of gradients (Micikevicius et al., FP8 Formats for Deep Learning, 2022, arXiv
// 2209.05433): the gradient of a result is cast to f8E5M2, of a wider range, once for all products that take it.
#ifndef ACCORD_DNN_CONTRACTIONS
#define ACCORD_DNN_CONTRACTIONS
include "dialects/dnn/definitions/DnnWork.td"

class Dnn_Contraction<string mnemonic> : Dnn_ForwardOp<mnemonic, 2> {
  let work = "return contractionWork();";
  let more = Dnn_IsContraction # "::accord::Work contractionWork();\n";
}

def Dnn_LinearOp : Dnn_Contraction<"linear"> {
  let ranks = [1, 2];
  let summary = "y[.., o] = sum_i x[.., i] * weight[o, i] + bias[o]";
  let description = [{
    2 FLOP per point of (.., o, i); the bias addition is not counted.
    `%y = dnn.linear %x, %w, %b : (tensor<?x1024x1600xbf16>, tensor<6400x1600xbf16>, tensor<6400xbf16>) -> tensor<?x1024x6400xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$weight, Optional<Dnn_Tensor>:$bias);
  let results = (outs Dnn_Tensor:$y);
}
def Dnn_MatmulOp : Dnn_Contraction<"matmul"> {
  let ranks = [2, 2];
  let summary = "y[.., m, n] = sum_k a[.., m, k] * b[.., k, n], batched over broadcast leading dimensions";
  let description = [{
    `transpose_a` reads a as [.., k, m], `transpose_b` reads b as [.., n, k]. 2 FLOP per point of (.., m, n, k).
    `%s = dnn.matmul %q, %k {transpose_b = true} : (tensor<?x25x1024x64xbf16>, tensor<?x25x1024x64xbf16>) -> tensor<?x25x1024x1024xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$a, Dnn_Tensor:$b, DefaultValuedAttr<BoolAttr, "false">:$transpose_a,
                       DefaultValuedAttr<BoolAttr, "false">:$transpose_b);
  let results = (outs Dnn_Tensor:$y);
}

// Convolutions of x with one, two or three spatial dimensions: one shape rule and one iteration domain for all.
class Dnn_Convolution<string mnemonic, int dims> : Dnn_Contraction<mnemonic> {
  string extents = !cond(!eq(dims, 1): "l", !eq(dims, 2): "h, w", true: "d, h, w");
  string kernel = !cond(!eq(dims, 1): "kl", !eq(dims, 2): "kh, kw", true: "kd, kh, kw");
  string points = !cond(!eq(dims, 1): "p, r", !eq(dims, 2): "p, q, r, s", true: "o, p, q, r, s, t");
  let ranks = [!add(dims, 2), !add(dims, 2)];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$weight, Optional<Dnn_Tensor>:$bias, DefaultValuedAttr<Dnn_Extents, "1">:$stride,
    DefaultValuedAttr<Dnn_Extents, "0">:$padding, DefaultValuedAttr<Dnn_Extents, "1">:$dilation, DefaultValuedAttr<Dnn_Int, "1">:$groups);
  let results = (outs Dnn_Tensor:$y);
  code groups = "getGroups()";
  let work = "return ::accord::dnn::convolutionWork(getOperation(), " # groups # ", {getStride(), getPadding(), getDilation()});";
  let more = Dnn_IsContraction;
}
class Dnn_ConvolutionForward<int dims, string example> : Dnn_Convolution<"conv" # dims # "d", dims> {
  let summary = dims # "-D convolution of x[c, " # extents # "] with weight[o, c/groups, " # kernel # "]";
  let description = [{
    y[o, p, ..] = sum_{c, r, ..} x[c, p*stride + r*dilation - padding, ..] * weight[o, c, r, ..] + bias[o];
    output extent = floor((h + padding before + padding behind - dilation*(kh-1) - 1) / stride) + 1. An array of twice as many numbers as
    there are spatial dimensions is the padding before each, then that behind each. 2 FLOP per point of (n, o, c/groups, }] # points # [{);
    points in the padding are counted, the bias addition is not.
    `}] # example # "`";
  let inference = "return ::accord::dnn::inferConvolution(infer, " # dims # ", adaptor.getGroups(), "
                  "{adaptor.getStride(), adaptor.getPadding(), adaptor.getDilation()});";
}
class Dnn_ConvolutionTransposed<int dims, string example> : Dnn_Convolution<"conv_transpose" # dims # "d", dims> {
  let summary = "transposed " # dims # "-D convolution of x[c, " # extents # "] with weight[c, o/groups, " # kernel # "]";
  let description = [{
    y[o, p*stride + r*dilation - padding, ..] += x[c, p, ..] * weight[c, o, r, ..]; output extent =
    (h-1)*stride - padding before - padding behind + dilation*(kh-1) + output_padding + 1. 2 FLOP per point of (n, o/groups, c, }] #
    points # [{) over the INPUT's extents.
    `}] # example # "`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$weight, Optional<Dnn_Tensor>:$bias, DefaultValuedAttr<Dnn_Extents, "1">:$stride,
    DefaultValuedAttr<Dnn_Extents, "0">:$padding, DefaultValuedAttr<Dnn_Extents, "1">:$dilation,
    DefaultValuedAttr<Dnn_Extents, "0">:$output_padding, DefaultValuedAttr<Dnn_Int, "1">:$groups);
  let inference = "return ::accord::dnn::inferTransposed(infer, " # dims # ", adaptor.getGroups(), "
                  "{adaptor.getStride(), adaptor.getPadding(), adaptor.getDilation()}, adaptor.getOutputPadding());";
}
def Dnn_Conv1dOp : Dnn_ConvolutionForward<1,
  "%y = dnn.conv1d %x, %w {padding = 1 : i64} : (tensor<?x80x3000xf32>, tensor<384x80x3xf32>) -> tensor<?x384x3000xf32>">;
def Dnn_Conv2dOp : Dnn_ConvolutionForward<2,
  "%y = dnn.conv2d %x, %w {stride = 2 : i64, padding = 3 : i64} : (tensor<?x3x224x224xf32>, tensor<64x3x7x7xf32>) -> tensor<?x64x112x112xf32>">;
def Dnn_Conv3dOp : Dnn_ConvolutionForward<3,
  "%y = dnn.conv3d %x, %w {padding = 1 : i64} : (tensor<?x3x16x112x112xf32>, tensor<64x3x3x3x3xf32>) -> tensor<?x64x16x112x112xf32>">;
def Dnn_DepthwiseConv2dOp : Dnn_Convolution<"depthwise_conv2d", 2> {
  let summary = "2-D convolution of every channel of x[c, h, w] with its own weight[c, 1, kh, kw]";
  let description = [{
    As `dnn.conv2d` with groups = c. 2 FLOP per point of (n, c, p, q, r, s).
    `%y = dnn.depthwise_conv2d %x, %w {padding = 1 : i64} : (tensor<?x32x112x112xf32>, tensor<32x1x3x3xf32>) -> tensor<?x32x112x112xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$weight, Optional<Dnn_Tensor>:$bias, DefaultValuedAttr<Dnn_Extents, "1">:$stride,
    DefaultValuedAttr<Dnn_Extents, "0">:$padding, DefaultValuedAttr<Dnn_Extents, "1">:$dilation);
  let inference = "return ::accord::dnn::inferDepthwise(infer, {adaptor.getStride(), adaptor.getPadding(), adaptor.getDilation()});";
  let groups = "getWeight().getType().getDimSize(0)";
}
def Dnn_ConvTranspose1dOp : Dnn_ConvolutionTransposed<1,
  "%y = dnn.conv_transpose1d %x, %w {stride = 2 : i64} : (tensor<?x64x28xf32>, tensor<64x32x2xf32>) -> tensor<?x32x56xf32>">;
def Dnn_ConvTranspose2dOp : Dnn_ConvolutionTransposed<2,
  "%y = dnn.conv_transpose2d %x, %w {stride = 2 : i64} : (tensor<?x64x28x28xf32>, tensor<64x32x2x2xf32>) -> tensor<?x32x56x56xf32>">;
def Dnn_ConvTranspose3dOp : Dnn_ConvolutionTransposed<3,
  "%y = dnn.conv_transpose3d %x, %w {stride = 2 : i64} : (tensor<?x64x4x7x7xf32>, tensor<64x32x2x2x2xf32>) -> tensor<?x32x8x14x14xf32>">;

def Dnn_ContractOp : Dnn_WorkOp<"contract", 2> {
  let summary = "result[map_r(p)] += a[map_a(p)] * b[map_b(p)] over all points p of the domain";
  let description = [{
    The gradient of every contraction: with forward maps (a, b -> y), the gradient of a is (y, b -> a), that of b (y, a -> b), over the same
    domain, so that each costs exactly what the forward operation costs. `maps` are those of a, b and the result; an iterator is parallel
    when its points reach different results. Points that fall outside a tensor (padding) contribute nothing but are counted. 2 FLOP per point.
    ```mlir
    %dw = dnn.contract %dy, %x over [?, 2, 4] {maps = [affine_map<(n, o, i) -> (n, o)>,
      affine_map<(n, o, i) -> (n, i)>, affine_map<(n, o, i) -> (o, i)>]} : (tensor<?x2xf32>, tensor<?x4xf32>) -> tensor<2x4xf32>
    ```
  }];
  let arguments = (ins Dnn_Tensor:$a, Dnn_Tensor:$b, DenseI64ArrayAttr:$domain, AffineMapArrayAttr:$maps);
  let results = (outs Dnn_Tensor:$result);
  let plain = 1;
  let assemblyFormat = "operands `over` custom<Extents>($domain) attr-dict `:` functional-type(operands, results)";
  let work = "return contractionWork();";
  let more = Dnn_IsContraction # "::accord::Work contractionWork();\n";
  let hasVerifier = 1;
}

def Dnn_InteractionOp : Dnn_ForwardOp<"interaction", 2> {
  let ranks = [2];
  let summary = "pairwise dot products of the rows of x[f, d], below the diagonal: [f*(f-1)/2]";
  let description = [{
    y[pair(i, j)] = sum_d x[i, d] * x[j, d], j < i (DLRM). 2 FLOP per point of (n, pair, d).
    `%y = dnn.interaction %x : (tensor<?x27x128xf32>) -> tensor<?x351xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::interactionWork(getOperation(), getY().getType(), getX().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_InteractionGradOp : Dnn_WorkOp<"interaction_grad", 4> {
  let summary = "gradient of `dnn.interaction`: every pair adds to both of its rows";
  let description = "4 FLOP per point of (n, pair, d), twice the forward.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::interactionWork(getOperation(), getDy().getType(), getX().getType());";
  let more = Dnn_IsContraction;
}
#endif
