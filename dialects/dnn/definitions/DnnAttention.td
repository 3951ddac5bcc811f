// Attention whose scores never reach memory.
#ifndef ACCORD_DNN_ATTENTION
#define ACCORD_DNN_ATTENTION
include "dialects/dnn/definitions/DnnWork.td"

// What the operation does, by the core that does it: the products, and the softmax between them.
defvar Dnn_IsAttention = Dnn_IsContraction # "std::optional<int64_t> getFlops(int64_t batch);\n"
  "::llvm::SmallVector<::accord::dnn::AttentionPart> getParts();\n";

def Dnn_FlashAttentionOp : Dnn_ForwardOp<"flash_attention", 4> {
  let ranks = [4, 3, 3];
  let summary = "y = softmax(scale q k^T) v in one operation that keeps no scores (Dao, FlashAttention-2, 2023)";
  let description = [{
    q is [queries, key heads, group, d], k [keys, key heads, d], v [keys, key heads, e] and y [queries, key heads, group, e]: each key head
    serves the queries of its group; e is d for most. `causal` leaves out keys behind the query; all are counted all the same. With `window`,
    above 0 and only with `causal`, a query sees the last so many keys, its own among them, and so many are counted. The second result, the logarithm of each row's sum of exponentials in fp32, is
    saved for the gradient. Domain (n, query, key head, group, key, d), 4 FLOP per point: two products (2
    of d and 2 of e, which is a loop of its own where it is not d). The softmax does 5 FLOP per score on vector cores
    meanwhile. Bytes are those of the operands and results, which holds while the keys of a head stay in the core or its caches.
    ```mlir
    %y, %l = dnn.flash_attention %q, %k, %v {causal = true, scale = 0.0883883476 : f64}
      : (tensor<?x4096x8x8x128xbf16>, tensor<?x4096x8x128xbf16>, tensor<?x4096x8x128xbf16>) -> (tensor<?x4096x8x8x128xbf16>, tensor<?x4096x8x8xf32>)
    ```
  }];
  let arguments = (ins Dnn_Tensor:$q, Dnn_Tensor:$k, Dnn_Tensor:$v, DefaultValuedAttr<Dnn_Positive, "1.0">:$scale,
                       DefaultValuedAttr<BoolAttr, "false">:$causal, DefaultValuedAttr<Dnn_Int, "0">:$window);
  let results = (outs Dnn_Tensor:$y, Dnn_Tensor:$saved);
  let work = "return ::accord::dnn::attentionWork(getOperation(), getQ().getType(), getK().getType(), getV().getType());";
  let more = Dnn_IsAttention;
}
// What decoding reads of earlier tokens (Pope et al., Efficiently Scaling Transformer Inference, 2022, section 2).
def Dnn_CachedOp : Dnn_WorkOp<"cached", 0> {
  let summary = "x behind `length` - (extent of x) earlier elements along `axis`, which a cache in memory holds";
  let description = [{
    Keys or values of all tokens so far: those of this step are written behind those of earlier ones. The result is the cache itself, which
    is there all the time, so that only x is read and written. No FLOP. `axis` is counted after the batch.
    `%k = dnn.cached %x {axis = 0 : i64, length = 2048 : i64} : (tensor<?x1x8x128xbf16>) -> tensor<?x2048x8x128xbf16>`
  }];
  let arguments = (ins Dnn_Tensor:$x, Dnn_Int:$axis, Dnn_Int:$length);
  let results = (outs Dnn_Tensor:$y);
  let work = "return ::accord::dnn::pointwiseWork(getOperation(), getX().getType());";
  let more = Dnn_WritesTouched;
  let hasVerifier = 1;
}
def Dnn_FlashAttentionGradOp : Dnn_WorkOp<"flash_attention_grad", 10> {
  let summary = "gradients of `dnn.flash_attention` for queries, keys and values; the scores are recomputed";
  let description = [{
    10 FLOP per point of the forward domain: 8 of the four products of the gradients, and 2 of the scores, which are no model FLOPs. 6 FLOP per
    score on vector cores.
  }];
  let arguments = (ins Dnn_Tensor:$dy, Dnn_Tensor:$q, Dnn_Tensor:$k, Dnn_Tensor:$v, Dnn_Tensor:$y, Dnn_Tensor:$saved,
                       DefaultValuedAttr<Dnn_Positive, "1.0">:$scale, DefaultValuedAttr<BoolAttr, "false">:$causal,
                       DefaultValuedAttr<Dnn_Int, "0">:$window);
  let results = (outs Dnn_Tensor:$dq, Dnn_Tensor:$dk, Dnn_Tensor:$dv);
  let work = "return ::accord::dnn::attentionWork(getOperation(), getQ().getType(), getK().getType(), getV().getType());";
  let more = Dnn_IsAttention;
}
#endif
