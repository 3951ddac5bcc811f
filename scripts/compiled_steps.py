#!/usr/bin/env python3
"""Published steps against what `accord compile` says of the same job, with no setting but the degrees that were run.

Usage: scripts/compiled_steps.py [TRAINING-TIMES.csv [MEASURED-STEP.csv]] [--calibrations FOLDER] [--where COLUMN=VALUE]...
                                 [--generic] [--sheet] [--ideal] [--json] [--jobs N]

Each row of a decoder becomes a `.dnn` with one training on the cluster that was measured (lib/catalog/clusters.accel), else on
the cluster of the catalogue that lib/catalog/accelerators.csv names for its accelerator. Prints one line a row: id, source,
measured and computed seconds, and the interval; then mean error and bias by source and of all, and the share of rows inside
their interval. FOLDER has calibrations that stand instead of the catalogue's. --generic: as if no cluster were known.
--sheet: as if nobody had measured the accelerator.
"""
import argparse
import collections
import concurrent.futures
import csv
import functools
import json
import math
import os
import re
import subprocess
import sys
import tempfile

import calibrations

ROOT, CATALOG = calibrations.ROOT, calibrations.CATALOG
COMMON = ["--effort", "2"]


@functools.lru_cache(None)
def files():
    """Texts of the catalogue's machines by their file."""
    made = {}
    for file in sorted(os.listdir(CATALOG)):
        if file.endswith(".accel"):
            with open(os.path.join(CATALOG, file), encoding="utf-8") as text:
                made[file] = text.read()
    return made


def declared(kind, name):
    """The file that declares it, and the declaration's text."""
    for file, text in files().items():
        found = re.search(rf"^{kind} {name} \{{.*?^\}}", text, re.M | re.S)
        if found:
            return file, found.group(0)
    return None, None


@functools.lru_cache(None)
def cluster_names():
    with open(os.path.join(CATALOG, "accelerators.csv"), encoding="utf-8") as file:
        return {row["accelerator"]: row["cluster"] for row in csv.DictReader(file)}


def number(row, name, otherwise=None):
    return int(float(row[name])) if row.get(name) else otherwise


def is_priced(row):
    """Whether it is a step of a decoder with all dimensions on a machine of the catalogue."""
    return ((row["family"].startswith("llm-dense") or row["arch_notes"].startswith("head ")) and row["quality"] in ("A", "B", "") and row["accelerator"] in cluster_names() and
            row["layers"] and row["heads"] and row["seq_len"] and row["global_batch"] and float(row["step_time_s"] or 0) > 0 and
            not row["metric"].startswith(("mem", "act", "layer")))


class Target:
    """The cluster of a row: its text, and which calibration of a folder is its own."""

    def __init__(self, row, folder=None, generic=False, sheet=False):
        self.row, self.own = row, None if generic or sheet else calibrations.cluster_of(row)
        name = self.own or cluster_names()[row["accelerator"]]
        degrees = math.prod(number(row, degree, 1) for degree in ("tp", "pp", "cp", "dp"))
        self.devices = number(row, "n_devices", 1)
        if row["accelerator"] == "trainium1" and degrees == 2 * self.devices:  # degrees count cores
            name, self.devices = "trn1_cores", degrees
        _, text = declared("cluster", name)
        if "[" not in text.split("{")[1] and self.devices > int(re.search(r"device \w+\[(\d+)\]", text).group(1)):
            _, text = declared("cluster", name.removesuffix("_pod") + "_slices")
        self.machine = re.search(r"device \w+(?:\[\d+\])? : (\w+)", text).group(1)
        server = re.search(r"server \w+\[(\d+)\]", text)
        device = re.search(r"device \w+\[(\d+)\] : ", text)
        each = int(device.group(1)) if device else 1
        servers = -(-self.devices // each)
        if server:
            text = text.replace(server.group(0), server.group(0).replace(f"[{server.group(1)}]", f"[{servers}]"))
        if row["inter_node_GBps_per_dev"] and servers > 1:
            outer = text.rindex("bandwidth =")
            rate = float(row["inter_node_GBps_per_dev"]) * each
            text = text[:outer] + re.sub(r"bandwidth = [^\n]*", f"bandwidth = {rate:g} GB/s", text[outer:], count=1)
        text = re.sub(r'efficiency from "(.*)"', lambda found: f'efficiency from "{CATALOG}/{found.group(1)}"', text)
        home, machine = declared("accelerator", self.machine)
        before = f'import "catalog/{home}"\n'
        if sheet:
            before = re.sub(r"  efficiency from .*\n", "", machine).replace(f"accelerator {self.machine} ", "accelerator of_sheet ") + "\n"
            text = text.replace(f": {self.machine}", ": of_sheet")
        if folder and self.own:  # the file of the folder stands instead
            text = re.sub(r"  efficiency from .*\n", "", text)
        self.text = before + re.sub(r"^cluster \w+ ", "cluster published ", text, flags=re.M) + "\n"
        self.options = []
        framework = calibrations.framework_of(row)
        if framework:
            self.options += ["--framework", framework]
        if folder and not sheet:
            for stem in filter(None, (self.own, self.machine)):
                names = [f"{stem}.{framework}.calibration", f"{stem}.calibration"]
                found = next((name for name in names if os.path.exists(os.path.join(folder, name))), None)
                if found:
                    self.options += ["--calibration", os.path.join(folder, found)]
                    break


def model(row):
    """The decoder of a row in the training language."""
    if row["family"] == "llm-moe":
        return mixture(row)
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


def mixture(row):
    """A decoder with experts, whose heads may be wider than its channels say. Benchmarks route tokens evenly."""
    width, experts, of_token = map(int, re.match(r"head (\d+) experts (\d+) of_token (\d+)", row["arch_notes"]).groups())
    heads, kv, hidden, seq = (number(row, name) for name in ("heads", "kv_heads", "hidden", "seq_len"))
    step = 128 * number(row, "tp", 1)
    vocab = math.ceil(number(row, "vocab") / step) * step
    return f"""module wide_attention(x) -> y {{
  let query = rotary(reshape(linear(x, out = {heads * width}, bias = false), [{seq}, {kv}, {heads // kv}, {width}]), axis = 0)
  let key = rotary(reshape(linear(x, out = {kv * width}, bias = false), [{seq}, {kv}, {width}]), axis = 0)
  let value = reshape(linear(x, out = {kv * width}, bias = false), [{seq}, {kv}, {width}])
  let read = reshape(flash_attention(query, key, value, causal = true, scale = {width ** -0.5:.6g}), [{seq}, {heads * width}])
  let y = linear(read, out = {hidden}, bias = false)
}}
model decoder() {{
  input tokens : int32[{seq}]
  input labels : int32[{seq}]
  var x = embedding(tokens, rows = {vocab}, dim = {hidden})
  repeat {number(row, 'layers')} as block {{
    x = x + wide_attention(rms_norm(x))
    x = x + moe(rms_norm(x), experts = {experts}, inner = {number(row, 'ffn')}, top_k = {of_token}, capacity_factor = 1, gated = true, normalize = true)
  }}
  loss cross_entropy(linear(rms_norm(x), out = {vocab}, bias = false), labels)
}}
"""


def training(row):
    tp, pp, vpp, cp, devices = (number(row, name, 1) for name in ("tp", "pp", "vpp", "cp", "n_devices"))
    dp = number(row, "dp", devices // (tp * pp * cp)) if devices else 1
    # What a row does not state is whatever is fastest in the memory.
    zero = {"fsdp": "3", "0": "0", "1": "1", "2": "2", "3": "3"}.get(row["zero_stage"], "0, 1")
    if zero in ("2", "3"):
        dp = devices // (tp * pp * cp)
    open_ = row["recompute"] in ("any", "not stated")
    recompute = "none, selective, full" if open_ else row["recompute"] if row["recompute"] in ("full", "selective") else "none"
    offload = "\n    offload = {none, activations}" if row["recompute"] == "any" and "MaxText" in row["framework"] else ""
    precision = next((name for name in ("fp16", "fp8") if row["precision"].startswith(name)), "bf16")
    precision = "bf16" if row["precision"] == "bf16 weights" else f"mixed({precision})"
    micro = number(row, "micro_batch")
    return f"""
train row = decoder() on published {{
  batch = {number(row, 'global_batch')}
  precision = {precision}
  optimizer = adam
  search {{
    microbatch = {f'{{{micro}}}' if micro else 'pow2 1..16'}
    tensor_parallel = {{{tp}}}
    pipeline_parallel = {{{pp}}}
    data_parallel = {{{dp}}}
    context_parallel = {{{cp}}}
    zero = {{{zero}}}
    recompute = {{{recompute}}}{offload}
    sequence_parallel = {tp if row['seq_parallel'] == 'yes' else 1}
    expert_parallel = {number(row, 'ep', 1)}
    schedule = {f'interleaved({{{vpp}}})' if vpp > 1 else 'one_f_one_b'}
  }}
}}
"""


def priced(target, options=()):
    """What `accord compile --json` says, or why it says nothing."""
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("cluster.accel", target.text), ("row.dnn", 'import "cluster.accel"\n' + model(target.row) + training(target.row))):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        command = [calibrations.ACCORD, "compile", folder + "/row.dnn", "--json", "-o", folder + "/out", *COMMON, *target.options, *options]
        result = subprocess.run(command, capture_output=True, text=True, check=False)
    try:
        return json.loads(result.stdout)
    except json.JSONDecodeError:
        return {"status": "failed", "text": (result.stdout + result.stderr)[:300]}


def price_all(rows, jobs=2, options=(), **of_target):
    """[(row, answer)] in the order of the rows; `of_target`: as Target takes."""
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        return list(zip(rows, pool.map(lambda row: priced(Target(row, **of_target), options), rows)))


class Score:
    """Errors of answers against measured steps, and how many lie inside their interval."""

    def __init__(self, answers):
        self.errors, self.inside, self.without = [], 0, []
        for row, answer in answers:
            seconds, measured = answer.get("step_time_s"), float(row["step_time_s"])
            if not seconds:
                self.without.append((row, answer))
                continue
            self.errors.append(seconds / measured - 1)
            estimate = answer.get("step_time_estimate", {})
            self.inside += estimate.get("low_s", 0) <= measured <= estimate.get("high_s", math.inf)

    @property
    def rows(self):
        return len(self.errors)

    @property
    def mean(self):
        return 100 * sum(map(abs, self.errors)) / max(1, self.rows)

    @property
    def bias(self):
        return 100 * sum(self.errors) / max(1, self.rows)

    @property
    def worst(self):
        return 100 * max(self.errors, key=abs, default=0)

    def __str__(self):
        return f"{self.rows} rows, mean error {self.mean:.1f} %, bias {self.bias:+.1f} %, worst {self.worst:+.1f} %, {self.inside} inside their interval"


def reason(answer):
    conflict = answer.get("conflict")
    if conflict:
        return f"{answer.get('status')}: {conflict[0].get('detail', '')}"
    found = answer.get("diagnostics")
    return f"{answer.get('status')}: {found[0].get('message', '') if found else answer.get('text', '')}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("times", nargs="?")
    parser.add_argument("steps", nargs="?")
    parser.add_argument("--calibrations")
    parser.add_argument("--where", action="append", default=[])
    for name in ("--generic", "--sheet", "--ideal", "--json"):
        parser.add_argument(name, action="store_true")
    parser.add_argument("--jobs", type=int, default=2)
    arguments = parser.parse_args()
    times, steps = calibrations.tables()
    rows = [row for row in calibrations.load(arguments.times or times, arguments.steps or steps) if is_priced(row)]
    for text in arguments.where:
        column, value = text.split("=", 1)
        rows = [row for row in rows if row[column].startswith(value)]
    answers = price_all(rows, arguments.jobs, ["--ideal"] if arguments.ideal else [], folder=arguments.calibrations, generic=arguments.generic,
                        sheet=arguments.sheet)
    by_source = collections.defaultdict(list)
    results = []
    for row, answer in answers:
        by_source[row["source"].split(":")[0]].append((row, answer))
        seconds, measured, estimate = answer.get("step_time_s"), float(row["step_time_s"]), answer.get("step_time_estimate", {})
        if not seconds:
            print(f"{row['id']}: no step: {reason(answer)}", file=sys.stderr)
            continue
        results.append({"id": row["id"], "source": row["source"], "accelerator": row["accelerator"], "measured": measured, "computed": seconds,
                        **{key: estimate[key] for key in ("low_s", "high_s") if key in estimate}})
        if not arguments.json:
            print(f"{row['id']:40} {measured:10.4g} s {seconds:10.4g} s {100 * (seconds / measured - 1):+6.1f} % "
                  f"{estimate.get('low_s', 0):.4g} .. {estimate.get('high_s', 0):.4g}")
    if arguments.json:
        json.dump(results, sys.stdout, indent=1)
        return
    for source, own in sorted(by_source.items()):
        print(f"{source}: {Score(own)}")
    score = Score(answers)
    print(f"all: {score}")
    print(f"without a step: {len(score.without)}")


if __name__ == "__main__":
    main()
