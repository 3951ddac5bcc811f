"""Changes a plan: change.py PLAN.json 'd["status"] = "done"'; `op(name)` and `slot(name)` find what belongs to an operation."""
import json
import sys

path, statement = sys.argv[1:]
with open(path, encoding="utf-8") as file:
    d = json.load(file)
operations = d.get("graph", {}).get("operations", [])  # the plan of a cluster has none


def op(name):
    return next(o for o in operations if o["name"] == name)


def index(name):
    return operations.index(op(name))


def slot(name):
    return next(s for r in d["schedule"]["regions"] for s in r["slots"] if s["operation"] == index(name))


exec(statement)  # the test's own text
with open(path, "w", encoding="utf-8") as file:
    json.dump(d, file)
