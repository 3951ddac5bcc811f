"""fp8.py FILE.dnn SCRATCH: a training in fp8 on one H100: what the data sheet's rate gives, what a step takes beside one in
bf16, and that forged plans are refused."""
import json
import os
import subprocess
import sys

file, scratch = sys.argv[1:3]
common = [file, "--train", "t", "--target", "h100"]


def accord(*arguments):
    done = subprocess.run(["accord", *arguments], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def planned(precision, *more):
    accord("compile", *common, "--precision", precision, "-o", scratch, "--json", *more)
    with open(os.path.join(scratch, "plan.json"), encoding="utf-8") as plan:
        return json.load(plan)


def said():
    done = subprocess.run(["accord", "verify", scratch], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def products(plan, kind):
    graph, costs = plan["graph"]["operations"], plan["costs"]["operations"]
    return [(op, cost) for op, cost in zip(graph, costs) if op["type"] == kind and op.get("contraction")]


# The sheet of an H100 says 1979 TFLOP/s in fp8; every product in a block, and no other one, has that rate.
ideal = planned("mixed(fp8)", "--ideal")
eight = products(ideal, "fp8")
assert len(eight) == 3 * 6, len(eight)  # queries, keys, values, what joins heads, and two of the MLP, with both gradients
for op, cost in eight:
    assert abs(cost["compute_s"] / (op["flops"] / 1979e12) - 1) < 1e-9, (op["name"], cost)
assert all(cost["type"] == "bf16" for op, cost in products(ideal, "bf16"))
assert said()[0] == 0, said()[1]
print("products take their FLOPs over 1979 TFLOP/s")

other, good = planned("mixed(bf16)"), planned("mixed(fp8)")
assert good["step_time_s"] < other["step_time_s"], (good["step_time_s"], other["step_time_s"])
memory, before = good["memory"]["at_peak"], other["memory"]["at_peak"]
weights = sum(one["bytes"] for one in good["graph"]["static_tensors"] if one.get("quantized"))
assert memory["weights"] - before["weights"] == weights > 0, (memory, before)
assert memory["activations"] < before["activations"], (memory, before)
returned, text = said()
assert returned == 0, text
print("a step in fp8 is proved")

path = os.path.join(scratch, "plan.json")


def forged(what, change):
    bad = json.loads(json.dumps(good))
    change(bad)
    with open(path, "w", encoding="utf-8") as plan:
        json.dump(bad, plan)
    code, answer = said()
    assert code != 0, (what, answer)


def product(bad):
    return next(i for i, op in enumerate(bad["graph"]["operations"]) if op["type"] == "fp8" and op.get("contraction"))


forged("an operand's type", lambda bad: bad["graph"]["operations"][product(bad)].update(type="bf16"))
forged("the arithmetic", lambda bad: bad["costs"]["operations"][product(bad)].update(type="fp4"))
forged("products of 16 bits as of 8", lambda bad: [op.update(type="fp8") for op in bad["graph"]["operations"] if op["type"] == "bf16"])
forged("the copies of the weights", lambda bad: [one.update(bytes=0) for one in bad["graph"]["static_tensors"] if one.get("quantized")])
forged("the efficiency", lambda bad: bad["machine"]["calibration"]["parameters"].update(fp8_efficiency=1))
print("five forged plans are refused")
