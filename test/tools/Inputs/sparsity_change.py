"""Changes an answer of zeros and placement: sparsity_change.py FOLDER WHAT."""
import json
import sys

folder, what = sys.argv[1:]
zeros_file, plan_file = folder + "/certificate/sparsity.json", folder + "/certificate/placement.json"
with open(zeros_file, encoding="utf-8") as file:
    zeros = json.load(file)
with open(plan_file, encoding="utf-8") as file:
    plan = json.load(file)


def leaves():
    return [node for node in zeros["proof"] if "unit" not in node]


def largest():
    """The unit with the most alternatives."""
    return max(range(len(zeros["units"])), key=lambda u: len(zeros["units"][u]["alternatives"]))


if what == "choice":
    u = largest()
    zeros["choice"][u] = (zeros["choice"][u] + 1) % len(zeros["units"][u]["alternatives"])
elif what == "budget":
    zeros["budgets"][0]["max"] = 1
elif what == "bound":
    plan["result"]["bound"] *= 1.01
elif what == "dropped":
    zeros["proof"] = zeros["proof"][:-1]
elif what == "node":
    leaves()[0]["bound"] = plan["result"]["bound"] * 0.9
elif what == "cost":
    for alternative in zeros["units"][largest()]["alternatives"]:
        for costs in alternative["costs"]:
            for cost in costs:
                if cost:
                    cost["forward"] = cost["forward"] // 2
elif what == "faster":
    for cls in plan["problem"]["classes"]:
        for cost in cls["costs"]:
            if cost:
                cost["forward"] = cost["forward"] // 2
elif what == "loss":
    for unit in zeros["units"]:
        for decision in unit["decisions"]:
            for option in decision["options"][1:]:
                option["takes"][0] += 10**11
elif what == "label":
    zeros["units"][largest()]["decisions"][0]["options"][1]["label"] = "weights nm(1, 4)"
elif what == "index":
    zeros["choice"][0] = 1000
elif what == "key":
    zeros["unit"] = []
else:
    sys.exit("unknown change " + what)

with open(zeros_file, "w", encoding="utf-8") as file:
    json.dump(zeros, file)
with open(plan_file, "w", encoding="utf-8") as file:
    json.dump(plan, file)
