"""fault_answers.py SHIM WHAT STEP COMMAND OLD NEW: `accord COMMAND` of NEW over the answer of OLD, with every STEP-th call that
changes a file failing in turn (WHAT: an errno, "ENOSPC" or "EIO") or the process killed at it ("kill"); or with allocations
failing ("memory"), STEP of them, spread over the run.

What must hold each time: the folder is the older answer whole or the newer one whole; a run that failed says so in one sentence
and with exit status 1, without memory 1 or 3; one that ended with 0 has left the newer answer; no run is ended by a signal of its
own."""
import errno
import os
import shutil
import subprocess
import sys

import answer_content

shim, what, step, word, old_source, new_source = sys.argv[1:7]


def run(source, fault=None):
    environment = dict(os.environ, LD_PRELOAD=shim, FAULT_COUNT="count.txt")
    if fault is not None:
        environment |= {"FAULT": str(fault), "FAULT_ERROR": what if what in ("kill", "memory") else str(getattr(errno, what))}
    return subprocess.run(["accord", word, source, "-o", "out"], capture_output=True, text=True, env=environment, check=False)


def content():
    return answer_content.content()[0]


shutil.rmtree("out", ignore_errors=True)
assert run(new_source).returncode == 0
new = content()
shutil.rmtree("out")
assert run(old_source).returncode == 0
old = content()
assert run(new_source).returncode == 0 and content() == new
with open("count.txt", encoding="utf-8") as counted:
    calls, allocations = map(int, counted.read().split())
if what == "memory":
    # Before the program begins libraries allocate, and nobody there says why they end.
    subprocess.run(["accord", "--version"], env=dict(os.environ, LD_PRELOAD=shim, FAULT_COUNT="count.txt"), capture_output=True, check=True)
    with open("count.txt", encoding="utf-8") as counted:
        before = int(counted.read().split()[1])
    faults = range(before, allocations, max(1, (allocations - before) // int(step)))
else:
    faults = range(1, calls + 1, int(step))
failed = {"kill": (-9,), "memory": (1, 3)}.get(what, (1,))
seen = {old: 0, new: 0}
for fault in faults:
    assert run(old_source).returncode == 0 and content() == old
    result = run(new_source, fault)
    where = f"fault {fault}: status {result.returncode}, {result.stderr!r}"
    found = content()
    assert found in seen, where
    assert result.returncode in (0, *failed), where
    assert found == new or result.returncode != 0, where
    assert result.returncode in (0, -9) or ("error" in result.stderr and result.stderr.count("\n") <= 4), where
    seen[found] += 1
print(f"{sum(seen.values())} faults: {seen[old]} older answers, {seen[new]} newer ones, no mixed folder")
