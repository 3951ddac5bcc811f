// Operations kept whole because no chain of others says them: mixtures of experts. And recurrent layers as a model names them.
#ifndef ACCORD_DNN_COMPOSITE
#define ACCORD_DNN_COMPOSITE
include "dialects/dnn/definitions/DnnWork.td"

class Dnn_Recurrent<string mnemonic, string gates, string width, string saved> : Dnn_ForwardOp<mnemonic, 2> {
  let ranks = [2, 2, 2];
  let inference = "return ::accord::dnn::inferRecurrent(infer, adaptor.getBidirectional(), " # gates # ", " # width # ");";
  let summary = "one layer over time: x[seq, in] to y[seq, hidden] (both directions joined when bidirectional)";
  let description = "w_ih is [" # gates # "*hidden, in], w_hh [" # gates # "*hidden, hidden], bias [2, " # gates #
    "*hidden] (of input and state, as in PyTorch), each with a leading 2 when bidirectional; hidden follows from w_hh. 2 FLOP per point of (n, seq, directions*" # gates # "*hidden, in+hidden); the element-wise gate "
    "arithmetic is not counted. Plans have the layer step by step instead (`expand-recurrent`); this is its definition. The second result is kept for the gradient: " # saved # " per step.\n`%y, %r = dnn." # mnemonic #
    " %x, %wi, %wh, %b : (tensor<?x50x256xf32>, tensor<...x256xf32>, tensor<...x512xf32>, tensor<2x...xf32>) -> (tensor<?x50x512xf32>, ...)`";
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$w_ih, Dnn_Tensor:$w_hh, Optional<Dnn_Tensor>:$bias,
                       DefaultValuedAttr<BoolAttr, "false">:$bidirectional);
  let results = (outs Dnn_Tensor:$y, Dnn_Tensor:$saved);
  let work = "return ::accord::dnn::recurrentWork(getOperation(), getX().getType(), getWIh().getType(), getWHh().getType());";
  let more = Dnn_IsContraction;
}
class Dnn_RecurrentGrad<string mnemonic, string of> : Dnn_WorkOp<mnemonic, 4> {
  let summary = "gradients of `dnn." # of # "` by backpropagation through time";
  let description = "4 FLOP per point of the forward domain: twice the forward. The bias gradient is there when there is a bias.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$w_ih, Dnn_Tensor:$w_hh, Dnn_Tensor:$y, Dnn_Tensor:$saved,
                       DefaultValuedAttr<BoolAttr, "false">:$bidirectional);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dw_ih, Dnn_Tensor:$dw_hh, Optional<Dnn_Tensor>:$dbias);
  let work = "return ::accord::dnn::recurrentWork(getOperation(), getX().getType(), getWIh().getType(), getWHh().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_LstmOp : Dnn_Recurrent<"lstm", "4", "5", "the four gates and the cell">;
def Dnn_LstmGradOp : Dnn_RecurrentGrad<"lstm_grad", "lstm">;
def Dnn_GruOp : Dnn_Recurrent<"gru", "3", "4", "the three gates and the recurrent part of the candidate">;
def Dnn_GruGradOp : Dnn_RecurrentGrad<"gru_grad", "gru">;

// A mixture of experts in three steps, so that what travels to the experts and back can be said between them.
def Dnn_MoeDispatchOp : Dnn_ForwardOp<"moe_dispatch", 2> {
  let called = "moe";
  let ranks = [2, 2];
  let summary = "every token of x[.., d] takes a slot of each of its top_k experts: slots[experts, capacity, d]";
  let description = [{
    Each token chooses its experts by p = softmax(gate x) over all experts and weighs them with p, or with their share of the p it chose if
    `normalize`; tokens are served in order, and those that find no slot are dropped. gate is [experts, d]. Every expert has
    capacity = ceil(tokens * top_k * capacity_factor / experts) slots of one sample. `tokens` says which token of the sample sits in a slot,
    -1 where it is empty: a row of zeros of weight 0. 2 FLOP per point of (.., token, expert, d): the gate.
    ```mlir
    %s, %t, %w = dnn.moe_dispatch %x, %g {top_k = 2 : i64} : (tensor<?x64x16xf32>, tensor<8x16xf32>)
      -> (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>)
    ```
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$gate, DefaultValuedAttr<Dnn_Int, "1">:$top_k,
                       DefaultValuedAttr<Dnn_Positive, "1.25">:$capacity_factor, DefaultValuedAttr<BoolAttr, "false">:$normalize);
  let results = (outs Dnn_Tensor:$slots, Dnn_Tensor:$tokens, Dnn_Tensor:$weights);
  let work = "return ::accord::dnn::dispatchWork(getOperation(), getX().getType(), getGate().getType());";
  let more = Dnn_IsContraction;
}
def Dnn_MoeDispatchGradOp : Dnn_WorkOp<"moe_dispatch_grad", 4> {
  let summary = "gradients of `dnn.moe_dispatch` for x and the gate";
  let description = [{
    4 FLOP per point of (.., token, expert, d), twice the forward; that a token's slots are added up is not counted.
    `dnn.parts` says which experts dslots, dweights and tokens have slots of: then both results are partial sums.
  }];
  let arguments = (ins Dnn_Tensor:$dslots, Dnn_Tensor:$dweights, Dnn_Tensor:$x, Dnn_Tensor:$gate, Dnn_Tensor:$tokens,
                       DefaultValuedAttr<Dnn_Int, "1">:$top_k, DefaultValuedAttr<BoolAttr, "false">:$normalize);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$dgate);
  let work = "return ::accord::dnn::dispatchWork(getOperation(), getX().getType(), getGate().getType());";
  let more = Dnn_IsContraction;
}

def Dnn_MoeExpertsOp : Dnn_ForwardOp<"moe_experts", 2> {
  let called = "moe";
  let ranks = [3, 3, 3];
  let summary = "each expert on its slots[.., experts, capacity, d]: y = w2 gelu(w1 x), or gated w2 (silu(w1 x) * (w3 x))";
  let description = [{
    w1 and w3 are [experts, inner, d], w2 is [experts, d, inner]; the dimensions before the experts are left as they are. All slots are
    computed: 2 FLOP per point of (.., expert, slot, weight, inner, d), for 2 or 3 weights. The second result (w1 x, and w3 x
    behind it along the last dimension) is saved for the gradient.
    ```mlir
    %y, %h = dnn.moe_experts %s, %w1, %w2 : (tensor<?x8x20x16xf32>, tensor<8x32x16xf32>, tensor<8x16x32xf32>)
      -> (tensor<?x8x20x16xf32>, tensor<?x8x20x32xf32>)
    ```
  }];
  let arguments = (ins Dnn_Tensor:$slots, Dnn_Tensor:$w1, Dnn_Tensor:$w2, Optional<Dnn_Tensor>:$w3);
  let results = (outs Dnn_Tensor:$y, Dnn_Tensor:$saved);
  let work = "return ::accord::dnn::expertsWork(getOperation(), getSlots().getType(), getW1().getType(), getW3() != nullptr);";
  let more = Dnn_IsContraction;
}
def Dnn_MoeExpertsGradOp : Dnn_WorkOp<"moe_experts_grad", 4> {
  let summary = "gradients of `dnn.moe_experts` for the slots and its weights";
  let description = "Twice the forward's FLOP.";
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$slots, Dnn_Tensor:$w1, Dnn_Tensor:$w2, Dnn_Tensor:$saved, Optional<Dnn_Tensor>:$w3);
  let results = (outs Dnn_Tensor:$dslots, Dnn_Tensor:$dw1, Dnn_Tensor:$dw2, Optional<Dnn_Tensor>:$dw3);
  let work = "return ::accord::dnn::expertsWork(getOperation(), getSlots().getType(), getW1().getType(), getW3() != nullptr);";
  let more = Dnn_IsContraction;
}

def Dnn_MoeCombineOp : Dnn_ForwardOp<"moe_combine", 2> {
  let ranks = [3, 2, 2];
  let required = ["dims"];
  let summary = "every token's sum of weight * row over the slots it sits in: y[experts, capacity, d] to [dims.., d]";
  let description = [{
    `dims` are the extents of the tokens after the batch. 2 FLOP per element of y.
    `%z = dnn.moe_combine %y, %t, %w {dims = array<i64: 64>} : (tensor<?x8x20x16xf32>, tensor<?x8x20xi32>, tensor<?x8x20xf32>) -> tensor<?x64x16xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$y, Dnn_Tensor:$tokens, Dnn_Tensor:$weights, OptionalAttr<DenseI64ArrayAttr>:$dims);
  let results = (outs Dnn_Tensor:$z);
  let work = "return ::accord::dnn::combineWork(getOperation(), getY().getType());";
}
def Dnn_MoeCombineGradOp : Dnn_WorkOp<"moe_combine_grad", 3> {
  let summary = "gradients of `dnn.moe_combine` for the experts' rows, weight * dz of the slot's token, and for the weights, row . dz";
  let description = "3 FLOP per element of y; zero in empty slots.";
  let arguments = (ins Dnn_Tensor:$dz, Dnn_Tensor:$y, Dnn_Tensor:$tokens, Dnn_Tensor:$weights);
  let results = (outs Dnn_Tensor:$dy, Dnn_Tensor:$dweights);
  let work = "return ::accord::dnn::combineWork(getOperation(), getY().getType());";
}
#endif
