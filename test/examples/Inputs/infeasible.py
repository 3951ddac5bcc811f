#!/usr/bin/env python3
"""infeasible.py FILE guilty innocent: exit status 2, and the conflict names one label and not the other."""
import json
import subprocess
import sys

run = subprocess.run(["accord", "compile", sys.argv[1], "--json", "-o", sys.argv[4]], capture_output=True, text=True)
assert run.returncode == 2, (run.returncode, run.stderr)
answer = json.loads(run.stdout)
assert answer["status"] == "infeasible", answer["status"]
named = json.dumps(answer["conflict"])
assert sys.argv[2] in named and sys.argv[3] not in named, named
