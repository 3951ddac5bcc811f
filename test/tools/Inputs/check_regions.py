#!/usr/bin/env python3
"""check_regions.py STEP.json FOLDER: the exported problems of a step's regions, scheduled alone, are as long as in the step."""
import json
import pathlib
import subprocess
import sys

step = json.load(open(sys.argv[1]))
lengths = {region["name"]: region["length_s"] for region in step["regions"]}
# The host prepares a micro-batch and an update before their first operation.
for name in lengths:
    lengths[name] -= min((slot["start"] for slot in step["slots"] if slot["region"] == name), default=0)
compared = 0
for file in sorted(pathlib.Path(sys.argv[2]).iterdir()):
    name = file.stem.split("-", 1)[1]
    said = subprocess.run(["accord", "schedule", str(file), "--effort", "4", "--json"], capture_output=True, text=True, check=True)
    value = json.loads(said.stdout)["objective"]["value"]
    if abs(value * 1e-12 - lengths[name]) > 1e-12 + 1e-9 * lengths[name]:
        sys.exit(f"region {name}: {value} ps alone, {lengths[name]} s in the step")
    compared += 1
print(f"{compared} regions as long as in the step")
