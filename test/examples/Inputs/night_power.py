"""Compares the power that is used from each time on with a cap before and after a time."""
import json
import sys

path, time, before, after = sys.argv[1], *map(float, sys.argv[2:])
document = json.load(open(path, encoding="utf-8"))
power = next(r for r in document["resources"] if r["name"] == "power")
steps = power["steps"]
assert steps and steps[0]["from_s"] == 0, power
for step, following in zip(steps, steps[1:] + [{"from_s": document["slot_s"] * document["slots"]}]):
    assert step["used"] <= (before if step["from_s"] < time else after), step
    assert step["from_s"] >= time or following["from_s"] <= time or step["capacity"] <= before, step
assert max(step["used"] for step in steps) > 0.5 * before, power
