"""run_pod.py FILE BIN: starts the first pod of a manifest as Kubernetes would, with the programs of BIN, on servers of A100 and of K80.

A field reference is taken as "0". Of `command` and `args`, Kubernetes puts the variable in the place of $(NAME), takes $$ for $ and leaves a
$(NAME) that is not set as it is (kubernetes/kubernetes, third_party/forked/golang/expansion).
"""
import re
import subprocess
import sys

import yaml

with open(sys.argv[1], encoding="utf-8") as file:
    manifest = list(yaml.safe_load_all(file))[-1]
spec = manifest["spec"]
if manifest["kind"] == "TrainJob":
    container = spec["trainer"]
else:
    job = spec["replicatedJobs"][0]["template"]["spec"] if manifest["kind"] == "JobSet" else spec
    container = job["template"]["spec"]["containers"][0]
variables = {one["name"]: one.get("value", "0") for one in container["env"]}


def expanded(text):
    return re.sub(r"\$(?:(\$)|\(([^)]*)\))", lambda found: "$" if found[1] else variables.get(found[2], found[0]), text)


words = [expanded(one) for one in container["command"] + container["args"]]
for devices in ("NVIDIA A100-SXM4-80GB, 81920 MiB", "Tesla K80, 11441 MiB"):
    done = subprocess.run(words, env={"PATH": sys.argv[2] + ":/usr/bin:/bin", "DEVICES": devices, "SLURMD_NODENAME": "n1", **variables},
                          capture_output=True, text=True, timeout=60, check=False)
    print(f"{manifest['kind']} on {devices.split(',')[0]}: status {done.returncode}")
    for line in (done.stdout + done.stderr).splitlines():
        print(f"  {line}")
