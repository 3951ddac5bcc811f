"""jobs_launch.py ANSWER: the files of launch/ say what jobs.json says, and submit.sh submits them in an order that Slurm can keep."""
import csv
import json
import os
import re
import shutil
import stat
import subprocess
import sys

answer = sys.argv[1]
launch = os.path.join(answer, "launch")
with open(os.path.join(answer, "jobs.json"), encoding="utf-8") as file:
    jobs = json.load(file)
with open(os.path.join(answer, "queues", "slurm_accounts.sh"), encoding="utf-8") as file:
    accounts = file.read()


def label(name):
    return re.sub("[^a-z0-9]+", "-", name.lower()).strip("-")


# Each run has its devices, its time, its plan and its tenant.
order = []
for job in jobs["jobs"]:
    for index, run in enumerate(job.get("runs", [])):
        name = f"{label(job['name'])}/{index}"
        order.append((run["begin_s"], name))
        with open(os.path.join(launch, name + ".sbatch"), encoding="utf-8") as file:
            script = file.read()
        options = dict(re.findall(r"^#SBATCH --([-a-z]+)=(.*)$", script, re.M))
        variables = dict(re.findall(r'^export (ACCORD_[A-Z_]+)="(.*)"$', script, re.M))
        kind, devices = options["gpus-per-node"].split(":")
        assert kind == label(run["type"]), (name, kind)
        assert int(devices) * int(options["nodes"]) == run["devices"], name
        assert options.get("begin", "now+0") == f"now+{run['begin_s']}", name
        days, hours, minutes, seconds = re.fullmatch(r"(?:(\d+)-)?(\d+):(\d+):(\d+)", options["time"]).groups(default="0")
        assert ((int(days) * 24 + int(hours)) * 60 + int(minutes)) * 60 + int(seconds) == run["end_s"] - run["begin_s"], name
        assert f"add account {options['account']} " in accounts and options["account"] == job["tenant"], name
        assert f"add qos {options['qos']}\n" in accounts, name
        assert ("signal" in options) == (job["elasticity"] == "malleable"), name
        degrees = dict(re.findall(r"(tensor|pipeline|data) (\d+)", run["plan"]))
        assert degrees["tensor"] == variables["ACCORD_TENSOR_PARALLEL"], name
        assert degrees["pipeline"] == variables["ACCORD_PIPELINE_PARALLEL"], name
        assert degrees["data"] == variables["ACCORD_DATA_PARALLEL"], name
        zero = re.search(r"ZeRO (\d)", run["plan"])
        assert variables["ACCORD_ZERO"] == (zero[1] if zero else "0"), name
        samples = int(variables["ACCORD_MICROBATCH"]) * int(variables["ACCORD_MICROBATCHES"]) * int(degrees["data"])
        assert samples == int(variables["ACCORD_GLOBAL_BATCH"]), name
        assert ("without_megatron" in run) == ("@megatron: " in script), name
        assert os.path.exists(os.path.join(launch, name + ".yaml")), name
with open(os.path.join(answer, "jobs.csv"), encoding="utf-8") as file:
    assert len(list(csv.reader(file))) == len(order) + 1

# A stand-in for sbatch counts and remembers.
tools = os.path.join(answer, "..", "bin")
os.makedirs(tools, exist_ok=True)
for tool, text in {"sbatch": 'for one in "$@"; do printf "%s\\t" "$one" >&2; done; echo >&2; grep -c . ids | tee -a ids',
                   "scancel": 'echo "cancelled $*" >&2'}.items():
    path = os.path.join(tools, tool)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)
with open(os.path.join(tools, "ids"), "w", encoding="utf-8") as file:
    file.write("first\n")
with open(os.path.join(tools, "commands"), "w", encoding="utf-8") as file:
    file.write("train_pretrain=(gpt.py @megatron --data '/my data') train_finetune=(bert.py)\n"
               "train_images=(vit.py) train_baseline=(resnet.py) servers=(new1 old1 old2)\n")
done = subprocess.run(["bash", os.path.abspath(os.path.join(launch, "submit.sh")), "commands"], cwd=tools, text=True, capture_output=True,
                      env={"PATH": os.path.abspath(tools) + ":/usr/bin:/bin", "ACCORD_START": "2030-01-01 18:00", "TZ": "UTC"}, check=False)
assert done.returncode == 0, done.stderr
submitted = [line.split("\t")[:-1] for line in done.stderr.splitlines()]
ids = dict(line.split() for line in done.stdout.splitlines())
assert sorted(ids) == sorted(name for _, name in order)
assert list(ids) == [name for _, name in sorted(order, key=lambda one: one[0])], "runs are submitted as they begin"
lines = dict(zip(ids, submitted))
assert lines["lm/0"][-4:] == ["gpt.py", "@megatron", "--data", "/my data"][-4:]
assert "--begin=2030-01-01T18:00:00" in lines["lm/0"]
for job in jobs["jobs"]:
    for index, run in enumerate(job.get("runs", [])):
        arguments = lines[f"{label(job['name'])}/{index}"]
        expected = [f"afterany:{ids[label(job['name']) + f'/{index - 1}']}"] if index else []
        for other in job.get("after", []) if not index else []:
            last = max(name for name in ids if name.startswith(label(other) + "/"))
            expected.append(f"afterok:{ids[last]}")
        given = [one.split("=")[1].split(",") for one in arguments if one.startswith("--dependency=")]
        assert sorted(given[0] if given else []) == sorted(expected), arguments
        assert all(int(one.split(":")[1]) < int(ids[f"{label(job['name'])}/{index}"]) for one in expected)
        hosts = ",".join(["new1", "old1", "old2"][server["server"]] for server in run["servers"])
        assert f"--nodelist={hosts}" in arguments, arguments

# Where a submission fails, those before it are cancelled.
with open(os.path.join(tools, "sbatch"), "w", encoding="utf-8") as file:
    file.write('#!/bin/sh\n[ "$(grep -c . ids)" -lt 3 ] || exit 1\ngrep -c . ids | tee -a ids\n')
with open(os.path.join(tools, "ids"), "w", encoding="utf-8") as file:
    file.write("first\n")
done = subprocess.run(["bash", os.path.abspath(os.path.join(launch, "submit.sh")), "commands"], cwd=tools, text=True, capture_output=True,
                      env={"PATH": os.path.abspath(tools) + ":/usr/bin:/bin"}, check=False)
assert done.returncode != 0 and done.stderr.strip() == "cancelled 1 2", done.stderr

# On Kubernetes a stand-in for kubectl is asked for the same, once nothing is left to fill in: in the past, so that nobody waits.
with open(os.path.join(tools, "kubectl"), "w", encoding="utf-8") as file:
    file.write('#!/bin/sh\necho "$*" >>asked\n[ "$1" != get ] || case $4 in *vit-*) echo Failed ;; *) echo Completed ;; esac\n')
os.chmod(os.path.join(tools, "kubectl"), 0o755)
apply = os.path.join(launch, "apply.sh")
environment = {"PATH": os.path.abspath(tools) + ":/usr/bin:/bin", "ACCORD_START": "2020-01-01 18:00"}
done = subprocess.run(["bash", os.path.abspath(apply)], cwd=tools, text=True, capture_output=True, env=environment, check=False)
assert done.returncode == 2 and not os.path.exists(os.path.join(tools, "asked")), done.stderr
copy = os.path.join(tools, "copy")
shutil.rmtree(copy, ignore_errors=True)
shutil.copytree(launch, copy)
for name in ids:
    with open(os.path.join(copy, name + ".yaml"), "r+", encoding="utf-8") as file:
        filled = file.read().replace("# FILL IN", "#")
        file.seek(0)
        file.write(filled)
        file.truncate()
done = subprocess.run(["bash", os.path.join(os.path.abspath(copy), "apply.sh")], cwd=tools, text=True, capture_output=True, env=environment, check=False)
with open(os.path.join(tools, "asked"), encoding="utf-8") as file:
    asked = file.read()
for job in jobs["jobs"]:
    failed = any(other == "vit" for other in job.get("after", []))
    for index, run in enumerate(job.get("runs", [])):
        assert (f"/{label(job['name'])}/{index}.yaml" in asked) != failed, job["name"]
        if index:
            assert f"delete --namespace {job['tenant']} --ignore-not-found --wait jobset/{label(job['name'])}-{index - 1}" in asked
assert done.returncode == 1 and re.search(r"compare/0: not applied: vit-\d failed", done.stderr), done.stderr

# A script starts torchrun on its server with the plan's arguments in the place of @megatron, and words as they were.
for tool, text in {"torchrun": 'for one in "$@"; do printf "%s\\t" "$one"; done; echo "$ACCORD_JOB"', "srun": 'shift; exec "$@"',
                   "scontrol": "echo new1", "nvidia-smi": 'for one in 0 1 2 3 4 5 6 7; do echo "$DEVICES"; done'}.items():
    with open(os.path.join(tools, tool), "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\n{text}\n")
    os.chmod(os.path.join(tools, tool), 0o755)
slurm = {"PATH": os.path.abspath(tools) + ":/usr/bin:/bin", "SLURM_JOB_ID": "70123", "SLURM_PROCID": "0", "SLURM_JOB_NODELIST": "new1"}


products = {"h100": "NVIDIA H100 80GB HBM3, 81559 MiB", "a100_80g": "NVIDIA A100-SXM4-80GB, 81920 MiB", "a100_40g": "NVIDIA A100-SXM4-40GB, 40960 MiB"}


def started(name, *words, **variables):
    job, index = name.split("/")
    kind = next(one for one in jobs["jobs"] if label(one["name"]) == job)["runs"][int(index)]["type"]
    return subprocess.run(["bash", os.path.join(launch, name + ".sbatch"), *words], text=True, capture_output=True,
                          env={**slurm, "DEVICES": products[kind], **variables}, check=False)


first = next(job for job in jobs["jobs"] if job["name"] == "lm")["runs"][0]
done = started("lm/0", "gpt.py", "@megatron", "--save", "/runs/@job", "--data", "/my data")
words = done.stdout.rstrip("\n").split("\t")
nodes = len(first["servers"])
assert words[:5] == [f"--nnodes={nodes}", f"--nproc-per-node={first['devices'] // nodes}", "--node-rank=0", "--master-addr=new1", "--master-port=20123"], words
assert words[5] == "gpt.py" and words[-5:] == ["--save", "/runs/lm", "--data", "/my data", "lm"], words
assert words[words.index("--hidden-size") + 1] == "1024" and "--exit-duration-in-mins" in words, words
assert words[words.index("--num-attention-heads") + 1] == "16" and words[words.index("--vocab-size") + 1] == "50257", words
done = started("vit/0", "vit.py", "@megatron")
assert done.returncode == 2 and done.stdout == "" and "builds another model than vit_b_16" in done.stderr, done.stderr
assert started("vit/0").returncode != 0
assert started("tune-1/0", "bert.py", "--save=@job").stdout.endswith("--save=tune-1\ttune-1\n")
done = started("lm/0", "gpt.py", DEVICES="Tesla K80, 11441 MiB")
assert done.returncode == 78 and done.stdout == "" and "has 8 'Tesla K80' (11441 MiB), and the plan needs" in done.stderr, done.stderr
