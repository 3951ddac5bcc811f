#!/usr/bin/env python3
"""Compares the products of a StableHLO step with those of our training graph: stablehlo_backward.py STEP.mlir ESTIMATE.json

Reads the types of all dot_general in the text of the step, by itself: a product has 2 FLOPs for each element of its result
and each of what is summed. Ours are those of the operations of `accord estimate --json`, for all micro-batches. Prints both
as `FLOPs x how often`, sorted, and fails where they differ."""
import collections
import json
import math
import re
import sys

DOT = re.compile(r'"stablehlo\.dot_general".*?lhs_contracting_dimensions = \[([\d, ]*)\].*? : \(tensor<([\dx]*)xf32>, '
                 r"tensor<[\dx]*xf32>\) -> tensor<([\dx]*)xf32>")


def of_step(text):
    for summed, left, result in DOT.findall(text):
        left = [int(n) for n in left.split("x")]
        yield 2 * math.prod(int(n) for n in result.split("x")) * math.prod(left[int(dim)] for dim in summed.split(","))


def of_estimate(document):
    products = ("linear", "matmul", "contract")
    for operation in document["operations"]:
        if operation["kind"] in products:
            repeats = operation["count"] // document["microbatches"]
            for _ in range(repeats):
                yield operation["flops"] * document["microbatches"]


step = collections.Counter(of_step(open(sys.argv[1]).read()))
ours = collections.Counter(of_estimate(json.load(open(sys.argv[2]))))
print("step", " ".join(f"{flops}x{count}" for flops, count in sorted(step.items())))
print("ours", " ".join(f"{flops}x{count}" for flops, count in sorted(ours.items())))
sys.exit(step != ours)
