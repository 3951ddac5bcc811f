#!/usr/bin/env python3
"""profiles.py KIND WORK FILE...: imports profiled graphs and holds what `accord estimate` says on two machines against the
files, read here once more: the sums of the given times, parameters, and edges."""
import json
import math
import os
import re
import subprocess
import sys


def read_pipedream(path):
    """name -> (forward ms, backward ms, bytes of parameters), and edges."""
    nodes, edges = {}, []
    for line in open(path, encoding="utf-8"):
        parts = line.strip().split(" -- ")
        if line[0] in "\t ":
            edges.append(tuple(parts))
        elif len(parts) >= 3:
            fields = dict(re.findall(r"(\w+)=(\[[^]]*\]|[^,\s]+)", parts[-1]))
            nodes[parts[0]] = tuple(float(fields[key]) for key in
                                    ("forward_compute_time", "backward_compute_time", "parameter_size"))
    return nodes, edges


def read_partitioning(path):
    document = json.load(open(path, encoding="utf-8"))
    edges = [(e["sourceId"], e["destId"]) for e in document["edges"]]
    out, targets = {}, {e[1] for e in edges}
    for e in document["edges"]:
        out[e["sourceId"]] = max(out.get(e["sourceId"], 0), e["size"])
    nodes = {}
    for node in document["nodes"]:
        time = node["fpgaLatency"] if node["supportedOnFpga"] else node["cpuLatency"]
        weight = node["id"] not in targets and time == 0 and re.search("weight|bias|transposed", node["name"])
        extra = node["size"] if weight else max(0, node["size"] - out.get(node["id"], node["size"]))
        if not node["isBackwardNode"]:
            nodes[node["id"]] = (time, 0, extra)
    return nodes, edges


def trained(nodes, edges):
    """Nodes that have a gradient: those with parameters, and what depends on them."""
    readers = {}
    for source, target in edges:
        readers.setdefault(source, []).append(target)
    found, open_nodes = set(), [name for name, node in nodes.items() if node[2] > 0]
    while open_nodes:
        name = open_nodes.pop()
        if name not in found:
            found.add(name)
            open_nodes += readers.get(name, [])
    return found


def main():
    kind, work, *paths = sys.argv[1:]
    for path in paths:
        name = re.sub(r"[^a-z0-9]+", "_", os.path.basename(path).lower().split(".")[0])
        model = os.path.join(work, name + ".dnn")
        subprocess.run(["accord", "import", kind, path, "-o", model, "--name", name], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["accord", "fmt", "--check", model], check=True)
        nodes, edges = (read_pipedream if kind == "pipedream" else read_partitioning)(path)
        forward = sum(node[0] for node in nodes.values()) * 1e-3
        backward = sum(nodes[name][1] for name in trained(nodes, edges)) * 1e-3
        parameters = sum(math.ceil(node[2] / 4) for node in nodes.values())
        problems = []
        for machine in ("h200", "tpu_like"):
            run = subprocess.run(["accord", "estimate", model, "--target", machine, "--batch", "1", "--precision", "fp32",
                                  "--optimizer", "sgd", "--json"], capture_output=True, text=True)
            if run.returncode:
                sys.exit(path + run.stdout + run.stderr)
            document = json.loads(run.stdout)
            for what, wanted in (("profiled", forward), ("profiled_grad", backward)):
                given = [op for op in document["operations"] if op["kind"] == what]
                got = sum(op["time_s"] * op["count"] for op in given)
                if not math.isclose(got, wanted, rel_tol=1e-9, abs_tol=1e-15):
                    problems.append(f"{machine}: {what} takes {got}, the file says {wanted}")
                problems += [f"{op['name']} is bound by {op['bound']}" for op in given if op["bound"] != "given"]
            if document["totals"]["parameters"] != parameters:
                problems.append(f"{document['totals']['parameters']} parameters, the file says {parameters}")
        text = open(model, encoding="utf-8").read()
        names = set(re.findall(r"^  (?:let|input) (\w+)", text, re.M))
        read = sum(sum(word in names for word in re.findall(r"\w+", re.split(r"\w+ = [0-9.]+", call)[0]))
                   for call in re.findall(r"profiled\(([^)]*)\)", text))
        sinks = len(nodes) - len({edge[0] for edge in edges})
        starts = text.count("profiled(start")
        if read != len(edges) + sinks + starts:
            problems.append(f"{read} operands for {len(edges)} edges, {sinks} ends and {starts} starts")
        print(name, len(nodes), len(edges), f"{forward:.6f} s {backward:.6f} s", parameters,
              "as in the profile" if not problems else problems)


if __name__ == "__main__":
    main()
