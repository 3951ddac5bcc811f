#!/usr/bin/env python3
"""A random sample of projects (.sm, .mm) solved within a limit of processor time, beside known values and, if asked for, CP-SAT.

usage: test/bench/psplib.py FOLDER [--number 40] [--seed 1] [--limit 60] [--effort 30] [--verify] [--cp-sat]

Needs a release build in build/. Each project has one thread until LIMIT seconds of processor time are spent; then the
command is interrupted, and its best schedule and bound count. Known values are read from FOLDER.csv or
FOLDER/optimum/optimum.csv, rows "name,value" or "name,bound..value" after a heading. --verify writes certificates and
replays them, which takes time of its own. --cp-sat needs OR-tools (PyPI): one worker, the same limit.
"""
import argparse
import csv
import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCORD = ROOT / "build/bin/accord"
TICKS = os.sysconf("SC_CLK_TCK")


def processor_time(pid):
    """Of a process and of its children that ended; nothing where it has ended."""
    try:
        fields = pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    except OSError:
        return None
    return sum(int(fields[i]) for i in (11, 12, 13, 14)) / TICKS


def limited(command, limit):
    """What a command prints, and its processor time; SIGINT after the limit."""
    run = subprocess.Popen(list(map(str, command)), stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    printed = []
    reader = threading.Thread(target=lambda: printed.append(run.stdout.read()))
    reader.start()
    spent, interrupted = 0, False
    while run.poll() is None:
        spent = processor_time(run.pid) or spent
        if spent >= limit and not interrupted:
            run.send_signal(signal.SIGINT)
            interrupted = True
        time.sleep(0.02)
    reader.join()
    return printed[0], spent


def value_of(quantity):
    return quantity.get("value") if isinstance(quantity, dict) else quantity


def by_accord(file, options, folder):
    command = [ACCORD, "schedule", file, "--json", "--threads", 1, "--effort", options.effort]
    printed, spent = limited(command + (["-o", folder] if options.verify else []), options.limit)
    answer = json.loads(printed)
    valid = True
    if options.verify:
        valid = subprocess.run([ACCORD, "verify", folder], capture_output=True, check=False).returncode == 0
    return value_of(answer.get("objective")), value_of(answer.get("bound")) or 0, spent, valid


def by_cp_sat(file, options, _):
    printed, spent = limited([sys.executable, __file__, file, "--solve-by-cp-sat", "--limit", options.limit], 2 * options.limit)
    upper, lower = json.loads(printed)
    return upper, lower, spent, True


def rows_between(lines, begin):
    """Rows of numbers after a heading, up to the next line of stars."""
    start = next(i for i, line in enumerate(lines) if line.startswith(begin))
    rows = []
    for line in lines[start + 1:]:
        if line.startswith("***"):
            break
        numbers = line.split()
        if numbers and all(word.isdigit() for word in numbers):
            rows.append([int(word) for word in numbers])
    return rows


def solve_by_cp_sat(file, limit):
    from ortools.sat.python import cp_model  # pylint: disable=import-outside-toplevel,import-error

    lines = file.read_text().splitlines()
    successors = {row[0]: row[3:] for row in rows_between(lines, "PRECEDENCE")}
    capacities = rows_between(lines, ("RESOURCEAVAIL", "RESOURCE AVAIL"))[-1]
    modes, job = {}, 0
    for row in rows_between(lines, "REQUESTS/DURATIONS"):
        if len(row) == len(capacities) + 3:
            job, row = row[0], row[1:]
        modes.setdefault(job, []).append(row[1:])
    renewable = next(int(line.split(":")[1].split()[0]) for line in lines if "- renewable" in line)
    horizon = sum(max(mode[0] for mode in choices) for choices in modes.values())
    model = cp_model.CpModel()
    starts = {job: model.new_int_var(0, horizon, "") for job in modes}
    ends = {job: model.new_int_var(0, horizon, "") for job in modes}
    uses, spends = [[] for _ in capacities], [[] for _ in capacities]
    for job, choices in modes.items():
        chosen = [model.new_bool_var("") for _ in choices]
        model.add_exactly_one(chosen)
        for mode, literal in zip(choices, chosen):
            interval = model.new_optional_fixed_size_interval_var(starts[job], mode[0], literal, "")
            model.add(ends[job] == starts[job] + mode[0]).only_enforce_if(literal)
            for resource, amount in enumerate(mode[1:]):
                if amount:
                    uses[resource].append((interval, amount))
                    spends[resource].append(amount * literal)
    for job, after in successors.items():
        for other in after:
            model.add(starts[other] >= ends[job])
    for resource, capacity in enumerate(capacities):
        if resource < renewable:
            model.add_cumulative([interval for interval, _ in uses[resource]], [amount for _, amount in uses[resource]], capacity)
        else:
            model.add(sum(spends[resource]) <= capacity)
    model.minimize(ends[max(modes)])
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    over = threading.Event()

    def watch():
        while not over.wait(0.02):
            if time.process_time() >= limit:
                solver.stop_search()

    watcher = threading.Thread(target=watch)
    watcher.start()
    status = solver.solve(model)
    over.set()
    watcher.join()
    found = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    print(json.dumps([round(solver.objective_value) if found else None, round(solver.best_objective_bound)]))


def known_values(folder):
    """By file name: a bound, or 0, and a makespan."""
    for path in (folder.parent / f"{folder.name}.csv", folder / "optimum/optimum.csv"):
        if path.exists():
            rows = list(csv.reader(path.open()))[1:]
            # A few rows of one public copy have the makespan before the bound.
            return {name: (min(parts), max(parts)) for name, *cells in rows for parts in [[int(part or 0) for part in cells[0].split("..")]]}
    return {}


def report(name, results, known):
    """A row of the table, and what is wrong."""
    proven = [upper is not None and upper <= lower for upper, lower, _, _ in results.values()]
    gaps = [(upper - lower) / lower for upper, lower, _, _ in results.values() if upper is not None and lower]
    worse = [file for file, (upper, _, _, _) in results.items() if file in known and (upper or 1e9) > known[file][1]]
    wrong = [file for file, (upper, lower, _, valid) in results.items()
             if not valid or (file in known and (lower > known[file][1] or (upper is not None and upper < known[file][0])))]
    seconds = sum(spent for _, _, spent, _ in results.values())
    mean = 100 * sum(gaps) / max(1, len(gaps))
    print(f"| {name} | {sum(proven)} of {len(results)} | {mean:.2f} % | {100 * max(gaps, default=0):.1f} % | {len(worse)} | {seconds / max(1, len(results)):.2f} s |")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--number", type=int, default=40, help="projects of the sample; 0: all")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--limit", type=float, default=60, help="seconds of processor time for a project")
    parser.add_argument("--effort", type=int, default=30, help="so much that the limit ends the search")
    parser.add_argument("--verify", action="store_true")
    parser.add_argument("--cp-sat", action="store_true")
    parser.add_argument("--solve-by-cp-sat", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.solve_by_cp_sat:
        solve_by_cp_sat(options.folder, options.limit)
        return 0
    files = sorted(path for path in options.folder.iterdir() if path.suffix in (".sm", ".mm"))
    if options.number:
        files = random.Random(options.seed).sample(files, min(options.number, len(files)))
    known = known_values(options.folder)
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background job ignores it, and so would its children
    solvers = {"accord": by_accord, **({"CP-SAT": by_cp_sat} if options.cp_sat else {})}
    results = {name: {} for name in solvers}
    for file in files:
        for name, solve in solvers.items():
            with tempfile.TemporaryDirectory() as scratch:
                upper, lower, spent, valid = results[name][file.name] = solve(file, options, pathlib.Path(scratch) / "answer")
            if name != "accord" or upper is None or upper > lower or not valid:
                best = "..".join(str(value) for value in sorted(set(known.get(file.name, ()))))
                print(f"{name} {file.name}: {lower}..{upper}, known {best or 'not'}, {spent:.1f} s{'' if valid else ', NOT VALID'}", file=sys.stderr)
    print(f"{len(files)} of {options.folder.name}, seed {options.seed}, {options.limit:g} s each\n")
    print("| solver | proven | gap, mean | max | worse than known | processor time, mean |\n|---|---|---|---|---|---|")
    wrong = [file for name, rows in results.items() for file in report(name, rows, known)]
    print(f"\nwrong: {', '.join(wrong) or 'none'}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
