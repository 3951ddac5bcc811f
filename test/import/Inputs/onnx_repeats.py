#!/usr/bin/env python3
"""onnx_repeats.py WORK [CATALOGUE-ONNX...]: networks whose layers repeat, or nearly do. Each is imported with its repeats and with
--unrolled; written out, both must be the same operations on the same values in the same order, with the same parameters and FLOP.
Prints the repeats, the inner ones with a '>'."""
import json
import os
import random
import subprocess
import sys
from collections import Counter

from onnx_models import Graph
from unrolled import Expander

W = 16


def linear(g, x, name="fc", inputs=W, out=W, weight=None):
    return g.node("MatMul", x, weight or g.weight(name + ".weight", [inputs, out]), name=name)


def layer(g, x, scope, mask=None, out=W, rate=0.1, inputs=W):
    g.scope = scope
    h = g.node("Relu", linear(g, x, "up", inputs, out), name="relu")
    if mask:
        h = g.node("Mul", h, mask, name="mask")
    return g.node("Dropout", linear(g, h, "down", out, out), g.scalar(rate), name="drop")


def ends(g, *values):
    g.scope = "head."
    for i, value in enumerate(values):
        g.output(g.node("Tanh", linear(g, value, f"out{i}"), name=f"tanh{i}"))


def start(g, name="image"):
    return g.node("Tanh", linear(g, g.input(name, ["N", 4, W]), name + "_in"), name=name + "_tanh")


def plain(g):
    x = start(g)
    for i in range(6):
        x = layer(g, x, f"encoder.layer.{i}.")
    ends(g, x)


def masked(g):
    """What all layers read is read by name."""
    x, mask = start(g), g.input("mask", ["N", 4, W])
    g.scope = ""
    mask = g.node("Sigmoid", mask, name="soft")
    for i in range(5):
        x = layer(g, x, f"layer.{i}.", mask)
    ends(g, x)


def alternating(g):
    """Layers that alternate between two masks: a body is two of them. Seven layers are three bodies and one more."""
    x, masks = start(g), [g.input(f"mask{i}", ["N", 4, W]) for i in range(2)]
    for i in range(7):
        x = layer(g, x, f"layer.{i}.", masks[i % 2])
    ends(g, x)


def towers(g):
    """Two towers of equal layers: the second does not go on where the first ends."""
    x, y = start(g, "image"), start(g, "sound")
    for i in range(4):
        x = layer(g, x, f"vision.layer.{i}.")
    for i in range(3):
        y = layer(g, y, f"audio.layer.{i}.")
    ends(g, x, y)


def widens(g):
    """The first of the layers reads another width: another weight, although it gives the same."""
    g.scope = ""
    x = g.input("image", ["N", 4, 8])
    for i in range(5):
        x = layer(g, x, f"layer.{i}.", inputs=8 if i == 0 else W)
    ends(g, x)


def rates(g):
    """Every layer drops at another rate: nothing repeats."""
    x = start(g)
    for i in range(5):
        x = layer(g, x, f"layer.{i}.", rate=0.1 + 0.01 * i)
    ends(g, x)


def shared(g):
    """All layers read one weight, which stays one."""
    x, w = start(g), g.weight("shared.weight", [W, W])
    for i in range(5):
        g.scope = f"layer.{i}."
        x = g.node("Relu", linear(g, x, weight=w), name="relu")
        x = linear(g, x, "own")
    ends(g, x)


def across(g):
    """What the third of eight layers gives is read behind all: it ends a repeat. A value from inside the sixth, too: that one stays."""
    x, inside = start(g), None
    for i in range(8):
        x = layer(g, x, f"layer.{i}.")
        if i == 2:
            third = x
        if i == 5:
            inside = g.nodes[-2].output[0]
    ends(g, x, third, inside)


def skips(g):
    """Every layer reads what the last but one gave: not only what the one before hands on."""
    x = y = start(g)
    for i in range(6):
        x, y = g.node("Add", layer(g, x, f"layer.{i}."), y, name="skip"), x
    ends(g, x, y)


def reversible(g):
    """Two values are handed on."""
    a, b = start(g, "left"), start(g, "right")
    for i in range(5):
        a = g.node("Add", a, layer(g, b, f"layer.{i}.f."), name="left")
        b = g.node("Add", b, layer(g, a, f"layer.{i}.g."), name="right")
    ends(g, a, b)


def late(g):
    """The old value of what is handed on is read after the new one is made."""
    a, b = start(g, "left"), start(g, "right")
    for i in range(5):
        g.scope = f"layer.{i}."
        new = g.node("Relu", linear(g, b, "new"), name="relu")
        b = g.node("Add", new, g.node("Tanh", linear(g, a, "old"), name="tanh"), name="both")
        a = new
    ends(g, a, b)


def nested(g):
    """Stages of layers: a repeat in a repeat, whose variable is the outer one's where the stage ends with the layers."""
    x = start(g)
    for i in range(3):
        g.scope = f"stage.{i}."
        x = g.node("Sigmoid", linear(g, x, "enter"), name="sigmoid")
        for k in range(4):
            x = layer(g, x, f"stage.{i}.layer.{k}.")
    ends(g, x)


def nested_end(g):
    x = start(g)
    for i in range(3):
        keep = x
        for k in range(4):
            x = layer(g, x, f"stage.{i}.layer.{k}.")
        g.scope = f"stage.{i}."
        x = g.node("Add", x, keep, name="residual")
    ends(g, x)


def from_weights(g):
    """The first layer starts from a trained tensor, which has no batch: it stays outside."""
    y = start(g)
    g.scope = ""
    x = g.weight("queries", [4, W])
    for i in range(5):
        g.scope = f"layer.{i}."
        x = g.node("Add", x, y, name="read")
        x = g.node("Relu", x, name="relu")
    ends(g, x)


def from_input(g):
    """The first layer reads an input, which has no gradient: it does less than the others."""
    x = g.input("image", ["N", 4, W])
    for i in range(5):
        x = layer(g, x, f"layer.{i}.")
    ends(g, x)


def few(g):
    """Two sigmoids in a row are shorter than a repeat of one."""
    g.scope = ""
    ends(g, g.node("Sigmoid", g.node("Sigmoid", start(g))))


def parts(g):
    """A part of a split and a view are handed on; parts of one outside are read."""
    x = start(g)
    g.scope = ""
    gates = g.node("Split", g.input("gates", ["N", 4, 2 * W]), outputs=2, axis=2)
    for i in range(4):
        g.scope = f"layer.{i}."
        x = g.node("Mul", g.node("Mul", x, gates[0], name="a"), gates[1], name="b")
        x = g.node("Split", linear(g, x, "wide", W, 2 * W), outputs=2, axis=2)
        x = g.node("Add", x[1], x[0], name="halves")
        x = g.node("Split", linear(g, x, "wider", W, 2 * W), outputs=2, axis=2)[1]
        x = g.node("Reshape", g.node("Reshape", x, g.numbers([0, 2, 2 * W])), g.numbers([0, 4, W]))
    ends(g, x)


def deep_losses(g):
    """Every layer has an output: each ends a repeat of none."""
    x, outputs = start(g), []
    for i in range(4):
        x = layer(g, x, f"layer.{i}.")
        outputs.append(g.node("Tanh", x, name="out"))
    for one in outputs:
        g.output(one)


CASES = [plain, masked, alternating, towers, widens, rates, shared, across, skips, reversible, late, nested, nested_end, from_weights, from_input, few,
         parts, deep_losses]


def wild(seed):
    """Layers of random operations on up to three values that are handed on, in layers perhaps; with some that differ, and values read behind."""
    draw, g = random.Random(seed), Graph()
    carried = [start(g, f"in{i}") for i in range(draw.randint(1, 3))]
    fixed = list(carried) + [g.input("mask", ["N", 4, W])]
    behind = []
    for block in range(draw.randint(1, 3)):
        plan = [(draw.choice(["Relu", "Add", "linear", "Add", "Tanh", "Mul", "view"]), draw.randrange(8), draw.randrange(8))
                for _ in range(draw.randint(1, 7))]
        gives = [draw.randrange(8) for _ in carried]
        masks = [draw.randrange(len(fixed)) for _ in plan]
        inner, close = draw.choice([1, 1, 2, 3]), draw.random() < 0.7
        for copy in range(draw.randint(2, 6)):
            g.scope = f"block{block}.{copy}." if draw.random() < 0.8 else ""
            for _ in range(inner):
                made = list(carried)
                for (op, a, b), mask in zip(plan, masks):
                    if draw.random() < 0.01:
                        op = "Sigmoid"
                    x, y = made[-1 - a % len(made)], made[-1 - b % len(made)]
                    if op == "linear":
                        made.append(linear(g, x, f"fc{len(g.nodes)}"))
                    elif op == "view":
                        made.append(g.node("Reshape", g.node("Reshape", x, g.numbers([0, 2 * W, 2])), g.numbers([0, 4, W])))
                    elif op in ("Add", "Mul"):
                        made.append(g.node(op, x, fixed[mask] if b == 7 else y))
                    else:
                        made.append(g.node(op, x))
                carried = [made[-1 - give % len(made)] for give in gives]
                if draw.random() < 0.03:
                    behind.append(draw.choice(made))
            if inner > 1 and close:
                kept = carried[-1]
                carried[0] = g.node("Add", linear(g, carried[0], f"fc{len(g.nodes)}"), kept)
    ends(g, *carried, *behind)
    return g


def run(*command):
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: {done.stdout}{done.stderr}")
    return done.stdout


def counted(path):
    """Parameters, and FLOP by phase and kind; apart, the sums of gradients: an iteration adds to what those before it have added, so that
    a repeat has one more than its layers written out for each value that all read."""
    document = json.loads(run("accord", "estimate", path, "--target", "h100", "--batch", "2", "--precision", "fp32", "--optimizer", "sgd",
                              "--json"))
    flops = Counter()
    for op in document["operations"]:
        flops[op["phase"], op["kind"]] += op["flops"] * op["count"]
    sums = flops.pop(("data_gradient", "add"), 0)
    return document["totals"]["parameters"], +flops, sums


def compared(path, count=True):
    """The repeats, after a comparison with the same network without them."""
    options = ["--size", "S=512", "--size", "M=76"] if "bert" in path else []
    forms = [path[:-len("onnx")] + "dnn", path[:-len(".onnx")] + ".unrolled.dnn"]
    run("accord", "import", "onnx", path, "-o", forms[0], *options)
    run("accord", "import", "onnx", path, "-o", forms[1], "--unrolled", *options)
    run("accord", "fmt", "--check", *forms)
    folded, flat = [Expander(open(form).read()) for form in forms]
    if flat.repeats or folded.operations != flat.operations:
        sys.exit(f"{path}: the repeats compute something else")
    counts = [counted(form) for form in forms] if count else [(0, 0, 0)] * 2
    if counts[0][:2] != counts[1][:2] or counts[0][2] < counts[1][2]:
        sys.exit(f"{path}: {counts[0]} with repeats, {counts[1]} without")
    return folded.repeats, counts[0]


def main():
    work, *others = sys.argv[1:]
    for case in CASES:
        g = Graph()
        case(g)
        path = os.path.join(work, case.__name__ + ".onnx")
        g.save(path)
        repeats, counts = compared(path)
        print(f"{case.__name__}: {counts[0]} parameters; {', '.join(repeats) or 'no repeats'}")
    for path in others:
        print(f"{os.path.basename(path)}: {', '.join(compared(path)[0]) or 'no repeats'}")
    some = inner = 0
    for seed in range(120):
        path = os.path.join(work, f"wild{seed}.onnx")
        wild(seed).save(path)
        repeats = compared(path, seed % 8 == 0)[0]
        some += bool(repeats)
        inner += any(">" in one for one in repeats)
    print(f"wild: {some} of 120 have repeats, {inner} of them in others")


if __name__ == "__main__":
    main()
