"""planned_member.py answer.json plan.json…: the members of an answer take on each device what its plan says, the upper end of the
interval and the energy of a batch for each input; plans in the order of devices, of member 0."""
import json
import math
import sys

answer = json.load(open(sys.argv[1], encoding="utf-8"))
for device, path in enumerate(sys.argv[2:]):
    plan = json.load(open(path, encoding="utf-8"))
    run = answer["runs"][0][device][0]
    high = plan["step_time_estimate"]["high_s"]
    assert abs(run["latency"][0]["time_ps"] - high * 1e12) <= 1 + 1e-9 * high * 1e12, (run, high)
    assert run["latency"][0]["share"] in ("1", 1), run
    assert math.isclose(run["energy_J"], plan["energy_J"] / plan["batch"], rel_tol=1e-6), (run, plan["energy_J"])
    assert run["memory_bytes"] == plan["memory"]["peak_bytes"], run
print("members take what their plans say")
