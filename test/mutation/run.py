#!/usr/bin/env python3
"""Runs the tests of each subject against the mutants of its verifier, and says which survive.

usage: run.py TREE MUTANTS [FIRST [LAST]]

TREE is a copy of the source tree in which mutate.py planted the MUTANTS that it printed, and whose accord-unit was built since.
A mutant is killed if a unit test of its subject fails, or takes three times as long and a minute more. First without a mutant: then all
of them pass.
"""
import collections
import glob
import os
import re
import subprocess
import sys
import time


def suites_of(tree, subject):
    names = set()
    for path in glob.glob(f"{tree}/test/lib/{subject}/*.cpp"):
        with open(path, encoding="utf-8") as file:
            names |= set(re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+),", file.read(), re.MULTILINE))
    return ":".join(f"{name}.*" for name in sorted(names))


def passes(tree, suites, mutant, limit=None):
    environment = dict(os.environ, ACCORD_MUTANT=str(mutant))
    command = [f"{tree}/build/bin/accord-unit", "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={suites}"]
    try:
        return subprocess.run(command, env=environment, cwd=tree, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=limit, check=False).returncode == 0
    except subprocess.TimeoutExpired:
        return False


def main():
    tree = os.path.realpath(sys.argv[1])
    with open(sys.argv[2], encoding="utf-8") as file:
        mutants = [line.rstrip("\n").split("\t") for line in file]
    first, last = int(sys.argv[3]) if len(sys.argv) > 3 else 0, int(sys.argv[4]) if len(sys.argv) > 4 else len(mutants) - 1
    counts, limits = collections.Counter(), {}
    for number, place, what in mutants[first:last + 1]:
        subject = place.split("/")[1]
        suites = suites_of(tree, subject)
        if subject not in limits:
            began = time.monotonic()
            if not passes(tree, suites, -1):
                sys.exit(f"{subject}: its tests fail without a mutant")
            limits[subject] = 3 * (time.monotonic() - began) + 60
        survived = passes(tree, suites, number, limits[subject])
        counts[subject, survived] += 1
        if survived:
            print(f"survives\t{number}\t{place}\t{what}", flush=True)
    for subject in sorted(limits):
        killed, all_ = counts[subject, False], counts[subject, False] + counts[subject, True]
        print(f"{subject}: {killed} of {all_} killed")
    killed, all_ = sum(n for (_, survived), n in counts.items() if not survived), sum(counts.values())
    print(f"all: {killed} of {all_} killed ({100 * killed / all_:.1f} %)")


main()
