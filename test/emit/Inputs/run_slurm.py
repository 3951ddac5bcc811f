"""run_slurm.py FOLDER: Slurm on this machine, with servers a1 and a2 of four A100 and k1 of K80, gets FOLDER/slurm.sh, which asks for two
servers of A100. Devices are empty files; a stand-in for nvidia-smi says which the server really has, one for torchrun writes that it started.

1. The request goes to a1 and a2, and torchrun starts there.
2. While a2 is away it waits, and does not go to k1; without a type in the request it goes there, and the guard refuses.
3. Where Slurm was told that k1 has A100, the request goes to a1 and k1, and the guard refuses: torchrun starts on neither.
"""
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

folder = os.path.abspath(sys.argv[1])
host = socket.gethostname().split(".")[0]
DEADLINE = 60


def free_ports(count):
    taken = [socket.socket() for _ in range(count)]
    for one in taken:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in taken]
    for one in taken:
        one.close()
    return ports


def write(path, text, mode=0o644):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    os.chmod(path, mode)


class Cluster:
    def __init__(self, name, types):
        """`types`: the type and the number of the devices that each server is said to have."""
        self.root = os.path.join(folder, name)
        self.types = types
        self.daemons = []
        for one in ("state", "spool", "log", "dev", "run"):
            os.makedirs(os.path.join(self.root, one), exist_ok=True)
        with open(os.path.join(self.root, "key"), "wb") as file:
            file.write(bytes(range(256)) * 4)
        os.chmod(os.path.join(self.root, "key"), 0o400)
        self.configure(free_ports(1 + len(types)))
        bin_ = os.path.join(self.root, "bin")
        write(os.path.join(bin_, "nvidia-smi"), """#!/bin/sh
case "$SLURMD_NODENAME" in
k*) for one in 0 1 2 3 4 5 6 7; do echo "Tesla K80, 11441 MiB"; done ;;
*) for one in 0 1 2 3; do echo "NVIDIA A100-SXM4-80GB, 81920 MiB"; done ;;
esac
""", 0o755)
        write(os.path.join(bin_, "torchrun"), f'#!/bin/sh\necho "$SLURMD_NODENAME $*" >>{self.root}/started.$SLURM_JOB_ID\n', 0o755)
        self.environment = {"PATH": bin_ + ":/usr/bin:/bin:/usr/sbin:/sbin", "SLURM_CONF": os.path.join(self.root, "slurm.conf"),
                            "HOME": self.root, "LC_ALL": "C"}

    def configure(self, ports):
        root = self.root
        nodes, gres = "", "AutoDetect=off\n"
        for (node, (kind, count)), port in zip(self.types.items(), ports[1:]):
            for device in range(count):
                write(f"{root}/dev/{node}-{device}", "")
            nodes += f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs=8 RealMemory=100 Gres=gpu:{kind}:{count}\n"
            gres += f"NodeName={node} Name=gpu Type={kind} File={root}/dev/{node}-[0-{count - 1}]\n"
        write(f"{root}/slurm.conf", f"""ClusterName=test
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={ports[0]}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/run/munge
CredType=cred/munge
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool/%n
SlurmctldPidFile={root}/run/slurmctld.pid
SlurmdPidFile={root}/run/%n.pid
SlurmctldLogFile={root}/log/slurmctld
SlurmdLogFile={root}/log/%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu
SlurmdParameters=config_overrides
ReturnToService=2
{nodes}PartitionName=all Nodes={','.join(self.types)} Default=YES State=UP OverSubscribe=NO
""")
        write(f"{root}/gres.conf", gres)
        write(f"{root}/cgroup.conf", "CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")

    def start(self, *command):
        log = open(os.path.join(self.root, "log", "daemons"), "a", encoding="utf-8")
        self.daemons.append(subprocess.Popen(command, env=self.environment, stdout=log, stderr=log, stdin=subprocess.DEVNULL))

    def __enter__(self):
        root = self.root
        self.start("munged", "--foreground", "--force", f"--socket={root}/run/munge", f"--key-file={root}/key", f"--pid-file={root}/run/munge.pid",
                   f"--log-file={root}/log/munge", f"--seed-file={root}/run/seed")
        self.until(lambda: os.path.exists(f"{root}/run/munge"), "munged")
        self.start("slurmctld", "-D", "-f", f"{root}/slurm.conf")
        for node in self.types:
            self.start("slurmd", "-D", "-f", f"{root}/slurm.conf", "-N", node)
        self.until(lambda: self.ask("sinfo", "-h", "-t", "idle", "-o", "%D").strip() == str(len(self.types)), "idle servers")
        return self

    def __exit__(self, *_):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()

    def ask(self, *command):
        return subprocess.run(command, env=self.environment, cwd=self.root, capture_output=True, text=True, timeout=30, check=False).stdout

    def until(self, holds, what):
        begin = time.monotonic()
        while not holds():
            if time.monotonic() - begin > DEADLINE:
                sys.exit(f"{self.root}: no {what} within {DEADLINE} s")
            time.sleep(0.2)

    def submit(self, script):
        done = subprocess.run(["sbatch", "--parsable", script, "train.py"], env=self.environment, cwd=self.root, capture_output=True, text=True,
                              timeout=30, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()

    def state(self, job):
        shown = self.ask("scontrol", "show", "job", job)
        return dict(re.findall(r"(JobState|ExitCode|NodeList|Reason)=(\S*)", shown))

    def ended(self, job):
        self.until(lambda: self.state(job).get("JobState") in ("COMPLETED", "FAILED", "CANCELLED"), f"end of job {job}: {self.state(job)}")
        return self.state(job)

    def started(self, job):
        """Servers on which torchrun started."""
        path = os.path.join(self.root, f"started.{job}")
        if not os.path.exists(path):
            return []
        with open(path, encoding="utf-8") as file:
            return sorted(line.split()[0] for line in file)

    def said(self, job):
        with open(os.path.join(self.root, f"slurm-{job}.out"), encoding="utf-8") as file:
            return [line for line in file.read().splitlines() if line.startswith("accord guard: ")]


def report(what, cluster, job):
    state = cluster.ended(job)
    print(f"{what}: {state['JobState']} {state['ExitCode']} on {state['NodeList']}, torchrun on {cluster.started(job)}")
    for line in cluster.said(job):
        print(f"{what}: {line}")


script = os.path.join(folder, "slurm.sh")
untyped = os.path.join(folder, "untyped.sh")
shutil.copy(script, untyped)
with open(untyped, "r+", encoding="utf-8") as file:
    text, changed = re.subn(r"--gpus-per-node=[^:\n]+:", "--gpus-per-node=", file.read())
    assert changed == 1
    file.seek(0)
    file.write(text)
    file.truncate()
with Cluster("honest", {"a1": ("a100-80g", 4), "a2": ("a100-80g", 4), "k1": ("k80", 8)}) as cluster:
    report("typed", cluster, cluster.submit(script))
    cluster.ask("scontrol", "update", "NodeName=a2", "State=DRAIN", "Reason=test")
    waiting, other = cluster.submit(script), cluster.submit(untyped)
    report("untyped", cluster, other)
    state = cluster.state(waiting)
    print(f"typed without a2: {state['JobState']}, torchrun on {cluster.started(waiting)}")
    cluster.ask("scontrol", "update", "NodeName=a2", "State=RESUME")
    report("typed with a2 again", cluster, waiting)
with Cluster("lying", {"a1": ("a100-80g", 4), "k1": ("a100-80g", 4)}) as cluster:
    report("typed, but k1 lies", cluster, cluster.submit(script))
