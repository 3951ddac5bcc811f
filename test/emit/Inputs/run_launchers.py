"""run_launchers.py FOLDER: runs its scripts with stand-ins for torchrun, srun and scontrol that print what they are given, on nodes whose
devices a stand-in for nvidia-smi names: those of the plan, and others."""
import os
import stat
import subprocess
import sys

folder = sys.argv[1]
tools = os.path.join(folder, "bin")
for name, text in {
    "torchrun": 'echo "torchrun $*"; echo "degrees $ACCORD_TENSOR_PARALLEL $ACCORD_PIPELINE_PARALLEL $ACCORD_DATA_PARALLEL"',
    "srun": 'echo "srun $1 $2"; shift; exec "$@"',
    "nvidia-smi": 'for i in 0 1 2 3 4 5 6 7; do echo "$DEVICES"; done',
    "scontrol": "echo node001; echo node002",
}.items():
    path = os.path.join(tools, name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
base = {"PATH": tools + os.pathsep + "/usr/bin:/bin", "DEVICES": "NVIDIA A100-SXM4-80GB, 81920 MiB", "SLURMD_NODENAME": "n1"}


def run(label, script, arguments, **variables):
    done = subprocess.run(["bash", os.path.join(folder, script), *arguments], env={**base, **variables},
                          capture_output=True, text=True, timeout=60, check=False)
    for line in done.stdout.splitlines():
        print(f"{label}: {line}")
    if done.returncode:
        said = done.stderr.strip()
        print(f"{label}: {said if said.startswith('accord guard: ') else said.split(': ', 2)[-1]}")
        print(f"{label}: status {done.returncode}")


run("torchrun", "torchrun.sh", ["train.py", "--lr", "1e-4"], NODE_RANK="5", MASTER_ADDR="first")
run("slurm", "slurm.sh", ["train.py", "a", "b"], SLURM_PROCID="3", SLURM_JOB_NODELIST="node[001-128]")
sizes = {"HIDDEN_SIZE": "12288", "ATTENTION_HEADS": "96", "SEQUENCE_LENGTH": "2048", "MAX_POSITIONS": "2048"}
run("megatron", "megatron.sh", ["--data-path", "d"], NODE_RANK="0", MASTER_ADDR="first", MEGATRON="/m", **sizes)
run("megatron without sizes", "megatron.sh", [], NODE_RANK="0", MASTER_ADDR="first", MEGATRON="/m")
run("torchrun without a server", "torchrun.sh", [], NODE_RANK="0")

# The guard: on other devices nothing starts, whatever the launcher.
old = {"DEVICES": "Tesla K80, 11441 MiB"}
run("slurm on K80", "slurm.sh", ["train.py"], SLURM_NODEID="0", SLURM_JOB_NODELIST="k[1-128]", SLURM_JOB_NUM_NODES="128", **old)
run("torchrun on K80", "torchrun.sh", ["train.py"], NODE_RANK="0", MASTER_ADDR="first", **old)
run("megatron on K80", "megatron.sh", [], NODE_RANK="0", MASTER_ADDR="first", MEGATRON="/m", **sizes, **old)
run("slurm on fewer servers", "slurm.sh", ["train.py"], SLURM_JOB_NODELIST="a[1-64]", SLURM_JOB_NUM_NODES="64")
run("slurm unchecked", "slurm.sh", ["train.py"], SLURM_NODEID="0", SLURM_JOB_NODELIST="k[1-128]", ACCORD_GUARD="off", **old)
