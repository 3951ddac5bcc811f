"""time_tampered.py ACCORD FOLDER SCRATCH: every change of the timing in a certificate of `accord time` is refused."""
import json
import os

from tampering import edit, folder, tampered, verify

TIMING, SHOWN = "certificate/time.json", "time.json"
assert verify(folder).returncode == 0, verify(folder).stderr
with open(os.path.join(folder, TIMING), encoding="utf-8") as file:
    good = json.load(file)["timing"]
inner = next(i for i, one in enumerate(good["recurrences"]) if one["loop"] == 1)
outer = next(i for i, one in enumerate(good["recurrences"]) if one["loop"] == 0)


def timing(change):
    return edit(TIMING, lambda document: change(document["timing"]))


def recurrence(at, key, by):
    def change(is_):
        is_["recurrences"][at][key] += by

    return timing(change)


def count(*path, by=1):
    """A number that is written as text."""
    def change(is_):
        for part in path[:-1]:
            is_ = is_[part]
        is_[path[-1]] = str(int(is_[path[-1]]) + by)

    return timing(change)


def refused(name, change, said=""):
    tampered(name, ["error[A1307]", said], change)


refused("cycles", timing(lambda is_: is_.update(cycles=is_["cycles"] - 1)), "cycles: 401054 are found, 401053 are stated")
refused("instructions", count("instructions"), "instructions: 400200 are found, 400201 are stated")
refused("evaluated", timing(lambda is_: is_.update(evaluated=is_["evaluated"] + 1)), "evaluated instructions")
refused("growth of the inner loop", recurrence(inner, "growth", 1), "loop 'j' does not recur")
refused("growth of the outer loop", recurrence(outer, "growth", -1), "loop 'i' does not recur")
refused("first of the outer loop", recurrence(outer, "first", -20))
refused("period of the outer loop", recurrence(outer, "period", -16))
refused("repeats of the outer loop", recurrence(outer, "repeats", 1))
refused("another loop", recurrence(outer, "loop", 1))
refused("a loop that is not there", recurrence(outer, "loop", 7), "loop number 7, which does not exist")
refused("no recurrences", timing(lambda is_: is_.update(recurrences=[])), "more than 832 instructions were evaluated")
refused("a recurrence twice", timing(lambda is_: is_["recurrences"].append(is_["recurrences"][0])))
refused("busy cycles", count("units", 1, "busy"), "busy cycles of unit 'mau': 200200 are found, 200201 are stated")
refused("hits", count("memories", 1, "hits", by=-1), "hits of memory 'l1'")
refused("waits", count("cycle_stack", 0, "oldest"), "cycles that were waited for")
refused("the machine", edit(TIMING, lambda document: document["machine"]["memories"][0].update(read_latency=6)))
print(f"{tampered.count} changes refused")
