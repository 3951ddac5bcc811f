"""The operations of models, as methods. Made by scripts/python_package.py; do not edit."""

from typing import Any, Optional, Sequence, Tuple

from .tensors import Operand, Setting, Size, Tensor

__all__ = ["NAMES", "Operations"]

NAMES = [
    "add",
    "alibi",
    "avg_pool",
    "batch_norm",
    "binary_cross_entropy",
    "concat",
    "conv1d",
    "conv2d",
    "conv3d",
    "conv_transpose1d",
    "conv_transpose2d",
    "conv_transpose3d",
    "cross_entropy",
    "depthwise_conv2d",
    "div",
    "dropout",
    "elu",
    "embedding",
    "embedding_bag",
    "exp",
    "flash_attention",
    "gather",
    "gelu",
    "global_avg_pool",
    "group_norm",
    "gru",
    "hard_sigmoid",
    "hard_swish",
    "interaction",
    "layer_norm",
    "leaky_relu",
    "linear",
    "lrn",
    "lstm",
    "matmul",
    "max_pool",
    "mean",
    "moe",
    "mse",
    "mul",
    "neg",
    "pad",
    "parameter",
    "positions",
    "prelu",
    "profiled",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "relative_bias",
    "relu",
    "relu6",
    "reshape",
    "rms_norm",
    "rotary",
    "scale",
    "scatter",
    "segment_softmax",
    "segment_sum",
    "selective_scan",
    "sigmoid",
    "silu",
    "sinusoids",
    "slice",
    "smooth_l1",
    "softmax",
    "softplus",
    "split",
    "spmm",
    "sqrt",
    "sub",
    "swish",
    "tanh",
    "topk",
    "transpose",
    "upsample",
    "zeros",
]


class Operations:
    """What a model, a module or the body of one can say; `name` is that of the result."""

    def call(self, operation: Any, *operands: Any, name: Optional[str] = None, **attributes: Any) -> Tensor:
        raise NotImplementedError

    def several(self, names: Sequence[str], operation: Any, *operands: Any, **attributes: Any) -> Tuple[Tensor, ...]:
        raise NotImplementedError

    def add(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("add", a, b, name=name)

    def alibi(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("alibi", x, name=name)

    def avg_pool(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("avg_pool", x, name=name, kernel=kernel, stride=stride, padding=padding)

    def batch_norm(self, x: Operand, *, epsilon: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("batch_norm", x, name=name, epsilon=epsilon)

    def binary_cross_entropy(self, logits: Operand, labels: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("binary_cross_entropy", logits, labels, name=name)

    def concat(self, *x: Operand, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("concat", *x, name=name, axis=axis)

    def conv1d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv1d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias)

    def conv2d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv2d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias)

    def conv3d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv3d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias)

    def conv_transpose1d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, output_padding: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv_transpose1d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias, output_padding=output_padding)

    def conv_transpose2d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, output_padding: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv_transpose2d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias, output_padding=output_padding)

    def conv_transpose3d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, out: Setting, dilation: Optional[Setting] = None, groups: Optional[Setting] = None, bias: Optional[Setting] = None, output_padding: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("conv_transpose3d", x, name=name, kernel=kernel, stride=stride, padding=padding, out=out, dilation=dilation, groups=groups, bias=bias, output_padding=output_padding)

    def cross_entropy(self, logits: Operand, labels: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("cross_entropy", logits, labels, name=name)

    def depthwise_conv2d(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, dilation: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("depthwise_conv2d", x, name=name, kernel=kernel, stride=stride, padding=padding, dilation=dilation, bias=bias)

    def div(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("div", a, b, name=name)

    def dropout(self, x: Operand, *, rate: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("dropout", x, name=name, rate=rate)

    def elu(self, x: Operand, *, alpha: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("elu", x, name=name, alpha=alpha)

    def embedding(self, ids: Operand, *, rows: Setting, dim: Setting, table: Optional[Setting] = None, sparse: Optional[Setting] = None, optimizer: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("embedding", ids, name=name, rows=rows, dim=dim, table=table, sparse=sparse, optimizer=optimizer)

    def embedding_bag(self, ids: Operand, *, rows: Setting, dim: Setting, mode: Optional[Setting] = None, skew: Optional[Setting] = None, table: Optional[Setting] = None, sparse: Optional[Setting] = None, optimizer: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("embedding_bag", ids, name=name, rows=rows, dim=dim, mode=mode, skew=skew, table=table, sparse=sparse, optimizer=optimizer)

    def exp(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("exp", x, name=name)

    def flash_attention(self, q: Operand, k: Operand, v: Operand, *, scale: Optional[Setting] = None, causal: Optional[Setting] = None, window: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("flash_attention", q, k, v, name=name, scale=scale, causal=causal, window=window)

    def gather(self, x: Operand, ids: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("gather", x, ids, name=name, axis=axis)

    def gelu(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("gelu", x, name=name)

    def global_avg_pool(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("global_avg_pool", x, name=name)

    def group_norm(self, x: Operand, *, groups: Setting, epsilon: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("group_norm", x, name=name, groups=groups, epsilon=epsilon)

    def gru(self, x: Operand, *, hidden: Setting, bias: Optional[Setting] = None, bidirectional: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("gru", x, name=name, hidden=hidden, bias=bias, bidirectional=bidirectional)

    def hard_sigmoid(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("hard_sigmoid", x, name=name)

    def hard_swish(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("hard_swish", x, name=name)

    def interaction(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("interaction", x, name=name)

    def layer_norm(self, x: Operand, *, epsilon: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("layer_norm", x, name=name, epsilon=epsilon, bias=bias)

    def leaky_relu(self, x: Operand, *, slope: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("leaky_relu", x, name=name, slope=slope)

    def linear(self, x: Operand, *, out: Setting, bias: Optional[Setting] = None, weight: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("linear", x, name=name, out=out, bias=bias, weight=weight)

    def lrn(self, x: Operand, *, size: Setting, alpha: Optional[Setting] = None, beta: Optional[Setting] = None, bias: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("lrn", x, name=name, size=size, alpha=alpha, beta=beta, bias=bias)

    def lstm(self, x: Operand, *, hidden: Setting, bias: Optional[Setting] = None, bidirectional: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("lstm", x, name=name, hidden=hidden, bias=bias, bidirectional=bidirectional)

    def matmul(self, a: Operand, b: Operand, *, transpose_a: Optional[Setting] = None, transpose_b: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("matmul", a, b, name=name, transpose_a=transpose_a, transpose_b=transpose_b)

    def max_pool(self, x: Operand, *, kernel: Setting, stride: Optional[Setting] = None, padding: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("max_pool", x, name=name, kernel=kernel, stride=stride, padding=padding)

    def mean(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("mean", x, name=name)

    def moe(self, x: Operand, *, experts: Setting, inner: Setting, top_k: Setting, capacity_factor: Optional[Setting] = None, gated: Optional[Setting] = None, normalize: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("moe", x, name=name, experts=experts, inner=inner, top_k=top_k, capacity_factor=capacity_factor, gated=gated, normalize=normalize)

    def mse(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("mse", a, b, name=name)

    def mul(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("mul", a, b, name=name)

    def neg(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("neg", x, name=name)

    def pad(self, x: Operand, *, before: Setting, after: Optional[Setting] = None, value: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("pad", x, name=name, before=before, after=after, value=value)

    def parameter(self, dims: Size, *, name: Optional[str] = None) -> Tensor:
        return self.call("parameter", dims, name=name)

    def positions(self, seq: Size, hidden: Size, *, name: Optional[str] = None) -> Tensor:
        return self.call("positions", seq, hidden, name=name)

    def prelu(self, x: Operand, *, shared: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("prelu", x, name=name, shared=shared)

    def profiled(self, *x: Operand, forward: Setting, backward: Optional[Setting] = None, output: Optional[Setting] = None, parameters: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("profiled", *x, name=name, forward=forward, backward=backward, output=output, parameters=parameters)

    def reduce_max(self, x: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("reduce_max", x, name=name, axis=axis)

    def reduce_mean(self, x: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("reduce_mean", x, name=name, axis=axis)

    def reduce_min(self, x: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("reduce_min", x, name=name, axis=axis)

    def reduce_sum(self, x: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("reduce_sum", x, name=name, axis=axis)

    def relative_bias(self, table: Operand, *, queries: Setting, keys: Setting, max_distance: Optional[Setting] = None, bidirectional: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("relative_bias", table, name=name, queries=queries, keys=keys, max_distance=max_distance, bidirectional=bidirectional)

    def relu(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("relu", x, name=name)

    def relu6(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("relu6", x, name=name)

    def reshape(self, x: Operand, dims: Size, *, name: Optional[str] = None) -> Tensor:
        return self.call("reshape", x, dims, name=name)

    def rms_norm(self, x: Operand, *, epsilon: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("rms_norm", x, name=name, epsilon=epsilon)

    def rotary(self, x: Operand, *, base: Optional[Setting] = None, axis: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("rotary", x, name=name, base=base, axis=axis)

    def scale(self, x: Operand, *, factor: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("scale", x, name=name, factor=factor)

    def scatter(self, x: Operand, ids: Operand, updates: Operand, *, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("scatter", x, ids, updates, name=name, axis=axis)

    def segment_softmax(self, x: Operand, ids: Operand, *, segments: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("segment_softmax", x, ids, name=name, segments=segments)

    def segment_sum(self, x: Operand, ids: Operand, *, segments: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("segment_sum", x, ids, name=name, segments=segments)

    def selective_scan(self, x: Operand, *, delta: Setting, a: Operand, b: Operand, c: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("selective_scan", x, a, b, name=name, delta=delta, c=c)

    def sigmoid(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("sigmoid", x, name=name)

    def silu(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("silu", x, name=name)

    def sinusoids(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("sinusoids", x, name=name)

    def slice(self, x: Operand, *, axis: Setting, start: Setting, size: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("slice", x, name=name, axis=axis, start=start, size=size)

    def smooth_l1(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("smooth_l1", a, b, name=name)

    def softmax(self, x: Operand, *, axis: Optional[Setting] = None, causal: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("softmax", x, name=name, axis=axis, causal=causal)

    def softplus(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("softplus", x, name=name)

    def split(self, x: Operand, *, parts: Setting, axis: Setting, name: Optional[str] = None) -> Tensor:
        return self.call("split", x, name=name, parts=parts, axis=axis)

    def spmm(self, row_offsets: Operand, columns: Operand, values: Operand, dense: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("spmm", row_offsets, columns, values, dense, name=name)

    def sqrt(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("sqrt", x, name=name)

    def sub(self, a: Operand, b: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("sub", a, b, name=name)

    def swish(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("swish", x, name=name)

    def tanh(self, x: Operand, *, name: Optional[str] = None) -> Tensor:
        return self.call("tanh", x, name=name)

    def topk(self, x: Operand, *, k: Setting) -> Tuple[Tensor, ...]:
        return self.several(("values", "ids"), "topk", x, k=k)

    def transpose(self, x: Operand, permutation: Size, *, name: Optional[str] = None) -> Tensor:
        return self.call("transpose", x, permutation, name=name)

    def upsample(self, x: Operand, *, scale: Setting, mode: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("upsample", x, name=name, scale=scale, mode=mode)

    def zeros(self, dims: Size, *, shared: Optional[Setting] = None, name: Optional[str] = None) -> Tensor:
        return self.call("zeros", dims, name=name, shared=shared)
