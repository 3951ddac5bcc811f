#!/usr/bin/env python3
"""onnx_broken.py WORK: ONNX files that are wrong, each in one way. Imports each and prints the first error; fails where one has
none, has no place, ends otherwise than with exit status 1, or takes longer than ten seconds."""
import os
import random
import subprocess
import sys

import onnx
from onnx import TensorProto, helper
from onnx_models import Graph

FLOAT = TensorProto.FLOAT


def graph(*dims):
    g = Graph()
    return g, g.input("x", list(dims) or ["N", 3, 8, 8])


def one(op, inputs, dims=(), **attributes):
    """A file of one operator, whose inputs are shapes of weights, or lists of integers."""
    g, x = graph(*dims)
    names = [g.weight(f"w{i}", value) if isinstance(value, tuple) else g.numbers(value) for i, value in enumerate(inputs)]
    g.output(g.node(op, x, *names, name="it", **attributes))
    return g


def attribute(op, key, value, inputs=(), dims=()):
    g = one(op, inputs, dims)
    g.nodes[-1].attribute.extend([helper.make_attribute(key, value)])
    return g


def twice():
    g = one("Softmax", [], axis=1)
    g.nodes[-1].attribute.extend([helper.make_attribute("axis", 2)])
    return g


def itself():
    g, x = graph()
    g.output(g.node("Add", x, "value_1", name="it"))
    return g


def long_cycle():
    g, x = graph()
    x = g.node("Add", x, "value_5000", name="first")
    for _ in range(4999):
        x = g.node("Relu", x)
    g.output(x)
    return g


def no_initializer():
    g, x = graph()
    g.output(g.node("Conv", x, "conv.weight", name="it"))
    return g


def no_input():
    g, x = graph()
    g.output(g.node("MatMul", x, name="it"))
    return g


def negative_weight():
    g = one("MatMul", [(8, 8)])
    g.initializers[-1].dims[0] = -8
    return g


def no_output():
    return graph()[0]


def unknown_domain():
    g, x = graph()
    g.output(g.node("Fused", x, name="it", domain="mine"))
    return g


def a_loop():
    g, x = graph()
    body = helper.make_graph([], "body", [], [])
    g.output(g.node("Loop", g.numbers([3], dims=[]), "", x, name="it", body=body))
    return g


def text_input():
    g = Graph()
    g.inputs.append(helper.make_tensor_value_info("x", TensorProto.STRING, ["N", 4]))
    g.output(g.node("Relu", "x", name="it"))
    return g


def no_shape():
    g = Graph()
    g.inputs.append(helper.make_tensor_value_info("x", FLOAT, None))
    g.output(g.node("Relu", "x", name="it"))
    return g


def numbers_missing():
    """A tensor of shapes that says four numbers and has two."""
    g, x = graph()
    tensor = TensorProto(name="shape", data_type=TensorProto.INT64, dims=[4], int64_data=[0, 0])
    g.initializers.append(tensor)
    g.output(g.node("Reshape", x, "shape", name="it"))
    return g


def doubled():
    """Known numbers that become too many: twice as many with each node, and then a target of as many dimensions."""
    g, x = graph()
    numbers = g.numbers([1, 2])
    for _ in range(40):
        numbers = g.node("Concat", numbers, numbers, axis=0)
    g.output(g.node("Reshape", x, numbers, name="it"))
    return g


def many_dimensions():
    g, x = graph()
    numbers = g.node("Expand", g.numbers([1]), g.numbers([256, 256]))
    for _ in range(100):
        numbers = g.node("Add", numbers, g.node("Transpose", numbers, perm=[1, 0]))
    g.output(g.node("Reshape", x, numbers, name="it"))
    return g


BIG = 2**40
CASES = {
    "axis_float": lambda: attribute("Softmax", "axis", 1.5),
    "axis_text": lambda: attribute("Softmax", "axis", "last"),
    "axis_outside": lambda: one("Softmax", [], axis=9),
    "perm_number": lambda: attribute("Transpose", "perm", 3),
    "perm_twice": lambda: one("Transpose", [], perm=[0, 1, 1, 2]),
    "pads_text": lambda: attribute("MaxPool", "pads", "same"),
    "epsilon_integer": lambda: attribute("InstanceNormalization", "epsilon", 1, [(3,), (3,)]),
    "attribute_twice": twice,
    "itself": itself,
    "long_cycle": long_cycle,
    "no_initializer": no_initializer,
    "no_input": no_input,
    "no_output": no_output,
    "negative_weight": negative_weight,
    "huge_weight": lambda: one("MatMul", [(2**62, 2**62)]),
    "huge_input": lambda: one("Relu", [], (2, BIG, BIG)),
    "negative_input": lambda: one("Relu", [], (2, -4)),
    "huge_pad": lambda: one("Pad", [[0, 0, 0, 2**60, 0, 0, 0, 2**60]]),
    "pad_short": lambda: one("Pad", [[0, 0, 1]]),
    "huge_reshape": lambda: one("Reshape", [[0, BIG, BIG, BIG]]),
    "reshape_other": lambda: one("Reshape", [[0, 5, 7]]),
    "huge_kernel": lambda: one("MaxPool", [], kernel_shape=[2**50, 2**50]),
    "kernel_negative": lambda: one("MaxPool", [], kernel_shape=[-3, 3]),
    "stride_zero": lambda: one("MaxPool", [], kernel_shape=[3, 3], strides=[0, 0]),
    "conv_channels": lambda: one("Conv", [(4, 5, 3, 3)]),
    "conv_groups": lambda: one("Conv", [(4, 3, 3, 3)], group=0),
    "conv_rank": lambda: one("Conv", [(4, 3)]),
    "gemm_rank": lambda: one("Gemm", [(4, 3, 3)]),
    "matmul_other": lambda: one("MatMul", [(5, 7)]),
    "lstm_gates": lambda: one("LSTM", [(1, 15, 8), (1, 16, 4)], (6, "N", 8), hidden_size=4),
    "einsum_words": lambda: one("Einsum", [(8, 4)], (2, 3, 8), equation="a!b,c->d"),
    "einsum_empty": lambda: one("Einsum", [(8, 4)], (2, 3, 8), equation=""),
    "split_sum": lambda: one("Split", [[3, 9]], axis=3),
    "squeeze_axes": lambda: one("Unsqueeze", [[0, 0]]),
    "slice_lists": lambda: one("Slice", [[0, 1], [2]]),
    "slice_step_zero": lambda: one("Slice", [[0], [2], [3], [0]]),
    "group_count": lambda: one("GroupNormalization", [(3,), (3,)], num_groups=-2),
    "resize_nothing": lambda: one("Resize", [[]]),
    "gather_outside": lambda: one("Gather", [[11]], axis=2),
    "unknown_domain": unknown_domain,
    "unknown_operator": lambda: one("GridSample", [(2, 4, 4, 2)]),
    "a_loop": a_loop,
    "text_input": text_input,
    "no_shape": no_shape,
    "numbers_missing": numbers_missing,
    "doubled": doubled,
    "many_dimensions": many_dimensions,
}


def imported(path):
    try:
        done = subprocess.run(["accord", "import", "onnx", path], capture_output=True, text=True, timeout=10, errors="replace")
    except subprocess.TimeoutExpired:
        return None, "hangs"
    first = done.stderr.splitlines()[0] if done.stderr else ""
    return done.returncode, first


def main():
    work = sys.argv[1]
    failed = False
    for name, case in CASES.items():
        path = os.path.join(work, name + ".onnx")
        case().save(path)
        code, first = imported(path)
        good = code == 1 and first.startswith(f"{path}:1:1: error[")
        failed |= not good
        print(f"{name}: {first.partition(': ')[2] if good else f'exit status {code}: {first}'}")
    # Any byte of a good file, or its end: a model or an error, and never a crash.
    g, x = graph()
    x = g.node("MaxPool", g.conv(x, 3, 4, 3, bias=True), kernel_shape=[2, 2], strides=[2, 2])
    g.output(g.gemm(g.node("Flatten", x), 36, 5))
    path = os.path.join(work, "good.onnx")
    g.save(path)
    whole, draw, damaged = open(path, "rb").read(), random.Random(7), 0
    for i in range(40):
        bytes_ = bytearray(whole[:draw.randrange(1, len(whole))] if i % 4 == 0 else whole)
        for _ in range(draw.randint(1, 3) if i % 4 else 0):
            bytes_[draw.randrange(len(bytes_))] = draw.randrange(256)
        path = os.path.join(work, f"damaged{i}.onnx")
        open(path, "wb").write(bytes_)
        code, first = imported(path)
        if code != 0 and not (code == 1 and first.startswith(f"{path}:1:1: error[")):
            failed = True
            print(f"damaged{i}: exit status {code}: {first}")
        damaged += 1
    print(f"{len(CASES)} wrong files, {damaged} damaged ones")
    return failed


if __name__ == "__main__":
    sys.exit(main())
