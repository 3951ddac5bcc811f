#!/usr/bin/env python3
"""Builds the library with AddressSanitizer and UndefinedBehaviorSanitizer in build-debug/, and runs what reaches it.

  scripts/sanitize.py                            all of it: an hour or more on two cores
  scripts/sanitize.py --only lib/import          sanitizers in one folder; all else is taken from build/ as it is
  scripts/sanitize.py --unit 'Onnx*' --lit emit  other tests than all unit tests and those of test/embedding

LLVM, MLIR and ANTLR are the system's, without sanitizers, so three of AddressSanitizer's checks are off:
  detect_container_overflow  a std::vector that such a library fills and ours reads has marks of one side only
  allow_user_poisoning       LLVM's allocators, compiled in both, poison what the library's half does not unpoison
  detect_odr_violation       inline variables of headers are in the library and in ours
Leaks are looked for where a process goes on (test/embedding/repeat.test): a program that ends frees nothing.
What is found lies in build-debug/reports; the exit status is then 1.
"""

import argparse
import os
import re
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
DEBUG, RELEASE = os.path.join(ROOT, "build-debug"), os.path.join(ROOT, "build")
REPORTS = os.path.join(DEBUG, "reports")
PROGRAMS = ["bin/accord", "bin/accord-opt", "bin/accord-embedded", "bin/accord-unit"]
LIT = "/usr/lib/llvm-22/bin/lit"
OPTIONS = {
    "ASAN_OPTIONS": f"detect_container_overflow=0:allow_user_poisoning=0:detect_odr_violation=0:detect_leaks=0:log_path={REPORTS}/address",
    "UBSAN_OPTIONS": f"print_stacktrace=1:log_path={REPORTS}/undefined",
}


def run(words, **more):
    """A command in build-debug/; its exit status."""
    return subprocess.run(words, cwd=DEBUG, check=False, **more).returncode


def must(words):
    if run(words) != 0:
        sys.exit(f"error: {shlex.join(words[:6])} … failed")


def link_line(target):
    """How ninja links a target, without what it does before and behind."""
    told = subprocess.run(["ninja", "-t", "commands", "-s", target], cwd=DEBUG, check=True, capture_output=True, text=True).stdout
    return max((one.strip() for one in told.replace("&&", "\n").splitlines()), key=len)


def build_parts(folders, jobs):
    """Objects of these folders with sanitizers, all others from build/, linked into what build-debug/ has."""
    library = shlex.split(link_line("lib/libaccord.so"))
    wanted = [one for one in library if one.endswith(".o") and any(source_of(one).startswith(folder) for folder in folders)]
    if not wanted:
        sys.exit(f"error: no file of the library is in {', '.join(folders)}")
    must(["ninja", f"-j{jobs}", *wanted])
    print(f"{len(wanted)} of {sum(one.endswith('.o') for one in library)} files have sanitizers", flush=True)
    for target in ["lib/libaccord.so", *PROGRAMS]:
        words = [os.path.join(RELEASE, one) if one.endswith(".o") and one not in wanted else one for one in shlex.split(link_line(target))]
        os.makedirs(os.path.join(DEBUG, os.path.dirname(target)), exist_ok=True)
        must(words)


def unit_tests(chosen, jobs):
    """Whether the unit tests pass, in so many processes at once."""
    words = ["bin/accord-unit", "--gtest_brief=1", f"--gtest_filter={chosen}"]
    parts = [subprocess.Popen(words, cwd=DEBUG, env={**os.environ, "GTEST_TOTAL_SHARDS": str(jobs), "GTEST_SHARD_INDEX": str(part)})
             for part in range(jobs)]
    return not any([part.wait() for part in parts])


def source_of(name):
    """lib/CMakeFiles/accord_import.dir/import/Onnx.cpp.o is of lib/import/Onnx.cpp."""
    return re.sub(r"CMakeFiles/[^/]+\.dir/", "", name)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", metavar="FOLDER", help="sanitizers in the files of this folder alone (may be repeated); needs a build/")
    parser.add_argument("--jobs", type=int, default=os.cpu_count(), help="compile and test so many at once")
    parser.add_argument("--unit", default="*", metavar="FILTER", help="unit tests, as --gtest_filter has it; '' for none")
    parser.add_argument("--lit", default="embedding", metavar="FILTER", help="tests of lit; '' for none")
    options = parser.parse_args()
    if not os.path.exists(os.path.join(DEBUG, "build.ninja")):
        subprocess.run(["cmake", "--preset", "debug"], cwd=ROOT, check=True)
    if options.only:
        build_parts([one.strip("/") for one in options.only], options.jobs)
    else:
        must(["ninja", f"-j{options.jobs}", *PROGRAMS])
    os.makedirs(REPORTS, exist_ok=True)
    for one in os.listdir(REPORTS):
        os.remove(os.path.join(REPORTS, one))
    os.environ.update(OPTIONS)
    failed = bool(options.unit) and not unit_tests(options.unit, options.jobs)
    if options.lit:
        failed |= run([LIT, "-sv", f"-j{options.jobs}", "--param", "timeout=3600", "test", "--filter", options.lit]) != 0
    reports = sorted(os.listdir(REPORTS))
    for one in reports:
        with open(os.path.join(REPORTS, one), encoding="utf-8", errors="replace") as file:
            print(f"--- {os.path.join(REPORTS, one)}\n" + "".join(file.readlines()[:30]))
    print(f"{len(reports)} reports of sanitizers")
    return int(failed or bool(reports))


if __name__ == "__main__":
    sys.exit(main())
