#!/usr/bin/env python3
"""Projects of PSPLIB solved and verified, as the table in docs/scheduling-proofs.md. Times are processor time. Needs a release build in build/.

usage: test/bench/proofs.py FOLDER_WITH_SM_FILES [--work FOLDER]
"""
import argparse
import json
import pathlib
import resource
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
ACCORD = ROOT / "build/bin/accord"


def timed(*command):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    run = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return run, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--work", type=pathlib.Path, help="where answers are left; default: nowhere")
    options = parser.parse_args()
    rows = {"arithmetic": [], "a replayed proof": [], "z3 alone": []}
    optimal = invalid = size = 0
    with tempfile.TemporaryDirectory() as scratch:
        for file in sorted(options.folder.glob("*.sm")):
            answer = (options.work or pathlib.Path(scratch)) / file.stem
            solved, solving = timed(ACCORD, "schedule", file, "--json", "-o", answer)
            verified, checking = timed(ACCORD, "verify", answer, "--allow-trusted", "--json")
            found, checked = json.loads(solved.stdout), json.loads(verified.stdout)
            optimal += found.get("gap") == 0
            invalid += not checked["valid"]
            proofs = list(answer.glob("certificate/*.rup"))
            size = max([size, *(proof.stat().st_size for proof in proofs)])
            trusted = any("a solver's answer" in line for line in checked["assumed"])
            kind = "z3 alone" if trusted else "a replayed proof" if proofs else "arithmetic"
            rows[kind].append((solving, checking))
            print(f"{file.stem}: {kind}, solved in {solving:.2f} s, checked in {checking:.2f} s", file=sys.stderr)
    every = sum(rows.values(), [])
    print(f"{len(every)} projects, {optimal} optimal, {invalid} not valid, largest proof {size / 1e6:.1f} MB\n")
    print("| bounds by | projects | solving, mean | max | checking, mean | max | checking / solving |\n|---|---|---|---|---|---|---|")
    for kind, times in (*rows.items(), ("all", every)):
        if times:
            solving, checking = zip(*times)
            mean = [sum(part) / len(times) for part in (solving, checking)]
            print(f"| {kind} | {len(times)} | {mean[0]:.3f} s | {max(solving):.2f} s | {mean[1]:.3f} s | {max(checking):.2f} s | {mean[1] / mean[0]:.2f} |")


if __name__ == "__main__":
    main()
