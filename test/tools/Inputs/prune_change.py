"""prune_change.py prune.json WHAT: a false claim in a choice of zeros."""
import json
import sys

path, what = sys.argv[1:]
document = json.load(open(path))
if what == "worse":  # the first layer with zeros is dense, and the sums say so
    problem, answer = document["problem"], document["answer"]
    i = next(i for i, option in enumerate(answer["choice"]) if option)
    before, after = (problem["operations"][i]["options"][j] for j in (answer["choice"][i], 0))
    answer["choice"][i] = 0
    for key in ("time_ps", "energy_pJ", "bytes", "loss"):
        answer[key] += after[key] - before[key]
    answer["slowest_ps"] = answer["value"] = answer["bound"] = answer["time_ps"]
elif what == "sums":
    document["answer"]["time_ps"] -= 1
elif what == "budget":
    document["problem"]["loss_budget"] = 0
elif what == "shown-layer":
    layer = document["step"]["layers"][0]
    layer["chosen"] = (layer["chosen"] + 1) % len(layer["options"])
elif what == "shown-time":
    document["step"]["time_s"] *= 0.99
elif what == "shown-option":
    for key in ("time_quantile_s", "expected_s"):
        document["step"]["layers"][0]["options"][1][key] *= 0.99
elif what == "shown-expected":  # a product that is computed faster than published ones, and all sums with it
    option = next(o for l in document["step"]["layers"] for o in l["options"] if o["products"])
    option["products"][0]["expected_s"] = option["products"][0]["ideal_s"]
elif what == "shown-kernels":  # an interval that is half as wide as the products say
    document["step"]["kernels"][0]["deviation"] /= 2
elif what == "shown-proof":
    document["answer"]["bound"] -= 1  # which is true, too
elif what == "multipliers":
    document["pipeline"]["stages"][1]["multipliers"] -= 1
elif what == "interval":
    document["pipeline"]["multipliers_of_device"] *= 2
elif what == "block-rams":
    document["pipeline"]["stages"][1]["use"]["block_rams"] += 1
elif what == "place":
    memory = document["pipeline"]["stages"][1]["memory"]
    memory["weights"], memory["passes"] = ("streamed", 3)
elif what == "bandwidth":
    document["pipeline"]["resources"]["bandwidth_Bps"] /= 1000
elif what == "not-proven":
    document["pipeline"]["min_interval_cycles"] *= 0.5
elif what == "bound":
    document["pipeline"]["multipliers_of_device"] *= 10
    for key in document["pipeline"]["resources"]:
        document["pipeline"]["resources"][key] *= 10
elif what == "missing":
    del document["answer"]
elif what == "unknown":
    document["problem"]["surprise"] = 1
json.dump(document, open(path, "w"))
