"""mine_clusters.py ACCORD DIR: mining of random clusters, against exhaustion and against larger sets of choices."""
import json
import random
import subprocess
import sys

accord, folder = sys.argv[1:]
CHIP = """accelerator chips {
  clock = 1 GHz
  technology = 16 nm
  memory hbm : dram       { capacity = MEMORY, bandwidth = 100 GB/s }
  memory glb : scratchpad { capacity = 1 MiB, bandwidth = 1024 B/cycle, double_buffered = true }
  core tc[pow2 1..4] : tensor { array = 32 x 64, dataflow = weight_stationary, multiply = bf16, accumulate = fp32, reads = glb }
  core vc : vector { lanes = 64, types = {fp32, bf16}, reads = glb }
  path hbm -> glb -> {tc, vc}
  power { idle = 2 W, mac = 0.6 pJ }
  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }
}
cluster rack {
  server board[BOARDS] {
    device chip[CHIPS] : chips
    network bus { connects = chip, topology = SHAPE, bandwidth = BUS, latency = LATENCY }
  }
  network wire { connects = board, topology = switch, bandwidth = WIRE, latency = 5 us }
}
"""
NET = """import "rack.accel"
model mlp(width = 512) {
  input x : fp32[width]
  input label : int32
  var h = x
  repeat 4 as layer { h = gelu(linear(h, out = width)) }
  loss cross_entropy(linear(h, out = 10), label)
}
train small = mlp() on rack {
  batch = 16, precision = mixed(bf16)
  search { microbatch = {2, 4}, tensor_parallel = {1, 2}, recompute = {full, none}, zero = 0, schedule = one_f_one_b }
  METRICLIMIT
}
"""
OFFERS = {
    "MEMORY": ["6 MiB", "12 MiB", "64 MiB"],
    "BOARDS": ["1", "2", "3"],
    "CHIPS": ["1", "2", "4"],
    "SHAPE": ["switch", "ring", "fully_connected"],
    "BUS": ["2 GB/s", "5 GB/s", "20 GB/s"],
    "LATENCY": ["1 us", "4 us"],
    "WIRE": ["1 GB/s", "5 GB/s"],
}


def mined(offers, limit, *options):
    text = CHIP
    for key, values in offers.items():
        text = text.replace(key, values[0] if len(values) == 1 else "{" + ", ".join(values) + "}")
    for name, content in (("rack.accel", text), ("net.dnn", NET.replace("METRICLIMIT", limit))):
        with open(f"{folder}/{name}", "w", encoding="utf-8") as file:
            file.write(content)
    run = subprocess.run([accord, "mine", f"{folder}/net.dnn", "-o", f"{folder}/out", "--json", *options], capture_output=True, text=True, check=False)
    assert run.returncode in (0, 2), run.stderr
    return json.loads(run.stdout)


draw = random.Random(7)
better = feasible = 0
for case in range(8):
    small = {key: sorted(draw.sample(values, min(len(values), draw.choice([1, 1, 2]))), key=values.index) for key, values in OFFERS.items()}
    large = {key: [v for v in values if v in small[key] or draw.random() < 0.4] for key, values in OFFERS.items()}
    options = ["--metric", draw.choice(["step_time", "tdp_time", "area_time"])]
    limit = draw.choice(["", "require devices <= 4", "require power <= 30 W"])
    exact, every = mined(small, limit, *options), mined(small, limit, *options, "--strategy", "exhaustive")
    value = exact["objective"]["value"]
    assert value == every["objective"]["value"], (case, small, limit, value, every["objective"]["value"])
    if value is None:
        continue
    feasible += 1
    assert exact["design"]["chosen"] == every["design"]["chosen"], (case, small, exact["design"], every["design"])
    assert exact["search"]["bounds"] > 0 and exact["bound"]["value"] <= value
    more = mined(large, limit, *options)["objective"]["value"]
    assert more <= value, (case, small, large, value, more)
    better += more < value
assert feasible >= 5 and better >= 1, (feasible, better)
