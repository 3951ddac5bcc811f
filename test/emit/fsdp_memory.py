#!/usr/bin/env python3
"""Counts parameters and bytes of each rank from an Accelerate script alone, and holds them against a plan.

usage: fsdp_memory.py SCRIPT PLAN.json

GPT-2 and LLaMA of Transformers, from --config_overrides: blocks of 12 h^2 + 13 h parameters (two norms with biases, four
products with theirs), a token table that is the head too, learned positions and a last norm; or of 2 h^2 (1 + kv / heads)
+ 3 h f + 2 h, two tables and a norm. Under FSDP each of N ranks has 1 / N of the 4 bytes of gradients and the 12 of Adam with
the fp32 weights (FULL_SHARD and SHARD_GRAD_OP alike); with SHARD_GRAD_OP the 16-bit weights of the whole model besides, while
a step runs.
"""
import json
import re
import shlex
import sys


def flags_of(text):
    words = shlex.split(re.sub(r"\\\n", " ", text), comments=True)
    return {word: following for word, following in zip(words, words[1:] + [""]) if word.startswith("--")}


def parameters(kind, sizes):
    if kind == "gpt2":
        hidden = sizes["n_embd"]
        return (sizes["vocab_size"] + sizes["n_positions"]) * hidden + sizes["n_layer"] * (12 * hidden * hidden + 13 * hidden) + 2 * hidden
    hidden = sizes["hidden_size"]
    keys = hidden * sizes["num_key_value_heads"] // sizes["num_attention_heads"]
    block = 2 * hidden * hidden + 2 * hidden * keys + 3 * hidden * sizes["intermediate_size"] + 2 * hidden
    return 2 * sizes["vocab_size"] * hidden + sizes["num_hidden_layers"] * block + hidden


def main():
    with open(sys.argv[1], encoding="utf8") as file:
        flags = flags_of(file.read())
    with open(sys.argv[2], encoding="utf8") as file:
        plan = json.load(file)
    sizes = {name: int(value) for name, value in (pair.split("=") for pair in flags["--config_overrides"].split(","))}
    ranks = int(flags["--num_processes"])
    count = parameters(flags["--model_type"], sizes)
    samples = ranks * int(flags["--per_device_train_batch_size"]) * int(flags["--gradient_accumulation_steps"])
    memory = plan["stages"][0]["memory"]
    layers = sizes.get("n_layer", sizes.get("num_hidden_layers"))
    if samples != plan["batch"]:
        sys.exit(f"{samples} samples by the flags, the plan has {plan['batch']}")
    # Divided layer by layer, each rounded up to a byte.
    for name, each in (("gradients_bytes", 4), ("optimizer_states_bytes", 12)):
        exact = each * count / ranks
        if not exact <= memory[name] <= exact + layers + 4:
            sys.exit(f"{count} parameters, {exact} bytes of {name} by the flags, the plan has {memory[name]}")
    if memory["weights_bytes"] != 0:
        sys.exit(f"the plan keeps {memory['weights_bytes']} bytes of weights beside the fp32 ones")
    print(f"{count} parameters on {ranks} ranks, {flags['--fsdp_sharding_strategy']}, as planned")


main()
