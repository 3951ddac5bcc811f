"""What a document of `accord explain --json` says of the longest path adds up to the step."""
import json
import sys

timing = json.load(open(sys.argv[1]))["timing"]
step = timing["step_time_s"]
for parts in (timing["core_types"], timing["phases"]):
    assert abs(sum(part["critical_s"] for part in parts) + timing["host_s"] - step) <= 1e-9 * step
gains = [op["gain_if_removed_s"] for op in timing["operations"]]
assert gains == sorted(gains, reverse=True) and len(gains) == 10
for op in timing["operations"]:
    assert 0 <= op["gain_if_halved_s"] <= op["gain_if_removed_s"] <= op["total_time_s"] * (1 + 1e-9)
    assert op["name"] in timing["critical"]
