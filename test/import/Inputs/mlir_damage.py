#!/usr/bin/env python3
"""mlir_damage.py BYTECODE WORK: imports the file cut short at many places, and with one byte changed at each of many places. Every run has
to end in a result, or in an error at a place with its way out; a signal or a run of 30 s is a failure."""
import os
import re
import subprocess
import sys

source, work = sys.argv[1:]
with open(source, "rb") as file:
    data = file.read()


def ends(bytes_):
    path = os.path.join(work, "damaged.mlirbc")
    with open(path, "wb") as out:
        out.write(bytes_)
    run = subprocess.run(["accord", "import", "tosa", path], capture_output=True, text=True, errors="replace", timeout=30)
    told = re.search(r"damaged\.mlirbc:1:1: error\[A\d+\]: ", run.stderr)
    if run.returncode not in (0, 1) or (run.returncode == 1) != bool(told):
        sys.exit(f"{path}: {run.returncode} {run.stderr}")
    return run.returncode


cuts = [ends(data[:at]) for at in range(4, len(data), len(data) // 40)]
print("cut:", "all refused" if all(cuts) else "some are read")
for at in list(range(4, len(data), len(data) // 80)):
    ends(data[:at] + bytes([data[at] ^ 0x47]) + data[at + 1:])
# The size that dense<..> states, past what follows: upstream's reader dies of it. A list of 8 extents states 64 bytes, 0x81 as written.
extents = (0).to_bytes(8, "little") * 2 + (1).to_bytes(8, "little")
at = data.index(extents) - 1
print("changed:", "all refused or read" if ends(data[:at] + b"\x07" + data[at + 1:]) else "a size that is wrong was believed")
