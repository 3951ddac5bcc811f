#!/usr/bin/env python3
"""Holds the document of `accord compare` of a cluster against what make_ranks.py planted.

usage: check_ranks.py compare.json truth.json [--finding 'KIND RANKS SECONDS']... [--none KIND]... [--within SHARE]
The parts of each rank add up to its step, and their means to the whole; computation, waiting and transfers are those that
were planted; at least 95 % is explained. A finding of the kind is on these ranks (as 1,5) and has this size within 5 %.
"""
import argparse
import json
import sys

EPSILON = 2e-7  # seconds: traces have whole nanoseconds


def main():
    a = argparse.ArgumentParser()
    a.add_argument("document"), a.add_argument("truth")
    a.add_argument("--finding", action="append", default=[])
    a.add_argument("--none", action="append", default=[])
    a.add_argument("--within", type=float, default=2e-3)
    a.add_argument("--no-waits", action="store_true", help="waiting cannot be told from transfer")
    o = a.parse_args()
    with open(o.document, encoding="utf-8") as file:
        found = json.load(file)
    with open(o.truth, encoding="utf-8") as file:
        truth = json.load(file)
    wrong = []

    def near(what, is_, should, slack=EPSILON):
        if abs(is_ - should) > o.within * abs(should) + slack:
            wrong.append(f"{what}: {is_} s, planted {should}")
    for rank in found["ranks"]:
        name, planted = f"rank {rank['rank']}", truth[str(rank["rank"])]
        parts = {part["name"]: part for part in rank["parts"]}
        near(f"{name}: its parts", sum(part["measured_s"] for part in parts.values()), rank["measured_s"])
        near(f"{name}: its planned parts", sum(part["planned_s"] for part in parts.values()), found["planned_s"])
        near(f"{name}: computation", rank["computation_s"], planted["computation"])
        if o.no_waits:
            continue
        near(f"{name}: exchanges inside of layers", rank["layer_exchanges_s"], planted.get("layer exchanges", 0))
        transfers = {}
        for row in rank["exchanges"]:
            transfers[row["purpose"]] = transfers.get(row["purpose"], 0) + row["transfer_s"]
        near(f"{name}: transfers among replicas", transfers.get("gradients and weights", 0), planted.get("replica transfer", 0) + planted.get("replicas", 0))
        if "stage waits" in planted:  # a send may wait, too, where nothing is computed beside it
            bubble = parts["waiting for stages (bubble)"]["measured_s"]
            if bubble + EPSILON < planted["stage waits"] * (1 - o.within):
                wrong.append(f"{name}: waits {bubble} s for stages, planted {planted['stage waits']}")
    for key in ("planned_s", "measured_s"):
        near(f"the parts: {key}", sum(part[key] for part in found["parts"]), found[key])
    if found["explained"] < 0.95:
        wrong.append(f"explained: {found['explained']}")
    for text in o.finding:
        kind, ranks, seconds = text.rsplit(" ", 2)
        wanted = [int(rank) for rank in ranks.split(",")]
        if not any(one["kind"] == kind and sorted(one["ranks"]) == wanted and abs(one["seconds_s"] / float(seconds) - 1) < 0.05 for one in found["findings"]):
            wrong.append(f"no finding: {text}; there are {[(one['kind'], one['ranks'], one['seconds_s']) for one in found['findings']]}")
    for kind in o.none:
        wrong += [f"a finding that was not planted: {one['text']}" for one in found["findings"] if kind in ("any", one["kind"])]
    for line in wrong:
        print(line)
    print("found what was planted" if not wrong else f"{len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
