#!/usr/bin/env python3
"""Writes lib/catalog/measured-power.csv from a table of measured powers.

Usage: scripts/power_rows.py MEASURED.csv > lib/catalog/measured-power.csv

Shares of the step are derived from what a row states, never from its power:
- busy of one device: a step is t(b) = max(h, g0 + g1 b) over batch sizes b (h: the host; g: the device). g1 and g0 follow
  from the largest two batches whose step takes 1.3 times the shortest one or more; busy = (g0 + g1 b) / t(b).
- vector and memory: samples/s times FLOP and bytes of a sample (`accord estimate` in fp32) over the board's peaks.
- a capped row has the shares of the uncapped row of its batch.
- busy of several nodes: their speed over that of one node, per device.
"""
import csv
import re
import sys

# FLOP and bytes of device memory that one sample moves, as `accord estimate` gives them in fp32, and samples of an epoch.
WORK = {"resnet50": (24.6e9, 1.23e9, 1281167), "squad": (213e9, 5.6e9, 88524)}
# Watts idle and of the design, FLOP/s of fp32, bytes/s: data sheets; idle of the A40 is the median of its NCF rows.
BOARDS = {"v100": (40, 250, 14e12, 900e9), "a40": (82, 300, 37.4e12, 696e9), "a100": (60, 400, 0, 0), "h100": (70, 700, 0, 0)}
SMALL = 0.02  # share of a recommender whose few MFLOP a sample leave the device waiting
TYPICAL = (0.4, 0.4)  # tensor and memory shares while busy, where a row states neither


def affine(steps):
    """(g0, g1) of the device's time from batch sizes and their step times; None where no floor is seen: a second batch that
    takes at most 1.3 times the smallest one's step."""
    low, first = min(steps.values()), sorted(steps)[:2]
    if len(first) < 2 or steps[first[1]] > 1.3 * steps[first[0]]:
        return None
    loaded = sorted(b for b in steps if steps[b] >= 1.3 * low)[-2:]
    if len(loaded) < 2:
        return None
    small, large = loaded
    slope = (steps[large] - steps[small]) / (large - small)
    return max(0.0, steps[large] - slope * large), slope


def zeus(rows, board):
    idle, tdp, flops, bandwidth = BOARDS[board]
    groups = {}
    for row in rows:
        if not row["id"].startswith("zeus-" + board):
            continue
        model = row["id"].split("-b" + row["global_batch"])[0].removeprefix("zeus-" + board + "-")
        groups.setdefault(model, []).append(row)
    for model, group in groups.items():
        time = {int(r["global_batch"]): float(r["duration_s"]) for r in group if float(r["power_limit_w_per_dev"]) == tdp}
        fit = affine({b: t * b for b, t in time.items()})
        for row in group:
            batch, limit = int(row["global_batch"]), float(row["power_limit_w_per_dev"])
            busy, how = 1.0, "busy: all the time"
            if "ncf" in model:
                busy, how = SMALL, "busy: assumed, the data loader decides"
            elif fit:
                busy, how = min(1.0, (fit[0] + fit[1] * batch) / (time[batch] * batch)), "busy: from step time over batch size"
            vector, memory = 0.4 * busy, 0.5 * busy
            how += "; vector and memory: assumed 0.4 and 0.5 while busy"
            for name, (work, moved, epoch) in WORK.items():
                if name in model:
                    rate = epoch / time[batch]
                    vector, memory = min(busy, rate * work / flops), min(busy, rate * moved / bandwidth)
                    how = how.split(";")[0] + "; vector and memory: from samples/s"
            slower = float(row["duration_s"]) / time[batch] if limit < tdp else 0
            level = "idle" if "ncf" in model and board == "a40" else "board"
            yield [row["id"], level, board, 1, idle, tdp, limit, busy, vector, 0, memory, row["avg_power_w"], slower, "zeus",
                   f"{how}. ml-energy/zeus summary_power_{board}.csv, Apache-2.0"]


def nodes(rows):
    prefix = "mlperf-power-v4.0-smc-"
    found = [r for r in rows if r["id"].startswith(prefix)]
    alone = {}
    for row in found:
        side, count, model = re.match(prefix + r"(ac|dc)-power-(\d+)xSMC-H100-SXM-80GB-(.*)", row["id"]).groups()
        if count == "1":
            alone[side, model] = row
    for row in found:
        side, count, model = re.match(prefix + r"(ac|dc)-power-(\d+)xSMC-H100-SXM-80GB-(.*)", row["id"]).groups()
        one, count = alone[side, model], int(count)
        same = model == "llama2_70b_lora"
        speed = float(row["throughput"]) / float(one["throughput"]) if same else float(one["duration_s"]) / float(row["duration_s"])
        busy = min(1.0, speed / count)
        rate = re.match(r"(\d+) TFLOP/s", row["utilisation"])
        tensor = float(rate[1]) / 1979 if rate else TYPICAL[0] * busy
        how = "busy: speed over that of one node" if count > 1 else "busy: all the time"
        how += "; tensor: from TFLOP/s" if rate else "; tensor: assumed 0.4 while busy"
        yield [row["id"].replace("-SMC-H100-SXM-80GB", ""), "node_" + side, "h100", 8, 70, 700, 700, busy, 0, tensor,
               TYPICAL[1] * busy, row["avg_power_w"], 0, "mlperf", f"{how}; memory: assumed 0.4 while busy. MLPerf v4.0, Apache-2.0"]


def others(rows):
    for row in rows:
        name, watts = row["id"], row["avg_power_w"]
        if re.match(r"acme-gpu_power_\w+-p(5|25)$", name):
            yield [name, "idle", "a100", 1, 60, 400, 400, 0, 0, 0, 0, watts, 0, "acme", "quantile of unused boards. AcmeTrace, CC-BY-4.0"]
        elif re.match(r"acme-gpu_power_(kalos-p(75|90|95)|seren-p(90|95))$", name):
            yield [name, "board", "a100", 1, 60, 400, 400, 1, 0, *TYPICAL, watts, 0, "acme",
                   "quantile of training; busy: all the time, tensor and memory: assumed 0.4. AcmeTrace, CC-BY-4.0"]
        elif name.startswith("jouppi23-a100"):
            yield [name, "board", "a100", 1, 60, 400, 400, 1, 0, *TYPICAL, watts, 0, "jouppi",
                   "busy: all the time, tensor and memory: assumed 0.4; not re-read. Jouppi et al., ISCA 2023, Table 6"]
        elif name == "newkirk25-max-training":
            yield [name, "node_air", "h100", 8, 70, 700, 700, 1, 0, *TYPICAL, watts, 0, "newkirk",
                   "busy: all the time, tensor and memory: assumed 0.4. Newkirk et al. 2025, arXiv 2506.14551"]
        elif name == "olmo3-7B":
            yield [name, "run", "h100", 1, 70, 700, 700, 1, 0, *TYPICAL, watts, 0, "olmo",
                   "energy over device hours; busy: all the time, tensor and memory: assumed 0.4. Olmo 3, secondary text"]
        elif name == "idle-h100-sxm":
            yield [name, "idle", "h100", 1, 70, 700, 700, 0, 0, 0, 0, row["floor_power_w"], 0, "listing", "nvidia-smi, medium certainty"]


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    print("# Measured power of boards, nodes and idle boards, with shares of the step in which each unit works. Power of a node is")
    print("# that of all of it: `ac` before its supply, `dc` behind it, neither has fans; `air` is before it and has fans.")
    print("# Written by scripts/power_rows.py, which says how shares follow from what a row states.")
    print("id, level, board, boards, idle, tdp, limit, busy, vector, tensor, memory, power, slowdown, origin, source")
    for row in [*zeus(rows, "v100"), *zeus(rows, "a40"), *nodes(rows), *others(rows)]:
        head, idle, tdp, limit = row[:4], row[4], row[5], row[6]
        print(", ".join([*map(str, head), f"{idle} W", f"{tdp} W", f"{limit:g} W", *[f"{x:.3f}" for x in row[7:11]],
                         f"{float(row[11]):g} W", f"{row[12]:.3f}", row[13], f'"{row[14]}"']))


if __name__ == "__main__":
    main()
