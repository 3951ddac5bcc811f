"""Mines random spaces of chips, and proves that each design that is proposed above 1 W/mm2 is warned of, and that no
design is warned of which is not: random_spaces.py NUMBER SEED MODEL FOLDER"""
import json
import pathlib
import random
import re
import subprocess
import sys

number, seed, model, folder = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], pathlib.Path(sys.argv[4])
draw = random.Random(seed)


def space():
    node = draw.choice([5, 7, 12, 16, 22, 28, 45])
    clocks = sorted(draw.sample([0.4, 0.7, 1, 1.4, 2, 3], 2))
    standard = draw.choice(["hbm2", "hbm2e", "lpddr5", "none"])
    kind = draw.choice(["int8", "bf16", "fp32"])
    links = draw.choice(["", ", interfaces = {pcie4: 16}", ", interfaces = {pcie4: 8, serdes56: 32}"])
    stated = draw.random() < 0.3  # an area and energies that are stated, not those of components
    area = f"mac = {draw.choice([20, 200])} um2, lane = 900 um2, sram = 1 mm2 per 1 MiB, fixed = 5 mm2"
    return f"""accelerator s {{
  clock = {{{clocks[0]} GHz, {clocks[1]} GHz}}
  technology = {node} nm
  memory hbm : dram {{ capacity = 16 GiB, bandwidth = {draw.choice([100, 600, 1200])} GB/s, standard = {standard}, energy = 30 pJ/B }}
  memory glb : scratchpad {{ capacity = pow2 1..{draw.choice([2, 8])} MiB, bandwidth = {draw.choice([1024, 8192])} B/cycle }}
  core mxu[pow2 1..{draw.choice([2, 8])}] : tensor {{ array = {draw.choice([64, 128])} x 128, types = {{{kind}}}, reads = glb }}
  core vpu : vector {{ lanes = {draw.choice([64, 512])}, types = {{fp32}}, reads = glb }}
  path hbm -> glb -> {{mxu, vpu}}
  area {{ {area if stated else 'model = "catalog/components"' + links} }}
  power {{ {"mac = 1 pJ, idle = 5 W" if stated else 'model = "catalog/components"'} }}
}}
"""


def designs(node):
    if isinstance(node, dict):
        area, power = node.get("area_mm2"), node.get("tdp_W")
        if isinstance(area, (int, float)) and isinstance(power, (int, float)) and area > 0:
            yield power, area
        for value in node.values():
            yield from designs(value)
    elif isinstance(node, list):
        for value in node:
            yield from designs(value)


dense = cool = 0
for index in range(number):
    at = folder / f"{index}.accel"
    at.write_text(space())
    out = folder / str(index)
    how = [["--compare"], ["--pareto-front", "0"], ["--strategy", "wham"], ["--metric", "area_time"], [model, "--sensitivity"]]
    command = ["accord", "mine", model, "--space", at, "-o", out, *how[index % len(how)]]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, (index, done.stderr)
    plan = json.loads((out / "mine.json").read_text())
    said = " ".join(plan["assumptions"])
    for power, area in (one for part in ("design", "compared", "pareto_front") for one in designs(plan.get(part))):
        text = f"{power:.4g} W on {area:.4g} mm2"
        if power / area > 1.0001:
            dense += 1
            assert "A1401" in said and text in said and "warning[A1401]" in done.stderr, (index, text, said)
        elif power / area < 0.9999:
            cool += 1
            assert not re.search(f"{re.escape(text)}: [0-9.e+]+ W/mm2 are hard to cool", said), (index, text)
print(f"{number} spaces: {dense} designs above 1 W/mm2, {cool} below")
assert dense > 0 and cool > 0
