#!/usr/bin/env python3
"""counts.py CONFIGS WORK: imports every configuration and prints how many parameters `accord estimate` finds."""
import glob
import json
import os
import subprocess
import sys

configs, work = sys.argv[1:]
for path in sorted(glob.glob(os.path.join(configs, "*.json"))):
    name = os.path.basename(path)[:-len(".json")]
    model = os.path.join(work, name + ".dnn")
    subprocess.run(["accord", "import", "huggingface", path, "-o", model], check=True)
    run = subprocess.run(["accord", "estimate", model, "--target", "h100", "--batch", "1", "--precision", "bf16", "--optimizer", "adam",
                          "--json"], capture_output=True, text=True)
    print(name, json.loads(run.stdout)["totals"]["parameters"] if run.returncode == 0 else run.stderr)
