#!/usr/bin/env python3
"""Holds the document of `accord compare` against what make_kineto.py planted.

usage: check_compare.py compare.json truth.json [--match KIND] [--explained SHARE] [--group NAME>=SECONDS]...
Each operation that was planted has its time within 0.1 % (a row of several: the sum), what was dropped is missing as
often, groups have their seconds, and the parts add up to the step.
"""
import argparse
import json
import sys


def main():
    a = argparse.ArgumentParser()
    a.add_argument("document"), a.add_argument("truth")
    a.add_argument("--match", help="no operation but the update and what several were is matched by a less sure kind")
    a.add_argument("--explained", type=float, default=0.99)
    a.add_argument("--group", action="append", default=[])
    o = a.parse_args()
    with open(o.document, encoding="utf-8") as file:
        found = json.load(file)
    with open(o.truth, encoding="utf-8") as file:
        truth = json.load(file)
    wrong = []
    seen = set()
    kinds = ["name", "sequence", "shapes", "order"]
    for row in found["operations"]:
        if row["match"] == "none":
            name = row["operations"][0]
            if truth["missing"].get(name, 0) != row["missing"]:
                wrong.append(f"{name}: {row['missing']} missing, planted {truth['missing'].get(name, 0)}")
            continue
        planted = sum(truth["operations"].get(name, 0) for name in row["operations"])
        if abs(row["measured_s"] - planted) > 1e-3 * planted + 2e-9 * row["calls"]:
            wrong.append(f"{row['name']}: {row['measured_s']} s, planted {planted}")
        seen.update(row["operations"])
        if o.match and kinds.index(row["match"]) > kinds.index(o.match) and len(row["operations"]) == 1 and row["class"] != "fill":
            wrong.append(f"{row['name']}: matched by {row['match']}")
    wrong += [f"{name}: not found" for name in truth["operations"] if name not in seen]
    if truth["fused"] and not any(sorted(row["operations"]) == sorted(truth["fused"]) for row in found["operations"]):
        wrong.append(f"no row of {truth['fused']} together")
    groups = {group["name"]: group["seconds_s"] for group in found["groups"]}
    for name, seconds in truth["groups"].items():
        if abs(groups.get(name, 0) - seconds) > 1e-3 * seconds:
            wrong.append(f"group {name}: {groups.get(name, 0)} s, planted {seconds}")
    for text in o.group:
        name, _, least = text.partition(">=")
        if groups.get(name, 0) < float(least):
            wrong.append(f"group {name}: {groups.get(name, 0)} s, expected {least}")
    if found["explained"] < o.explained:
        wrong.append(f"explained: {found['explained']}")
    for key, whole in (("planned_s", found["planned_s"]), ("measured_s", found["measured_s"])):
        total = sum(part[key] for part in found["parts"])
        if abs(total - whole) > 1e-6 * whole:
            wrong.append(f"parts: {key} add up to {total}, not {whole}")
    for line in wrong:
        print(line)
    print("found what was planted" if not wrong else f"{len(wrong)} wrong")
    return 1 if wrong else 0


sys.exit(main())
