"""prune_sums.py prune.json: whether sums, choice and proof of a choice of zeros follow from its options."""
import itertools
import json
import sys

document = json.load(open(sys.argv[1]))
step, problem, answer = document["step"], document["problem"], document["answer"]
layers = step["layers"]
assert layers, "no layer"
metric = {"step_time": "compared_s", "energy": "energy_quantile_J", "memory": "bytes"}[document["objective"]]

for layer in layers:
    for option in layer["options"]:
        option["compared_s"] = max(option["time_quantile_s"], option["expected_s"])
        # What kernels and masks add to the ideal time.
        more = sum(p["executions"] * (p["expected_s"] - p["ideal_s"]) for p in option["products"])
        more += option["mask_search"]["expected_s"] if option.get("mask_search") else 0
        assert abs(option["time_s"] + more - option["expected_s"]) <= 1e-9 * option["time_s"], (layer["name"], option["label"])
        for one in [option] + option["products"]:
            assert one["expected_min_s"] <= one["expected_s"] <= one["expected_max_s"], (layer["name"], option["label"])
        assert all(p["ideal_s"] <= p["expected_min_s"] for p in option["products"]), (layer["name"], option["label"])
        parts = sum(option[key] for key in ("forward_s", "data_gradient_s", "weight_gradient_s", "update_s", "gradient_sync_s"))
        assert abs(parts - option["time_s"]) <= 1e-9 * option["time_s"], (layer["name"], option["label"])
        assert option["time_quantile_s"] >= option["time_s"] * (1 - 1e-12), (layer["name"], option["label"])
    assert layer["options"][0]["label"] == "dense"
    for option in layer["options"][1:]:
        if option["format"] == "dense" and ";" not in option["label"]:  # zeros that are stored are not skipped
            assert option["time_s"] >= layer["options"][0]["time_s"] * (1 - 1e-12), (layer["name"], option["label"])
            assert option["gradient_sync_s"] == layer["options"][0]["gradient_sync_s"], (layer["name"], option["label"])
            assert option["bytes"] == layer["options"][0]["bytes"], (layer["name"], option["label"])

chosen = [layer["options"][layer["chosen"]] for layer in layers]
dense = [layer["options"][0] for layer in layers]
# Zeros are never chosen where they lose.
grouped = {i for group in problem["groups"] for i in group}
for i, (option, without) in enumerate(zip(chosen, dense)):
    if i not in grouped:
        assert option[metric] <= without[metric] * (1 + 1e-12), layers[i]["name"]
assert sum(o[metric] for o in chosen) <= sum(o[metric] for o in dense) * (1 + 1e-12)
assert abs(sum(o["time_s"] for o in chosen) + step["other_time_s"] - step["time_s"]) <= 1e-9 * step["time_s"]
assert abs(sum(o["expected_s"] for o in chosen) + step["other_time_s"] - step["expected_s"]) <= 1e-9 * step["expected_s"]
assert abs(sum(o["time_s"] for o in dense) + step["other_time_s"] - step["dense_time_s"]) <= 1e-9 * step["dense_time_s"]

# Without a budget each layer, or group, is on its own.
key = {"step_time": "time_ps", "energy": "energy_pJ", "memory": "bytes"}[document["objective"]]
if problem["loss_budget"] is None and problem["byte_budget"] is None and not problem["rules"]:
    operations, best, seen = problem["operations"], 0, set()
    for group in problem["groups"] + [[i] for i in range(len(operations)) if i not in grouped]:
        labels = set.intersection(*({o["label"] for o in operations[i]["options"]} for i in group))
        best += min(sum(next(o[key] for o in operations[i]["options"] if o["label"] == label) for i in group) for label in labels)
    assert best == answer["value"] == answer["bound"], (best, answer["value"], answer["bound"])
# Half of the gradients take between half and all of the time: messages have a latency.
for layer, option in zip(layers, chosen):
    whole = layer["options"][0]["gradient_sync_s"]
    if whole > 0 and option["format"] == "nm(2, 4)":
        assert whole / 2 < option["gradient_sync_s"] < whole, layer["name"]
exchanged = sum(layer["options"][0]["gradient_sync_s"] > 0 for layer in layers)
print(f"{len(layers)} layers, {sum(layer['chosen'] > 0 for layer in layers)} with zeros, {exchanged} exchange gradients")
