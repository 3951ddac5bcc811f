"""Compares latency_model.h, compiled as C99, with what `accord compile` says of the same training at other sizes."""
import json
import pathlib
import subprocess
import sys

accord, cc, work = sys.argv[1], sys.argv[2], pathlib.Path(sys.argv[3])
work.mkdir(parents=True, exist_ok=True)

TEXT = """import "catalog/a100.accel"
import "catalog/gpt2.dnn"
train sized = gpt2_medium(seq = {seq}) on a100_80g {{
  batch = {batch}
  precision = mixed(bf16)
  optimizer = adam
  search {{ microbatch = 4 }}
}}
"""


def plan(batch, seq):
    folder = work / f"b{batch}_s{seq}"
    source = work / f"b{batch}_s{seq}.dnn"
    source.write_text(TEXT.format(batch=batch, seq=seq))
    subprocess.run([accord, "compile", source, "-o", folder], check=True, stdout=subprocess.DEVNULL)
    return json.loads((folder / "plan.json").read_text()), folder


points = [(16, 1024), (32, 1024), (16, 512), (8, 256), (64, 768)]
_, home = plan(*points[0])
calls = "".join(
    f'  printf("%.17g %.17g %.17g\\n", sized_step_time_s({b}, {s}), (double)sized_memory_bytes({b}, {s}),'
    f" (double)sized_flops({b}, {s}));\n"
    for b, s in points
)
main = work / "main.c"
main.write_text(f'#include <stdio.h>\n#include "{home}/latency_model.h"\nint main(void) {{\n{calls}  return 0;\n}}\n')
subprocess.run([cc, "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-o", work / "main", main], check=True)
rows = subprocess.run([work / "main"], check=True, capture_output=True, text=True).stdout.split("\n")

worst = {"time": 0.0, "memory": 0.0, "flops": 0.0}
for (batch, seq), row in zip(points, rows):
    time, memory, flops = map(float, row.split())
    document, _ = plan(batch, seq)
    own = {
        "time": document["step_time_s"],
        "memory": document["memory"]["peak_bytes"],
        "flops": document["flops"],
    }
    for key, value in (("time", time), ("memory", memory), ("flops", flops)):
        error = abs(value / own[key] - 1)
        worst[key] = max(worst[key], error)
        print(f"batch {batch} seq {seq} {key}: model {value:.9g}, plan {own[key]:.9g}, off by {error:.2e}")
# FLOPs are polynomials and exact; time and memory keep the first plan's order, which another size may better.
assert worst["flops"] < 1e-12, worst
assert worst["time"] < 0.02, worst
assert worst["memory"] < 0.02, worst
print("latency model agrees")
