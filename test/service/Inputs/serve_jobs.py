"""Jobs of three tenants on two device types, scheduled by `accord serve` and run by a real Slurm, by processes of this machine, or on
an API server of Kubernetes that runs containers as processes.

    serve_jobs.py ACCORD FOLDER slurm|local|kubernetes jobs [JOBS [SECONDS]]
        so many jobs of SECONDS to twice as long: each runs once, as planned, and how long they take in all
    serve_jobs.py ACCORD FOLDER slurm|local|kubernetes changes [SECONDS]
        an urgent job shrinks one of SECONDS, which grows again; its node fails, or is drained, and it goes on
    serve_jobs.py ACCORD FOLDER slurm guard
        gres.conf says that a node has A100s, and nvidia-smi there says K80: the guard refuses, the node is drained
"""
import contextlib
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from served import Served  # noqa: E402
from slurm_cluster import SlurmCluster  # noqa: E402
import fake_kubernetes  # noqa: E402

WORK = os.path.join(HERE, "work.py")
RATES = {"a100": 10, "k80": 2}
NODES = [("a1", "a100", 4), ("a2", "a100", 4), ("k1", "k80", 8)]
SIZES = [[("a100", 4), ("k80", 8)], [("a100", 2)], [("a100", 1), ("k80", 4)], [("k80", 4)], [("a100", 8)], [("k80", 2)]]
SMI = """#!/bin/sh
case "$SLURMD_NODENAME" in
a2) name="Tesla K80" memory=11441 ;;
*) name="NVIDIA A100-SXM4-80GB" memory=81920 ;;
esac
for i in 0 1 2 3; do echo "$name, $memory MiB"; done
"""
RESTART = 1.0  # seconds that a start takes, as jobs say
INTERVAL = 0.5


@contextlib.contextmanager
def cluster_of(engine, folder):
    """Words of `accord serve`, its environment, and what makes a node fail and come back (None: nothing does)."""
    words = ["--engine", engine, "--name", "lab", "--interval", str(INTERVAL)]
    if engine == "slurm":
        with SlurmCluster(os.path.join(folder, "slurm"), NODES) as slurm:
            yield words, slurm.environment, (slurm.fail, slurm.restart)
    elif engine == "local":
        nodes = ",".join(f"{name}={kind}:{devices}" for name, kind, devices in NODES)
        yield [*words, "--engine-option", f"nodes={nodes}"], {}, None
    else:
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, "containers"), "wb") as log:
            url, end = fake_kubernetes.start([(name, (kind, devices)) for name, kind, devices in NODES], 0.1, 1.0, log)
            try:
                up = [lambda name, is_up=is_up: fake_kubernetes_node(url, name, is_up) for is_up in (False, True)]
                yield [*words, "--engine-option", f"url={url}", "--engine-option", "image=work"], {}, up
            finally:
                end()


def fake_kubernetes_node(url, name, is_up):
    import json
    import urllib.request
    body = json.dumps({"name": name, "up": is_up}).encode()
    urllib.request.urlopen(urllib.request.Request(url + "/fake/node", body, method="POST"), timeout=10).close()


def submit(served, name, seconds, sizes, tenant, *words, work=()):
    """A job that takes `seconds` on the first of `sizes`, (type, devices), beside its start; `work` are words of work.py."""
    samples = seconds * RATES[sizes[0][0]] * sizes[0][1]
    measured = [word for kind, devices in sizes for word in ("--measured", f"{kind}={devices}:{RATES[kind] * devices}")]
    said = served.run("run", "--name", name, "--tenant", tenant, "--samples", str(round(samples)), *measured, "--restart", f"{RESTART:g}s",
                      "--notice", "3s", *words, "--", sys.executable, WORK, *[f"{kind}={rate}" for kind, rate in RATES.items()], *work)
    return int(said.stdout.split()[1])


def phases(served):
    return {job["id"]: job["phase"] for job in served.jobs()}


def job(served, number):
    view = served.ask("GET", f"/v1/jobs/{number}")
    return dict(view, nodes=view.get("nodes", []), devices=view.get("devices", 0))


def runs_of(served, after=0.0):
    """Runs that the engine had, and those that are planned."""
    runs = served.ask("GET", f"/v1/runs?from_s={after:.0f}&until_s={time.time() + 3600:.0f}&limit=5000")["runs"]
    runs.sort(key=lambda run: (run["job"], run.get("run", 0)))
    return [run for run in runs if run.get("run", 0) > 0], [run for run in runs if run.get("run", 0) == 0]


def run_jobs(served, count, seconds):
    """No node takes tasks until all jobs are there, so the first plan has all of them."""
    draw = random.Random(5)
    began = time.time()
    for node, _, _ in NODES:
        served.run("drain", node, "--reason", "all are to be planned together")
    ids = [submit(served, f"job{i}", draw.uniform(seconds, 2 * seconds), draw.choice(SIZES), ["red", "green", "blue"][i % 3])
           for i in range(count)]
    for node, _, _ in NODES:
        served.run("drain", node, "--resume")
    first, last = {}, {}

    def look():
        real, planned = runs_of(served, began - 60)
        started = {run["job"] for run in real}
        for run in planned:
            if run["job"] in ids and run["job"] not in started:
                last[run["job"]] = run
        if not first and set(ids) == {run["job"] for run in real + planned}:
            first.update({run["job"]: run for run in planned})
            for run in real:  # it began since the plan was made
                seconds = RESTART + work[run["job"]] / (RATES[run["device_type"]] * run["devices"])
                first[run["job"]] = dict(run, end_s=run["start_s"] + seconds)
        return all(phase in ("complete", "failed") for phase in phases(served).values())

    work = {one["id"]: one["samples"] for one in served.jobs()}
    served.wait(look, 60 + 20 * count + 4 * count * seconds, "not all are complete")
    assert first, "no plan had all jobs"
    real = runs_of(served, began - 60)[0]
    assert set(phases(served).values()) == {"complete"}, phases(served)
    check_devices(real, ids)
    check_plan(real, first, last)
    start = min(run["start_s"] for run in real)
    planned = max(run["end_s"] for run in first.values()) - min(run["start_s"] for run in first.values())
    took = max(run["end_s"] for run in real) - start
    print(f"makespan: {planned:.0f} s planned, {took:.1f} s measured, {100 * (took / planned - 1):+.0f} %")
    beyond = [run["end_s"] - run["start_s"] - (first[run["job"]]["end_s"] - first[run["job"]]["start_s"]) for run in real
              if run["configuration"] == first[run["job"]]["configuration"]]
    print(f"a run took {sum(beyond) / len(beyond):+.2f} s against its plan, in the mean of {len(beyond)}")
    return took, planned


def check_devices(runs, ids):
    """Each job ran once, on nodes of one type with enough devices, and no device was used twice."""
    assert sorted(run["job"] for run in runs) == sorted(ids), "a job ran not exactly once"
    assert all(run["outcome"] == "succeeded" for run in runs)
    devices = {name: (kind, number) for name, kind, number in NODES}
    for run in runs:
        assert all(devices[node][0] == run["device_type"] for node in run["nodes"]), run
    for node, (_, number) in devices.items():
        here = [run for run in runs if node in run["nodes"]]
        for run in here:
            # A second is what Slurm's clock may be off by.
            used = sum(other["devices"] // len(other["nodes"]) for other in here
                       if other["start_s"] <= run["start_s"] and run["start_s"] + 1 < other["end_s"])
            assert used <= number, (node, used)
    print(f"{len(runs)} jobs ran once each, none on devices of another")


def check_plan(runs, first, last):
    """Against the first plan that has all jobs, and against the last one that each job was in before it began."""
    def same(run, plan):
        return run["device_type"] == plan["device_type"] and run["devices"] == plan["devices"] and sorted(run["nodes"]) == sorted(plan["nodes"])

    for words, plans in (("the first plan", first), ("the last plan before it began", last)):
        print(f"placed as {words}: {sum(same(run, plans[run['job']]) for run in runs if run['job'] in plans)} of {len(plans)}")
    start = {run["job"]: run["start_s"] for run in runs}
    pairs = wrong = 0
    for a in runs:
        for b in runs:
            x, y = first[a["job"]], first[b["job"]]
            if x["end_s"] <= y["start_s"] and set(x["nodes"]) & set(y["nodes"]) and set(a["nodes"]) & set(b["nodes"]):
                pairs += 1
                wrong += start[a["job"]] > start[b["job"]] + 1
    print(f"order: {pairs - wrong} of {pairs} pairs that follow each other on a node in the first plan")


def run_changes(served, seconds, fail):
    """Each change is planned anew within 5 s: the job is told to save, or runs elsewhere."""
    hurry = os.path.join(served.folder, "hurry")
    large = submit(served, "large", seconds, [("a100", 8), ("a100", 4)], "red", "--elastic", "malleable", work=("--hurry", hurry))
    served.wait(lambda: job(served, large).get("progress", {}).get("samples", 0) > 0, 20, "the large job does not run")
    assert job(served, large)["devices"] == 8, job(served, large)
    at = time.time()
    urgent = submit(served, "urgent", 3, [("a100", 4)], "blue", "--priority", "500")
    served.wait(lambda: told_to_save(served, large), 10, "the large job is not told to save")
    said = told_to_save(served, large)[0] - at
    served.wait(lambda: phases(served)[urgent] == "running", 20, "the urgent job does not run")
    print(f"urgent: the large job was told to save after {said:.1f} s, the urgent one ran after {time.time() - at:.1f} s")
    timely = [said]
    served.wait(lambda: job(served, large)["devices"] == 4, 20, "the large job does not go on with what is left")
    served.wait(lambda: phases(served)[urgent] == "complete", 30, "the urgent job is not complete")
    served.wait(lambda: job(served, large)["devices"] == 8, 20, "the large job does not grow again")
    if fail:
        lost, took = moved(served, large, fail[0], "after its node failed")
        timely.append(took)
        fail[1](lost)
        served.wait(lambda: job(served, large)["devices"] == 8, 30, "it does not grow again")
    drained, took = moved(served, large, lambda node: served.run("drain", node, "--reason", "fans"), "after its node was drained")
    timely.append(took)
    served.run("drain", drained, "--resume")
    with open(hurry, "wb"):
        pass
    served.wait(lambda: phases(served)[large] == "complete", 60, "the large job is not complete")
    runs = [run for run in runs_of(served)[0] if run["job"] == large]
    print("devices of the large job:", ", ".join(str(run["devices"]) for run in runs))
    view = job(served, large)
    assert view["share"] == 1 and runs[-1]["outcome"] == "succeeded", (view, runs)
    return max(timely)


def told_to_save(served, number):
    """Seconds since 1970 of each time that a job was told to save and end."""
    events = served.ask("GET", "/v1/events?limit=1000")["events"]
    return [event["time_s"] for event in events if event["kind"] == "stopping" and event["job"] == number]


def run_guard(served):
    """Two jobs that each need all devices of a node, of which one has others than it says."""
    ids = [submit(served, f"job{i}", 2, [("a100_80g", 4)], "red") for i in range(2)]
    served.wait(lambda: all(phase == "complete" for phase in phases(served).values()), 40, "not all are complete")
    runs = sorted((run["job"], run["run"], run["nodes"], run["outcome"]) for run in runs_of(served)[0])
    assert len(runs) == 3 and sum(nodes == ["a2"] for _, _, nodes, _ in runs) == 1, runs
    assert all((outcome == "refused") == (nodes == ["a2"]) for _, _, nodes, outcome in runs), runs
    print("runs on a1:", sum(nodes == ["a1"] for _, _, nodes, _ in runs), "of jobs", sorted({run[0] for run in runs if run[2] == ["a1"]}))
    for node in served.ask("GET", "/v1/cluster")["nodes"]:
        print(f"node {node['name']} is {node['state']}: {node.get('reason', 'nothing is said')}")
    for event in served.ask("GET", "/v1/events?limit=1000")["events"]:
        if event["kind"] == "refused":
            print("event:", event["text"])
    for name in sorted(os.listdir(os.path.join(served.folder, "tasks"))):
        with open(os.path.join(served.folder, "tasks", name, "output"), encoding="utf-8") as output:
            print("".join(line for line in output if line.startswith("accord guard")), end="")
    assert all(job(served, number).get("failures", 0) == 0 for number in ids)


def moved(served, number, lose, what):
    """The first node of a running job, which `lose` takes away, and the seconds until the job has a run without it."""
    served.wait(lambda: phases(served)[number] == "running", 20, "the large job does not run")
    node = job(served, number)["nodes"][0]
    before = max(run["run"] for run in runs_of(served)[0] if run["job"] == number)
    lose(node)
    at = time.time()

    def is_elsewhere():
        runs = [run for run in runs_of(served)[0] if run["job"] == number and run["run"] > before]
        return runs and node not in runs[-1]["nodes"]

    served.wait(is_elsewhere, 25, f"no new run {what}")
    took = time.time() - at
    served.wait(lambda: phases(served)[number] == "running", 20, f"it does not run {what}")
    print(f"{what}, the large job was given to the engine elsewhere after {took:.1f} s")
    return node, took


def main():
    accord, folder, engine, what = sys.argv[1:5]
    numbers = [float(word) for word in sys.argv[5:]]
    state = os.path.join(folder, "state")
    if what == "guard":
        NODES[:] = [("a1", "a100_80g", 4), ("a2", "a100_80g", 4)]
        RATES["a100_80g"] = 10
        tools = os.path.join(folder, "tools")
        os.makedirs(tools)
        with open(os.path.join(tools, "nvidia-smi"), "w", encoding="utf-8") as smi:
            smi.write(SMI)
            os.fchmod(smi.fileno(), 0o755)
        os.environ["PATH"] = tools + ":" + os.environ["PATH"]
    with cluster_of(engine, folder) as (words, environment, fail):
        with Served(accord, state, words, environment) as served:
            served.wait(lambda: len(served.ask("GET", "/v1/cluster").get("nodes", [])) == len(NODES), 20, "no nodes")
            if what == "jobs":
                took, planned = run_jobs(served, int(numbers[0]) if numbers else 30, numbers[1] if len(numbers) > 1 else 5)
                print("within 15 % of the plan" if took <= 1.15 * planned else "NOT within 15 % of the plan")
            elif what == "guard":
                run_guard(served)
            else:
                slowest = run_changes(served, numbers[0] if numbers else 60, fail)
                print("each within 5 s" if slowest <= 5 else f"NOT each within 5 s: {slowest:.1f} s")
        check = subprocess.run([accord, "serve", "--check", "--state", state], capture_output=True, text=True, timeout=60)
        print((check.stdout + check.stderr).strip())


if __name__ == "__main__":
    main()
