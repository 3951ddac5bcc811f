#!/usr/bin/env python3
"""Projects with several modes (.mm) in the manner of ProGen and with the parameters of MMLIB50, the same for each seed.

usage: test/bench/projects.py FOLDER [--number 40] [--seed 1] [--tasks 50]

Writes random ones of the 108 combinations of MMLIB50 (Van Peteghem, Vanhoucke, EJOR 235, 2014): 50 tasks of 3 modes, 2
renewable and 2 non-renewable resources; order strength 0.25, 0.5 or 0.75; resource factors 0.5 or 1; resource strengths
0.25, 0.5 or 0.75. They are not MMLIB's own projects. The definitions are those of Kolisch, Sprecher, Drexl (Management
Science 41, 1995): order strength is the share of ordered pairs, resource factor the share of resources that a task
needs, and resource strength 0 is the least that can do, 1 what suffices (a peak of the earliest starts, or all
the largest amounts).
"""
import argparse
import pathlib
import random

RENEWABLE = NONRENEWABLE = 2
MODES = 3


def network(tasks, strength, rng):
    """Successors by task: random edges from lower to higher numbers until so many pairs are ordered; then those that
    others imply are left out."""
    before, after = [0] * tasks, [0] * tasks  # bit sets of all predecessors and successors
    pairs = [(a, b) for b in range(tasks) for a in range(b)]
    rng.shuffle(pairs)
    ordered, wanted = 0, strength * len(pairs)
    for a, b in pairs:
        if after[a] >> b & 1:
            continue
        lower, upper = before[a] | 1 << a, after[b] | 1 << b
        more = sum(bin(upper & ~after[x]).count("1") for x in range(tasks) if lower >> x & 1)
        if ordered + more > wanted + 0.01 * len(pairs):
            continue
        for x in range(tasks):
            if lower >> x & 1:
                after[x] |= upper
            if upper >> x & 1:
                before[x] |= lower
        ordered += more
        if ordered >= wanted:
            break
    inner = [0] * tasks  # implied by a chain
    for a in range(tasks):
        for b in range(tasks):
            if after[a] >> b & 1:
                inner[a] |= after[b]
    return [[b for b in range(tasks) if (after[a] & ~inner[a]) >> b & 1] for a in range(tasks)]


def needed(tasks, resources, factor, rng):
    """By task, the resources that it needs: one at least, the share `factor` of all together."""
    sets = [{rng.randrange(resources)} for _ in range(tasks)]
    rest = [(t, r) for t in range(tasks) for r in range(resources) if r not in sets[t]]
    for t, r in rng.sample(rest, max(0, round(factor * tasks * resources) - tasks)):
        sets[t].add(r)
    return sets


def modes_of(resources, rng):
    """Rows of a duration and amounts: who takes longer needs less of one resource at least, and no more of any."""
    while True:
        durations = sorted(rng.sample(range(1, 11), MODES))
        columns = [sorted((rng.randint(1, 10) for _ in range(MODES)), reverse=True) if rng.random() < 0.5
                   else [rng.randint(1, 10)] * MODES for _ in resources]
        if all(any(column[m] > column[m + 1] for column in columns) for m in range(MODES - 1)):
            return durations, dict(zip(resources, columns))


def capacities(tasks, strengths, successors, modes):
    out = []
    for r in range(RENEWABLE + NONRENEWABLE):
        amounts = [one.get(r, [0] * MODES) for _, one in modes]
        if r < RENEWABLE:
            low, start, use = max(min(a) for a in amounts), [0] * tasks, {}
            for t in range(tasks):  # each in its mode of the largest amount, as early as it can
                mode = max(range(MODES), key=lambda m, a=amounts[t], d=modes[t][0]: (a[m], -d[m]))
                end = start[t] + modes[t][0][mode]
                for time in range(start[t], end):
                    use[time] = use.get(time, 0) + amounts[t][mode]
                for b in successors[t]:
                    start[b] = max(start[b], end)
            high = max(use.values())
        else:
            low, high = sum(map(min, amounts)), sum(map(max, amounts))
        strength = strengths[0] if r < RENEWABLE else strengths[1]
        out.append(low + round(strength * max(0, high - low)))
    return out


def project(tasks, rng):
    order, strengths = rng.choice((0.25, 0.5, 0.75)), (rng.choice((0.25, 0.5, 0.75)), rng.choice((0.25, 0.5, 0.75)))
    factors = rng.choice((0.5, 1)), rng.choice((0.5, 1))
    successors = network(tasks, order, rng)
    renewable, other = needed(tasks, RENEWABLE, factors[0], rng), needed(tasks, NONRENEWABLE, factors[1], rng)
    modes = [modes_of([*sorted(renewable[t]), *(RENEWABLE + r for r in sorted(other[t]))], rng) for t in range(tasks)]
    heads = {b for after in successors for b in after}
    jobs = [[t + 2 for t in range(tasks) if t not in heads]] + [[b + 2 for b in after] or [tasks + 2] for after in successors] + [[]]
    stars = "*" * 72
    resources = RENEWABLE + NONRENEWABLE
    lines = [stars, f"file with basedata            : order strength {order}, resource factors {factors[0]} {factors[1]}, resource strengths {strengths[0]} {strengths[1]}", stars,
             "projects                      :  1", f"jobs (incl. supersource/sink ):  {tasks + 2}",
             f"horizon                       :  {sum(max(d) for d, _ in modes)}", "RESOURCES",
             f"  - renewable                 :  {RENEWABLE}   R", f"  - nonrenewable              :  {NONRENEWABLE}   N",
             "  - doubly constrained        :  0   D", stars, "PRECEDENCE RELATIONS:", "jobnr.    #modes  #successors   successors"]
    lines += [f"{j + 1:4d} {1 if j in (0, tasks + 1) else MODES:8d} {len(after):8d}      {' '.join(map(str, after))}".rstrip()
              for j, after in enumerate(jobs)]
    names = [f"R {r + 1}" for r in range(RENEWABLE)] + [f"N {r + 1}" for r in range(NONRENEWABLE)]
    lines += [stars, "REQUESTS/DURATIONS:", "jobnr. mode duration  " + "  ".join(names), "-" * 72]
    none = ([0], {})
    for j, (durations, amounts) in enumerate([none, *modes, none]):
        for m, duration in enumerate(durations):
            cells = " ".join(f"{amounts[r][m] if r in amounts else 0:4d}" for r in range(resources))
            lines.append(f"{str(j + 1) if m == 0 else '':4} {m + 1:6d} {duration:6d}   {cells}")
    lines += [stars, "RESOURCEAVAILABILITIES:", "  ".join(names),
              " ".join(f"{c:4d}" for c in capacities(tasks, strengths, successors, modes)), stars]
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--number", type=int, default=40)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--tasks", type=int, default=50)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(options.seed)
    for number in range(1, options.number + 1):
        (options.folder / f"m{options.tasks}_{number}.mm").write_text(project(options.tasks, rng))


if __name__ == "__main__":
    main()
