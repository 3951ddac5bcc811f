"""Small ONNX files, right and wrong, one for each thing the importer has to say. Writes all of them into a folder."""
import os
import sys

import onnx
from onnx import TensorProto, helper
from onnx_models import Graph


def wrong_operators(g):
    x = g.input("x", ["N", 8])
    for _ in range(3):
        x = g.node("Celu", x)
    g.output(g.node("NonMaxSuppression", g.node("Acos", x)))


def open_extents(g):
    tokens = g.input("tokens", ["N", "length"], True)
    mask = g.input("mask", ["N", "length", "width"])
    h = g.node("Gather", g.weight("table", [10, 4]), tokens)
    g.output(g.node("Add", h, mask))


def missing(g):
    g.input("x", ["N", 8])
    g.output(g.node("Relu", g.node("Add", "nowhere", "lost")))


def cycle(g):
    x = g.input("x", ["N", 8])
    a = g.node("Add", x, "value_2")
    g.output(g.node("Relu", a))


def twice(g):
    x = g.input("x", ["N", 8])
    g.output(g.node("Relu", x))
    g.nodes.append(helper.make_node("Tanh", [x], [g.nodes[0].output[0]], name="again"))


def huge(g):
    x = g.input("x", ["N", 2**62, 2**62])
    g.output(g.node("MatMul", x, g.weight("w", [2**40, 2**40])))


def batches(g):
    g.output(g.node("Add", g.input("x", [4, 8]), g.input("y", [2, 8])))


def several(g):
    """Three nodes that are wrong for different reasons: all are told."""
    x = g.input("x", ["N", 3, 8, 8])
    a = g.node("Conv", x, g.weight("w", [4, 3, 3, 3]), pads=[0, 0, 5, 5], name="uneven")
    b = g.node("Clip", x, g.scalar(-1.0), g.scalar(1.0), name="bounds")
    c = g.node("Softmax", x, axis=0, name="across")
    for y in (a, b, g.node("Relu", c)):
        g.output(y)


def fixed_batch(g):
    """A batch of one, moved behind the tokens as attention layers of some frameworks do."""
    x = g.input("x", [1, 6, 8])
    y = g.node("Transpose", x, perm=[1, 0, 2])
    y = g.node("Reshape", y, g.numbers([6, 2, 4]))
    y = g.node("Transpose", y, perm=[1, 0, 2])
    y = g.node("MatMul", y, g.node("Transpose", y, perm=[0, 2, 1]))
    y = g.node("Reshape", g.node("Softmax", y, axis=-1), g.numbers([1, 12, 6]))
    g.output(g.node("MatMul", y, g.weight("w", [6, 5])))


def same_padding(g):
    x = g.input("x", ["N", 3, 224, 224])
    x = g.node("Conv", x, g.weight("w", [8, 3, 3, 3]), strides=[2, 2], auto_pad="SAME_UPPER", name="same")
    x = g.node("Conv", x, g.weight("v", [8, 8, 3, 3]), strides=[2, 2], pads=[0, 0, 1, 1], name="end")
    x = g.node("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], ceil_mode=1, name="up")
    x = g.node("Resize", x, "", g.numbers([1.0, 1.0, 2.0, 2.0], TensorProto.FLOAT), mode="nearest")
    g.output(g.node("Sigmoid", x))


def moves(g):
    """Everything that only moves, and constants folded through shapes."""
    x = g.input("x", ["N", 4, 6])
    a, b = g.node("Split", x, axis=1, outputs=2)
    c = g.node("Concat", a, b, axis=2)
    c = g.node("Slice", c, g.numbers([1]), g.numbers([2**63 - 1]), g.numbers([2]))
    n = g.node("Gather", g.node("Shape", c), g.numbers([0], dims=[]))
    rest = g.node("ReduceProd", g.node("Slice", g.node("Shape", c), g.numbers([1]), g.numbers([3])))
    shape = g.node("Concat", g.node("Unsqueeze", n, g.numbers([0])), rest, axis=0)
    c = g.node("Flatten", g.node("Unsqueeze", g.node("Reshape", c, shape), g.numbers([1])))
    cls = g.node("Expand", g.weight("cls", [1, 22]), g.node("Shape", c))
    c = g.node("Mul", g.node("Add", c, cls), g.scalar(0.25))
    c = g.node("LeakyRelu", g.node("Elu", g.node("Neg", g.node("Exp", c))), alpha=0.2)
    c = g.node("Identity", g.node("Sqrt", g.node("Pow", c, g.scalar(2.0))))
    g.output(g.gemm(c, 22, 3))


def windows(g):
    """Windows that are shifted (slices, then a concatenation), a table of relative positions at fixed places, a mask that is
    computed from places, and every second row."""
    x = g.input("x", ["N", 4, 4, 6])
    end = g.numbers([2**63 - 1])
    x = g.node("Concat", g.node("Slice", x, g.numbers([1]), end, g.numbers([1])), g.node("Slice", x, g.numbers([0]), g.numbers([1]),
               g.numbers([1])), axis=1)
    x = g.node("Reshape", x, g.numbers([-1, 16, 6]))
    places = g.node("Reshape", g.node("Range", g.numbers([0], dims=[]), g.numbers([16], dims=[]), g.numbers([1], dims=[])),
                    g.numbers([16, 1]))
    apart = g.node("Sub", places, g.node("Transpose", places, perm=[1, 0]))
    far = g.node("Equal", g.node("Mod", apart, g.numbers([2], dims=[])), g.numbers([1], dims=[]))
    mask = g.node("Where", far, g.scalar(-100.0), g.scalar(0.0))
    ids = g.node("Reshape", g.node("Add", apart, g.numbers([15], dims=[])), g.numbers([256]))
    table = g.node("Gather", g.weight("positions", [31, 1]), ids, name="table")
    scores = g.node("MatMul", x, g.node("Transpose", x, perm=[0, 2, 1]))
    scores = g.node("Add", scores, g.node("Reshape", table, g.numbers([1, 16, 16])))
    scores = g.node("Add", scores, g.node("Unsqueeze", mask, g.numbers([0])), name="masked")
    x = g.node("MatMul", g.node("Softmax", scores, axis=-1), x)
    x = g.node("Slice", x, g.numbers([2]), end, g.numbers([1]), g.numbers([3]), name="third")
    g.output(g.node("MatMul", x, g.weight("w", [6, 5])))


def depth(g):
    """Stochastic depth, as exporters write it for training: a mask of random numbers for each sample, by what it leaves."""
    x = g.input("x", ["N", 8])
    for i, op in enumerate(("Less", "Floor", "Bernoulli")):
        ones = g.node("ConstantOfShape", g.node("Concat", g.node("Slice", g.node("Shape", x), g.numbers([0]), g.numbers([1])),
                                                g.numbers([1]), axis=0),
                      value=helper.make_tensor("v", TensorProto.FLOAT, [1], [0.75]))
        if op == "Less":
            mask = g.node("Cast", g.node("Less", g.node("RandomUniformLike", ones), g.scalar(0.75)), to=1)
        elif op == "Floor":
            mask = g.node("Floor", g.node("Add", g.scalar(0.75), g.node("RandomUniformLike", ones)))
        else:
            mask = g.node("Bernoulli", ones)
        y = g.node("Mul", g.gemm(x, 8, 8, f"fc{i}"), g.node("Div", mask, g.scalar(0.75)), name=f"depth{i}")
        x = g.node("Add", x, y)
    g.output(g.gemm(x, 8, 3, "head"))


def sums(g):
    """Sums that are known: they are the extents of a reshape. Of the model's inputs, they are refused (sums_of_inputs)."""
    ones = g.node("Expand", g.numbers([2]), g.numbers([2, 3]))                                          # 2 2 2, twice
    a = g.node("CumSum", ones, g.numbers([1], dims=[]), exclusive=1, reverse=1)                         # 4 2 0
    b = g.node("CumSum", ones, g.numbers([-2], dims=[]))                                                # 2 2 2 and 4 4 4
    a = g.node("Slice", g.node("Gather", a, g.numbers([1], dims=[])), g.numbers([0]), g.numbers([2]))   # 4 2
    b = g.node("Slice", g.node("Gather", b, g.numbers([1], dims=[])), g.numbers([2]), g.numbers([3]))   # 4
    x = g.node("Reshape", g.input("x", ["N", 32]), g.node("Concat", g.numbers([0]), a, b, axis=0))
    g.output(g.node("MatMul", x, g.weight("w", [4, 3])))


def sums_of_inputs(g):
    x = g.node("CumSum", g.input("x", ["N", 4]), g.numbers([1], dims=[]))
    g.output(g.node("MatMul", x, g.weight("w", [4, 3])))


def smooth(g):
    """An operator for each element that stands for itself."""
    g.output(g.gemm(g.node("Softplus", g.gemm(g.input("x", ["N", 8]), 8, 6)), 6, 3, "head"))


CASES = [smooth, sums, sums_of_inputs, windows, depth, wrong_operators, open_extents, missing, cycle, twice, huge, batches, several, fixed_batch,
         same_padding, moves]


def main():
    work = sys.argv[1]
    for case in CASES:
        graph = Graph()
        case(graph)
        graph.save(os.path.join(work, case.__name__ + ".onnx"))
    for opset in (6, 99):
        graph = Graph(opset)
        moves(graph)
        graph.save(os.path.join(work, f"opset{opset}.onnx"))
    whole = open(os.path.join(work, "moves.onnx"), "rb").read()
    with open(os.path.join(work, "cut.onnx"), "wb") as file:
        file.write(whole[:len(whole) // 2])


if __name__ == "__main__":
    main()
