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


def read(name):
    with open(f"{folder}/{name}", encoding="utf-8") as file:
        return json.load(file)


def numbers(plan):
    """Seconds of the step, and bytes of the device whose peak is the highest."""
    return plan["step_time_s"], plan["memory"]["peak_bytes"]


def planned(batch, at):
    """Of the plan made anew with these degrees."""
    search = ", ".join(f"{name} = {at[name]}" for name in DEGREES)
    fixed = f"  batch = {batch}\n  precision = mixed(bf16)\n  search {{ {search} }}\n}}\n"
    with open(f"{folder}/b.dnn", "w", encoding="utf-8") as file:
        file.write(text[:text.index("  batch = 16")] + fixed)
    subprocess.run([accord, "compile", f"{folder}/b.dnn", "-o", f"{folder}/b"], check=True, capture_output=True)
    return numbers(read("b/plan.json"))


def near(said, plan):
    seconds, memory = plan
    if abs(said.step_time_s - seconds) > 1e-12 * seconds:
        return f"{said.step_time_s} s for {seconds}"
    return "the same" if said.memory_bytes == memory else f"{said.memory_bytes} bytes for {memory}"


print("own plan:", near(model.evaluate(), numbers(read("a/plan.json"))))
with open(f"{folder}/a/latency_model.csv", encoding="utf-8") as file:
    rows = list(csv.DictReader(file))
found = {}
for row in rows:
    at = {name: int(row[name]) for name in DEGREES}
    said = model.evaluate(batch=16, **at)
    assert said.step_time_s == float(row["step_time_s"]), row
    found[tuple(at.values())] = near(said, planned(16, at))
wrong = {at: text for at, text in found.items() if text != "the same"}
pipelines = len({at[1] for at in found})
print(f"{len(found)} choices of tensor, pipeline, data parallel degree and micro-batch, {pipelines} numbers of pipelines:", wrong or "the same")

# At other batches no plan made anew is longer, and none is shorter by more than the notes say.
widest, compared = 0, 0
for note in read("a/certificate/latency.json")["notes"]:
    begin = re.match(r"at other batches, tensor (\d+), pipeline (\d+), data (\d+), micro-batch (\d+): no plan is shorter by more than ", note)
    if not begin or compared > 8:
        continue
    at = dict(zip(DEGREES, map(int, begin.groups())))
    for percent, least, most in re.findall(r"([0-9.e-]+) % from (\d+) to (\d+) samples", note):
        unit = at["data_parallel"] * at["microbatch"] * at["pipeline_parallel"]
        batch = (int(least) + int(most)) // 2 // unit * unit
        if batch < int(least):
            continue
        said, (seconds, _) = model.evaluate(batch=batch, **at).step_time_s, planned(batch, at)
        assert said * (1 - float(percent) / 100 * 1.01 - 1e-12) <= seconds <= said * (1 + 1e-12), (at, batch, said, seconds, percent)
        widest, compared = max(widest, float(percent)), compared + 1
print(f"{compared} plans at other batches: within their intervals, of at most {widest} %")
