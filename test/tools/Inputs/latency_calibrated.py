"""latency_calibrated.py FILE.dnn TRAIN SCRATCH BATCHxMICROBATCH...: `accord latency` of a calibrated machine against
`accord compile` and `accord estimate` at each of the sizes; then a plan with forged times is refused."""
import json
import os
import subprocess
import sys

file, train, scratch = sys.argv[1:4]
common = [file, "--train", train, "--target", "a100_80g"]


def accord(*arguments):
    done = subprocess.run(["accord", *arguments], capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def said(folder):
    return subprocess.run(["accord", "verify", folder], capture_output=True, text=True, check=False)


for size in sys.argv[4:]:
    batch, microbatch = size.split("x")
    at = f"batch={batch},microbatch={microbatch}"
    model = accord("latency", *common, "--at", at, "--json")
    assert model["exact"] is True, model["exact"]
    sizes = ["--batch", batch, "--microbatch", microbatch]
    plan = accord("compile", *common, *sizes, "-o", scratch, "--json")
    estimate = accord("estimate", *common, *sizes, "--json")
    steps = [model["configurations"][0]["step_time_s"], plan["step_time_s"], estimate["totals"]["step_energy"]["step_s"]]
    assert max(steps) - min(steps) <= 1e-9 * min(steps), (size, steps)
print(len(sys.argv) - 4, "sizes: latency, compile and estimate agree")

path = os.path.join(scratch, "plan.json")
with open(path, encoding="utf-8") as plan:
    good = json.load(plan)
assert good["machine"]["calibration"]["parameters"]["launch"] > 0
assert said(scratch).returncode == 0, said(scratch).stdout


def forged(change):
    bad = json.loads(json.dumps(good))
    change(bad)
    with open(path, "w", encoding="utf-8") as plan:
        json.dump(bad, plan)
    done = said(scratch)
    assert done.returncode != 0 and "A0910" in done.stdout + done.stderr, done.stdout + done.stderr


priced = next(i for i, cost in enumerate(good["costs"]["operations"]) if cost["model"] == "calibrated")
forged(lambda bad: bad["costs"]["operations"][priced].update(time_s=good["costs"]["operations"][priced]["time_s"] / 2))
forged(lambda bad: bad["costs"]["operations"][priced].update(model="mine"))
forged(lambda bad: bad["machine"]["calibration"]["parameters"].update(launch=1e-9, memory_efficiency=1))
forged(lambda bad: bad["machine"].pop("calibration"))
print("four forged plans are refused")
