"""fused.py APART FUSED: two plans of one training, the second with fused operations: the work is the same, traffic and time are less."""
import json
import re
import sys


def read(folder):
    with open(folder + "/plan.json") as file:
        return json.load(file)


def moved(plan):
    """Bytes of one micro-batch."""
    regions = plan["graph"]["regions"]

    def of(region):
        ops = [plan["graph"]["operations"][number] for number in regions[region]["operations"]]
        return sum(regions[op["body"]]["count"] * of(op["body"]) if "body" in op else op["bytes_read"] + op["bytes_written"]
                   for op in ops)

    return of(0)


apart, fused = read(sys.argv[1]), read(sys.argv[2])
assert apart["flops"] == fused["flops"] and apart["model_flops"] == fused["model_flops"]
assert moved(fused) < 0.85 * moved(apart), (moved(fused), moved(apart))
assert fused["step_time_s"] < 0.95 * apart["step_time_s"] and fused["mfu"] > apart["mfu"]
for op, cost in zip(fused["graph"]["operations"], fused["costs"]["operations"]):
    if "parts" in op:
        assert op["flops"] == sum(part["flops"] for part in op["parts"])
        cores = {}
        for part in cost["parts"]:
            cores[part["core"]] = cores.get(part["core"], 0) + part["compute_s"]
        assert abs(max(cores.values()) - cost["compute_s"]) <= 1e-12 * cost["compute_s"]
        assert cost["time_s"] >= max(cores.values())
# It is written only if the formula of each operation gives its cost at every size that was tried.
with open(sys.argv[2] + "/latency_model.h") as file:
    assert float(re.search(r"there the plan's own step is (\S+) s", file.read()).group(1)) == fused["step_time_s"]
print("the same FLOPs, less traffic, less time; the latency model knows the parts")
