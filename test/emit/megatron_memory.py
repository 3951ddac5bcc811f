#!/usr/bin/env python3
"""Counts parameters and bytes of each rank from the flags of a Megatron-LM script alone, and holds them against a plan.

usage: megatron_memory.py SCRIPT PLAN.json

A GPT of Megatron-LM (Shoeybi et al., 2019): blocks of 12 h^2 / t + (3 h + 4 h) / t + 6 h parameters (column-parallel products
with their biases, row-parallel ones whose biases are whole, two norms), a token table of V' / t rows on the first stage and, as
the head, on the last one, learned positions on the first stage, a norm on the last one. V' is the vocabulary padded to a
multiple of --make-vocab-size-divisible-by times t. Of each parameter there are 2 bytes of weights, 4 of the main gradient
(--accumulate-allreduce-grads-in-fp32), and 12 of Adam, which --use-distributed-optimizer divides among the replicas;
--data-parallel-sharding-strategy divides what it names, too.
"""
import json
import re
import shlex
import sys


def flags_of(text):
    words = [word for word in shlex.split(re.sub(r"\\\n", " ", text), comments=True)]
    flags = {}
    for word, following in zip(words, words[1:] + [""]):
        if word.startswith("--"):
            flags[word] = following if not following.startswith("--") else ""
    return flags


def stages_of(flags, number):
    """Blocks of each stage."""
    layers = number("--num-layers")
    groups = number("--pipeline-model-parallel-size")
    if "--decoder-first-pipeline-num-layers" in flags:
        first, last = number("--decoder-first-pipeline-num-layers"), number("--decoder-last-pipeline-num-layers")
        return [first] + [(layers - first - last) // (groups - 2)] * (groups - 2) + [last]
    if "--pipeline-model-parallel-layout" in flags:
        parts = flags["--pipeline-model-parallel-layout"].split("|")
        return [sum(int(count) for count in re.findall(r"t\*(\d+)", part)) for part in parts]
    return [layers // groups] * groups


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        flags = flags_of(file.read())
    with open(sys.argv[2], encoding="utf8") as file:
        plan = json.load(file)
    def number(name):
        return int(flags[name])
    hidden, tensor, vocabulary = number("--hidden-size"), number("--tensor-model-parallel-size"), number("--vocab-size")
    multiple = number("--make-vocab-size-divisible-by") * tensor
    padded = (vocabulary + multiple - 1) // multiple * multiple
    assert "--accumulate-allreduce-grads-in-fp32" in flags, "gradients are not fp32"
    blocks = stages_of(flags, number)
    replicas = plan["data_parallel"]  # of the launcher: ranks / (tensor * pipeline)
    block = 12 * hidden * hidden // tensor + 7 * hidden // tensor + 6 * hidden
    table = padded // tensor * hidden
    for stage, (count, said) in enumerate(zip(blocks, plan["stages"])):
        first, last = stage == 0, stage == len(blocks) - 1
        parameters = count * block
        parameters += (table + number("--max-position-embeddings") * hidden) if first else 0
        parameters += 2 * hidden if last else 0
        parameters += table if last and not first else 0  # one stage has the table once
        strategy = flags.get("--data-parallel-sharding-strategy", "")
        for name, each, divided in (("weights", 2, "params" in strategy), ("gradients", 4, "grads" in strategy),
                                    ("optimizer_states", 12, "--use-distributed-optimizer" in flags)):
            low = high = each * parameters
            if divided:  # layer by layer, each rounded up to a byte
                low, high = low // replicas, low // replicas + count + 4
            found = said["memory"][f"{name}_bytes"]
            if not low <= found <= high:
                sys.exit(f"stage {stage}: {parameters} parameters, {low} bytes of {name} by the flags, the plan has {found}")
    print(f"{len(blocks)} stages of {tensor} ranks: {padded} rows of {vocabulary}, as planned")


main()
