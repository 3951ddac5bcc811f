"""latency_degrees.py JOB.dnn SWEEP.json SCRATCH.dnn: each row of a sweep over degrees against `accord estimate` at them."""
import json
import re
import subprocess
import sys

job, sweep, scratch = sys.argv[1:]
with open(job, encoding="utf-8") as file:
    text = file.read()
with open(sweep, encoding="utf-8") as file:
    rows = json.load(file)["configurations"]
equal = refused = 0
for row in rows:
    tensor, data = row["arguments"]["tensor_parallel"], row["arguments"]["data_parallel"]
    if tensor * data > 8:
        assert "more than the 8 devices" in row["refused"], row
        refused += 1
        continue
    pair = re.sub(r"tensor_parallel = \d+", f"tensor_parallel = {tensor}", text)
    pair = re.sub(r"data_parallel = \d+", f"data_parallel = {data}", pair)
    pair = re.sub(r"sequence_parallel = \d+", f"sequence_parallel = {tensor}", pair)
    with open(scratch, "w", encoding="utf-8") as file:
        file.write(pair)
    found = subprocess.run(["accord", "estimate", "--ideal", scratch, "--json"], check=True, capture_output=True, text=True)
    totals = json.loads(found.stdout)["totals"]
    step = totals["step_energy"]["step_s"]
    assert abs(row["step_time_s"] - step) <= 1e-12 * step, (tensor, data, row, step)
    assert row["memory_bytes"] == totals["memory_bytes"], (tensor, data, row, totals)
    assert row["flops"] == totals["flops"], (tensor, data, row, totals)
    equal += 1
print(equal, "pairs are what estimate says,", refused, "need more than 8 devices")
