"""docs/operating.md, followed literally: its commands are taken from the document and run in one bash session.

    operating.py ACCORD DOCUMENT FOLDER

The indented commands of the sections "Ten minutes" and "Backup and upgrade" are run in their order, on a virtual Slurm of
three nodes, each in one bash session. What a reader has and this test makes: the shared folder `/shared/accord` and the
port 8421, which are replaced in the text of each command, and `train.py` in the folder where the commands are given. A
command that ends with "&" is waited for until it says that it serves, as a reader does. Commands that this test does not
know are run, too: it adds one to see that. Between the commands of the second section it hands in further jobs, and looks
whether what the document promises holds.
"""
import os
import shlex
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from served import Served  # noqa: E402
from slurm_cluster import SlurmCluster, free_ports  # noqa: E402

NODES = [("a1", "a100", 4), ("a2", "a100", 4), ("k1", "k80", 8)]
TRAIN = """\
import os
import time
from accord.progress import Progress

progress = Progress()
batch, rate = 20, 800 * int(os.environ["ACCORD_NODES"]) * int(os.environ["ACCORD_DEVICES_PER_NODE"])
with open("ran", "a") as ran:
    names = ("ACCORD_JOB", "ACCORD_RUN", "SLURMD_NODENAME", "ACCORD_SERVER", "MARK")
    ran.write(" ".join(os.environ.get(name, "none") for name in names) + "\\n")
samples = progress.done
while samples < progress.total and not progress.should_save:
    time.sleep(batch / rate)
    samples += batch
    progress.report(samples, batch=batch)
progress.report(samples, saved=samples)
"""
PATIENCE = 150  # seconds for anything; the machine may be busy


def commands_of(document, section):
    """The indented lines of a section."""
    with open(document, encoding="utf-8") as file:
        text = file.read().split(f"\n## {section}\n")[1].split("\n## ")[0]
    return [line[4:] for line in text.split("\n") if line.startswith("    ")]


class Session:
    """One bash whose commands are given one after the other."""

    def __init__(self, folder, environment, replaced):
        self.folder, self.replaced, self.count = folder, replaced, 0
        self.output = os.path.join(folder, "session.log")
        self.file = open(self.output, "w+b")
        self.bash = subprocess.Popen(["bash", "--norc", "--noprofile"], stdin=subprocess.PIPE, stdout=self.file, stderr=self.file,
                                     cwd=folder, env=environment, start_new_session=True)

    def text(self, start=0):
        with open(self.output, "rb") as file:
            file.seek(start)
            return file.read().decode(errors="replace")

    def run(self, command):
        """What it printed. Each has to end with 0."""
        for known, here in self.replaced:
            command = command.replace(known, here)
        self.count += 1
        script, done = os.path.join(self.folder, "command"), os.path.join(self.folder, f"done{self.count}")
        with open(script, "w", encoding="utf-8") as file:
            file.write(command + "\n")
        start = os.path.getsize(self.output)
        self.bash.stdin.write(f"source {shlex.quote(script)} < /dev/null; echo $? > {shlex.quote(done)}.new; mv {shlex.quote(done)}.new {shlex.quote(done)}\n".encode())
        self.bash.stdin.flush()
        self.wait(lambda: os.path.exists(done), f"'{command}' does not end: {self.text(start)}")
        if command.endswith("&"):
            self.wait(lambda: "accord serves " in self.text(start), f"'{command}' does not serve: {self.text(start)}")
        with open(done, encoding="utf-8") as file:
            code = file.read().strip()
        said = self.text(start)
        print(f"$ {command}\n{said}", end="", flush=True)
        assert code == "0", f"'{command}' ended with {code}: {said}"
        return said

    def wait(self, condition, what):
        end = time.monotonic() + PATIENCE
        while not condition():
            assert self.bash.poll() is None, "the session ended"
            assert time.monotonic() < end, what
            time.sleep(0.1)

    def close(self):
        """Ends the session with all that it started."""
        os.killpg(self.bash.pid, signal.SIGKILL)
        self.bash.wait()
        self.file.close()


class Operating:
    def __init__(self, accord, document, folder, slurm):
        self.document, self.slurm, self.state = document, slurm, os.path.join(folder, "shared")
        self.work = os.path.join(folder, "work")
        os.makedirs(self.work)
        with open(os.path.join(self.work, "train.py"), "w", encoding="utf-8") as file:
            file.write(TRAIN)
        port = free_ports(1)[0]
        self.accord = accord
        environment = {**slurm.environment, "PATH": os.path.dirname(accord) + ":" + os.environ["PATH"]}
        for name in ("ACCORD_SERVER", "ACCORD_TOKEN", "PYTHONPATH"):
            environment.pop(name, None)
        self.session = Session(self.work, environment, [("/shared/accord", self.state), ("8421", str(port))])
        self.served = Served(accord, os.path.join(folder, "asked"), [], environment)  # to ask, not to start
        self.served.url = f"http://127.0.0.1:{port}"

    def job(self, number):
        return self.served.ask("GET", f"/v1/jobs/{number}")

    def wait(self, condition, what):
        self.session.wait(condition, f"{what}; it said:\n{self.session.text()}")

    def ran(self):
        """(job, run, node) of each time that train.py was started: with a URL that other machines know, and MARK of who
        handed it in."""
        with open(os.path.join(self.work, "ran"), encoding="utf-8") as file:
            lines = [line.split() for line in file]
        url = f"http://{socket.gethostname()}:{self.served.url.rsplit(':', 1)[1]}"
        assert all(server == url and mark == ("none" if int(job) <= 2 else "here") for job, _, _, server, mark in lines), lines
        return [(int(job), int(run), node) for job, run, node, _, _ in lines]

    def runs(self, job):
        runs = self.served.ask("GET", f"/v1/runs?from_s=0&until_s={time.time() + 3600:.0f}&limit=5000")["runs"]
        return [run for run in runs if run["job"] == job and run["run"] > 0]

    def alive(self):
        """Names of jobs that Slurm has, by its own word."""
        return self.slurm.run("squeue", "--noheader", "--states=PENDING,RUNNING", "--format=%j").split()

    def submit(self, samples):
        said = self.session.run(f"MARK=here accord run --env MARK --samples {samples} --measured a100=1:800 train.py")
        return int(said.split("job ")[1].split()[0])

    # ------------------------------------------------------------- Ten minutes

    def ten_minutes(self):
        commands = commands_of(self.document, "Ten minutes")
        assert any(command.endswith("&") for command in commands) and any("--wait" in command for command in commands)
        for command in [*commands, "accord queue --all --json > added.json"]:
            said = self.session.run(command)
            if command.startswith("accord serve"):
                self.wait(lambda: os.path.exists(os.path.join(self.state, "operator.token")), "there is no token")
                with open(os.path.join(self.state, "operator.token"), encoding="utf-8") as file:
                    self.served.token = file.read().strip()
            if "accord top" in command:  # a reader who is faster than the first look at the engine asks again
                assert said.startswith("lab, by slurm"), said
                self.wait(lambda: len(self.served.ask("GET", "/v1/cluster").get("nodes", [])) == len(NODES), "it has no nodes")
                assert "a100" in self.session.run(command)
            if "accord token" in command:
                assert os.path.getsize(os.path.join(self.work, "ada.token")) > 20
            if "--wait" in command:
                self.check_first()
            if "accord explain 2" in command:
                assert "2" in said and "train.py" in said, said
        assert os.path.getsize(os.path.join(self.work, "added.json")) > 2, "an added command was not run"
        self.wait(lambda: self.job(2)["phase"] == "complete", "job 2 is not complete")

    def check_first(self):
        """The first job is complete, of Ada's tenant, and ran where it was planned."""
        view = self.job(1)
        assert (view["phase"], view["submission"]["tenant"], view["share"]) == ("complete", "vision", 1), view
        runs = self.runs(1)
        assert [run["outcome"] for run in runs if run is runs[-1]] == ["succeeded"], runs
        assert [(1, run["run"], node) for run in runs for node in run["nodes"]] == [one for one in self.ran() if one[0] == 1], (runs, self.ran())
        print(f"the first job is complete and ran on {', '.join(runs[-1]['nodes'])}")

    # ------------------------------------------------------------- Backup and upgrade

    def backup(self):
        """A copy while it runs, jobs that come and go after it, another copy of a state that stands still, and back."""
        commands = commands_of(self.document, "Backup and upgrade")
        copies = [at for at, command in enumerate(commands) if "--backup" in command]
        stops = [at for at, command in enumerate(commands) if command.startswith("kill")]
        assert copies == [0] and len(stops) == 2, commands
        goes_on, is_over = self.submit(10000000), self.submit(10000000)
        self.wait(lambda: all(self.job(job).get("progress", {}).get("samples", 0) > 0 for job in (goes_on, is_over)), "two jobs do not run")
        for at, command in enumerate(commands):
            if at == stops[0]:
                after = self.submit(10000000)
                unknown = f"accord-lab-{after}-1"
                self.wait(lambda: unknown in self.alive(), "the job after the copy does not run")
                self.session.run(f"accord cancel {is_over}")
                self.wait(lambda: set(self.alive()) == {f"accord-lab-{goes_on}-1", unknown}, "it is not cancelled")
                self.session.run("accord token bob > bob.token")
            if at == stops[1]:
                self.restored(goes_on, is_over, after, unknown)
                found = self.runs(goes_on)
            self.session.run(command)
            if at == stops[0]:
                self.still_copy(commands[copies[0]])
        assert self.runs(goes_on) == found, "the task was not found again"
        # Whoever is told to save before it hears signals has the whole notice.
        self.wait(lambda: all(self.job(job)["progress"].get("samples", 0) > 0 for job in (goes_on, is_over, after)), "no progress")
        self.session.run(f"accord cancel {goes_on} {is_over} {after}")
        self.wait(lambda: not self.alive(), "tasks of cancelled jobs go on")

    def still_copy(self, command):
        """A copy while no scheduler runs has what the last one has, and the state is as it was."""
        self.session.run(command.replace("copy.db", "still.db"))
        both = []
        for file in (os.path.join(self.work, "still.db"), os.path.join(self.state, "state.db")):
            with sqlite3.connect(file) as database:
                both.append([database.execute(f"select * from {table} order by 1, 2").fetchall() for table in ("jobs", "runs", "events", "tokens")])
        assert both[0] == both[1] and both[0][0], "the copy has something else"

    def restored(self, goes_on, is_over, after, unknown):
        """What the document promises of a state that was put back."""
        self.wait(lambda: unknown not in self.alive(), "a task that the copy does not know goes on")
        self.wait(lambda: self.job(is_over)["phase"] == "running" and len(self.runs(is_over)) == 2,
                  "a job that the copy thinks runs does not run again")
        assert len(self.runs(goes_on)) == 1 and f"accord-lab-{goes_on}-1" in self.alive(), self.runs(goes_on)
        assert all(job["id"] != after for job in self.served.jobs()), "a job that came after the copy is there"
        with open(os.path.join(self.work, "bob.token"), encoding="utf-8") as file:
            bob = file.read().strip()
        try:
            self.served.ask("GET", "/v1/jobs", token=bob)
            raise AssertionError("a token that came after the copy counts")
        except RuntimeError as refused:
            assert str(refused).startswith("401"), refused
        # Its number is given again, to a job of its own.
        assert self.submit(10000000) == after
        self.wait(lambda: self.job(after)["phase"] == "running", "a new job does not run")
        assert [run["outcome"] for run in self.runs(after)] == ["runs"], self.runs(after)
        assert unknown not in self.alive()
        started = {(goes_on, 1), (is_over, 2), (after, self.runs(after)[0]["run"])}
        self.wait(lambda: started <= {(job, run) for job, run, _ in self.ran()}, "a program does not start")
        print("the state was put back")

    def older(self):
        """A program that is older than its state refuses it, and leaves it as it is."""
        self.session.run("kill %accord; wait")
        with sqlite3.connect(os.path.join(self.state, "state.db")) as database:
            database.execute("update accord_version set version = version + 1")
        said = subprocess.run([self.accord, "serve", "--engine", "slurm", "--name", "lab", "--state", self.state, "--listen", "127.0.0.1:0"],
                              capture_output=True, text=True, timeout=PATIENCE, env=self.served.environment)
        assert said.returncode != 0 and "version" in said.stderr, said
        print(said.stderr, end="")


def main():
    accord, document, folder = sys.argv[1:4]
    accord = shutil.which(accord)
    shutil.rmtree(folder, ignore_errors=True)
    with SlurmCluster(os.path.join(folder, "slurm"), NODES) as slurm:
        operating = Operating(accord, document, folder, slurm)
        try:
            operating.ten_minutes()
            operating.backup()
            operating.older()
            print("the document is right")
        finally:
            operating.session.close()


if __name__ == "__main__":
    main()
