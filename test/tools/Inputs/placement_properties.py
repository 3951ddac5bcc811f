"""What must hold between the placements of one model on clusters that differ in one thing.

placement_properties.py ACCORD FOLDER: compiles small models for a small cluster, doubles its servers, memory, and each
bandwidth, halves latencies, changes prices, names and choices, and compares the certified throughputs. A bound that a
better cluster's answer passes, or a throughput that falls, ends it with an error.
"""
import json, pathlib, subprocess, sys

ACCELERATOR = """
accelerator {name} {{
  clock = 1 GHz
  memory hbm : dram {{ capacity = {memory} MiB, bandwidth = 800 GB/s }}
  core tc : tensor {{ peak = {{bf16: {peak} TFLOP/s}} }}
  core vc : vector {{ peak = {{fp32: 10 TFLOP/s, bf16: 20 TFLOP/s}} }}
  power {{ idle = 50 W, tdp = 300 W }}
}}
"""
SERVER = """
  server {name}[{servers}] {{
    device {name}_gpu[{devices}] : {machine}
    network {name}_link {{ connects = {name}_gpu, topology = switch, bandwidth = {inside} GB/s, latency = {latency} us }}
  }}
"""
BASE = dict(servers=2, devices=2, memory=3000, peak=100, inside=50, across=5, latency=8, price=2, second=0)


def cluster(at, second_peak=25):
    text = ACCELERATOR.format(name="first", memory=at["memory"], peak=at["peak"])
    servers = SERVER.format(name="a", machine="first", **{k: at[k] for k in ("servers", "devices", "inside", "latency")})
    connects = "a"
    if at["second"]:
        text += ACCELERATOR.format(name="other", memory=at["memory"], peak=second_peak)
        servers += SERVER.format(name="b", servers=at["second"], devices=at["devices"], machine="other",
                                 inside=at["inside"], latency=at["latency"])
        connects = "{a, b}"
    return text + f"""
cluster small {{{servers}
  network ib {{ connects = {connects}, topology = switch, bandwidth = {at["across"]} GB/s, latency = {at["latency"]} us }}
}}
"""


class Compiler:
    def __init__(self, accord, folder):
        self.accord, self.folder, self.runs = accord, pathlib.Path(folder), 0

    def plan(self, model, at, search=""):
        self.runs += 1
        folder = self.folder / str(self.runs)
        folder.mkdir(parents=True)
        (folder / "small.accel").write_text(cluster(at))
        file, name = model
        (folder / "job.dnn").write_text(f"""import "catalog/{file}.dnn"
import "small.accel"
train job = {name} on small {{
  batch = 16
  precision = mixed(bf16)
  optimizer = adam
  search {{ {search} }}
  maximize throughput
}}
""")
        run = subprocess.run([self.accord, "compile", "--ideal", folder / "job.dnn", "-o", folder / "out"], capture_output=True,
                             text=True)
        if run.returncode not in (0, 2):
            raise SystemExit(f"{model} {at} {search}: status {run.returncode}\n{run.stderr}")
        if run.returncode == 2:
            return None
        return json.loads((folder / "out" / "certificate" / "placement.json").read_text())


def value(plan):
    return plan["result"]["value"] if plan else float("inf")


def bound(plan):
    return plan["result"]["bound"] if plan else float("inf")


def layers_by_kind(plan):
    """How many layers of the model run on each kind of devices."""
    problem, count = plan["problem"], {}
    for stage in plan["result"]["plan"]["stages"]:
        kind = problem["parallel_configs"][stage["parallel_config"]]["device_type"]
        count[kind] = count.get(kind, 0) + len(stage["layers"])
    return count


def uneven(compiler):
    """Two kinds of devices, one twice as fast: both beat either, and the fast ones get more layers."""
    model = ("gpt2", "gpt2(layers = 12, hidden = 1024, heads = 16, vocab = 4000, seq = 512)")
    at = {**BASE, "servers": 1, "second": 1, "memory": 1500, "across": 50, "peak": 50}
    search = "data_parallel = 1, tensor_parallel = 1, microbatch = 1, schedule = {one_f_one_b, gpipe}"
    both = compiler.plan(model, at, search)
    fast = compiler.plan(model, {**at, "second": 0}, search)
    slow = compiler.plan(model, {**at, "second": 0, "peak": 25}, search)
    count = layers_by_kind(both)
    print(f"two kinds: {count}, {value(both):.6g}; fast alone {value(fast):.6g}, slow alone {value(slow):.6g}")
    assert len(count) == 2 and count[0] > count[1] > 0, count
    assert value(both) < value(fast) and value(both) < value(slow)


def main(accord, folder):
    compiler = Compiler(accord, folder)
    search = "tensor_parallel = {1, 2}, microbatch = {1, 2}, schedule = {gpipe, one_f_one_b, interleaved(2)}, zero = {0, 1}"
    better = {}
    for model, memory in ((("resnet", "resnet18()"), 1000),
                          (("gpt2", "gpt2(layers = 4, hidden = 512, heads = 8, vocab = 8000, seq = 256)"), 130),
                          (("unet", "unet(size = 128)"), 3000)):
        start = {**BASE, "memory": memory}
        base = compiler.plan(model, start, search)
        assert base, model
        changes = {key: ({**start, key: 2 * start[key]}, search)
                   for key in ("servers", "memory", "inside", "across", "peak")}
        changes["latency"] = {**start, "latency": start["latency"] / 2}, search
        changes["second kind"] = {**start, "second": 1}, search
        changes["microbatch"] = start, search.replace("microbatch = {1, 2}", "microbatch = {1, 2, 4}")
        changes["zero"] = start, search.replace("zero = {0, 1}", "zero = {0, 1, 2, 3}")
        changes["schedule"] = start, search.replace("interleaved(2)", "interleaved(2..4), zero_bubble")
        for name, (at, choices) in changes.items():
            plan = compiler.plan(model, at, choices)
            print(f"{model[1]}: {name}: {value(base):.6g} -> {value(plan):.6g}, bound {bound(plan):.6g}")
            # The certified throughput is batch / value.
            assert value(plan) <= value(base) * (1 + 1e-9), f"more of '{name}' is worse"
            assert bound(plan) <= value(plan) * (1 + 1e-9)
            better.setdefault(name, []).append(value(plan) < value(base) * (1 - 1e-9))
    uneven(compiler)
    for name in ("servers", "memory", "inside", "across", "peak", "latency", "schedule"):
        assert any(better[name]), f"'{name}' makes no difference"
    print(f"{compiler.runs} placements hold")


main(*sys.argv[1:])
