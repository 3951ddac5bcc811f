#!/usr/bin/env python3
"""Compares answers at power levels.

power_levels.py step FULL ECO CAPPED WATTS: estimates of a step; the capped one draws at most WATTS, and nearly as much
power_levels.py jobs PLAIN LEVELS WATTS: schedules without and with levels, under a capacity of WATTS
"""
import json
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


if __name__ == "__main__":
    read = [json.load(open(name)) for name in sys.argv[2:-1]]
    {"step": step, "jobs": jobs}[sys.argv[1]](*read, float(sys.argv[-1]))
