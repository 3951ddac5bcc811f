"""latency_cluster_plan.py ACCORD FOLDER: the model in FOLDER/a against plans of FOLDER/a.dnn with the same degrees fixed."""
import json
import subprocess
import sys

accord, folder = sys.argv[1:3]
sys.path.insert(0, f"{folder}/a")
import latency_model as model  # noqa: E402


def compare(name, said, path):
    with open(f"{path}/plan.json", encoding="utf-8") as file:
        step = json.load(file)["step_time_s"]
    # What else a plan chooses is the first plan's in the model: never faster than a plan that chooses it anew.
    near = "the same" if abs(said - step) <= 1e-12 * step else "at most 1 % above" if step <= said <= 1.01 * step else f"{said} for {step}"
    print(f"{name}: {near}")


compare("own plan", model.evaluate().step_time_s, f"{folder}/a")
text = open(f"{folder}/a.dnn", encoding="utf-8").read()
for tensor, pipeline, data, microbatch, batch in [(2, 1, 2, 2, 16), (1, 1, 4, 1, 16), (1, 1, 2, 2, 32)]:
    fixed = (f"  batch = {batch}\n  precision = mixed(bf16)\n  search {{ microbatch = {microbatch}, tensor_parallel = {tensor}, "
             f"data_parallel = {data}, zero = 1, pipeline_parallel = {pipeline} }}\n}}\n")
    with open(f"{folder}/b.dnn", "w", encoding="utf-8") as file:
        file.write(text[:text.index("  batch = 16")] + fixed)
    subprocess.run([accord, "compile", f"{folder}/b.dnn", "-o", f"{folder}/b"], check=True, capture_output=True)
    at = {"tensor_parallel": tensor, "pipeline_parallel": pipeline, "data_parallel": data}
    said = model.evaluate(batch=batch, microbatch=microbatch, **at).step_time_s
    compare(f"tensor {tensor}, pipeline {pipeline}, data {data}, micro-batch {microbatch}, batch {batch}", said, f"{folder}/b")
