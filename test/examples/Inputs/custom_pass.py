#!/usr/bin/env python3
"""custom_pass.py PLAIN DROPPED PRICED: what a pass and a cost model must have changed in the plan."""
import json
import os
import sys

plain, dropped, priced = (json.load(open(os.path.join(folder, "plan.json"))) for folder in sys.argv[1:4])


def kinds(plan):
    return [operation["kind"] for operation in plan["graph"]["operations"]]


# One dropout outside of the repeat, one inside, and a gradient of each.
assert kinds(plain).count("dropout") == 2 and kinds(plain).count("dropout_grad") == 2
assert not [kind for kind in kinds(dropped) if kind.startswith("dropout")]
assert len(kinds(plain)) - len(kinds(dropped)) == 4
assert dropped["step_time_s"] < plain["step_time_s"]
assert dropped["graph"]["parameters"] == plain["graph"]["parameters"]

# 256 x 1024 x 1024 x 2 = 0.54 GFLOP: at 0.79 * 0.54 / 14.54 = 2.9 % of the peak, far above the roofline's time.
assert priced["step_time_s"] > dropped["step_time_s"]
assert priced["machine"]["cost_model"] == "launch-floor", priced["machine"]
assert dropped["machine"]["cost_model"] == ""
assert any("launch-floor" in assumption for assumption in priced["assumptions"]), priced["assumptions"]

# Time of the first product by hand: x / (peak * 0.79 * x / (x + 14 GFLOP)) = (x + 14 GFLOP) / (0.79 * peak).
index = [operation["name"] for operation in priced["graph"]["operations"]].index("linear")
by_hand = (2 * 256 * 1024 * 1024 + 14e9) / (0.79 * 312e12)
assert abs(priced["costs"]["operations"][index]["time_s"] / by_hand - 1) < 1e-9, by_hand

# The plugin says its formula, so other micro-batches and machines may be asked for.
with open(os.path.join(sys.argv[3], "latency_model.h")) as file:
    header = file.read()
assert " only: " not in [line for line in header.splitlines() if " microbatch " in line][0], header[:2000]
assert " only: " not in [line for line in header.splitlines() if " clock_scale " in line][0], header[:2000]
