#!/usr/bin/env python3
"""Compares answers at power levels.

power_levels.py step FULL ECO CAPPED WATTS: estimates of a step; the capped one draws at most WATTS, and nearly as much
power_levels.py jobs PLAIN LEVELS WATTS: schedules without and with levels, under a capacity of WATTS
power_levels.py zeus ROWS FILE: times of measured trainings under caps against estimates at the levels of FILE
"""
import csv
import json
import subprocess
import sys


def step(full, eco, capped, watts):
    time, power, energy = ([one["totals"]["step_energy"][key] for one in (full, eco, capped)]
                           for key in ("step_s", "average_power_W", "total_J"))
    assert time[0] < time[2] < time[1] < time[0] / 0.7 * 1.001, time
    assert power[1] < power[2] < power[0], power
    assert 0.98 * watts < power[2] <= watts, power
    assert energy[1] < energy[0] and energy[2] < energy[0], energy


def jobs(plain, levels, watts):
    before, after = (one["objectives"][0]["value"] for one in (plain, levels))
    assert after < 0.9 * before, (before, after)
    runs = [run for job in levels["jobs"] for run in job["runs"]]
    assert any(run.get("power_level") == run["configuration"].split(" at ")[-1] for run in runs), runs
    for slot in range(levels["slots"]):
        begin = slot * levels["slot_s"]
        used = sum(run["power_W"] for run in runs if run["begin_s"] <= begin < run["end_s"])
        assert used <= watts, (slot, used)


def estimated(file, train, limit):
    level = ["--power-level", f"at{limit}"] if limit else []
    out = subprocess.run(["accord", "estimate", file, "--train", train, *level, "--json"], check=True,
                         capture_output=True, text=True).stdout
    return json.loads(out)["totals"]["step_energy"]["step_s"]


def zeus(rows, file):
    with open(rows) as table:
        lines = [line for line in table if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines, skipinitialspace=True) if row["board"] == "v100"]
    for workload, train in (("imagenet-resnet50-b360", "resnet"), ("squad-bert_base_uncased-b56", "bert")):
        full, before, errors = estimated(file, train, None), 1e9, []
        for row in (row for row in rows if row["workload"] == workload):
            slowdown = estimated(file, train, row["limit"].split()[0]) / full
            assert slowdown <= before, row  # caps ascend
            before = slowdown
            errors.append(slowdown / float(row["slowdown"]) - 1)
        assert len(errors) == 6, errors
        mean = sum(map(abs, errors)) / len(errors)
        print(f"{workload}: mean error {100 * mean:.1f} %:", ", ".join(f"{100 * error:+.1f}" for error in errors))
        assert mean < 0.18 and max(map(abs, errors)) < 0.33, errors


if __name__ == "__main__":
    if sys.argv[1] == "zeus":
        sys.exit(zeus(*sys.argv[2:]))
    read = [json.load(open(name)) for name in sys.argv[2:-1]]
    {"step": step, "jobs": jobs}[sys.argv[1]](*read, float(sys.argv[-1]))
