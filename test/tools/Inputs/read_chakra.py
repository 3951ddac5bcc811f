#!/usr/bin/env python3
"""Reads execution traces of Chakra without protobuf, by the numbers of their fields, and holds them against what they are of.

usage: read_chakra.py plan plan.json trace.et      one device: operations, times and what each waits for, from the plan's values
       read_chakra.py cluster plan.json FOLDER     all ranks: messages in pairs, collectives with their ranks, no rank waits for ever
       read_chakra.py model model.dnn trace.et     what `accord import chakra` made: the same names, times and dependences
"""
import glob
import json
import os
import re
import struct
import sys

KINDS = ["INVALID", "METADATA", "LOAD", "STORE", "COMP", "SEND", "RECV", "COLL"]


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at, value, shift = at + 1, value | (byte & 127) << shift, shift + 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        elif key & 7 == 1:
            value, at = struct.unpack("<d", data[at:at + 8])[0], at + 8
        elif key & 7 == 2:
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
        else:
            raise ValueError(f"wire type {key & 7}")
        yield key >> 3, value


def numbers(value):
    if isinstance(value, int):
        return [value]
    at, out = 0, []
    while at < len(value):
        one, at = varint(value, at)
        out.append(one)
    return out


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    at, nodes, first = 0, [], True
    while at < len(data):
        size, at = varint(data, at)
        message, at = data[at:at + size], at + size
        if first:
            first = False
            continue
        node = {"id": 0, "name": "", "kind": "INVALID", "control": [], "data": [], "start": 0, "micros": 0}
        for number, value in fields(message):
            if number == 1:
                node["id"] = value
            elif number == 2:
                node["name"] = value.decode()
            elif number == 3:
                node["kind"] = KINDS[value]
            elif number == 4:
                node["control"] += numbers(value)
            elif number == 5:
                node["data"] += numbers(value)
            elif number == 6:
                node["start"] = value
            elif number == 7:
                node["micros"] = value
            elif number == 10:
                attribute = dict(fields(value))
                name = attribute.pop(1).decode()
                node[name] = next(iter(attribute.values()))
        nodes.append(node)
    return nodes


def complain(wrong):
    for line in wrong[:20]:
        print(line)
    return 1 if wrong else 0


def of_plan(plan_path, trace_path):
    with open(plan_path, encoding="utf-8") as file:
        plan = json.load(file)
    graph, nodes, wrong = plan["graph"], read(trace_path), []
    cost = [c["time_s"] for c in plan["costs"]["operations"]]
    # Executions by name.
    expected = {}

    def count(region, times):
        for i in graph["regions"][region]["operations"]:
            op = graph["operations"][i]
            if "body" in op:
                count(op["body"], times * graph["regions"][op["body"]]["count"])
            elif cost[i] > 0:
                expected[op["name"]] = (times, cost[i], op)
    count(0, graph["microbatches"])
    count(1, 1)
    seen = {}
    for node in nodes:
        if node["kind"] == "LOAD":
            continue
        name = node["name"].split("/")[0]
        seen[name] = seen.get(name, 0) + 1
        if name not in expected or abs(node["accord_seconds"] - expected[name][1]) > 1e-15:
            wrong.append(f"{node['name']}: {node['accord_seconds']} s")
        elif node["num_ops"] != expected[name][2]["flops"]:
            wrong.append(f"{node['name']}: {node['num_ops']} operations")
    wrong += [f"{name}: {seen.get(name, 0)} executions, expected {times}" for name, (times, _, _) in expected.items() if seen.get(name, 0) != times]
    total = sum(node["accord_seconds"] for node in nodes)
    if abs(sum(node["micros"] for node in nodes) - total * 1e6) > 1:
        wrong.append("whole microseconds do not add up")
    for node in nodes:
        if any(dependence >= node["id"] for dependence in node["data"] + node["control"]):
            wrong.append(f"{node['name']}: waits for what is behind it")
    # Outside of repeats: results and operands by hand.
    if len(graph["regions"]) == 2 and graph["microbatches"] == 1:
        made, ids = {}, {node["name"]: node["id"] for node in nodes}
        inputs = {v for v, value in enumerate(graph["values"]) if value["category"] == "inputs" and "alias" not in value}

        def producers(value):
            while value not in made and "alias" in graph["values"][value]:
                value = graph["values"][value]["alias"]
            return made.get(value, {ids["inputs"]} if value in inputs else set())
        for i in graph["regions"][0]["operations"] + graph["regions"][1]["operations"]:
            op = graph["operations"][i]
            waits = set().union(*[producers(v) for v in op["operands"]])
            if cost[i] > 0:
                node = nodes[ids[op["name"]]]
                if set(node["data"]) != waits:
                    wrong.append(f"{op['name']}: waits for {sorted(node['data'])}, expected {sorted(waits)}")
                waits = {node["id"]}
            for value in op["results"]:
                made[value] = waits
    # Layers have one number in both directions: a gradient of weights reads what its layer's forward pass kept.
    by_name = {node["name"]: node for node in nodes}
    pairs = [("mlp.y.weight_gradient", "mlp.gelu"), ("attn.context.data_gradient", "attn.value")]
    for name, node in by_name.items():
        for backward, forward in pairs:
            match = re.fullmatch(rf"(.*)\.{re.escape(backward)}(/.*)", name)
            if match and by_name[f"{match[1]}.{forward}{match[2]}"]["id"] not in node["data"]:
                wrong.append(f"{name}: does not read {forward}")
    print(f"{len(nodes)} nodes, as the plan has them" if not wrong else f"{len(wrong)} wrong")
    return complain(wrong)


def of_cluster(plan_path, folder):
    with open(plan_path, encoding="utf-8") as file:
        plan = json.load(file)
    with open(os.path.join(folder, "comm_groups.json"), encoding="utf-8") as file:
        lists = json.load(file)
    ranks = {int(path.split(".")[-2]): read(path) for path in glob.glob(os.path.join(folder, "trace.*.et"))}
    wrong, sent, received = [], {}, {}
    for rank, nodes in ranks.items():
        for node in nodes:
            if node["kind"] in ("SEND", "RECV"):
                own, into = ("comm_src", sent) if node["kind"] == "SEND" else ("comm_dst", received)
                key = (node.get("comm_src", 0), node.get("comm_dst", 0), node.get("comm_tag", 0), node["comm_size"])
                if node.get(own, 0) != rank or key in into:
                    wrong.append(f"rank {rank}: {node['name']} {key}")
                into[key] = (rank, node["id"])
            if node["kind"] == "COLL" and rank not in lists[node["pg_name"].decode()]:
                wrong.append(f"rank {rank}: not in its list {node['pg_name']}")
    for key in set(sent) ^ set(received):
        wrong.append(f"a message without its other end: {key}")
    # What ends when, if messages take no time: rounds over all ranks until nothing is left.
    end, left = {}, {rank: list(nodes) for rank, nodes in ranks.items()}
    senders = {received[key]: sent[key] for key in received if key in sent}
    progress = True
    while progress and any(left.values()):
        progress = False
        for rank, nodes in left.items():
            rest = []
            for node in nodes:
                waits = [(rank, dependence) for dependence in node["data"] + node["control"]]
                if (rank, node["id"]) in senders:
                    waits.append(senders[rank, node["id"]])
                if all(one in end for one in waits):
                    end[rank, node["id"]] = max([end[one] for one in waits], default=0) + node["accord_seconds"]
                    progress = True
                else:
                    rest.append(node)
            left[rank] = rest
    if any(left.values()):
        wrong.append(f"{sum(map(len, left.values()))} nodes wait for ever")
    step, longest = plan["step_time_s"], max(end.values(), default=0)
    if not 0.85 * step <= longest <= 1.001 * step + 0.1 * step * (plan.get("data_parallel", 1) > 1):
        wrong.append(f"the traces take {longest} s, the step {step}")
    print(f"{len(ranks)} ranks, {len(sent)} messages in pairs, step {longest / step:.2f} of the plan's" if not wrong else f"{len(wrong)} wrong")
    return complain(wrong)


def of_model(model_path, trace_path):
    with open(model_path, encoding="utf-8") as file:
        text = re.sub(r"\s+", " ", file.read())
    nodes, wrong = read(trace_path), []
    inputs = [node for node in nodes if node["kind"] in ("LOAD", "RECV") and not node["data"] + node["control"] and node["accord_seconds"] == 0]
    rest = [node for node in nodes if node not in inputs]
    lets = re.findall(r"let (\w+) = profiled\(([^()]*)\)", text)[:-1]  # behind them the loss, which takes no time
    names = [name for name in re.findall(r"input (\w+) :", text) if name != "start"]
    if len(lets) != len(rest) or len(names) != len(inputs):
        return complain([f"{len(lets)} operations and {len(names)} inputs, in the trace {len(rest)} and {len(inputs)}"])
    # In the order of their ids; names of the language are of 60 letters at most, and words of it get a number.
    named = {node["id"]: name for node, name in zip(inputs, names)}
    named.update({node["id"]: name for node, (name, _) in zip(rest, lets)})
    for node, (name, arguments) in zip(rest, lets):
        words = [word.strip() for word in arguments.split(",")]
        value, unit = next(word for word in words if word.startswith("forward")).split("=")[1].split()
        seconds = float(value) * {"ms": 1e-3, "ps": 1e-12}[unit]
        if abs(seconds - node["accord_seconds"]) > 1e-9 * node["accord_seconds"] + 0.6e-12:  # whole picoseconds
            wrong.append(f"{name}: {seconds} s, in the trace {node['accord_seconds']}")
        if not name.startswith(re.sub(r"\W", "_", node["name"])[:50]):
            wrong.append(f"{name}: in the trace {node['name']}")
        reads = {word for word in words if "=" not in word} - {"start"}
        waits = {named[dependence] for dependence in node["data"] + node["control"]}
        if reads != waits:
            wrong.append(f"{name}: reads {sorted(reads)}, in the trace {sorted(waits)}")
    print(f"{len(nodes)} nodes, as the trace has them" if not wrong else f"{len(wrong)} wrong")
    return complain(wrong)


sys.exit({"plan": of_plan, "cluster": of_cluster, "model": of_model}[sys.argv[1]](*sys.argv[2:4]))
