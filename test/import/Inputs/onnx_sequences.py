#!/usr/bin/env python3
"""onnx_sequences.py WORK: recurrent layers, attention, products in Einstein's notation, norms, and windows of one to three
dimensions as ONNX files, with the batch in several places. Each is imported and counted by `accord estimate`; parameters and the
FLOPs of the forward products of a sample are worked out here from the extents alone."""
import json
import os
import subprocess
import sys

from onnx import TensorProto
from onnx_models import Graph

PRODUCTS = {"linear", "conv1d", "conv2d", "conv3d", "depthwise_conv2d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
            "matmul", "contract"}
T, E, H = 6, 8, 4  # steps, features, hidden


def recurrent(op, gates, directions, biased, opset=14):
    g = Graph(opset)
    x = g.input("x", [T, "N", E])
    weights = [g.weight("w", [directions, gates * H, E]), g.weight("r", [directions, gates * H, H])]
    if biased:
        weights.append(g.weight("b", [directions, 2 * gates * H]))
    y, _ = g.node(op, x, *weights, outputs=2, hidden_size=H, direction="bidirectional" if directions == 2 else "forward")
    y = g.node("Reshape", g.node("Transpose", y, perm=[0, 2, 1, 3]), g.numbers([0, 0, -1]))
    g.output(g.node("MatMul", y, g.weight("head", [directions * H, 3])))
    parameters = directions * gates * H * (E + H + 2 * biased) + directions * H * 3
    return g, parameters, 2 * T * (directions * gates * H * (E + H) + directions * H * 3)


def last_state():
    """The last state of a GRU, not those of all steps; the batch first (layout 1)."""
    g = Graph(14)
    x = g.input("x", ["N", T, E])
    _, last = g.node("GRU", x, g.weight("w", [1, 3 * H, E]), g.weight("r", [1, 3 * H, H]), outputs=2, hidden_size=H, layout=1)
    g.output(g.node("MatMul", g.node("Squeeze", last, g.numbers([1])), g.weight("head", [H, 3])))
    return g, 3 * H * (E + H) + H * 3, 2 * (T * 3 * H * (E + H) + H * 3)


def attention(opset, heads, groups, joined):
    """Queries of 8 positions and keys of 8, 4 wide."""
    g, width = Graph(opset), 4
    tensors = []
    for name, n in (("q", heads), ("k", groups), ("v", groups)):
        x = g.input(name, ["N", 8, n * width])
        if not joined:
            x = g.node("Transpose", g.node("Reshape", x, g.numbers([0, 0, n, width])), perm=[0, 2, 1, 3])
        tensors.append(x)
    more = dict(q_num_heads=heads, kv_num_heads=groups) if joined else {}
    y = g.node("Attention", *tensors, is_causal=1, **more)
    if not joined:
        y = g.node("Reshape", g.node("Transpose", y, perm=[0, 2, 1, 3]), g.numbers([0, 0, -1]))
    g.output(g.node("MatMul", y, g.weight("head", [heads * width, 3])))
    return g, heads * width * 3, 2 * (2 * heads * 8 * 8 * width + 8 * heads * width * 3)


def einsum(equation, left, right, flops, weight=False):
    """With a weight as the right factor, or an input; N is the batch."""
    g = Graph()
    a = g.input("a", left)
    b = g.weight("b", right) if weight else g.input("b", right)
    y = g.node("Einsum", a, b, equation=equation)
    if weight:
        g.output(g.node("Tanh", y))
        return g, right[0] * right[1], flops
    g.output(g.node("MatMul", y, g.weight("head", [3, 2])))  # of [N, 2, 4, 3]
    return g, 6, flops + 2 * 2 * 4 * 6


def convolution(dims, transposed=False):
    g = Graph()
    x = g.input("x", ["N", 3] + [9] * dims)
    weight = [3, 4] if transposed else [4, 3]
    y = g.node("ConvTranspose" if transposed else "Conv", x, g.weight("w", weight + [3] * dims), g.weight("b", [4]),
               kernel_shape=[3] * dims, pads=[1] * (2 * dims), strides=[2] * dims)
    y = g.node("MaxPool", y, kernel_shape=[2] * dims, strides=[2] * dims)
    g.output(g.node("Flatten", g.node("GlobalAveragePool", y)))
    places = 9 if transposed else 5  # of the smaller of the images
    return g, 12 * 3**dims + 4, 2 * 12 * 3**dims * places**dims


def norms(opset):
    """Over two dimensions, without an offset, of groups, without a mean."""
    g = Graph(opset)
    x = g.input("x", ["N", 6, 4, 5])
    x = g.node("LayerNormalization", x, g.weight("a", [4, 5]), g.weight("b", [4, 5]), axis=-2)
    x = g.node("LayerNormalization", x, g.weight("c", [5]))
    x = g.node("GroupNormalization", x, g.weight("d", [6]), g.weight("e", [6]), num_groups=3)
    if opset >= 23:
        x = g.node("RMSNormalization", x, g.weight("f", [6, 4, 5]), axis=1)
    g.output(g.node("MatMul", x, g.weight("w", [5, 2])))
    return g, 40 + 5 + 12 + (120 if opset >= 23 else 0) + 10, 2 * 24 * 10


def any_axis(axis):
    """The batch at each place of an input; a product over another dimension."""
    g, dims = Graph(), [4, 5]
    dims.insert(axis, "N")
    x = g.input("x", dims)
    g.output(g.node("MatMul", g.node("Relu", x) if axis < 2 else g.node("Transpose", x, perm=[2, 0, 1]), g.weight("w", [5, 3])))
    return g, 15, 2 * 4 * 15


def padded():
    g = Graph()
    x = g.node("Pad", g.input("x", ["N", 3, 4, 4]), g.numbers([0, 0, 1, 2, 0, 0, 3, -1]), g.scalar(0.5))
    x = g.node("Conv", x, g.weight("w", [2, 3, 1, 1]), kernel_shape=[1, 1])
    g.output(g.node("Flatten", x))
    return g, 6, 2 * 6 * 8 * 5


def two_names(tied):
    """A weight by two names, which --untie keeps apart."""
    g = Graph()
    w = g.weight("w", [8, 8])
    x = g.node("MatMul", g.input("x", ["N", 8]), w)
    g.output(g.node("MatMul", x, g.node("Identity", w)))
    return g, 64 if tied else 128, 2 * 128


CASES = {
    "lstm": (lambda: recurrent("LSTM", 4, 1, True), []),
    "lstm_both": (lambda: recurrent("LSTM", 4, 2, True, 7), []),
    "lstm_plain": (lambda: recurrent("LSTM", 4, 1, False, 22), []),
    "gru": (lambda: recurrent("GRU", 3, 1, True), []),
    "gru_both": (lambda: recurrent("GRU", 3, 2, True), []),
    "last_state": (last_state, []),
    "attention_joined": (lambda: attention(23, 4, 4, True), []),
    "attention_apart": (lambda: attention(24, 4, 4, False), []),
    "attention_groups": (lambda: attention(23, 4, 2, True), []),
    "einsum_weight": (lambda: einsum("bij,jk->bik", ["N", 4, 5], [5, 6], 2 * 4 * 5 * 6, True), []),
    "einsum_batch": (lambda: einsum("bhid,bhjd->bhij", ["N", 2, 4, 5], ["N", 2, 3, 5], 2 * 2 * 4 * 3 * 5), []),
    "einsum_turned": (lambda: einsum("ibh,jbh->bhij", [4, "N", 2], [3, "N", 2], 2 * 2 * 4 * 3), ["--batch", "N"]),
    "conv1d": (lambda: convolution(1), []),
    "conv2d": (lambda: convolution(2), []),
    "conv3d": (lambda: convolution(3), []),
    "conv_transpose1d": (lambda: convolution(1, True), []),
    "conv_transpose3d": (lambda: convolution(3, True), []),
    "norms_21": (lambda: norms(21), []),
    "norms_24": (lambda: norms(24), []),
    "batch_first": (lambda: any_axis(0), []),
    "batch_second": (lambda: any_axis(1), []),
    "batch_last": (lambda: any_axis(2), ["--batch", "N"]),
    "padded": (padded, []),
    "tied": (lambda: two_names(True), []),
    "untied": (lambda: two_names(False), ["--untie"]),
}


def main():
    work = sys.argv[1]
    failed = False
    for name, (case, options) in CASES.items():
        g, parameters, flops = case()
        path, model = os.path.join(work, name + ".onnx"), os.path.join(work, name + ".dnn")
        g.save(path)
        done = subprocess.run(["accord", "import", "onnx", path, "-o", model, *options], capture_output=True, text=True)
        if done.returncode == 0:
            done = subprocess.run(["accord", "estimate", model, "--target", "h100", "--batch", "1", "--precision", "fp32",
                                   "--optimizer", "sgd", "--json"], capture_output=True, text=True)
        if done.returncode:
            failed = True
            print(f"{name}: {done.stderr.strip()}")
            continue
        answer = json.loads(done.stdout)
        found = answer["totals"]["parameters"], sum(one["flops"] * one["count"] for one in answer["operations"]
                                                    if one["phase"] == "forward" and one["kind"] in PRODUCTS)
        failed |= found != (parameters, flops)
        print(f"{name}: {parameters} parameters, {flops} FLOPs" + ("" if found == (parameters, flops) else f", found {found}"))
    return failed


if __name__ == "__main__":
    sys.exit(main())
