// Operations kept whole because no chain of others says them: recurrent networks over time, mixtures of experts.
#ifndef ACCORD_DNN_COMPOSITE
#define ACCORD_DNN_COMPOSITE
include "dialects/dnn/DnnWork.td"

class Dnn_Recurrent<string mnemonic, string gates, string kept> : Dnn_ForwardOp<mnemonic, 2> {
  let summary = "one layer over time: x[seq, in] to y[seq, hidden] (both directions joined when bidirectional)";
  let description = "w_ih is [" # gates # "*hidden, in], w_hh [" # gates # "*hidden, hidden], bias [2, " # gates #
    "*hidden] (of input and state, as in PyTorch), each with a leading 2 when bidirectional; hidden follows from w_hh. 2 FLOP per point of (n, seq, directions*" # gates # "*hidden, in+hidden); the element-wise gate "
    "arithmetic is not counted. The second result is kept for the gradient: " # kept # " per step.\n`%y, %r = dnn." # mnemonic #
    " %x, %wi, %wh, %b : (tensor<?x50x256xf32>, tensor<...x256xf32>, tensor<...x512xf32>, tensor<2x...xf32>) -> (tensor<?x50x512xf32>, ...)`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$w_ih, Dnn_Tensor:$w_hh, Optional<Dnn_Tensor>:$bias,
                       DefaultValuedAttr<BoolAttr, "false">:$bidirectional);
  let results = (outs Dnn_Tensor:$y, Dnn_Tensor:$kept);
  let work = "return ::accord::dnn::recurrentWork(getOperation(), getX().getType(), getWIh().getType(), getWHh().getType());";
  let more = Dnn_IsContraction;
}
class Dnn_RecurrentGrad<string mnemonic, string of> : Dnn_WorkOp<mnemonic, 4> {
  let summary = "gradients of `dnn." # of # "` by backpropagation through time";
  let description = "4 FLOP per point of the forward domain: twice the forward. The bias gradient is there when there is a bias.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$w_ih, Dnn_Tensor:$w_hh, Dnn_Tensor:$y, Dnn_Tensor:$kept,
                       DefaultValuedAttr<BoolAttr, "false">:$bidirectional);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dw_ih, Dnn_Tensor:$dw_hh, Optional<Dnn_Tensor>:$dbias);
  let work = "return ::accord::dnn::recurrentWork(getOperation(), getX().getType(), getWIh().getType(), getWHh().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_LstmOp : Dnn_Recurrent<"lstm", "4", "the four gates and the cell">;
def Dnn_LstmGradOp : Dnn_RecurrentGrad<"lstm_grad", "lstm">;
def Dnn_GruOp : Dnn_Recurrent<"gru", "3", "the three gates and the recurrent part of the candidate">;
def Dnn_GruGradOp : Dnn_RecurrentGrad<"gru_grad", "gru">;

def Dnn_MoeOp : Dnn_ForwardOp<"moe", 2> {
  let summary = "mixture of experts: every token of x[.., d] goes to its top_k experts, y = sum of gate * w2 gelu(w1 x)";
  let description = [{
    Each token chooses its experts by p = softmax(gate x) over all experts and weighs them with p, or with their share of the p it chose if
    `normalize`; tokens are served in order, and those that find no slot are dropped. gate is [experts, d], w1 [experts, inner, d],
    w2 [experts, d, inner]; experts and inner follow from them. With w3, shaped as w1, the experts are gated: w2 (silu(w1 x) * (w3 x)).
    Every expert takes ceil(tokens * top_k * capacity_factor / experts) slots of one sample, all computed: 2 FLOP per point of
    (n, slot, weights*inner, d) of the 2 or 3 weights, and 2 * tokens * experts * d for the gate. The second result, [slots, inner] (w1 x, and w3 x behind it
    along the last dimension), is kept for the gradient.
    `%y, %h = dnn.moe %x, %g, %w1, %w2 {top_k = 2 : i64} : (tensor<?x64x16xf32>, tensor<8x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>)
       -> (tensor<?x64x16xf32>, tensor<?x160x32xf32>)`
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$gate, Dnn_Tensor:$w1, Dnn_Tensor:$w2, Optional<Dnn_Tensor>:$w3,
                       DefaultValuedAttr<Dnn_Int, "1">:$top_k, DefaultValuedAttr<Dnn_Positive, "1.25">:$capacity_factor,
                       DefaultValuedAttr<BoolAttr, "false">:$normalize);
  let results = (outs Dnn_Tensor:$y, Dnn_Tensor:$kept);
  let work = "return ::accord::dnn::moeWork(getOperation(), getX().getType(), getW1().getType(), getKept().getType());";
  let more = Dnn_IsContraction # "std::optional<int64_t> getFlops(int64_t batch);\n";
}
def Dnn_MoeGradOp : Dnn_WorkOp<"moe_grad", 4> {
  let summary = "gradients of `dnn.moe` for x and its weights";
  let description = "Twice the forward's FLOP.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$gate, Dnn_Tensor:$w1, Dnn_Tensor:$w2, Dnn_Tensor:$kept,
                       Optional<Dnn_Tensor>:$w3, DefaultValuedAttr<Dnn_Int, "1">:$top_k, DefaultValuedAttr<BoolAttr, "false">:$normalize);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dgate, Dnn_Tensor:$dw1, Dnn_Tensor:$dw2, Optional<Dnn_Tensor>:$dw3);
  let work = "return ::accord::dnn::moeWork(getOperation(), getX().getType(), getW1().getType(), getKept().getType());";
  let more = Dnn_IsContraction # "std::optional<int64_t> getFlops(int64_t batch);\n";
}
#endif
