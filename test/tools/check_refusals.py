#!/usr/bin/env python3
"""check_refusals.py FOLDER: each schema of the folder takes the minimal document that it describes, and refuses that document with one wrong value.

The minimal document has the required keys alone, each with the minimal value; a key on the way to the wrong value is added.
"""
import copy
import json
import pathlib
import re
import sys

from check_schema import check

# Schema, path of the wrong value, wrong value.
WRONG = [
    ("actor", "command", "jobs"),
    ("ask", "wrong.share", 1.5),
    ("calibrate", "command", "estimate"),
    ("choose", "status", "cheap"),
    ("cluster_view", "nodes.0.state", "asleep"),
    ("compare", "explained", 1.5),
    ("compare_cluster", "findings.0.kind", "bad luck"),
    ("diagnostics", "diagnostics", []),
    ("diff", "status", "infeasible"),
    ("emit", "command", "compile"),
    ("ensemble", "rule", "plurality"),
    ("estimate", "microbatch", 0),
    ("explain", "command", "diff"),
    ("guard", "expected.devices_per_server", 0),
    ("job_events", "events.0.event", "late"),
    ("job_explained", "sentences.0", 1),
    ("job_queue", "jobs.0.phase", "asleep"),
    ("job_schedule", "status", "cheap"),
    ("job_submitted", "id", 0),
    ("jobs", "policies.0.utilization", 1.5),
    ("latency", "command", "compile"),
    ("layer_plan", "stages.0.tensor", 0),
    ("list", "entries.0.kind", "job"),
    ("manifest", "files.0.sha256", "0x12"),
    ("mine", "sensitivity.0.choices.0.chosen", False),
    ("noise", "command", "estimate"),
    ("operations", "command", "estimate"),
    ("partition", "objective.unit", "period"),
    ("placement", "tensor_parallel", 0),
    ("plan", "gap", 1.5),
    ("plan", "schema", 1),
    ("plan", "recompute", "some"),
    ("plan", "memory.timeline.0.bytes", [0, 0, 0]),
    ("plan", "schedule.regions.0.slots.0.core", -2),
    ("profiled_layers", "layers.0.configurations.0.forward_s", -1),
    ("prune", "objective", "loss"),
    ("rates", "status", "cheap"),
    ("steps", "status", "quick"),
    ("schedule", "status", "optimal"),
    ("schedule", "stopped", "tired"),
    ("scheduling_problem", "tasks.0.modes.0.duration", -1),
    ("service_event", "number", "first"),
    ("time", "cycle_stack.0.wait", "coffee"),
    ("servers", "intervals.0.kind", "guess"),
    ("tune", "trials.0.state", "tired"),
    ("unknown", "stopped", "tired"),
    ("verify", "findings.0.code", "X1"),
    ("voting_statistics", "members.0.lost_share", "some"),
    ("vote", "confidence", "1/-2"),
    ("vote_answers", "confidence", "1/-2"),
    ("vote", "error_statistics.votes.patterns", [[1, 2, 3]]),
]


def resolve(schema, root):
    while "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    return schema


def minimal(schema, root):
    """The minimal value that a schema takes; of several forms the last one."""
    schema = resolve(schema, root)
    if "const" in schema or "enum" in schema:
        return schema.get("const", schema.get("enum", [None])[-1])
    kind = schema.get("type")
    if "anyOf" in schema and "properties" not in schema:
        return minimal(schema["anyOf"][-1], root)
    if isinstance(kind, list):
        return None
    if kind == "object":
        made = {key: minimal(schema["properties"][key], root) for key in schema.get("required", [])}
        for form in schema.get("anyOf", []):  # what its status asks for
            if form.get("properties", {}).get("status", {}).get("const") == made.get("status"):
                made |= {key: minimal(schema["properties"][key], root) for key in form.get("required", [])}
        return made
    if kind == "array":
        return [minimal(one, root) for one in schema.get("prefixItems", [schema.get("items", {})] * schema.get("minItems", 0))]
    if kind == "string":
        return next(text for text in ("", "0", "A0101", "0" * 64) if re.search(schema.get("pattern", ""), text))
    if kind in ("number", "integer"):
        return schema["exclusiveMinimum"] + 0.5 if "exclusiveMinimum" in schema else schema.get("minimum", 0)
    return False


def put(document, path, value, schema, root):
    """Puts a value at a path; what is missing on the way is minimal."""
    schema = resolve(schema, root)
    if "properties" not in schema and "anyOf" in schema:
        schema = next(one for one in (resolve(form, root) for form in schema["anyOf"]) if path[0] in one.get("properties", {}))
    step, rest = path[0], path[1:]
    inner = schema["items"] if isinstance(document, list) else schema["properties"][step]
    if isinstance(document, list):
        step = int(step)
        document.extend([minimal(inner, root)] * (step + 1 - len(document)))
    if not rest:
        document[step] = value
        return
    if isinstance(document, dict) and document.get(step) is None:
        document[step] = minimal(inner if "type" not in inner else inner | {"type": [inner["type"]] if isinstance(inner["type"], str) else inner["type"]}, root)
        if document[step] is None:
            document[step] = [] if "array" in str(resolve(inner, root).get("type")) else minimal(inner | {"type": "object"}, root)
    put(document[step], rest, value, inner, root)


def main():
    wrong = 0
    names = {path.name.split(".")[0] for path in pathlib.Path(sys.argv[1]).glob("*.schema.json")}
    for name in sorted(names - {schema for schema, _, _ in WRONG}):
        print(f"{name}: no wrong document")
        wrong = 1
    for name, path, value in WRONG:
        schema = json.loads((pathlib.Path(sys.argv[1]) / f"{name}.schema.json").read_text())
        right = minimal(schema, schema)
        refused, errors = copy.deepcopy(right), []
        check(right, schema, schema, "$", errors)
        if errors:
            print(f"{name}: the minimal document is refused: {errors[0]}")
            wrong = 1
            continue
        put(refused, path.split("."), value, schema, schema)
        found = []
        check(refused, schema, schema, "$", found)
        if not found:
            print(f"{name}: {json.dumps(value)} at {path} is taken")
            wrong = 1
    return wrong


if __name__ == "__main__":
    sys.exit(main())
