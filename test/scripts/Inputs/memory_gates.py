#!/usr/bin/env python3
"""usage: memory_gates.py SOURCE ACCORD: whether the rows of two groups of docs/memory.md still meet their gates."""
import os
import subprocess
import sys

source, accord = sys.argv[1:]
places = [os.path.join(os.environ.get("ACCORD_DATA", ""), ".."), os.path.join(source, "../shared"), os.path.join(source, "../../shared")]
tables = [os.path.join(place, "reference/measured-memory.csv") for place in places]
table = next((one for one in tables if os.path.exists(one)), None)
if not table:
    print("no table of measured memory")
    sys.exit()
said = []
for prefix, group in (("simumax", "Megatron-LM on B200"), ("torchtitan", "torchtitan")):
    page = subprocess.run([sys.executable, os.path.join(source, "scripts/memory_rows.py"), accord, table, "--only", prefix],
                          capture_output=True, text=True, check=True).stdout
    line = next(line for line in page.splitlines() if line.startswith(f"| {group} |"))
    said.append(f"{group}: {line.split('|')[8].strip()}")
print(", ".join(said))
