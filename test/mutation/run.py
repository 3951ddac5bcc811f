#!/usr/bin/env python3
"""Runs tests against the mutants of the verifiers, and says which survive.

usage: run.py TREE MUTANTS STATE [--units] [--longest SECONDS] [--only NUMBER...]

TREE is a copy of the source tree in which mutate.py planted the MUTANTS that it printed, and whose accord-unit and accord were built
since. STATE is a file that remembers what was found, so that a later run does only what is new: delete it after another build.

First without a mutant: each unit test of a file that includes a verifier, and each lit test that calls `accord verify`, says which mutants
it reaches (Mutant.h); tests of more than 30 s of processor time (--longest)
are left out. Then each mutant meets the tests that reach it, the fast ones first: unit tests, then lit tests for what those leave alive (not with --units).
A mutant is killed by the first test that fails, or that takes three times as long and five seconds more. It is equivalent if equivalent.txt
says so, with the reason; it survives otherwise.
"""
import argparse
import collections
import glob
import json
import os
import re
import resource
import signal
import subprocess
import sys
import tempfile

LIT = "/usr/lib/llvm-22/bin/lit"


def command_of(tree, names):
    """The command that runs tests of one kind, and stops at the first that fails."""
    if names[0].startswith("lit:"):
        return [LIT, "-q", "-j", "1", "--max-failures=1", *(f"{tree}/build/test/{name[4:]}" for name in names)]
    return [f"{tree}/build/bin/accord-unit", "--gtest_brief=1", "--gtest_fail_fast", f"--gtest_filter={':'.join(names)}"]


def passes(tree, names, seconds, **environment):
    """Whether they pass, each process in so many seconds of processor time, and how many all of them took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    limits = (int(seconds) + 1, int(seconds) + 1)
    with subprocess.Popen(command_of(tree, names), env=dict(os.environ, **environment), cwd=tree, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, start_new_session=True, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limits)) as child:
        try:
            passed = child.wait(60 + 30 * seconds) == 0
        except subprocess.TimeoutExpired:  # it waits for something
            os.killpg(child.pid, signal.SIGKILL)  # with the programs that a lit test started
            passed = False
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return passed, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def tests_of(tree, units_alone):
    suites = set()
    for source in glob.glob(f"{tree}/test/lib/*/*.cpp"):
        with open(source, encoding="utf-8") as file:
            text = file.read()
        if re.search(r"^#include .*/verify/", text, re.MULTILINE):
            suites |= set(re.findall(r"^(?:TEST|TEST_F|TEST_P)\((\w+),", text, re.MULTILINE))
    names, suite = [], ""
    listed = subprocess.check_output([f"{tree}/build/bin/accord-unit", "--gtest_list_tests"], text=True, cwd=tree)
    for line in listed.splitlines()[1:]:
        if line.startswith(" "):
            names += [suite + line.split()[0]] if any(part in suites for part in re.split("[./]", suite)) else []
        else:
            suite = line.split()[0]
    for path in () if units_alone else sorted(glob.glob(f"{tree}/test/*/*.*")):
        if path.endswith((".test", ".dnn", ".accel", ".mlir")):
            with open(path, encoding="utf-8", errors="replace") as file:
                if re.search(r"^.*RUN:.*(accord verify|tamper_fields)", file.read(), re.MULTILINE):
                    names.append("lit:" + os.path.relpath(path, f"{tree}/test"))
    return names


def measure(tree, state, save, names, longest):
    """What each test reaches, and how long it takes."""
    for name in names:
        if name in state["tests"]:
            continue
        with tempfile.TemporaryDirectory() as scratch:
            path = os.path.join(scratch, "reached")
            passed, seconds = passes(tree, [name], longest, ACCORD_REACHED=path)
            numbers = []
            if passed and os.path.exists(path):
                with open(path, encoding="utf-8") as file:
                    numbers = sorted({int(line) for line in file})
            if not passed:
                print(f"{name} fails without a mutant or takes more than {longest} s, and is left out", file=sys.stderr)
            state["tests"][name] = {"seconds": round(seconds, 2), "reaches": numbers}
            save()


def killer(tree, state, number, names):
    """Those of the tests of which one fails; none if all pass. Many fast tests run in one process."""
    known = state["tests"]
    names = sorted((name for name in names if number in known[name]["reaches"]), key=lambda name: (name.startswith("lit:"), known[name]["seconds"]))
    while names:
        kind, seconds, some = names[0].startswith("lit:"), 0.0, []
        while names and names[0].startswith("lit:") == kind and (not some or not kind and seconds < 3 and len(some) < 200):
            seconds += known[names[0]]["seconds"]
            some.append(names.pop(0))
        if not passes(tree, some, 3 * seconds + 5, ACCORD_MUTANT=str(number))[0]:
            return some
    return []


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2][7:])
    parser.add_argument("tree", type=os.path.realpath)
    parser.add_argument("mutants")
    parser.add_argument("state")
    parser.add_argument("--units", action="store_true")
    parser.add_argument("--longest", type=int, default=30)
    parser.add_argument("--only", type=int, nargs="*")
    options = parser.parse_args()
    with open(options.mutants, encoding="utf-8") as file:
        mutants = [line.rstrip("\n").split("\t") for line in file]
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "equivalent.txt"), encoding="utf-8") as file:
        equivalent = {tuple(line.rstrip("\n").split("\t")[:2]): line.rstrip("\n").split("\t")[2] for line in file if line.strip() and line[0] != "#"}
    state = {"tests": {}, "mutants": {}}
    if os.path.exists(options.state):
        with open(options.state, encoding="utf-8") as file:
            state = json.load(file)

    def save():
        with open(options.state + ".new", "w", encoding="utf-8") as file:
            json.dump(state, file)
        os.replace(options.state + ".new", options.state)

    names = tests_of(options.tree, options.units)
    measure(options.tree, state, save, names, options.longest)
    counts, verdicts = collections.Counter(), collections.defaultdict(list)
    for number, place, what in mutants:
        if options.only and int(number) not in options.only:
            continue
        # Tests that met this mutant, and the test that killed it.
        met = state["mutants"].setdefault(number, {"passed": [], "killed": []})
        if not met["killed"]:
            reach = [name for name in names if name not in met["passed"]]
            met["killed"] = killer(options.tree, state, int(number), reach)
            met["passed"] += reach if not met["killed"] else []
            save()
        reason = equivalent.get((place.split(":")[0], what))
        if met["killed"]:
            verdict = "killed by lit tests" if met["killed"][0].startswith("lit:") else "killed by unit tests"
            if reason:
                print(f"{place}: equivalent.txt says {reason!r}, and {met['killed'][0]} kills it", file=sys.stderr)
        else:
            verdict = "equivalent" if reason else "survives"
        if verdict == "survives":
            reached = any(int(number) in test["reaches"] for test in state["tests"].values())
            print(f"survives\t{number}\t{place}\t{what}" + ("" if reached else "\tno test reaches it"), flush=True)
        subject = place.split("/")[1]
        counts[verdict] += 1
        verdicts[subject].append(verdict)
    for subject, all_ in sorted(verdicts.items()):
        print(f"{subject}: " + ", ".join(f"{all_.count(verdict)} {verdict}" for verdict in sorted(set(all_))))
    killed, all_ = sum(n for verdict, n in counts.items() if verdict.startswith("killed")), sum(counts.values())
    print("all: " + ", ".join(f"{n} {verdict}" for verdict, n in sorted(counts.items())))
    print(f"{killed} of the {all_ - counts['equivalent']} that are not equivalent are killed ({100 * killed / max(1, all_ - counts['equivalent']):.1f} %)")


main()
