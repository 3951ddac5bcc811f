// Selective state space models whose states never reach memory.
#ifndef ACCORD_DNN_SCAN
#define ACCORD_DNN_SCAN
include "dialects/dnn/definitions/DnnWork.td"

// Gu and Dao, Mamba: Linear-Time Sequence Modeling with Selective State Spaces, 2023, algorithm 2 and appendix D. The domain of both is
// (n, step, channel, state).
def Dnn_SelectiveScanOp : Dnn_ForwardOp<"selective_scan", 7> {
  let ranks = [2, 2, 2, 2, 2];
  let summary = "h = exp(delta a) h + delta b x and y = sum of c h over the states, step by step, in one operation that keeps no states";
  let description = [{
    Of a sample, x and delta are [steps, channels], b and c [steps, states], and y is as x; a is [channels, states] for all samples. The state
    h[channels, states] starts as zeros. 7 FLOP per point: delta * a and its exponential, the product with b, the product with h and its sum,
    the product with c and its sum; and 1 per step and channel, delta * x. Bytes are those of the operands and of y.
    ```mlir
    %y = dnn.selective_scan %x, %delta, %a, %b, %c : (tensor<?x2048x1536xbf16>, tensor<?x2048x1536xbf16>, tensor<1536x16xbf16>,
      tensor<?x2048x16xbf16>, tensor<?x2048x16xbf16>) -> tensor<?x2048x1536xbf16>
    ```
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Tensor:$delta, Dnn_Tensor:$a, Dnn_Tensor:$b, Dnn_Tensor:$c);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::scanWork(getOperation(), {{1, 2}, {1, 2}, {2, 3}, {1, 3}, {1, 3}, {1, 2}});";
  let more = "std::optional<int64_t> getFlops(int64_t batch);\n";
}
def Dnn_SelectiveScanGradOp : Dnn_WorkOp<"selective_scan_grad", 20> {
  let summary = "gradients of `dnn.selective_scan` for all operands; the states are computed again";
  let description = [{
    20 FLOP per point. Again: 2 of the decay exp(delta a), 3 of the state. Then from the last step to the first: 3 of the state's gradient
    g = c dy + decay' g', where ' is the step behind; 2 each of dc = sum of h dy, db = sum of g delta x, and q = sum of g b; 2 of the gradient
    of delta a, p = g h' decay, where h' is the state before; 2 each of ddelta = sum of p a and da = sum of p delta. And 4 per step and channel:
    delta * x, dx = delta q, and x q, which ddelta gains. Bytes are those of the operands and results.
  }];
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$x, Dnn_Tensor:$delta, Dnn_Tensor:$a, Dnn_Tensor:$b, Dnn_Tensor:$c);
  let results = (outs Dnn_Tensor:$dx, Dnn_Tensor:$ddelta, Dnn_Tensor:$da, Dnn_Tensor:$db, Dnn_Tensor:$dc);
  let work = "return ::accord::dnn::scanWork(getOperation(), {{1, 2}, {1, 2}, {1, 2}, {2, 3}, {1, 3}, {1, 3}, {1, 2}, {1, 2}, {2, 3}, {1, 3}, {1, 3}});";
  let more = "std::optional<int64_t> getFlops(int64_t batch);\n";
}
#endif
