#!/usr/bin/env python3
"""Published steps against what `accord compile` says of the same job, with no setting but the degrees that were run.

Usage: scripts/compiled_steps.py ROWS.csv [--calibrations FOLDER] [--where COLUMN=VALUE]... [--ideal] [--json] [--jobs N]

ROWS.csv has the columns of training-times.csv. Each row of a decoder becomes a `.dnn` with one training on the cluster of
the catalogue that lib/catalog/accelerators.csv names for its accelerator. Prints one line a row: id, source, measured and
computed seconds, the interval, and the ideal; then mean error and bias by source and of all, and the share of rows inside
their interval. FOLDER has calibrations MACHINE.calibration that stand instead of the catalogue's.
"""
import argparse
import collections
import concurrent.futures
import csv
import json
import math
import os
import re
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
ACCORD = os.environ.get("ACCORD", os.path.join(ROOT, "build/bin/accord"))


# By how the column begins.
FRAMEWORKS = {"Megatron-DeepSpeed": "deepspeed", "Megatron": "megatron", "NeMo": "megatron", "NVIDIA NeMo": "megatron", "Composer/FSDP": "fsdp",
              "torchtitan": "fsdp", "MaxText": "maxtext"}


def framework(row):
    return next((["--framework", name] for begin, name in FRAMEWORKS.items() if row["framework"].strip('"').startswith(begin)), [])


def clusters():
    with open(os.path.join(ROOT, "lib/catalog/accelerators.csv"), encoding="utf-8") as file:
        return {row["accelerator"]: row["cluster"] for row in csv.DictReader(file)}


def cluster_text(row, name):
    """The cluster of the catalogue with as many servers as the row has, and its network between them where it says so."""
    for file in sorted(os.listdir(os.path.join(ROOT, "lib/catalog"))):
        if not file.endswith(".accel"):
            continue
        with open(os.path.join(ROOT, "lib/catalog", file), encoding="utf-8") as text:
            found = re.search(rf"^cluster {name} \{{.*?^\}}", text.read(), re.M | re.S)
        if found:
            break
    text = found.group(0)
    server = re.search(r"server \w+\[(\d+)\]", text)
    device = re.search(r"device \w+\[(\d+)\] : (\w+)", text)
    if not server or not device:
        return None
    each = int(device.group(1))
    servers = -(-number(row, "n_devices", 1) // each)
    if servers < 2:
        return None
    text = text.replace(server.group(0), server.group(0).replace(f"[{server.group(1)}]", f"[{servers}]"))
    if row["inter_node_GBps_per_dev"]:
        outer = text.rindex("bandwidth =")
        rate = float(row["inter_node_GBps_per_dev"]) * each
        text = text[:outer] + re.sub(r"bandwidth = [^\n]*", f"bandwidth = {rate:g} GB/s", text[outer:], count=1)
    home = next(file for file in sorted(os.listdir(os.path.join(ROOT, "lib/catalog"))) if file.endswith(".accel") and
                re.search(rf"^accelerator {device.group(2)} ", open(os.path.join(ROOT, "lib/catalog", file), encoding="utf-8").read(), re.M))
    return f'import "catalog/{home}"\n' + text.replace(f"cluster {name} ", "cluster published ") + "\n"


def number(row, name, otherwise=None):
    return int(float(row[name])) if row.get(name) else otherwise


def model(row):
    """The decoder of a row in the training language."""
    heads, hidden, seq = number(row, "heads"), number(row, "hidden"), number(row, "seq_len")
    kv, ffn, vocab = number(row, "kv_heads", heads), number(row, "ffn", 4 * hidden), number(row, "vocab", 50257)
    flash, gated = "flash" in row["attn_kernel"], row["mlp_kind"].startswith("swiglu")
    alibi = "ALiBi" in row["arch_notes"] and not flash
    more = ", bias = false, rotary = true" if gated else "" if flash else ", alibi = true" if alibi else ", drop = 0.1"
    norm = "rms_norm(x)" if gated else "layer_norm(x)"
    attention = f"{'fused_attention' if flash else 'attention'}({norm}, heads = {heads}, kv_heads = {kv}, causal = true{more})"
    inner = f"{'swiglu_mlp' if gated else 'gelu_mlp'}({norm}, {hidden}, {ffn})"
    drops = not (flash or gated or alibi)
    kept = (lambda x: f"dropout({x}, rate = 0.1)") if drops else (lambda x: x)
    positions = "" if gated or alibi else f" + positions({seq}, {hidden})"
    tied = "" if gated else ", weight = table"
    # A table whose rows the tensor degree does not divide is padded, as frameworks do.
    step = 128 * number(row, "tp", 1)
    vocab = math.ceil(vocab / step) * step
    return f"""import "catalog/transformer.dnn"
model decoder() {{
  input tokens : int32[{seq}]
  input labels : int32[{seq}]
  let table = parameter([{vocab}, {hidden}])
  var x = embedding(tokens, rows = {vocab}, dim = {hidden}, table = table){positions}
  repeat {number(row, 'layers')} as block {{
    x = x + {kept(attention)}
    x = x + {kept(inner)}
  }}
  loss cross_entropy(linear({norm}, out = {vocab}, bias = false{tied}), labels)
}}
"""


def training(row, cluster):
    tp, pp, vpp, cp, devices = (number(row, name, 1) for name in ("tp", "pp", "vpp", "cp", "n_devices"))
    dp = number(row, "dp", devices // (tp * pp * cp)) if devices else 1
    zero = {"fsdp": 3, "": 0, "0": 0, "1": 1, "2": 2, "3": 3}.get(row["zero_stage"], 0)
    if zero >= 2:
        dp = devices // (tp * pp * cp)
    open_ = row["recompute"] in ("any", "not stated")  # then whatever is fastest in the memory
    recompute = "none, selective, full" if open_ else row["recompute"] if row["recompute"] in ("full", "selective") else "none"
    precision = "fp16" if row["precision"].startswith("fp16") else "bf16"
    micro = number(row, "micro_batch")
    return f"""
train row = decoder() on {cluster} {{
  batch = {number(row, 'global_batch')}
  precision = mixed({precision})
  optimizer = adam
  search {{
    microbatch = {f'{{{micro}}}' if micro else 'pow2 1..16'}
    tensor_parallel = {{{tp}}}
    pipeline_parallel = {{{pp}}}
    data_parallel = {{{dp}}}
    context_parallel = {{{cp}}}
    zero = {{{zero}}}
    recompute = {{{recompute}}}
    sequence_parallel = {tp if row['seq_parallel'] == 'yes' else 1}
    schedule = {f'interleaved({{{vpp}}})' if vpp > 1 else 'one_f_one_b'}
  }}
}}
"""


def priced(row, cluster, options):
    with tempfile.TemporaryDirectory() as folder:
        file = os.path.join(folder, "row.dnn")
        own = cluster_text(row, cluster)
        if own:
            with open(os.path.join(folder, "cluster.accel"), "w", encoding="utf-8") as out:
                out.write(own)
        with open(file, "w", encoding="utf-8") as out:
            out.write(('import "cluster.accel"\n' if own else "") + model(row) + training(row, "published" if own else cluster))
        command = [ACCORD, "compile", file, "--json", "-o", os.path.join(folder, "out"), "--effort", "2"] + options
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError:
        return {"status": "failed", "text": (result.stdout + result.stderr)[:300]}


def score(errors):
    return (f"{len(errors)} rows, mean error {100 * sum(map(abs, errors)) / len(errors):.1f} %, bias {100 * sum(errors) / len(errors):+.1f} %, "
            f"worst {100 * max(errors, key=abs):+.1f} %")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("rows")
    parser.add_argument("--calibrations")
    parser.add_argument("--where", action="append", default=[])
    parser.add_argument("--ideal", action="store_true")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    known = clusters()
    with open(arguments.rows, encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["family"].startswith("llm-dense") and row["quality"] in ("A", "B", "")]
    for text in arguments.where:
        column, value = text.split("=", 1)
        rows = [row for row in rows if row[column].startswith(value)]
    rows = [row for row in rows if row["accelerator"] in known and row["layers"] and row["heads"] and row["seq_len"] and row["global_batch"] and
            float(row["step_time_s"] or 0) > 0 and not row["metric"].startswith(("mem", "act", "layer")) and row["ep"] in ("", "1")]
    options = ["--ideal"] if arguments.ideal else []

    def one(row):
        own = list(options)
        if arguments.calibrations:
            for name in sorted(os.listdir(arguments.calibrations)):
                own += ["--calibration", os.path.join(arguments.calibrations, name)]
        return row, priced(row, known[row["accelerator"]], own + framework(row))

    by_source, inside, all_errors, failed = collections.defaultdict(list), [], [], 0
    results = []
    with concurrent.futures.ThreadPoolExecutor(arguments.jobs) as pool:
        for row, answer in pool.map(one, rows):
            seconds = answer.get("step_time_s")
            if not seconds:
                failed += 1
                print(f"{row['id']}: no step: {answer.get('status')} {json.dumps(answer.get('conflict') or answer.get('errors') or answer.get('text', ''))[:300]}",
                      file=sys.stderr)
                continue
            measured = float(row["step_time_s"])
            estimate = answer.get("step_time_estimate", {})
            error = seconds / measured - 1
            source = row["source"].split(":")[0]
            by_source[source].append(error)
            all_errors.append(error)
            if estimate:
                inside.append(estimate["low_s"] <= measured <= estimate["high_s"])
            results.append({"id": row["id"], "source": source, "accelerator": row["accelerator"], "measured": measured, "computed": seconds, **estimate})
            if not arguments.json:
                print(f"{row['id']:40} {measured:10.4g} s {seconds:10.4g} s {100 * error:+6.1f} % {estimate.get('low_s', 0):.4g} .. {estimate.get('high_s', 0):.4g}")
    if arguments.json:
        json.dump(results, sys.stdout, indent=1)
        return
    for source, errors in sorted(by_source.items()):
        print(f"{source}: {score(errors)}")
    if all_errors:
        print(f"all: {score(all_errors)}")
    if inside:
        print(f"inside the interval: {sum(inside)} of {len(inside)}")
    print(f"without a step: {failed}")


main()
