// Normalizations and softmax. Statistics are taken in fp32.
#ifndef ACCORD_DNN_NORMALIZATION
#define ACCORD_DNN_NORMALIZATION
include "dialects/dnn/definitions/DnnWork.td"

class Dnn_Norm<string mnemonic, int flops, string over> : Dnn_ForwardOp<mnemonic, flops> {
  let ranks = [1, 1];
  let inference = "return ::accord::dnn::inferNorm(infer, false);";
  let summary = "y = (x - mean) / sqrt(variance + epsilon) * scale + offset over " # over;
  let description = flops # " FLOP per element (sum, difference, square, sum, product with 1/deviation, scale, offset).\n`%y = dnn." #
    mnemonic # " %x, %s, %o : (tensor<?x64x56x56xf32>, tensor<64xf32>, tensor<64xf32>) -> tensor<?x64x56x56xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$scale, Optional<Dnn_Tensor>:$offset, DefaultValuedAttr<Dnn_Positive, "1e-5">:$epsilon);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::normWork(getOperation(), 0);";
}
class Dnn_NormGrad<string mnemonic, int flops, string of> : Dnn_WorkOp<mnemonic, flops> {
  let summary = "gradients of `dnn." # of # "` for x, scale and (where there is one) offset";
  let description = flops # " FLOP per element, the statistics being taken again.\n"
    "`%dx, %ds, %do = dnn." # mnemonic # " %dy, %x, %s {of = \"" # of # "\"} : ...`";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$scale, DefaultValuedAttr<F64Attr, "1e-5">:$epsilon,
                       DefaultValuedAttr<Dnn_Int, "1">:$groups);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dscale, Optional<Dnn_Tensor>:$doffset);
  let work = "return ::accord::dnn::normWork(getOperation(), 1);";
  let hasVerifier = 1;
}
def Dnn_LayerNormOp : Dnn_Norm<"layer_norm", 7, "the last dimension"> {
  let inference = "return ::accord::dnn::inferNorm(infer, true);";
  let description = "7 FLOP per element (sum, difference, square, sum, product with 1/deviation, scale, offset).\n"
    "`%y = dnn.layer_norm %x, %s, %o : (tensor<?x1024x1600xbf16>, tensor<1600xbf16>, tensor<1600xbf16>) -> tensor<?x1024x1600xbf16>`";
}
def Dnn_BatchNormOp : Dnn_Norm<"batch_norm", 7, "the batch and all dimensions but the channel (the first)">;
def Dnn_GroupNormOp : Dnn_Norm<"group_norm", 7, "groups of channels and all dimensions after them"> {
  let required = ["groups"];
  let inference = "return inferTypes(adaptor, infer);";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$scale, Optional<Dnn_Tensor>:$offset, OptionalAttr<Dnn_Int>:$groups,
                       DefaultValuedAttr<Dnn_Positive, "1e-5">:$epsilon);
}
def Dnn_RmsNormOp : Dnn_ForwardOp<"rms_norm", 4> {
  let ranks = [1, 1];
  let inference = "return ::accord::dnn::inferNorm(infer, true);";
  let summary = "y = x / sqrt(mean(x^2) + epsilon) * scale over the last dimension";
  let description = "4 FLOP per element (square, sum, product with 1/root, scale).\n"
    "`%y = dnn.rms_norm %x, %s : (tensor<?x2048x4096xbf16>, tensor<4096xbf16>) -> tensor<?x2048x4096xbf16>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$scale, DefaultValuedAttr<Dnn_Positive, "1e-5">:$epsilon);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::normWork(getOperation(), 0);";
}
def Dnn_LayerNormGradOp : Dnn_NormGrad<"layer_norm_grad", 16, "layer_norm">;
def Dnn_BatchNormGradOp : Dnn_NormGrad<"batch_norm_grad", 16, "batch_norm">;
def Dnn_GroupNormGradOp : Dnn_NormGrad<"group_norm_grad", 16, "group_norm">;
def Dnn_RmsNormGradOp : Dnn_NormGrad<"rms_norm_grad", 11, "rms_norm">;

// Krizhevsky et al., ImageNet Classification with Deep Convolutional Neural Networks, 2012, section 3.3, with alpha / size as ONNX and
// PyTorch have it. s[c] = bias + alpha / size * sum of x[j]^2 for j from c - floor((size-1)/2) to c + ceil((size-1)/2).
def Dnn_LrnOp : Dnn_ForwardOp<"lrn", 0> {
  let ranks = [2];
  let required = ["size"];
  let summary = "y = x / (bias + alpha / size * sum of x^2 over `size` neighbouring channels) ^ beta";
  let description = "size + 5 FLOP per element (square, sum, product, bias, power, division).\n"
    "`%y = dnn.lrn %x {size = 5 : i64} : (tensor<?x64x56x56xf32>) -> tensor<?x64x56x56xf32>`";
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Int>:$size, DefaultValuedAttr<Dnn_Number, "1e-4">:$alpha,
                       DefaultValuedAttr<Dnn_Number, "0.75">:$beta, DefaultValuedAttr<Dnn_Positive, "1.0">:$bias);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::neighbourWork(getOperation());";
  let flopsPerPoint = "return *getSize() + 5;";
}
def Dnn_LrnGradOp : Dnn_WorkOp<"lrn_grad", 0> {
  let summary = "gradient of `dnn.lrn`: dx = dy / s^beta - 2 * alpha * beta / size * x * sum of dy * x / s^(beta + 1) over channels that read x";
  let description = "2 size + 11 FLOP per element, s being computed again.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Int:$size, Dnn_Number:$alpha, Dnn_Number:$beta, Dnn_Positive:$bias);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::neighbourWork(getOperation());";
  let flopsPerPoint = "return 2 * getSize() + 11;";
}
def Dnn_SoftmaxOp : Dnn_ForwardOp<"softmax", 5> {
  let ranks = [1];
  let summary = "y = exp(x - max) / sum exp(x - max) along `axis`";
  let description = [{
    5 FLOP per element (maximum, difference, exponential, sum, division). `causal` masks column > row of the last two dimensions; all
    elements are counted all the same.
    `%p = dnn.softmax %s {causal = true} : (tensor<?x25x1024x1024xbf16>) -> tensor<?x25x1024x1024xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x, DefaultValuedAttr<Dnn_Int, "-1">:$axis, DefaultValuedAttr<BoolAttr, "false">:$causal);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::alongWork(getOperation(), getX().getType(), getAxis());";
}
def Dnn_SoftmaxGradOp : Dnn_WorkOp<"softmax_grad", 4, [SameOperandsAndResultType]> {
  let summary = "gradient of `dnn.softmax`: dx = (dy - sum(dy * y)) * y along `axis`";
  let description = "4 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$y, DefaultValuedAttr<Dnn_Int, "-1">:$axis);
  let results = (outs Dnn_Tensor:$dx);
  let work = "return ::accord::dnn::alongWork(getOperation(), getDy().getType(), getAxis());";
}
#endif
