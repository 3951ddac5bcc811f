#!/usr/bin/env python3
"""Runs `accord compare` of a cluster on broken traces and wrong sets of them: each gets an error with its code and its file, or an answer
whose parts add up, and nothing crashes.

usage: broken_ranks.py PLAN GOOD_FOLDER WORK
"""
import copy
import gzip
import json
import os
import subprocess
import sys


def changed(good, **changes):
    made = copy.deepcopy(good)
    made.update(changes)
    return made


def said(good, key, value):
    """The same where every collective says something else."""
    made = copy.deepcopy(good)
    for event in made["traceEvents"]:
        if "Collective name" in event.get("args", {}):
            event["args"][key] = value
    return made


def refused(good):
    """Contents of the trace of rank 0 that are refused."""
    info = good["distributedInfo"]
    kernels = [e for e in good["traceEvents"] if e.get("cat") == "kernel" or e.get("name", "").startswith("ProfilerStep")]
    return {
        "rank in words": changed(good, distributedInfo=info | {"rank": "first"}), "half a rank": changed(good, distributedInfo=info | {"rank": 0.5}),
        "negative rank": changed(good, distributedInfo=info | {"rank": -3}), "rank of another world": changed(good, distributedInfo=info | {"rank": 99, "world_size": 100}),
        "rank beyond": changed(good, distributedInfo={"rank": 8}), "rank beyond its world": changed(good, distributedInfo={"rank": 8, "world_size": 8}),
        "huge rank": changed(good, distributedInfo={"rank": 10**17}), "world of none": changed(good, distributedInfo={"rank": 0, "world_size": 0}),
        "smaller world": changed(good, distributedInfo={"rank": 0, "world_size": 4}), "world in words": changed(good, distributedInfo={"rank": 0, "world_size": "eight"}),
        "info is a list": changed(good, distributedInfo=[0, 8]), "info is a number": changed(good, distributedInfo=3),
        "negative elements": said(good, "In msg nelems", -5), "elements in words": said(good, "Out msg nelems", "many"), "half an element": said(good, "In msg nelems", 1.5),
        "negative group": said(good, "Group size", -2), "ranks in words": said(good, "Process Group Ranks", "[a, b]"), "negative ranks": said(good, "Process Group Ranks", [-1, 2]),
        "ranks are a number": said(good, "Process Group Ranks", 7), "source in words": said(good, "Src Rank", "x"), "no events": changed(good, traceEvents=[]),
        "no list": {"distributedInfo": info}, "names alone": changed(good, traceEvents=[{"ph": "M", "name": "x"}]),
        "half the events": changed(good, traceEvents=good["traceEvents"][:len(good["traceEvents"]) // 2]), "kernels of no step": changed(good, traceEvents=kernels),
        "no kernel in the step": changed(good, traceEvents=[e for e in good["traceEvents"] if e.get("cat") not in ("kernel", "cpu_op")]),
    }


def answered(good):
    """Contents that say less, or nonsense that a profiler might write: compared all the same."""
    return {
        "ranks cut short": said(good, "Process Group Ranks", "[0, 1, ...]"), "no ranks": said(good, "Process Group Ranks", "[]"), "ranks of nobody": said(good, "Process Group Ranks", [77, 78]),
        "huge elements": said(good, "In msg nelems", 2**62), "no elements": said(good, "In msg nelems", 0), "unknown type": said(good, "dtype", "Float3"), "type is a number": said(good, "dtype", 3),
        "unknown collective": said(good, "Collective name", "dance"), "name is a number": said(good, "Collective name", 5), "names of groups are numbers": said(good, "Process Group Name", 4),
        "messages to nobody": said(good, "Dst Rank", 1000), "messages to itself": said(said(good, "Dst Rank", 0), "Src Rank", 0), "group of one": said(good, "Group size", 1),
        "world not said": changed(good, distributedInfo={"rank": 0, "world_size": -1}),
        "no collective": changed(good, traceEvents=[e for e in good["traceEvents"] if not e.get("name", "").startswith("nccl")]),
        "collectives alone": changed(good, traceEvents=[e for e in good["traceEvents"] if e.get("cat") != "kernel" or e["name"].startswith("nccl")]),
        "backwards": changed(good, traceEvents=good["traceEvents"][::-1]), "twice": changed(good, traceEvents=good["traceEvents"] * 2),
        "on a processor": changed(good, traceEvents=[e for e in good["traceEvents"] if e.get("cat") != "kernel"]),
        "no time": changed(good, traceEvents=[e | {"dur": 0} if e.get("cat") == "kernel" and e["name"].startswith("nccl") else e for e in good["traceEvents"]]),
    }


class Runner:
    def __init__(self, plan, folder, work):
        self.plan, self.folder, self.work, self.wrong, self.count = plan, folder, work, [], 0
        os.makedirs(work, exist_ok=True)

    def run(self, name, traces):
        self.count += 1
        done = subprocess.run(["accord", "compare", self.plan, *traces, "--json"], capture_output=True, text=True, timeout=60, check=False)
        if done.returncode not in (0, 1):
            self.wrong.append(f"{name}: exit status {done.returncode}: {done.stderr[:200]}")
        return done

    def refuse(self, name, traces, file):
        done = self.run(name, traces)
        if done.returncode != 1 or "error[A0" not in done.stderr or file not in done.stderr:
            self.wrong.append(f"{name}: not refused at {file}: {done.returncode} {done.stderr[:200]}")

    def answer(self, name, traces):
        done = self.run(name, traces)
        if done.returncode != 0:
            self.wrong.append(f"{name}: not compared: {done.stderr[:200]}")
            return
        found = json.loads(done.stdout)
        for rank in found["ranks"]:
            total = sum(part["measured_s"] for part in rank["parts"])
            if abs(total - rank["measured_s"]) > 1e-3 * rank["measured_s"] + 1e-7:
                self.wrong.append(f"{name}: the parts of rank {rank['rank']} are {total} s, its step {rank['measured_s']} s")

    def file(self, name, data):
        folder = os.path.join(self.work, name.replace(" ", "_"))
        os.makedirs(folder, exist_ok=True)
        path = os.path.join(folder, "rank0.json")
        with open(path, "wb") as out:
            out.write(data if isinstance(data, bytes) else json.dumps(data).encode())
        return path


def main():
    plan, folder, work = sys.argv[1:]
    runner = Runner(plan, folder, work)
    other = os.path.join(folder, "rank1.json")
    with open(os.path.join(folder, "rank0.json"), "rb") as file:
        raw = file.read()
    good = json.loads(raw)
    for name, data in refused(good).items():
        runner.refuse(name, [other, runner.file(name, data)], "rank0.json")
    packed = gzip.compress(raw, mtime=0)
    for name, data in {"empty": b"", "half": raw[:len(raw) // 2], "half of gzip": packed[:len(packed) // 2], "zeros": b"\0" * 1000}.items():
        runner.refuse(name, [other, runner.file(name, data)], "rank0.json")
    for name, data in answered(good).items():
        runner.answer(name, [other, runner.file(name, data)])
    runner.refuse("twice the same file", [other, other], "rank1.json")
    runner.refuse("no file", [other, os.path.join(work, "none.json")], "none.json")
    runner.refuse("folder and a file of it", [folder, other], "rank1.json")
    runner.refuse("no plan", [], "traces")
    for line in runner.wrong:
        print(line)
    print(f"{runner.count} sets of traces" if not runner.wrong else f"{len(runner.wrong)} wrong")
    return 1 if runner.wrong else 0


sys.exit(main())
