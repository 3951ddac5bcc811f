// Losses: a scalar in fp32, the mean over the batch and all positions.
#ifndef ACCORD_DNN_LOSSES
#define ACCORD_DNN_LOSSES
include "dialects/dnn/definitions/DnnWork.td"

class Dnn_Loss<string mnemonic, int flops, string formula, string terms, dag operands> : Dnn_ForwardOp<mnemonic, flops> {
  let ranks = [0, 0];
  let inference = "return ::accord::dnn::inferPaired(infer);";
  let summary = formula;
  let description = flops # " FLOP per element (" # terms # ").\n`%l = dnn." # mnemonic # " %a, %b : (tensor<?x10xf32>, ...) -> tensor<f32>`";
  let arguments = operands;
  let results = (outs Dnn_Tensor:$loss);
  let work = "return ::accord::dnn::lossWork(getOperation());";
}
class Dnn_LossGrad<string mnemonic, int flops, string formula, dag operands> : Dnn_WorkOp<mnemonic, flops> {
  let summary = formula;
  let description = flops # " FLOP per element; dl is the gradient of the scalar.";
  let arguments = operands;
  let results = (outs Dnn_Tensor:$dx);
}
def Dnn_CrossEntropyOp : Dnn_Loss<"cross_entropy", 4, "mean of log(sum exp(logits)) - logits[label]",
  "maximum, difference, exponential, sum", (ins Dnn_Tensor:$logits, Dnn_Tensor:$labels)> {
  let ranks = [1, 0];
  let inference = "return inferTypes(adaptor, infer);";
}
def Dnn_CrossEntropyGradOp : Dnn_LossGrad<"cross_entropy_grad", 7, "dl * (softmax(logits) - onehot(labels)) / count",
  (ins Dnn_Tensor:$dl, Dnn_Tensor:$logits, Dnn_Tensor:$labels)>;
// Logits whose classes are parts on several devices (Shoeybi et al., Megatron-LM, 2019, section 3): three numbers per position travel.
def Dnn_CrossEntropyStatsOp : Dnn_WorkOp<"cross_entropy_stats", 4> {
  let summary = "of the classes here: the largest logit, sum exp(logit - largest), and the label's logit (0 if it is elsewhere)";
  let description = [{
    4 FLOP per element of the logits, as `dnn.cross_entropy`. `dnn.parts` says which classes are here.
    `%s = dnn.cross_entropy_stats %x, %l : (tensor<?x2048x6400xbf16>, tensor<?x2048xi32>) -> tensor<?x2048x3xf32>`
  }];
  let arguments = (ins Dnn_Tensor:$logits, Dnn_Tensor:$labels);
  let results = (outs Dnn_Tensor:$stats);
  let work = "return ::accord::dnn::alongWork(getOperation(), getLogits().getType(), -1);";
  let hasVerifier = 1;
}
def Dnn_CrossEntropyJoinOp : Dnn_WorkOp<"cross_entropy_join", 2> {
  let summary = "the cross entropy of the statistics of all devices: the mean of log(sum exp(logits)) - logits[label]";
  let description = "2 FLOP per element.\n`%l = dnn.cross_entropy_join %s : (tensor<?x2048x24xf32>) -> tensor<f32>`";
  let arguments = (ins Dnn_Tensor:$stats);
  let results = (outs Dnn_Tensor:$loss);
  let work = "return ::accord::dnn::lossWork(getOperation());";
  let hasVerifier = 1;
}
def Dnn_CrossEntropyPartGradOp : Dnn_WorkOp<"cross_entropy_part_grad", 5> {
  let summary = "dl * (softmax(logits) - onehot(labels)) / count of the classes here, with the statistics of all devices";
  let description = "5 FLOP per element (difference, exponential, division, difference, product).";
  let arguments = (ins Dnn_Tensor:$dl, Dnn_Tensor:$logits, Dnn_Tensor:$labels, Dnn_Tensor:$stats);
  let results = (outs Dnn_Tensor:$dx);
  let hasVerifier = 1;
}
def Dnn_MeanOp : Dnn_Loss<"mean", 1, "mean of all elements: the loss of what a model computes itself", "sum", (ins Dnn_Tensor:$x)> {
  let ranks = [0];
  let inference = "return infer.giveNumber();";
}
def Dnn_MeanGradOp : Dnn_LossGrad<"mean_grad", 1, "dl / count in every element", (ins Dnn_Tensor:$dl)>;
def Dnn_MseOp : Dnn_Loss<"mse", 3, "mean of (a - b)^2", "difference, square, sum", (ins Dnn_Tensor:$a, Dnn_Tensor:$b)>;
def Dnn_MseGradOp : Dnn_LossGrad<"mse_grad", 2, "dl * 2 * (a - b) / count", (ins Dnn_Tensor:$dl, Dnn_Tensor:$a, Dnn_Tensor:$b)>;
def Dnn_SmoothL1Op : Dnn_Loss<"smooth_l1", 7, "mean of (a - b)^2 / 2 where |a - b| < 1, else of |a - b| - 1/2: m * (|a - b| - m / 2), m = min(|a - b|, 1)",
  "difference, absolute value, minimum, half, difference, product, sum", (ins Dnn_Tensor:$a, Dnn_Tensor:$b)>;
def Dnn_SmoothL1GradOp : Dnn_LossGrad<"smooth_l1_grad", 4, "dl * max(min(a - b, 1), -1) / count", (ins Dnn_Tensor:$dl, Dnn_Tensor:$a, Dnn_Tensor:$b)>;
def Dnn_BinaryCrossEntropyOp : Dnn_Loss<"binary_cross_entropy", 9, "mean of max(x, 0) - x * label + log(1 + exp(-|x|)), with logits x",
  "maximum, product, difference, absolute value, negation, exponential, logarithm, sum, sum", (ins Dnn_Tensor:$logits, Dnn_Tensor:$labels)>;
def Dnn_BinaryCrossEntropyGradOp : Dnn_LossGrad<"binary_cross_entropy_grad", 6, "dl * (sigmoid(logits) - labels) / count",
  (ins Dnn_Tensor:$dl, Dnn_Tensor:$logits, Dnn_Tensor:$labels)>;
#endif
