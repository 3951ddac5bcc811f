#!/usr/bin/env python3
"""check_trace.py TRACE.json: what Perfetto and chrome://tracing need, and that slices of one thread nest or follow."""
import json
import sys
from collections import defaultdict


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        trace = json.load(file)
    events = trace["traceEvents"]
    named, slices, counters = set(), defaultdict(list), defaultdict(list)
    for i, event in enumerate(events):
        where = f"traceEvents[{i}]"
        assert isinstance(event["name"], str) and event["name"], where
        assert isinstance(event["pid"], int), where
        if event["ph"] == "M":
            named.add((event["name"], event["pid"], event["tid"]))
        elif event["ph"] == "X":
            assert event["ts"] >= 0 and event["dur"] > 0, where
            slices[event["pid"], event["tid"]].append((event["ts"], event["dur"], event))
        elif event["ph"] == "C":
            assert event["args"] and all(v >= 0 for v in event["args"].values()), where
            counters[event["pid"], event["name"]].append(event["ts"])
        else:
            raise AssertionError(f"{where}: phase {event['ph']}")
    assert slices and counters
    for (_, name), times in counters.items():
        assert times == sorted(times), f"{name} goes back in time"
    for (pid, tid), rows in slices.items():
        assert ("process_name", pid, 0) in named, f"process {pid} has no name"
        assert ("thread_name", pid, tid) in named or pid == 2, f"thread {tid} of process {pid} has no name"
        end = 0.0
        for ts, dur, event in sorted(rows, key=lambda r: r[:2]):
            assert ts >= end - 1e-5, f"{event['name']} at {ts} overlaps what ends at {end}"
            end = ts + dur
    for rows in slices.values():
        for _, _, event in rows:
            if "bound" in event["args"]:
                assert {"flops", "bytes", "phase", "critical", "iterations"} <= event["args"].keys()
    print(f"{sum(map(len, slices.values()))} slices on {len(slices)} tracks, {sum(map(len, counters.values()))} memory points")


if __name__ == "__main__":
    main()
