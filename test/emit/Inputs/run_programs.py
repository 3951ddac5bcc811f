"""run_programs.py FOLDER SCRIPT...: runs scripts with stand-ins for torchrun, accelerate and python3 that print what they are given,
reads each file that a script wrote with the parser of its format, and prints the files and the command."""
import ast
import json
import os
import shutil
import subprocess
import sys
import tomllib

import yaml

READERS = {".toml": tomllib.loads, ".json": json.loads, ".yml": yaml.safe_load, ".py": ast.parse}
VARIABLES = {
    "TRANSFORMERS": "/tr", "TRAIN_SCRIPT": "/my/train.py", "MODEL_TYPE": "llama", "LAYER_CLASS": "LlamaDecoderLayer",
    "CONFIG_OVERRIDES": "hidden_size=64,vocab_size=99", "TITAN_MODEL": "llama3", "TITAN_FLAVOR": "8B", "MAXTEXT_MODEL": "llama3-8b",
    "SEQUENCE_LENGTH": "2048", "NODE_RANK": "1", "MASTER_ADDR": "first", "ACCORD_GUARD": "off",
}

folder, scripts = sys.argv[1], sys.argv[2:]
tools = os.path.join(folder, "bin")
os.makedirs(tools, exist_ok=True)
for name in ("torchrun", "accelerate", "python3"):
    path = os.path.join(tools, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f'#!/bin/sh\necho "{name} $*"\n')
    os.chmod(path, 0o755)
for script in scripts:
    name = os.path.basename(script).removesuffix(".sh")
    written = os.path.join(folder, "written")
    shutil.rmtree(written, ignore_errors=True)
    os.makedirs(written)
    done = subprocess.run(["bash", script, "--lr", "1e-4"], capture_output=True, text=True, timeout=60, check=False,
                          env={"PATH": tools + os.pathsep + "/usr/bin:/bin", "ACCORD_FOLDER": written, **VARIABLES})
    for one in sorted(os.listdir(written)):
        with open(os.path.join(written, one), encoding="utf-8") as file:
            text = file.read()
        read = READERS[os.path.splitext(one)[1]](text)
        if isinstance(read, dict):
            print(f"{name}: {one}: {json.dumps(read, sort_keys=True)}")
        else:
            print(f"{name}: {one} is read")
    print(f"{name}: {(done.stdout or done.stderr).strip().replace(written, 'WRITTEN')}")
