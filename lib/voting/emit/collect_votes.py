#!/usr/bin/env python3
"""Collects the table of votes that `accord vote` reads (`votes from "votes.csv"`) from members that run.

usage: collect_votes.py ensemble.json inputs.jsonl -o votes.csv [--by-class] [--min-samples N] [--parallel N]

inputs.jsonl has a line {"input": …, "truth": LABEL} for each held-out sample, none of which was used for training or
for choosing members. All members have to be running (start/*.sh). A sample of which a vote is missing after three
attempts ends the run: leaving it out would change what is measured. --by-class adds the column `class`, for guarantees of
inputs of each true label.
"""
import argparse
import collections
import concurrent.futures
import http.client
import json
import sys
import threading
import time
import urllib.parse

# So many samples the guarantee needs, by the plan. 0: no number is known.
MIN_SAMPLES = 0
ATTEMPTS = 3
LOCAL = threading.local()


def ask(member, number, value):
    """(answer, seconds) of one member on one input."""
    connections = LOCAL.__dict__.setdefault("connections", {})
    error = None
    for _ in range(ATTEMPTS):
        try:
            if member["url"] not in connections:
                connections[member["url"]] = http.client.HTTPConnection(urllib.parse.urlsplit(member["url"]).netloc, timeout=60)
            connection = connections[member["url"]]
            begin = time.monotonic()
            connection.request("POST", "/vote", json.dumps({"id": number, "input": value}), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            if answer.status != 200:
                raise ValueError(f"status {answer.status}: {text.decode(errors='replace').strip()}")
            seen = json.loads(text)
            return (seen["label"], seen.get("probabilities")), time.monotonic() - begin
        except (OSError, http.client.HTTPException, ValueError, KeyError) as problem:
            error = problem
            connections.pop(member["url"], None)
    sys.exit(f"collect_votes.py: no vote of '{member['name']}' on input {number}: {error}")


def soft_label(members, votes):
    """The label with the largest mean of probabilities by weight, of equal ones the smallest: what the voting server answers."""
    sums = [sum(one) for one in zip(*([member.get("weight", 1) * share for share in probabilities] for member, (_, probabilities) in zip(members, votes)))]
    return sums.index(max(sums))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("ensemble")
    parser.add_argument("inputs")
    parser.add_argument("-o", "--output", required=True)
    parser.add_argument("--by-class", action="store_true")
    parser.add_argument("--min-samples", type=int, default=MIN_SAMPLES)
    parser.add_argument("--parallel", type=int, default=8)
    options = parser.parse_args()
    with open(options.ensemble, encoding="utf-8") as file:
        ensemble = json.load(file)
    members = ensemble["members"]
    is_soft = ensemble["rule"] == "soft"  # then the table has a column of the vote of all
    with open(options.inputs, encoding="utf-8") as file:
        samples = [json.loads(line) for line in file if line.strip()]
    if len(samples) < options.min_samples:
        sys.exit(f"collect_votes.py: {options.inputs} has {len(samples)} samples, the guarantee needs {options.min_samples}")

    def row(item):
        number, sample = item
        votes = [ask(member, number, sample["input"]) for member in members]
        right = [label == sample["truth"] for (label, _), _ in votes]
        if is_soft:
            right.append(soft_label(members, [vote for vote, _ in votes]) == sample["truth"])
        return (sample["truth"] if options.by_class else None, tuple(right)), [seconds for _, seconds in votes]

    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        rows = list(pool.map(row, enumerate(samples)))
    counts = collections.Counter(seen for seen, _ in rows)
    with open(options.output, "w", encoding="utf-8") as file:
        file.write(",".join(["count"] + ["class"] * options.by_class + [member["name"] for member in members] + ["vote"] * is_soft) + "\n")
        for (truth, right), count in sorted(counts.items(), key=lambda one: (str(one[0][0]), -one[1], one[0][1])):
            file.write(",".join([str(count)] + [str(truth)] * options.by_class + ["right" if one else "wrong" for one in right]) + "\n")
    for i, member in enumerate(members):
        wrong = sum(not right[i] for (_, right), _ in rows)
        times = sorted(seconds[i] for _, seconds in rows)
        print(f"{member['name']}: {wrong} of {len(rows)} wrong, p50 {1e3 * times[len(times) // 2]:.3g} ms, p99 {1e3 * times[len(times) * 99 // 100]:.3g} ms")
    if is_soft:
        wrong = sum(count for (_, right), count in counts.items() if not right[-1])
        print(f"{len(rows)} samples in {options.output}; the mean of probabilities is wrong on {wrong}")
        return
    wrong = sum(count for (_, right), count in counts.items() if 2 * sum(right) <= len(right))
    print(f"{len(rows)} samples in {options.output}; half of the members or more are wrong on {wrong}")


if __name__ == "__main__":
    main()
