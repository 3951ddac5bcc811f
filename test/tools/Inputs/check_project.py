#!/usr/bin/env python3
"""check_project.py PROJECT ANSWER.json: whether the answer of `accord schedule --json` is a schedule of the PSPLIB project: each
job once, in one of its modes, after those before it, within what there is at every time and in total."""
import json
import sys


def read(path):
    with open(path, encoding="ascii") as file:
        rows = [line.split() for line in file]
    start = {row[0].rstrip(":"): i for i, row in enumerate(rows) if row}
    after, modes, job = {}, {}, None
    for row in rows[start["PRECEDENCE"] + 2 :]:
        if not row or not row[0].isdigit():
            break
        after[int(row[0])] = [int(word) for word in row[3:]]
    kinds = "".join(rows[start["REQUESTS/DURATIONS"] + 1][3:])
    kinds = [kinds[i] for i in range(len(kinds)) if kinds[i].isalpha()]
    for row in rows[start["REQUESTS/DURATIONS"] + 2 : start["RESOURCEAVAILABILITIES"]]:
        if row and row[0].isdigit():
            numbers = [int(word) for word in row]
            if len(numbers) == len(kinds) + 3:
                job = numbers.pop(0)
            modes.setdefault(job, {})[numbers[0]] = numbers[1:]
    capacity = [int(word) for word in rows[start["RESOURCEAVAILABILITIES"] + 2]] if kinds else []
    return after, modes, kinds, capacity


def main():
    after, modes, kinds, capacity = read(sys.argv[1])
    with sys.stdin if sys.argv[2] == "-" else open(sys.argv[2], encoding="utf-8") as file:
        answer = json.load(file)
    slots = {int(slot["operation"]): slot for slot in answer["slots"]}
    assert len(slots) == len(answer["slots"]) and slots.keys() == modes.keys(), "each job once"
    end, events, spent = {}, [], [0] * len(kinds)
    for job, slot in slots.items():
        assert len(modes[job]) == 1 or "mode" in slot, f"mode of job {job}"
        duration, *needs = modes[job][int(slot.get("mode", 1))]
        assert slot["duration"] == duration and slot["start"] >= 0, f"times of job {job}"
        end[job] = slot["start"] + duration
        spent = [a + b for a, b in zip(spent, needs)]
        if duration:
            events += [(end[job], 0, [-n for n in needs]), (slot["start"], 1, needs)]
    for job, successors in after.items():
        for successor in successors:
            assert slots[successor]["start"] >= end[job], f"job {successor} starts before the end of {job}"
    used = [0] * len(kinds)
    for _, _, change in sorted(events, key=lambda event: event[:2]):
        used = [a + b for a, b in zip(used, change)]
        assert all(k == "N" or u <= c for k, u, c in zip(kinds, used, capacity)), f"more than there is: {used}"
    assert all(k == "R" or s <= c for k, s, c in zip(kinds, spent, capacity)), f"overspent: {spent}"
    makespan, bound = answer["objective"]["value"], answer["bound"]["value"]
    assert makespan == max(end.values(), default=0), "makespan"
    assert 0 <= bound <= makespan and abs(answer["gap"] - ((makespan - bound) / makespan if makespan else 0)) < 1e-9, "gap"
    assert bound == makespan or answer["stopped"], "why it stopped"
    print(f"a schedule of {len(slots)} jobs, makespan {makespan}, {'gap' if answer['gap'] else 'best'}")


if __name__ == "__main__":
    main()
