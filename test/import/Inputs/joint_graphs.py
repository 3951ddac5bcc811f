#!/usr/bin/env python3
"""joint_graphs.py FOLDER MODELS WORK [NAME...]: holds the products and convolutions of our backward passes against those of PyTorch's
joint graphs, operation by operation.

NAME.pt2 of FOLDER, or of MODELS, is imported and `accord compile --until=train` prints the training graph for a batch of 2;
FOLDER/NAME.csv is what scripts/joint_graphs.py found in the graph of PyTorch (its columns are described there). Both become
multisets of (kind, shape, FLOPs), read from extents and indexing maps of the text, without a formula of the product:

  product      batch, the two free extents in ascending order, the summed extent. PyTorch flattens batch and positions into one
               extent where it multiplies by a weight; ours keep their extents, whose products are these.
  convolution  the extents above 1 in ascending order (batch, groups, channels of a group, output, kernel): a gradient is a sum over
               some of them, so that each has the FLOPs of the forward pass.
  attention    batch, heads, queries, keys, width, width of values: the fused backward operation is five products in both, of which
               one computes the scores again.

Where PyTorch has no fused attention (on a processor: with dropout), its graph keeps the probabilities and has four products for
each of our fused operations. Ours compute the scores again, which is a fifth product: it is counted as such. A recurrent layer
starts from zeros, whose gradient PyTorch leaves out at the first step; our loop over the steps has it, once for each direction of
each layer, and it is counted as such. Nothing else may differ.
Prints a line for each model; each operation that is left over is named, and the exit code then is 1."""
import collections
import csv
import math
import os
import re
import subprocess
import sys

BATCH = 2
MAP = re.compile(r"^(#map\d*) = affine_map<\([^)]*\) -> \((.*)\)>", re.M)
CONTRACT = re.compile(r"dnn\.contract .* over \[([^]]*)\] \{.*?dnn\.name = \"([^\"]*)\", dnn\.phase = #dnn\.phase<(\w+)>.*?maps = \[([^]]*)\]")
ATTENTION = re.compile(r"dnn\.flash_attention_grad .*?dnn\.name = \"([^\"]*)\".*? : \(tensor<[^>]*>, tensor<([^>]*)>, tensor<([^>]*)>, "
                       r"tensor<([^>]*)>")


def numbers(text, separator):
    return [BATCH if one.strip() == "?" else int(one) for one in text.split(separator) if one.strip()[0] in "?0123456789"]


def product(roles, flops):
    return ("product", roles["lrx"], *sorted((roles["lx"], roles["rx"])), roles["lr"]), flops


def of_contraction(extents, maps):
    """The extents that are in both factors and the result are a batch, those in one factor and the result are free, those in both
    factors only are summed. A window is an index that is a sum."""
    flops = 2 * math.prod(extents)
    if any("+" in one for one in maps):
        return ("convolution", *sorted(one for one in extents if one > 1)), flops
    roles = collections.defaultdict(lambda: 1)
    for i, extent in enumerate(extents):
        roles["".join(side for side, one in zip("lrx", maps) if re.search(rf"\bd{i}\b", one))] *= extent
    return product(roles, flops)


def of_attention(batch, heads, queries, keys, width, values):
    return ("attention", batch, heads, queries, keys, width, values), 2 * batch * heads * queries * keys * (3 * width + 2 * values)


def four_products(batch, heads, queries, keys, width, values):
    """The gradients of values, probabilities, queries and keys, where the scores are kept."""
    for m, n, k in ((keys, values, queries), (queries, keys, values), (queries, width, keys), (keys, width, queries)):
        yield product({"lrx": batch * heads, "lx": m, "rx": n, "lr": k}, 2 * batch * heads * m * n * k)


def ours_of(text):
    """Each operation of the backward pass and how often it runs, the name of one that is such, and the gradients of states of
    recurrent layers, once for each loop."""
    maps = dict(MAP.findall(text))
    found, names, states, loops = collections.Counter(), {}, collections.Counter(), []
    for line in text.splitlines():
        indent = len(line) - len(line.lstrip())
        if line.lstrip().startswith("}") and loops and loops[-1][0] == indent:
            loops.pop()
        repeat = re.search(r"dnn\.repeat (\d+) as", line)
        if repeat:
            loops.append((indent, int(repeat[1])))
        contraction, attention = CONTRACT.search(line), ATTENTION.search(line)
        if contraction and contraction[3] != "forward":
            key = of_contraction(numbers(contraction[1], ","), [maps[one.strip()] for one in contraction[4].split(",")])
            name = contraction[2]
        elif attention:
            query, keys, values = (numbers(one, "x") for one in attention.groups()[1:])
            key = of_attention(query[0], math.prod(query[2:-1]), query[1], keys[1], query[-1], values[-1])
            name = attention[1]
        else:
            continue
        found[key] += math.prod(times for _, times in loops)
        names.setdefault(key, name)
        states[key] += name.endswith(".state.data_gradient")
    return found, names, +states


def theirs_of(path):
    found = collections.Counter()
    for row in csv.DictReader(open(path)):
        shape = numbers(row["shape"], " ")
        if row["operation"] == "convolution_backward":
            key = ("convolution", *sorted(one for one in shape if one > 1)), int(row["flops"])
        elif "attention" in row["operation"]:
            key = ("attention", *shape), int(row["flops"])
        else:
            key = ("product", *shape), int(row["flops"])
        found[key] += int(row["count"])
    return found


def split_attention(ours, theirs):
    """Makes four products of each fused attention that the graph of PyTorch does not have. How many these are."""
    again = 0
    for key, count in list((ours - theirs).items()):
        if key[0][0] == "attention":
            ours[key] -= count
            again += count
            for one in four_products(*key[0][1:]):
                ours[one] += count
    return again


def main():
    folder, models, work, *chosen = sys.argv[1:]
    failed = False
    for name in chosen or sorted(one[:-len(".csv")] for one in os.listdir(folder) if one.endswith(".csv")):
        model = os.path.join(work, name + ".dnn")
        program = next(path for path in (os.path.join(one, name + ".pt2") for one in (folder, models)) if os.path.exists(path))
        subprocess.run(["accord", "import", "torch", program, "-o", model], check=True,
                       stderr=subprocess.DEVNULL)
        text = subprocess.run(["accord", "compile", model, "--target", "h100", "--batch", str(BATCH), "--microbatch", str(BATCH),
                               "--recompute", "none", "--precision", "fp32", "--optimizer", "sgd", "--until", "train"], check=True,
                              capture_output=True, text=True).stdout
        ours, names, states = ours_of(text)
        theirs = theirs_of(os.path.join(folder, name + ".csv"))
        again = split_attention(ours, theirs)
        first = (ours - theirs) & states
        ours -= first
        left, missing = ours - theirs, theirs - ours
        flops = sum(key[1] * count for key, count in ours.items())
        print(f"{name}: {sum(ours.values())} operations, {flops} FLOPs, {'differ' if left or missing else 'equal'}"
              + (f"; beside them {again} scores are computed again" if again else "")
              + (f"; beside them {sum(first.values())} gradients of first states" if first else ""))
        for side, rest in (("ours", left), ("PyTorch's", missing)):
            for key, count in sorted(rest.items(), key=str):
                failed = True
                print(f"  {side} alone: {count} x {' '.join(map(str, key[0]))}, {key[1]} FLOPs {names.get(key, '')}")
    return failed


if __name__ == "__main__":
    sys.exit(main())
