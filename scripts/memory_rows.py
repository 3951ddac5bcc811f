#!/usr/bin/env python3
"""Holds the memory of plans against measured memory, row by row.

Usage: scripts/memory_rows.py ACCORD MEASURED.csv [TIMES.csv] [--only PREFIX] [--page]

Each row becomes a training whose degrees, micro-batch, ZeRO stage and recomputation are fixed, on devices of 4 TiB, so that
`accord compile` has one plan and says its memory. That is compared as the source measures it: allocated or reserved by the
allocator, or on the device. Whether the run would be called feasible is asked of the device it ran on.
"""
import argparse
import concurrent.futures
import csv
import json
import math
import os
import subprocess
import sys
import tempfile

GIB = 2**30
CAPACITY = {"h100-sxm": 80 * GIB, "h100-sxm-96-500w": 96 * GIB, "b200-sxm": 192 * GIB, "a100-sxm-80": 80 * GIB}

# What torchtitan's selective checkpointing computes again: all but attention and every second product, in the order wq, wk, wv,
# wo, w1, w3, w2 (_get_custom_policy in parallelize_llama.py).
SELECTIVE = "recompute{operations=" + ",".join(
    ["block.rms_norm*", "block.add", "block.fused_attention.linear_2", "block.fused_attention.scaled_query",
     "block.fused_attention.rotated_key", "block.fused_attention.y", "block.swiglu_mlp.gate", "block.swiglu_mlp.up",
     "block.swiglu_mlp.mul"]) + "}"

CLUSTER = """accelerator roomy {{
  memory hbm : dram {{
    capacity = 4096 GiB
    bandwidth = 3000 GB/s
  }}
  core tc : tensor {{
    peak = {{bf16: 900 TFLOP/s, fp16: 900 TFLOP/s}}
  }}
  core sm : vector {{
    peak = {{fp32: 60 TFLOP/s}}
  }}
}}
cluster many {{
  server node[{nodes}] {{
    device gpu[8] : roomy
    network nvlink {{
      connects = gpu
      topology = switch
      bandwidth = 450 GB/s
      latency = 5 us
    }}
  }}
  network ib {{
    connects = node
    topology = fat_tree(oversubscription = 1)
    bandwidth = 400 GB/s
    latency = 10 us
  }}
}}
"""

GPT = """import "catalog/transformer.dnn"
import "cluster.accel"
model measured(layers = {layers}, hidden = {hidden}, heads = {heads}, vocab = {vocab}, seq = {seq}) {{
  input tokens : int32[seq]
  input labels : int32[seq]
  let table = parameter([vocab, hidden])
  var x = layer_norm(embedding(tokens, rows = vocab, dim = hidden, table = table))
  repeat layers as block {{
    x = x + attention(layer_norm(x), heads = heads, causal = true, alibi = true)
    x = x + gelu_mlp(layer_norm(x), hidden, 4 * hidden)
  }}
  loss cross_entropy(linear(layer_norm(x), out = vocab, bias = false, weight = table), labels)
}}
"""
LLAMA = """import "catalog/transformer.dnn"
import "cluster.accel"
model measured(layers = {layers}, hidden = {hidden}, heads = {heads}, kv_heads = {kv_heads}, inner = {ffn}, vocab = {vocab}, seq = {seq}) {{
  input tokens : int32[seq]
  input labels : int32[seq]
  let table = parameter([vocab, hidden])
  var x = embedding(tokens, rows = vocab, dim = hidden, table = table)
  repeat layers as block {{
    x = x + fused_attention(rms_norm(x), heads = heads, kv_heads = kv_heads, causal = true, bias = false, rotary = true)
    x = x + swiglu_mlp(rms_norm(x), hidden, inner)
  }}
  loss cross_entropy(linear(rms_norm(x), out = vocab, bias = false{head}), labels)
}}
"""
TRAIN = """
train run = measured() on many {{
  batch = {batch}
  precision = mixed({precision})
  optimizer = adamw
  search {{
    microbatch = {microbatch}
    tensor_parallel = {tp}
    pipeline_parallel = {pp}
    data_parallel = {dp}
    context_parallel = {cp}
    context_exchange = all_gather
    sequence_parallel = {sequence}
    zero = {zero}
    recompute = {{{recompute}}}
    schedule = one_f_one_b
    stages = {stages}
  }}
{constraints}}}
"""


def number(text, default=1):
    return int(float(text)) if text and text.strip() else default


def sources(row):
    """(group, framework, what is measured, its bytes, recomputation, tied, LLaMA) of a row; None: Accord cannot say it."""
    if row["framework"] == "nanotron":
        group = "nanotron, one tensor rank" if row["tp"] == "1" else "nanotron, several tensor ranks"
        return group, "nanotron", "allocated", float(row["mem_allocated_gib"]) * GIB, "none", True, True
    if row["framework"].startswith("Megatron-LM"):
        return "Megatron-LM on B200", "megatron", "allocated", float(row["mem_allocated_gib"]) * GIB, "none", False, True
    if row["framework"] == "torchtitan":
        compute = "none" if row["recompute"] == "selective" else "full"
        return "torchtitan", "fsdp", "reserved", float(row["mem_reserved_gib"]) * GIB, compute, False, True
    if row.get("mem_gb_per_dev"):
        return "BLOOM trials", "deepspeed", "on_device", float(row["mem_gb_per_dev"]) * 1e9, "full", True, False
    return None


def first_stage(layers, stages, layer_cost, head_cost):
    """A constraint that gives the first stage the blocks that nanotron gives it (build_model in models/base.py): in a row until
    they pass its share of the multiply-accumulates, the one that passes it, too; the token table costs nothing and the head
    what its product does (get_block_compute_costs of its LLaMA). The last stage may have the loss alone there, so that the
    other stages are whatever is fastest."""
    share = (layers * layer_cost + head_cost) / stages
    first = min(layers, math.floor(share / layer_cost) + 1)
    return f"  require embedding.stage == 0\n  require block[0..{first - 1}].stage == 0\n" + (
        f"  require block[{first}].stage == 1\n" if first < layers else "")


def shape(row):
    """Sizes that torchtitan's rows leave to the name of the model (Llama 3.1 8B)."""
    if row["framework"] != "torchtitan":
        return row
    sizes = {"layers": 32, "hidden": 4096, "ffn": 14336, "heads": 32, "kv_heads": 8, "vocab": 128256}
    return {**row, **{key: str(value) for key, value in sizes.items()}}


def text_of(row):
    group, framework, what, measured, recompute, tied, llama = sources(row)
    tp, pp, dp, cp, micro = (number(row.get(key)) for key in ("tp", "pp", "dp", "cp", "micro_batch"))
    zero = 1 if framework == "megatron" else 3 if framework == "fsdp" else number(row["zero_stage"], 0)
    layers = number(row["layers"])
    values = {
        "layers": layers, "hidden": number(row["hidden"]), "heads": number(row["heads"]),
        "kv_heads": number(row["kv_heads"], number(row["heads"])), "ffn": number(row["ffn"]), "vocab": number(row["vocab"]),
        "seq": number(row["seq_len"]), "head": ", weight = table" if tied else "",
    }
    steps = number(row["grad_accum"], 0) or max(1, number(row["global_batch"], 0) // (dp * micro))
    sequence = tp if row["seq_parallel"].startswith("yes") or row["seq_parallel"].startswith("unknown") else 1
    training = {
        "batch": dp * micro * max(steps, 1), "precision": "fp16" if row["precision"].startswith("fp16") else "bf16",
        "microbatch": micro, "tp": tp, "pp": pp, "dp": dp, "cp": cp, "sequence": sequence, "zero": zero, "recompute": recompute,
        "stages": "uniform" if layers % pp == 0 else "any",
    }
    training["constraints"] = ""
    if framework == "nanotron" and pp > 1:
        hidden, query = values["hidden"], values["hidden"] * values["hidden"]
        layer = 4 * query + 3 * values["ffn"] * hidden
        training["constraints"] = first_stage(layers, pp, layer, values["vocab"] * hidden)
        training["stages"] = "any"
    cluster = CLUSTER.format(nodes=max(1, (tp * pp * dp * cp + 7) // 8))
    return cluster, (LLAMA if llama else GPT).format(**values) + TRAIN.format(**training)


def predict(accord, row):
    group, framework, what, measured, *_ = sources(row)
    row = shape(row)
    cluster, text = text_of(row)
    with tempfile.TemporaryDirectory() as folder:
        for name, content in (("cluster.accel", cluster), ("row.dnn", text)):
            with open(os.path.join(folder, name), "w", encoding="utf8") as file:
                file.write(content)
        passes = ["--model-passes", SELECTIVE] if row["recompute"] == "selective" else []
        run = subprocess.run([accord, "compile", os.path.join(folder, "row.dnn"), "--framework", framework, "--effort", "0",
                              "--json", "-o", os.path.join(folder, "out"), *passes], capture_output=True, text=True, check=False)
        if run.returncode:
            return {"id": row["id"], "group": group, "error": (run.stderr or run.stdout).strip().splitlines()[:3]}
        plan = json.loads(run.stdout)
    margin = plan["framework"]["margin"]
    memories = [stage["memory"] for stage in plan["stages"] if "memory" in stage]
    most = max(memories, key=lambda memory: memory["peak_bytes"])
    # nanotron writes the memory of rank 0, which has the first stage (log_throughput in helpers.py); others say their largest.
    seen = memories[0] if framework == "nanotron" else most
    return {"id": row["id"], "group": group, "what": what, "measured": measured, "predicted": seen[what + "_bytes"],
            "feasible": most["on_device_bytes"] * (1 + margin) <= CAPACITY[row["accelerator"]],
            "margin": margin, "parts": {key: seen[key] / GIB for key in seen if key.endswith("_bytes")},
            "stages": [memory[what + "_bytes"] / GIB for memory in memories]}


GATES = {"nanotron, one tensor rank": 5, "nanotron, several tensor ranks": 12, "Megatron-LM on B200": 3, "torchtitan": 10,
         "BLOOM trials": 10}


def page(results, left_out):
    print("""# Memory of plans against measured memory

Written by `scripts/memory.sh`, which runs `accord compile` on each row with the degrees, the micro-batch and the
recomputation of the run fixed, and compares the device with the highest memory use with what was measured, as the source
measures it. Bias is the mean of computed / measured - 1. Infeasible are runs that happened and that the margin of the
framework would have refused. Margins of megatron, fsdp and deepspeed are the largest errors of the runs of their framework (of
DeepSpeed, of 18 in 20), so that what they cover is seen, not foretold. No other number of `catalog/frameworks.accel` is fitted to
these rows, but for the ratio of reserved to allocated bytes, which is that of the runs on B200, where it is not scored. That
nanotron holds bf16 gradients for a whole step is read from its source and agrees with its rows.

nanotron writes the peak of rank 0, which has the first stage (`log_throughput` in helpers.py), so that its first stage is compared.
A block that passes a stage's share of the work is still in that stage (`build_model` in models/base.py). Its norms and rotary
positions are single kernels (`TritonRMSNorm`, flash-attn's rotary), and what its layers keep for the backward pass, counted by hand
from models/llama.py, is what Accord counts: 16 h + 8 f bytes a token, with f the width of the feed-forward block.

Missed, and known of it: rows of nanotron with several tensor ranks do not say whether they ran all-reduces or sequence parallelism
(both were in the sweep), nor whether what it gathers was kept; they are compiled with sequence parallelism. Those of one tensor rank
with ZeRO 1 and several micro-batches of one sequence have about 2 GiB that no count explains. On B200 the four layers of 405 G are
up to 6 % too low, the twelve of 70 G up to 2 % too high.

| group | compared | rows | mean error, % | bias, % | worst, % | gate, % | | called infeasible | covered by the margin |
|---|---|--:|--:|--:|--:|--:|---|--:|--:|""")
    for group, gate in GATES.items():
        rows = [row for row in results if row["group"] == group and "error" not in row]
        if not rows:
            continue
        errors = [100 * (row["predicted"] / row["measured"] - 1) for row in rows]
        mean = sum(map(abs, errors)) / len(errors)
        covered = sum(row["predicted"] * (1 + row["margin"]) >= row["measured"] for row in rows)
        print(f"| {group} | {rows[0]['what'].replace('_', ' ')} | {len(rows)} | {mean:.1f} | {sum(errors) / len(errors):+.1f} | "
              f"{max(errors, key=abs):+.1f} | {gate} | {'met' if mean <= gate else 'missed'} | "
              f"{sum(not row['feasible'] for row in rows)} | {covered} |")
    print("\nLeft out: " + "; ".join(f"{count} {why}" for why, count in sorted(left_out.items())) + ".\n")
    print("| row | compared | measured, GiB | computed, GiB | error, % |\n|---|---|--:|--:|--:|")
    for row in results:
        if "error" not in row:
            print(f"| {row['id']} | {row['what'].replace('_', ' ')} | {row['measured'] / GIB:.1f} | {row['predicted'] / GIB:.1f} | "
                  f"{100 * (row['predicted'] / row['measured'] - 1):+.1f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accord")
    parser.add_argument("measured")
    parser.add_argument("times", nargs="?")
    parser.add_argument("--only", default="", help="rows whose id begins so")
    parser.add_argument("--json", action="store_true", help="print what was found of each row, with its parts")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    rows, left_out = [], {}
    for table in filter(None, (options.measured, options.times)):
        with open(table, encoding="utf8", newline="") as file:
            for row in csv.DictReader(file):
                if table == options.times and not row["mem_gb_per_dev"] or not row["id"].startswith(options.only):
                    continue
                if sources(row):
                    rows.append(row)
                else:
                    why = "rows of LitGPT that train adapters"
                    left_out[why] = left_out.get(why, 0) + 1
    with concurrent.futures.ThreadPoolExecutor(options.threads) as pool:
        results = list(pool.map(lambda row: predict(options.accord, row), rows))
    for row in results:
        if "error" in row:
            left_out["rows that Accord refuses"] = left_out.get("rows that Accord refuses", 0) + 1
            print(row["id"], *row["error"], sep="\n  ", file=sys.stderr)
    if options.json:
        json.dump(results, sys.stdout, indent=1)
    else:
        page(results, left_out)


if __name__ == "__main__":
    main()
