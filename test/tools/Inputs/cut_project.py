#!/usr/bin/env python3
"""cut_project.py ACCORD PROJECT WORK: `accord schedule` of the project cut behind each of its lines, and within the line: exit
status 1 with a message, or 0."""
import subprocess
import sys

accord, project, work = sys.argv[1:]
with open(project, "rb") as file:
    lines = file.read().splitlines(keepends=True)
refused = accepted = 0
for count in range(len(lines)):
    for part in (b"", lines[count][: len(lines[count]) // 2]):
        with open(work, "wb") as file:
            file.write(b"".join(lines[:count]) + part)
        run = subprocess.run([accord, "schedule", work, "--effort", "1"], capture_output=True, text=True)
        assert run.returncode == 0 or run.returncode == 1 and "error[A" in run.stderr, (count, part, run)
        refused += run.returncode
        accepted += run.returncode == 0
print(f"{len(lines)} lines, {refused} cuts refused, {accepted} accepted")
