"""A real Slurm on this machine: munged, slurmctld, and a slurmd for each virtual node, all below one folder.

    slurm_cluster.py start FOLDER a1=a100:4 a2=a100:4 k1=k80:8     prints SLURM_CONF=..., export it
    slurm_cluster.py fail FOLDER a2 | restart FOLDER a2            a node fails and Slurm knows, and it comes back
    slurm_cluster.py kill FOLDER a2                                it fails; Slurm finds out after half a minute
    slurm_cluster.py kill FOLDER slurmctld | restart FOLDER slurmctld
    slurm_cluster.py stop FOLDER                                   ends all of it; the folder stays
    slurm_cluster.py start FOLDER shares=2 a1=a100:4               each device has two shards
    slurm_cluster.py run FOLDER a1=a100:4 -- COMMAND ARGUMENTS     starts, runs a command for at most 55 s, and stops

or as a module: `with SlurmCluster(folder, [("a1", "a100", 4)]) as cluster: ... cluster.environment`. It runs as root
without systemd and asks for no network but the loopback. Devices are empty files. Ports are chosen when it starts.
"""
import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

CONFIGURATION = """\
ClusterName=accord
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={port}
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={munge}
CredType=cred/munge
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool-%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd-%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
GresTypes=gpu,shard
SlurmdParameters=config_overrides
SchedulerParameters=sched_min_interval=0,sched_interval=1,bf_interval=1,batch_sched_delay=0
ReturnToService=2
SlurmctldTimeout=30
SlurmdTimeout={node_timeout}
KillWait=5
MinJobAge={min_job_age}
MessageTimeout=10
PreemptType=preempt/partition_prio
PreemptMode=REQUEUE
{nodes}
PartitionName=batch Nodes=ALL Default=YES MaxTime=INFINITE State=UP PriorityTier=1
PartitionName=urgent Nodes=ALL Default=NO MaxTime=INFINITE State=UP PriorityTier=10
"""


def free_ports(count):
    """Ports that nobody listens on, all different."""
    with contextlib.ExitStack() as sockets:
        ports = []
        for _ in range(count):
            one = sockets.enter_context(socket.socket())
            one.bind(("127.0.0.1", 0))
            ports.append(one.getsockname()[1])
        return ports


def processes():
    """(number, environment, words) of all processes that can be read and have not ended."""
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/environ", "rb") as environment, open(f"/proc/{name}/cmdline", "rb") as words:
                yield int(name), environment.read().split(b"\0"), words.read().split(b"\0")
        except OSError:
            continue


def signal_process(number, which):
    with contextlib.suppress(OSError):
        os.kill(number, which)


class SlurmCluster:
    """`nodes` are (name, device type, devices). A folder with a cluster that was started is taken over."""

    def __init__(self, folder, nodes=(), node_timeout=5, min_job_age=300, shares=1):
        self.folder = os.path.abspath(folder)
        self.configuration = os.path.join(self.folder, "slurm.conf")
        self.nodes = [tuple(node) for node in nodes]
        self.node_timeout, self.min_job_age, self.shares = node_timeout, min_job_age, shares
        self.started = {}  # process numbers by name: "munged", "slurmctld", nodes
        self.munge = ""  # a short folder, because paths of sockets are short
        self.environment = {**os.environ, "SLURM_CONF": self.configuration, "LC_ALL": "C"}
        with contextlib.suppress(FileNotFoundError), open(self._record()) as record:
            content = json.load(record)
            self.started, self.munge = content["started"], content["munge"]
            self.nodes = [tuple(node) for node in content["nodes"]]

    def __enter__(self):
        try:
            return self.start()
        except BaseException:
            self.stop()
            raise

    def __exit__(self, *_):
        self.stop()

    def start(self, patience=20):
        """Starts all of it and waits until each node takes jobs."""
        shutil.rmtree(self.folder, ignore_errors=True)
        for part in ("state", "devices", *(f"spool-{name}" for name, _, _ in self.nodes)):
            os.makedirs(os.path.join(self.folder, part))
        self.munge = tempfile.mkdtemp(prefix="accord-munge-")
        self._configure()
        self._start_munge()
        self.restart("slurmctld")
        for name, _, _ in self.nodes:
            self.restart(name)
        self.wait_until_idle(patience)
        return self

    def stop(self):
        """Ends everything that was started here, and what jobs of it still run."""
        for name in [*(node for node, _, _ in self.nodes), "slurmctld", "munged"]:
            self.kill(name)
        shutil.rmtree(self.munge, ignore_errors=True)
        self._save()

    def kill(self, name):
        """A node fails with all that runs on it; or slurmctld or munged is ended."""
        number = self.started.pop(name, None)
        if number is not None:
            self._end(number)
        own, cluster = f"SLURMD_NODENAME={name}".encode(), f"SLURM_CONF={self.configuration}".encode()
        stepd = [b"slurmstepd:", f"accord-node={name}".encode(), f"accord-cluster={self.folder}".encode()]
        for _ in range(3):  # a process may have started another one meanwhile
            for number, environment, words in processes():
                if (own in environment and cluster in environment and number != os.getpid()) or (
                    stepd[1] in environment and stepd[2] in environment
                ):
                    signal_process(number, signal.SIGKILL)
        self._save()

    def fail(self, name):
        """A node fails, and a health check of the site tells Slurm."""
        self.kill(name)
        self.run("scontrol", "update", f"NodeName={name}", "State=DOWN", "Reason=no pulse")

    def restart(self, name):
        """Starts slurmctld or the slurmd of a node."""
        if name == "slurmctld":
            words = ["slurmctld", "-D", "-f", self.configuration]
        else:
            words = ["slurmd", "-D", "-f", self.configuration, "-N", name]
        marks = {"accord-node": name, "accord-cluster": self.folder}
        with open(os.path.join(self.folder, f"{name}.err"), "ab") as errors:
            process = subprocess.Popen(
                ["/usr/bin/env", *(f"{key}={value}" for key, value in marks.items()), *words],
                env={**self.environment, "PATH": self.environment.get("PATH", "") + ":/usr/sbin:/sbin"},
                stdin=subprocess.DEVNULL, stdout=errors, stderr=errors, start_new_session=True)
        self.started[name] = process.pid
        self._save()

    def run(self, *words, check=True, **options):
        """What a command of Slurm prints."""
        return subprocess.run(words, env=self.environment, check=check, timeout=20, text=True,
                              capture_output=True, **options).stdout

    def states(self):
        """State of each node, in sinfo's short words."""
        text = self.run("sinfo", "--noheader", "--Node", "--format=%N %t", "--partition=batch", check=False)
        return dict(line.split() for line in text.splitlines() if len(line.split()) == 2)

    def wait_until_idle(self, patience=20):
        end = time.monotonic() + patience
        while True:
            states = self.states()
            if all(states.get(name) == "idle" for name, _, _ in self.nodes):
                return
            if time.monotonic() > end:
                raise RuntimeError(f"Slurm does not start: {states}; see {self.folder}/*.log and *.err")
            time.sleep(0.1)

    def _configure(self):
        port, *ports = free_ports(1 + len(self.nodes))
        host = socket.gethostname().split(".")[0]
        nodes = []
        with open(os.path.join(self.folder, "gres.conf"), "w") as gres:
            gres.write("AutoDetect=off\n")
            for (name, kind, devices), own in zip(self.nodes, ports):
                nodes.append(
                    f"NodeName={name} NodeHostname={host} NodeAddr=127.0.0.1 Port={own} CPUs={max((1 + self.shares) * devices, 1)} "
                    f"State=UNKNOWN" + (f" Gres=gpu:{kind}:{devices}{self._shards(devices)}" if devices else ""))
                for number in range(devices):
                    open(os.path.join(self.folder, "devices", f"{name}-{number}"), "w").close()
                if devices:
                    gres.write(f"NodeName={name} Name=gpu Type={kind} "
                               f"File={self.folder}/devices/{name}-[0-{devices - 1}]\n")
                if devices and self.shares > 1:
                    gres.write(f"NodeName={name} Name=shard Count={self.shares * devices}\n")
        with open(os.path.join(self.folder, "cgroup.conf"), "w") as cgroup:
            cgroup.write("CgroupPlugin=cgroup/v1\nCgroupMountpoint=/sys/fs/cgroup\n")
        with open(self.configuration, "w") as configuration:
            configuration.write(CONFIGURATION.format(
                host=host, port=port, munge=self.munge + "/socket", folder=self.folder, nodes="\n".join(nodes),
                node_timeout=self.node_timeout, min_job_age=self.min_job_age))

    def _shards(self, devices):
        return f",shard:{self.shares * devices}" if self.shares > 1 else ""

    def _start_munge(self):
        """One of our own, with a key of its own: the system's need not run, and is left alone."""
        key = os.path.join(self.munge, "key")
        with open(key, "wb") as file:
            file.write(os.urandom(128))
        os.chmod(key, 0o400)
        os.chmod(self.munge, 0o755)
        process = subprocess.Popen(
            ["munged", "--foreground", "--force", f"--key-file={key}", f"--socket={self.munge}/socket",
             f"--pid-file={self.munge}/pid", f"--log-file={self.munge}/log", f"--seed-file={self.munge}/seed"],
            env={**self.environment, "PATH": self.environment.get("PATH", "") + ":/usr/sbin:/sbin"},
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        self.started["munged"] = process.pid
        self._save()
        for _ in range(200):
            if os.path.exists(self.munge + "/socket"):
                return
            time.sleep(0.02)
        raise RuntimeError("munged does not start")

    def _end(self, number):
        signal_process(number, signal.SIGKILL)
        for _ in range(100):
            with contextlib.suppress(ChildProcessError):
                if os.waitpid(number, os.WNOHANG)[0] == number:
                    return
            if not os.path.exists(f"/proc/{number}"):
                return
            time.sleep(0.02)

    def _record(self):
        return os.path.join(self.folder, "cluster.json")

    def _save(self):
        if os.path.isdir(self.folder):
            with open(self._record(), "w") as record:
                json.dump({"started": self.started, "munge": self.munge, "nodes": self.nodes}, record)


def parse_node(text):
    """a1=a100:4"""
    name, _, rest = text.partition("=")
    kind, _, devices = rest.partition(":")
    return name, kind, int(devices)


def cluster_of(folder, words):
    """[shares=2] a1=a100:4 ..."""
    shares = [int(word[7:]) for word in words if word.startswith("shares=")]
    nodes = [parse_node(word) for word in words if not word.startswith("shares=")]
    return SlurmCluster(folder, nodes, shares=shares[-1] if shares else 1)


def run_with(cluster, words, seconds=55):
    """The exit code of a command, which finds the cluster by SLURM_CONF and this script by ACCORD_TEST_SLURM."""
    end = time.monotonic() + seconds
    with cluster:
        script = f"{sys.executable} -B {os.path.abspath(__file__)} {cluster.folder}"
        process = subprocess.Popen(words, env={**cluster.environment, "ACCORD_TEST_SLURM": script},
                                   start_new_session=True)
        try:
            return process.wait(timeout=max(end - time.monotonic(), 1))
        finally:
            with contextlib.suppress(OSError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def main(arguments):
    if len(arguments) < 2 or arguments[0] not in ("start", "stop", "run", "kill", "fail", "restart"):
        sys.exit(__doc__)
    action, folder, *rest = arguments
    if action == "start":
        cluster = cluster_of(folder, rest)
        try:
            cluster.start()
        except BaseException:
            cluster.stop()
            raise
        print(f"SLURM_CONF={cluster.configuration}")
        return
    if action == "run":
        at = rest.index("--")
        sys.exit(run_with(cluster_of(folder, rest[:at]), rest[at + 1:]))
    cluster = SlurmCluster(folder)
    if action == "stop":
        cluster.stop()
    for name in rest:
        if action == "fail":
            cluster.fail(name)
        else:
            cluster.kill(name)
        if action == "restart":
            cluster.restart(name)


if __name__ == "__main__":
    main(sys.argv[1:])
