"""Trials of `accord tune` as jobs of a running `accord serve`, against the same tuning on this machine alone.

    tune_serve.py ACCORD FOLDER TUNING.dnn TRAIN.py PYTHON equal    other jobs fill the cluster; service and tuning are killed
    tune_serve.py ACCORD FOLDER TUNING.dnn TRAIN.py PYTHON elastic  a trial is shrunk while it runs
    tune_serve.py ACCORD FOLDER TUNING.dnn TRAIN.py PYTHON refused  what the service, or its cluster, cannot do
"""
import contextlib
import filecmp
import json
import os
import signal
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from served import Served  # noqa: E402

NODES = "nodes=a1=cpu:2,a2=cpu:2"


class Tunings:
    def __init__(self, accord, folder, file, program, python):
        self.accord, self.folder, self.file = accord, folder, file
        self.program = f"'{python}' '{program}'"

    def words(self, name, engine, options, *more):
        given = [word for option in options for word in ("--engine-option", option)]
        return [self.accord, "tune", self.file, "--engine", engine, *given, "--program", self.program, "-o", self.path(name), *more]

    def path(self, name):
        return os.path.join(self.folder, name)

    def run(self, name, engine, options, *more):
        done = subprocess.run(self.words(name, engine, options, *more), capture_output=True, text=True, timeout=100)
        return done.returncode, done.stdout, done.stderr

    def start(self, name, engine, options, *more):
        return subprocess.Popen(self.words(name, engine, options, *more), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def trials(self, name):
        with open(os.path.join(self.path(name), "tune.json"), encoding="utf-8") as file:
            return json.load(file)["trials"]

    def same(self, what, name):
        assert filecmp.cmp(os.path.join(self.path("local"), "tune.json"), os.path.join(self.path(name), "tune.json"), False), what
        print(f"the same result {what}")


def options_of(served, *more):
    token = os.path.join(served.folder, "operator.token")
    return [f"server={served.url}", f"token-file={token}", "devices=2", *more]


def jobs_of_trials(served):
    return [job for job in served.ask("GET", "/v1/jobs?prefix=tune-&limit=1000")["jobs"]]


def is_over(job):
    return job["phase"] in ("complete", "failed", "cancelled")


def fill(served, count, seconds, priority=10, devices=1):
    """So many jobs of others on so many devices each, of four; their numbers."""
    numbers = []
    for _ in range(count):
        body = {"name": "other", "command": ["sleep", str(seconds)], "samples": seconds, "notice_s": 1, "priority": priority,
                "measured": [{"device_type": "cpu", "devices": devices, "samples_per_s": 1}]}
        numbers.append(served.ask("POST", "/v1/jobs", body)["id"])
    return numbers


def run_equal(tunings, served):
    status, _, said = tunings.run("local", "local", ["nodes=here=cpu:2"])
    assert status == 0, said

    fill(served, 3, 3)  # each trial waits for the last device, or for their end
    process = tunings.start("serve", "serve", options_of(served))
    served.wait(lambda: any(job["phase"] == "running" for job in jobs_of_trials(served)), 30, "no trial runs")
    served.kill()
    time.sleep(0.5)
    served.start()
    count = len(jobs_of_trials(served))
    served.wait(lambda: len(jobs_of_trials(served)) > count, 30, "the tuning does not go on behind a new start of the service")
    process.kill()
    process.wait()
    left = [job["id"] for job in jobs_of_trials(served) if not is_over(job)]
    status, _, said = tunings.run("serve", "serve", options_of(served))
    assert status == 0, said
    tunings.same("beside others, with a service and a tuning that were killed", "serve")
    jobs = jobs_of_trials(served)
    assert all(is_over(job) for job in jobs), jobs
    assert len({job["submission"]["name"] for job in jobs}) == len(jobs), "a task has two jobs"
    if left:
        print("jobs of the killed tuning:", {job["phase"] for job in jobs if job["id"] in left} <= {"cancelled", "complete"})
    verified = subprocess.run([tunings.accord, "verify", tunings.path("serve")], capture_output=True, text=True, timeout=60)
    print(verified.stdout.strip().splitlines()[-1])

    # The service keeps the result, once, and a later tuning begins with it.
    kept = served.ask("GET", "/v1/tunings?name=spirals")["tunings"]
    assert len(kept) == 1, kept
    with open(os.path.join(tunings.path("serve"), "tune.json"), encoding="utf-8") as file:
        assert json.loads(served.ask("GET", f"/v1/tunings/{kept[0]['id']}")["document"]) == json.load(file)
    os.environ["ACCORD_TOKEN"] = served.token
    status, _, said = tunings.run("later", "local", ["nodes=here=cpu:2"], "--trials", "1", "--history", served.url)
    assert status == 0, said
    best = max(tunings.trials("serve"), key=lambda trial: max((one["value"] for one in trial["reports"]), default=0))
    assert tunings.trials("later")[0]["configuration"] == best["configuration"]
    print("a later tuning begins with the best one of this")
    run_cancelled(tunings, served)


def run_cancelled(tunings, served):
    """An operator cancels one trial, which costs that trial alone; Ctrl-C cancels what is left."""
    others = fill(served, 4, 600)  # no trial runs before they are cancelled, however slow this machine is
    served.wait(lambda: sum(job["phase"] == "running" for job in served.jobs()) == 4, 20, "the cluster is not full")
    known = {job["id"] for job in jobs_of_trials(served)}
    process = tunings.start("cancelled", "serve", options_of(served), "--trials", "2")
    new = lambda: [job for job in jobs_of_trials(served) if job["id"] not in known]  # noqa: E731
    served.wait(new, 30, "no trial is handed in")
    cancel = [tunings.accord, "cancel", "--server", served.url]
    for numbers in [new()[0]["id"]], others:
        cancelled = subprocess.run([*cancel, *map(str, numbers), "--reason", "the paper is due"], capture_output=True, text=True, timeout=30)
        assert cancelled.returncode == 0, cancelled.stderr
    process.wait(60)
    reasons = [trial.get("reason", "") for trial in tunings.trials("cancelled")]
    assert sum("cancelled by operator: the paper is due" in reason for reason in reasons) == 1, reasons
    print("cancelled by an operator:", len([reason for reason in reasons if reason]), "of", len(reasons), "trials")

    known = {job["id"] for job in jobs_of_trials(served)}
    process = tunings.start("stopped", "serve", options_of(served))
    served.wait(new, 30, "no trial is handed in")
    process.send_signal(signal.SIGINT)
    process.wait(30)
    assert all(is_over(job) for job in new()), new()
    print("Ctrl-C leaves no job")


def run_elastic(tunings, served):
    """An urgent job takes three of four devices, of which a trial has two: it saves, and goes on with one."""
    status, _, said = tunings.run("local", "local", ["nodes=here=cpu:2"], "--sharing", "fixed:2", "--trials", "1")
    assert status == 0, said
    process = tunings.start("serve", "serve", options_of(served, "elastic=yes"), "--sharing", "fixed:2", "--trials", "1")

    def devices():
        trial = next(iter(jobs_of_trials(served)), {})
        return trial.get("devices", 0) if trial.get("phase") == "running" and trial["progress"].get("saved", 0) > 0 else 0

    served.wait(lambda: devices() == 2, 30, "the trial does not run on two devices")
    fill(served, 1, 3, 500, 3)
    served.wait(lambda: devices() == 1, 30, "the trial is not shrunk")
    assert process.wait(60) == 0
    runs = served.ask("GET", f"/v1/runs?job={jobs_of_trials(served)[0]['id']}")["runs"]
    print("devices of the trial:", ", ".join(str(run["devices"]) for run in runs), "at last", runs[-1]["outcome"])
    tunings.same("of a trial that was shrunk", "serve")


def run_refused(tunings, served):
    def expect(what, options):
        status, _, said = tunings.run("refused", "serve", options)
        assert status == 1, (status, said)
        print(f"{what}: {said.strip().replace(served.url, 'URL')}")

    server = options_of(served)[:2]
    served.wait(lambda: served.ask("GET", "/v1/cluster").get("nodes"), 20, "no nodes")
    viewer = served.ask("POST", "/v1/tokens", {"name": "eve", "role": "viewer"})["token"]
    vision = served.ask("POST", "/v1/tokens", {"name": "ada", "role": "submitter", "tenant": "vision"})["token"]
    for name, token in (("eve", viewer), ("ada", vision), ("none", "accord.nothing")):
        with open(tunings.path(name + ".token"), "w", encoding="utf-8") as file:
            file.write(token)
    type_is = "type=a100_80g"
    expect("above the cluster", [*server, "devices=24", type_is])
    expect("above the quota", [*server, "devices=8", type_is, "tenant=vision"])
    expect("not whole nodes", [*server, "devices=12", type_is])
    expect("several types", [*server, "devices=2"])
    expect("no such type", [*server, "devices=2", "type=a100_80"])
    expect("no such tenant", [*server, "devices=2", type_is, "tenant=speach"])
    expect("reads alone", [server[0], f"token-file={tunings.path('eve.token')}", "devices=2", type_is])
    expect("other tenant", [server[0], f"token-file={tunings.path('ada.token')}", "devices=2", type_is, "tenant=speech"])
    expect("no token", [server[0], f"token-file={tunings.path('none.token')}", "devices=2", type_is])
    expect("no devices", server)
    expect("no such option", [*server, "device=2"])
    served.stop()
    expect("no service", [*server, "devices=2"])


def main():
    accord, folder, file, program, python, what = sys.argv[1:]
    tunings = Tunings(accord, folder, file, program, python)
    state = os.path.join(folder, "state")
    words = ["--engine", "local", "--name", "lab", "--engine-option", NODES, "--interval", "0.2"]
    with contextlib.ExitStack() as stack:
        if what == "elastic":
            words[words.index(NODES)] = "nodes=a1=cpu:4"
        if what == "refused":
            words = [os.path.join(HERE, "described.dnn"), *words[:4], "--engine-option", "nodes=h1=h100:8,a1=a100_80g:8,a2=a100_80g:8"]
        served = stack.enter_context(Served(accord, state, words))
        {"equal": run_equal, "elastic": run_elastic, "refused": run_refused}[what](tunings, served)


if __name__ == "__main__":
    main()
