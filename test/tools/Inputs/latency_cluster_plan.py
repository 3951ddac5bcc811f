"""latency_cluster_plan.py ACCORD FOLDER: the model in FOLDER/a against plans of FOLDER/a.dnn with the same degrees fixed."""
import csv
import json
import re
import subprocess
import sys

accord, folder = sys.argv[1:3]
sys.path.insert(0, f"{folder}/a")
import latency_model as model  # noqa: E402

text = open(f"{folder}/a.dnn", encoding="utf-8").read()
DEGREES = ("tensor_parallel", "pipeline_parallel", "data_parallel", "microbatch")


def planned(batch, at):
    """Seconds of the plan made anew with these degrees."""
    search = ", ".join(f"{name} = {at[name]}" for name in DEGREES)
    fixed = f"  batch = {batch}\n  precision = mixed(bf16)\n  search {{ {search} }}\n}}\n"
    with open(f"{folder}/b.dnn", "w", encoding="utf-8") as file:
        file.write(text[:text.index("  batch = 16")] + fixed)
    subprocess.run([accord, "compile", f"{folder}/b.dnn", "-o", f"{folder}/b"], check=True, capture_output=True)
    with open(f"{folder}/b/plan.json", encoding="utf-8") as file:
        return json.load(file)["step_time_s"]


def near(said, step):
    # At another batch stages stay: never faster than a plan that chooses them anew.
    same = abs(said - step) <= 1e-12 * step
    return "the same" if same else "at most 1 % above" if step <= said <= 1.01 * step else f"{said} for {step}"


with open(f"{folder}/a/certificate/latency.json", encoding="utf-8") as file:
    INTERVAL = float(re.search(r"no plan there is shorter by more than ([0-9.e-]+) %", file.read()).group(1)) / 100


def within(said, step, pipeline):
    # A plan of one group alone has the tied embedding once; the model says by how much that is shorter at most.
    if pipeline > 1:
        return near(said, step)
    return "the same" if said * (1 - INTERVAL * 1.001) <= step <= said * (1 + 1e-12) else f"{said} for {step}"


with open(f"{folder}/a/plan.json", encoding="utf-8") as file:
    print("own plan:", near(model.evaluate().step_time_s, json.load(file)["step_time_s"]))
with open(f"{folder}/a/latency_model.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
found = {}
for row in rows:
    at = {name: int(row[name]) for name in DEGREES}
    said = model.evaluate(batch=16, **at).step_time_s
    assert said == float(row["step_time_s"]), row
    found[tuple(at.values())] = within(said, planned(16, at), at["pipeline_parallel"])
wrong = {at: text for at, text in found.items() if text != "the same"}
pipelines = len({at[1] for at in found})
assert INTERVAL < 0.05, INTERVAL
print(f"{len(found)} choices of tensor, pipeline, data parallel degree and micro-batch, {pipelines} numbers of pipelines:", wrong or "the same, or within the interval")
at = {"tensor_parallel": 1, "pipeline_parallel": 1, "data_parallel": 2, "microbatch": 2}
print("batch 32:", near(model.evaluate(batch=32, **at).step_time_s, planned(32, at)))
