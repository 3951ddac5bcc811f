"""mine_properties.py ACCORD DIR: more area, power, bandwidth or memory never makes the best design worse; a job more never makes the worst ratio better."""
import json
import os
import subprocess
import sys

accord, folder = sys.argv[1:]
os.makedirs(folder, exist_ok=True)
SPACE = """
accelerator chips {{
  clock = 1 GHz
  technology = 16 nm
  memory hbm : dram {{ capacity = {memory} MiB, bandwidth = {bandwidth} GB/s, energy = 3.9 pJ/bit }}
  memory glb : scratchpad {{ capacity = pow2 1..4 MiB, bandwidth = 1024 B/cycle, double_buffered = true }}
  core tc[pow2 1..8] : tensor {{ array = (pow2 16..128) x (pow2 16..128), dataflow = {{weight_stationary, output_stationary}}, multiply = bf16, accumulate = fp32, reads = glb }}
  core vc : vector {{ lanes = tc.array.cols, types = {{fp32, bf16}}, reads = glb }}
  path hbm -> glb -> {{tc, vc}}
  power {{ idle = 5 W, mac = 0.6 pJ }}
  area {{ mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }}
  require area <= {area} mm2
  require power.tdp <= {power} W
}}
"""
JOBS = {
    "deep": (512, 4, 64), "wide": (2048, 1, 16), "small": (64, 2, 256),
}
MODEL = """
model net(width = {0}) {{
  input x : fp32[width]
  input label : int32
  var h = x
  repeat {1} as layer {{ h = gelu(linear(h, out = width)) }}
  loss cross_entropy(linear(h, out = 10), label)
}}
train {name} = net() {{ batch = {2}, precision = mixed(bf16), search {{ microbatch = {{{2}, 8}} }} }}
"""
for name, sizes in JOBS.items():
    with open(f"{folder}/{name}.dnn", "w", encoding="utf-8") as file:
        file.write(MODEL.format(*sizes, name=name))
known = {}


def mined(jobs, **limits):
    given = {"memory": 256, "bandwidth": 100, "area": 8, "power": 20} | limits
    key = (tuple(jobs), tuple(given.items()))
    if key not in known:
        with open(f"{folder}/space.accel", "w", encoding="utf-8") as file:
            file.write(SPACE.format(**given))
        out = subprocess.run([accord, "mine", *(f"{folder}/{job}.dnn" for job in jobs), "--space", f"{folder}/space.accel", "-o", f"{folder}/out", "--json"],
                             capture_output=True, text=True, check=False)
        document = json.loads(out.stdout)
        assert out.returncode in (0, 2), out.stderr
        value = document["objective"]["value"]
        assert out.returncode == 2 or document["search"]["is_optimal"], document["search"]
        assert out.returncode == 2 or document["bound"]["value"] <= value, document["bound"]
        known[key] = float("inf") if value is None else value
    return known[key]


better = 0
for limit, values in {"area": [3, 5, 8, 13, 30], "power": [6, 10, 15, 25, 60], "bandwidth": [25, 50, 100, 200], "memory": [1, 16, 64, 256]}.items():
    found = [mined(["deep"], **{limit: value}) for value in values]
    for less, more in zip(found, found[1:]):
        assert more <= less, (limit, found)
        better += more < less
    print(limit, found)
assert better > 5, better
ratios = [mined(jobs) for jobs in (["deep", "wide"], ["deep", "wide", "small"])]
assert 1 <= ratios[0] <= ratios[1], ratios
print(f"{len(known)} searches hold")
