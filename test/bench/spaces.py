#!/usr/bin/env python3
"""Random design spaces of several families, by seed: a description with open values and a training on it.

usage: test/bench/spaces.py --family edge --seed 1 --designs 1e6 --work FOLDER [--model mobilenet_v2]
       test/bench/spaces.py --suite 20 --work FOLDER     one of each family and size in turn

Each call writes FOLDER/NAME.accel and FOLDER/NAME.dnn and prints NAME.dnn with the number of designs. Choices are
drawn wide and coarse first; then the parameter with fewest choices that can have more is refined until the space has
about as many designs as asked for. Limits of area and power are drawn from the family's range.
"""
import argparse
import pathlib
import random
import sys

# name: technology (nm), clocks (MHz), farthest memory (kind, capacity, latency ns, pJ/bit), bandwidths (GB/s), buffer
# (KiB), bytes of the buffer in a cycle, most arrays, sizes of arrays, most vector cores, lanes, idle watts, pJ of a
# multiply-accumulate, mm2 of a MiB, um2 of a multiplier, area and power limits (mm2, W)
FAMILIES = {
    "edge": dict(nm=16, clock=(400, 1000), dram=("4 GiB", 100, 6), bandwidth=(12.8, 51.2), buffer=(128, 4096), width=(64, 512), arrays=8,
                 size=(4, 128), vectors=4, lanes=(16, 256), idle=0.3, mac=0.5, sram=1.4, cell=700, area=(6, 20), power=(2, 8)),
    "mobile": dict(nm=7, clock=(600, 1400), dram=("8 GiB", 90, 4), bandwidth=(25.6, 102.4), buffer=(512, 8192), width=(128, 1024), arrays=8,
                   size=(8, 128), vectors=8, lanes=(32, 512), idle=0.5, mac=0.25, sram=0.6, cell=250, area=(8, 25), power=(4, 12)),
    "datacentre": dict(nm=7, clock=(800, 1800), dram=("64 GiB", 120, 3.9), bandwidth=(800, 4800), buffer=(4096, 131072), width=(1024, 8192),
                       arrays=16, size=(32, 256), vectors=16, lanes=(256, 4096), idle=40, mac=0.3, sram=0.6, cell=250,
                       area=(150, 500), power=(150, 500)),
    "memory": dict(nm=12, clock=(700, 1300), dram=("16 GiB", 100, 6), bandwidth=(16, 128), buffer=(256, 16384), width=(512, 2048), arrays=8,
                   size=(32, 256), vectors=8, lanes=(128, 2048), idle=4, mac=0.4, sram=1.0, cell=500, area=(80, 300), power=(40, 120)),
    "area": dict(nm=16, clock=(700, 1300), dram=("16 GiB", 120, 3.9), bandwidth=(400, 1600), buffer=(1024, 65536), width=(512, 4096), arrays=16,
                 size=(16, 256), vectors=8, lanes=(128, 4096), idle=20, mac=0.6, sram=1.4, cell=760, area=(15, 60), power=(300, 900)),
    "power": dict(nm=16, clock=(500, 1500), dram=("16 GiB", 120, 3.9), bandwidth=(400, 1600), buffer=(1024, 65536), width=(512, 4096), arrays=16,
                  size=(16, 256), vectors=8, lanes=(128, 4096), idle=10, mac=0.6, sram=1.4, cell=760, area=(300, 900), power=(30, 90)),
}
# model: file, batch by family's kind
SMALL = [("mobilenet_v2", "mobilenet", 8), ("vit_b_16", "vit", 8), ("efficientnet_b0", "efficientnet", 4), ("resnet18", "resnet", 8),
         ("tc_resnet8", "tc_resnet", 64), ("mobilenet_v3_large", "mobilenet", 16)]
LARGE = [("bert_large", "bert", 16), ("vit_l_16", "vit", 16), ("resnet50", "resnet", 32), ("gpt2_small", "gpt2", 8), ("bert_base", "bert_base", 32),
         ("inception_v3", "inception", 16)]


def geometric(low, high, count):
    """Whole numbers from low to high, evenly in their logarithms."""
    if count == 1:
        return [round((low * high) ** 0.5)]
    return sorted({round(low * (high / low) ** (i / (count - 1))) for i in range(count)})


class Space:
    def __init__(self, family, seed, designs):
        self.random = random.Random(f"{family} {seed}")
        self.family = FAMILIES[family]
        f = self.family
        top = {"bandwidth": f["bandwidth"], "buffer": f["buffer"], "width": f["width"], "rows": f["size"], "cols": f["size"], "lanes": f["lanes"],
               "clock": f["clock"]}
        self.range = {name: (low, high) for name, (low, high) in top.items()}
        self.range["arrays"], self.range["vectors"] = (1, f["arrays"]), (1, f["vectors"])
        # how many choices at first, and at most
        self.count = {"bandwidth": 2, "buffer": 2, "width": 1, "rows": 3, "cols": 3, "lanes": 1, "clock": 1, "arrays": 3, "vectors": 1, "dataflow": 2}
        most = {"bandwidth": 24, "buffer": 24, "width": 8, "rows": 24, "cols": 24, "lanes": 16, "clock": 8, "arrays": f["arrays"],
                "vectors": f["vectors"], "dataflow": 3}
        while self.size() < designs / 1.4:
            grow = [name for name in self.count if self.count[name] < most[name]]
            if not grow:
                break
            least = min(self.count[name] for name in grow)
            self.count[self.random.choice([name for name in grow if self.count[name] <= least + 1])] += 1

    def choices(self, name):
        low, high = self.range[name]
        return geometric(low, high, self.count[name])

    def size(self):
        size = self.count["dataflow"]
        for name in self.range:
            size *= len(self.choices(name))
        return size

    def text(self, name):
        f = self.family

        def written(parameter, unit=""):
            values = self.choices(parameter)
            one = [f"{value}{unit}" for value in values]
            return one[0] if len(one) == 1 else "{" + ", ".join(one) + "}"

        flows = ["weight_stationary", "output_stationary", "input_stationary"][:self.count["dataflow"]]
        area, power = self.random.uniform(*f["area"]), self.random.uniform(*f["power"])
        arrays = ", ".join(map(str, self.choices("arrays")))
        vectors = ", ".join(map(str, self.choices("vectors")))
        capacity, latency, energy = f["dram"]
        return f"""accelerator {name} {{
  clock      = {written("clock", " MHz")}
  technology = {f["nm"]} nm
  memory dram : dram {{ capacity = {capacity}, bandwidth = {written("bandwidth", " GB/s")}, latency = {latency} ns, energy = {energy} pJ/bit }}
  memory buffer : scratchpad {{ capacity = {written("buffer", " KiB")}, bandwidth = {written("width", " B/cycle")}, double_buffered = true }}
  core array[{{{arrays}}}] : tensor {{
    array    = ({written("rows")}) x ({written("cols")})
    dataflow = {{{", ".join(flows)}}}
    multiply = bf16, accumulate = fp32, reads = buffer, mapping = any
  }}
  core vector[{{{vectors}}}] : vector {{ lanes = {written("lanes")}, types = {{fp32, bf16}}, reads = buffer, mapping = any }}
  path dram -> buffer -> {{array, vector}}
  power {{ idle = {f["idle"]} W, mac = {f["mac"]} pJ }}
  area  {{ mac = {f["cell"]} um2, lane = {f["cell"]} um2, sram = {f["sram"]} mm2 per 1 MiB }}
  require budget: area <= {area:.4g} mm2
  require power.tdp <= {power:.4g} W
}}
"""


def write(folder, family, seed, designs, model=None):
    space = Space(family, seed, designs)
    kinds = SMALL if family in ("edge", "mobile") else LARGE
    model, file, batch = next((one for one in SMALL + LARGE if one[0] == model), None) or space.random.choice(kinds)
    name = f"{family}_{seed}_{len(str(int(designs))) - 1}"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"{name}.accel").write_text(space.text(name), encoding="utf-8")
    optimizer = "adam" if file in ("vit", "bert", "gpt2", "bert_base") else "sgd"
    (folder / f"{name}.dnn").write_text(f"""import "catalog/{file}.dnn"
import "{name}.accel"
train step = {model}() on {name} {{
  batch = {batch}
  precision = mixed(bf16)
  optimizer = {optimizer}
  maximize throughput
}}
""", encoding="utf-8")
    print(folder / f"{name}.dnn", space.size(), model, sep="\t")
    return folder / f"{name}.dnn", space.size()


def main():
    options = argparse.ArgumentParser(description="Random design spaces.")
    options.add_argument("--family", choices=list(FAMILIES), default="edge")
    options.add_argument("--seed", type=int, default=1)
    options.add_argument("--designs", type=float, default=1e6)
    options.add_argument("--model")
    options.add_argument("--suite", type=int, default=0)
    options.add_argument("--work", type=pathlib.Path, required=True)
    asked = options.parse_args()
    if not asked.suite:
        write(asked.work, asked.family, asked.seed, asked.designs, asked.model)
    for i in range(asked.suite):
        write(asked.work, list(FAMILIES)[i % len(FAMILIES)], asked.seed + i, 10 ** (3 + i % 7), asked.model)


if __name__ == "__main__":
    sys.exit(main())
