// Element-wise operations and their gradient twins. exp, tanh, erf, sqrt and division count as 1 FLOP each.
#ifndef ACCORD_DNN_ELEMENTWISE
#define ACCORD_DNN_ELEMENTWISE
include "dialects/dnn/definitions/DnnWork.td"

// The gradient is one operation on dy and on `saved`: the operand x or the result y.
class Dnn_UnaryBase<string mnemonic, int flops, string formula, string gradient = "", string saved = "">
    : Dnn_WorkOp<mnemonic, flops,
    [SameOperandsAndResultType, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "y = " # formula # ", element-wise";
  let description = flops # " FLOP per element.\n`%y = dnn." # mnemonic #
                    " %x : (tensor<?x1024xf32>) -> tensor<?x1024xf32>`";
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
  let more = "static constexpr bool isUnary = true; // the language calls it by its mnemonic\n";
  let extraClassDefinition = !if(!empty(gradient), "",
      "::llvm::LogicalResult $cppClass::buildGradient(::accord::GradientContext &context) {\n"
      "  return ::accord::dnn::unaryGradient<" # gradient # ">(context, " # !if(!eq(saved, "x"), "getX()", "getY()")
      # ");\n}\n");
}
class Dnn_UnaryGradBase<string mnemonic, int flops, string of, string formula, string saved>
    : Dnn_WorkOp<mnemonic, flops, [SameOperandsAndResultType]> {
  let summary = "gradient of `dnn." # of # "`: dx = " # formula;
  let description = flops # " FLOP per element.\n`%dx = dnn." # mnemonic # " %dy, %" # saved #
                    " : (tensor<?x1024xf32>, tensor<?x1024xf32>) -> tensor<?x1024xf32>`";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$saved);
  let results = (outs Dnn_Tensor:$dx);
}
// The operation and its gradient: types, work, text and the rule of differentiation, everything but their kernels of
// the interpreter. `saved` says whether the gradient reads the operand x or the result y.
multiclass Dnn_Unary<string mnemonic, int flops, string formula, int gradFlops, string saved, string gradFormula> {
  def Op : Dnn_UnaryBase<mnemonic, flops, formula, !substr(NAME, 4) # "GradOp", saved>;
  def GradOp : Dnn_UnaryGradBase<mnemonic # "_grad", gradFlops, mnemonic, gradFormula, saved>;
}
defm Dnn_Relu : Dnn_Unary<"relu", 1, "max(x, 0)", 1, "y", "dy where y > 0, else 0">;
defm Dnn_Relu6 : Dnn_Unary<"relu6", 2, "min(max(x, 0), 6)", 2, "y", "dy where 0 < y < 6, else 0">;
defm Dnn_HardSigmoid : Dnn_Unary<"hard_sigmoid", 4, "min(max(x + 3, 0), 6) / 6", 3, "y", "dy / 6 where 0 < y < 1, else 0">;
defm Dnn_HardSwish : Dnn_Unary<"hard_swish", 5, "x * min(max(x + 3, 0), 6) / 6", 6, "x",
                               "dy * (2 * x + 3) / 6 where -3 < x < 3, 0 below, dy above">;
defm Dnn_Gelu : Dnn_Unary<"gelu", 5, "x * (1 + erf(x / sqrt 2)) / 2", 11, "x", "dy * (cdf(x) + x * pdf(x))">;
defm Dnn_Silu : Dnn_Unary<"silu", 5, "x / (1 + exp(-x)) (swish)", 9, "x", "dy * s * (1 + x * (1 - s)), s = sigmoid(x)">;
defm Dnn_Sigmoid : Dnn_Unary<"sigmoid", 4, "1 / (1 + exp(-x))", 3, "y", "dy * y * (1 - y)">;
defm Dnn_Softplus : Dnn_Unary<"softplus", 3, "log(1 + exp(x))", 4, "x", "dy / (1 + exp(-x))">;
defm Dnn_Tanh : Dnn_Unary<"tanh", 1, "tanh(x)", 3, "y", "dy * (1 - y * y)">;
defm Dnn_Sqrt : Dnn_Unary<"sqrt", 1, "sqrt(x)", 2, "y", "dy / (2 * y)">;
def Dnn_ExpOp : Dnn_UnaryBase<"exp", 1, "exp(x)", "MulOp", "y">;
def Dnn_NegOp : Dnn_UnaryBase<"neg", 1, "-x"> {
  let hasFolder = 1;
}

class Dnn_Binary<string mnemonic, string sign> : Dnn_ForwardOp<mnemonic, 1> {
  let ranks = [0, 0];
  let inference = "return ::accord::dnn::inferBinary(infer);";
  let summary = "y = a " # sign # " b, element-wise with numpy broadcasting (right-aligned)";
  let description = "1 FLOP per element of the result.\n`%y = dnn." # mnemonic #
                    " %a, %b : (tensor<?x16x8xf32>, tensor<16x8xf32>) -> tensor<?x16x8xf32>`";
  let arguments = (ins Dnn_Tensor:$a, Dnn_Tensor:$b);
  let results = (outs Dnn_Tensor:$y);
  let hasFolder = 1;
}
def Dnn_AddOp : Dnn_Binary<"add", "+">;
def Dnn_SubOp : Dnn_Binary<"sub", "-">;
def Dnn_MulOp : Dnn_Binary<"mul", "*">;
def Dnn_DivOp : Dnn_Binary<"div", "/">;

def Dnn_ScaleOp : Dnn_WorkOp<"scale", 1, [SameOperandsAndResultType, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "y = factor * x";
  let description = "1 FLOP per element.\n`%y = dnn.scale %x {factor = 0.125 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Number:$factor);
  let results = (outs Dnn_Tensor:$y);
  let hasFolder = 1;
}
def Dnn_CastOp : Dnn_WorkOp<"cast", 1, [DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "y = x in another element type";
  let description = [{
    1 FLOP per element: the product with the scale of the tensor, with which it fills the range of a narrow type. Its gradient is that of y,
    in the type of x: what rounding loses has none (Micikevicius et al., FP8 Formats for Deep Learning, 2022, arXiv 2209.05433, section 4).
    `%y = dnn.cast %x : (tensor<?x8xbf16>) -> tensor<?x8xf8E4M3FN>`
  }];
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
  let hasVerifier = 1;
}
def Dnn_DropoutOp : Dnn_RandomOp<"dropout", 2> {
  let ranks = [0];
  let required = ["rate"];
  let summary = "y = x * mask / (1 - rate), mask random 0 or 1";
  let description = [{
    2 FLOP per element. The mask is a second result, one byte per element, saved for the gradient. It is drawn anew each time: two
    dropouts of one tensor are two, which the effect on the mask tells passes.
    `%y, %mask = dnn.dropout %x {rate = 0.1 : f64} : (tensor<?x8xf32>) -> (tensor<?x8xf32>, tensor<?x8xi8>)`
  }];
  let arguments = (ins Dnn_Tensor:$x, OptionalAttr<Dnn_Rate>:$rate);
  let results = (outs Dnn_Tensor:$y, Res<Dnn_Tensor, "drawn", [MemAlloc]>:$mask);
  let hasCanonicalizeMethod = 1;
}
def Dnn_DropoutGradOp : Dnn_WorkOp<"dropout_grad", 2> {
  let summary = "gradient of `dnn.dropout`: dx = dy * mask / (1 - rate)";
  let description = "2 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$mask, Dnn_Rate:$rate);
  let results = (outs Dnn_Tensor:$dx);
  let hasFolder = 1;
}
def Dnn_LeakyReluOp : Dnn_WorkOp<"leaky_relu", 2, [SameOperandsAndResultType, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "y = x where x > 0, else slope * x";
  let description = "2 FLOP per element.\n`%y = dnn.leaky_relu %x {slope = 0.2 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>`";
  let arguments = (ins Dnn_Tensor:$x, DefaultValuedAttr<Dnn_Rate, "0.01">:$slope);
  let results = (outs Dnn_Tensor:$y);
}
def Dnn_LeakyReluGradOp : Dnn_WorkOp<"leaky_relu_grad", 2, [SameOperandsAndResultType]> {
  let summary = "gradient of `dnn.leaky_relu`: dx = dy where y > 0, else slope * dy";
  let description = "2 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$y, Dnn_Rate:$slope);
  let results = (outs Dnn_Tensor:$dx);
}
def Dnn_EluOp : Dnn_WorkOp<"elu", 4, [SameOperandsAndResultType, DeclareOpInterfaceMethods<DifferentiableOpInterface>]> {
  let summary = "y = x where x > 0, else alpha * (exp(x) - 1)";
  let description = "4 FLOP per element.\n`%y = dnn.elu %x {alpha = 0.5 : f64} : (tensor<?x8xf32>) -> tensor<?x8xf32>`";
  let arguments = (ins Dnn_Tensor:$x, DefaultValuedAttr<Dnn_Positive, "1.0">:$alpha);
  let results = (outs Dnn_Tensor:$y);
}
def Dnn_EluGradOp : Dnn_WorkOp<"elu_grad", 3, [SameOperandsAndResultType]> {
  let summary = "gradient of `dnn.elu`: dx = dy where y > 0, else dy * (y + alpha)";
  let description = "3 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$y, Dnn_Positive:$alpha);
  let results = (outs Dnn_Tensor:$dx);
}
def Dnn_PreluOp : Dnn_ForwardOp<"prelu", 2> {
  let ranks = [1, 1];
  let summary = "y = x where x > 0, else slope[c] * x with a trained slope for each channel, or one for all";
  let description = "2 FLOP per element (He et al., Delving Deep into Rectifiers, 2015).\n"
    "`%y = dnn.prelu %x, %s : (tensor<?x64x28x28xf32>, tensor<64xf32>) -> tensor<?x64x28x28xf32>`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$slope);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::channelWork(getOperation(), getX().getType());";
}
def Dnn_PreluGradOp : Dnn_WorkOp<"prelu_grad", 4> {
  let summary = "gradients of `dnn.prelu`: dx = dy where x > 0, else slope[c] * dy; dslope[c] = sum of dy * x where x <= 0";
  let description = "4 FLOP per element.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$slope);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dslope);
  let work = "return ::accord::dnn::channelWork(getOperation(), getX().getType());";
}
def Dnn_RotaryOp : Dnn_ForwardOp<"rotary", 3> {
  let ranks = [2];
  let summary = "rotary position embedding: pairs of the last dimension of x turn by position / base^(2i/d)";
  let description = [{
    Positions lie along `axis`, the one before the last unless it is given. 3 FLOP per element (two products, one sum; the angles are tables).
    `inverse` turns back: the gradient.
    `%y = dnn.rotary %x {base = 10000.0 : f64} : (tensor<?x32x2048x128xbf16>) -> tensor<?x32x2048x128xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x, DefaultValuedAttr<Dnn_Base, "10000.0">:$base, DefaultValuedAttr<Dnn_Int, "-2">:$axis,
                       UnitAttr:$inverse);
  let results = (outs Dnn_Tensor:$y);
}
// Positions that are added and not learned: nothing to store, and the gradient is that of the result.
def Dnn_SinusoidsOp : Dnn_ForwardOp<"sinusoids", 1> {
  let ranks = [1];
  let inference = "return ::accord::dnn::inferPositions(infer, 2, \"positions, d\");";
  let summary = "y[.., p, i] = x[.., p, i] + (sin, cos by turns along i of p / 10000^(2 floor(i/2)/d)) (Vaswani et al., 2017)";
  let description = "1 FLOP per element; the angles are tables.\n"
    "`%y = dnn.sinusoids %x : (tensor<?x512x1024xbf16>) -> tensor<?x512x1024xbf16>`";
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
}
def Dnn_AlibiOp : Dnn_ForwardOp<"alibi", 2> {
  let ranks = [1];
  let inference = "return ::accord::dnn::inferPositions(infer, 3, \"heads, queries, keys\");";
  let summary = "y[.., h, q, k] = x[.., h, q, k] + slope(h) * (k - q): attention with linear biases (Press et al., 2021)";
  let description = [{
    2 FLOP per element (product, sum). slope(h) = 2^(-8 (h+1) / p) for the first p heads, p the largest power of two not above their
    number; head p + i has 2^(-4 (2i+1) / p).
    `%y = dnn.alibi %s : (tensor<?x112x2048x2048xbf16>) -> tensor<?x112x2048x2048xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x);
  let results = (outs Dnn_Tensor:$y);
}
def Dnn_ConstantOp : Dnn_WorkOp<"constant", 0> {
  let summary = "a tensor filled with one value";
  let description = "No FLOP; the result is written.\n`%one = dnn.constant 1.0 : tensor<f32>`";
  let arguments = (ins Dnn_Number:$value);
  let results = (outs Dnn_Tensor:$y);
  let assemblyFormat = "custom<Number>($value) attr-dict `:` type($y)";
}
#endif
