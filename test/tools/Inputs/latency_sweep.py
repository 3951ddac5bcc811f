"""latency_sweep.py FOLDER SWEEP.json: what `accord latency --at` printed against the generated Python module."""
import json
import sys

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import latency_model as model  # noqa: E402

with open(sys.argv[2], encoding="utf-8") as file:
    rows = json.load(file)["configurations"]
holds = 0
for row in rows:
    try:
        found = model.evaluate(**row["arguments"])
    except ValueError as refusal:
        assert row["refused"] == str(refusal), (row, refusal)
        continue
    holds += 1
    for name, value in found._asdict().items():
        assert row[name] == value, (name, row, found)
print(holds, "of", len(rows), "configurations hold, and agree")
