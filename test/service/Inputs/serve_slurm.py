"""Jobs of three tenants on a real Slurm with two device types, scheduled by `accord serve`.

    serve_slurm.py ACCORD FOLDER [JOBS]
"""
import os
import random
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import Served  # noqa: E402
from slurm_cluster import SlurmCluster  # noqa: E402

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work.py")
RATES = {"a100": 10, "k80": 2}
NODES = [("a1", "a100", 4), ("a2", "a100", 4), ("k1", "k80", 8)]


def submit(served, name, seconds, sizes, tenant, *words):
    """A job that takes `seconds` on the first of `sizes`, (type, devices)."""
    samples = seconds * RATES[sizes[0][0]] * sizes[0][1]
    measured = [word for kind, devices in sizes for word in ("--measured", f"{kind}={devices}:{RATES[kind] * devices}")]
    said = served.run("run", "--name", name, "--tenant", tenant, "--samples", str(samples), *measured, "--restart", "1s",
                      "--notice", "3s", *words, "--", WORK, *[f"{kind}={rate}" for kind, rate in RATES.items()])
    return int(said.stdout.split()[1])


def phases(served):
    return {job["id"]: job["phase"] for job in served.jobs()}


def main():
    accord, folder, count = sys.argv[1], sys.argv[2], int(sys.argv[3]) if len(sys.argv) > 3 else 30
    draw = random.Random(5)
    with SlurmCluster(os.path.join(folder, "slurm"), NODES) as slurm:
        with Served(accord, os.path.join(folder, "state"), ["--engine", "slurm", "--name", "lab", "--interval", "0.5"],
                    slurm.environment) as served:
            served.wait(lambda: len(served.ask("GET", "/v1/cluster").get("nodes", [])) == 3, 20, "no nodes")
            # All are there before the first begins, so that the plan has all of them.
            for node, _, _ in NODES:
                served.run("drain", node)
            ids = []
            for i in range(count):
                sizes = draw.choice([[("a100", 4), ("k80", 8)], [("a100", 2)], [("a100", 1), ("k80", 4)], [("k80", 4)],
                                     [("a100", 8)], [("k80", 2)]])
                ids.append(submit(served, f"job{i}", draw.randint(2, 5), sizes, ["red", "green", "blue"][i % 3]))
            for node, _, _ in NODES:
                served.run("drain", node, "--resume")
            served.wait(lambda: all(job.get("planned_end_s", 0) > 0 for job in served.jobs()), 20, "not all are planned")
            began = time.time()
            planned = {job["id"]: job for job in served.jobs()}
            makespan = max(job["planned_end_s"] for job in planned.values()) - began
            served.wait(lambda: all(phase == "complete" for phase in phases(served).values()), 240,
                        f"not complete: {phases(served)}")
            took = time.time() - began
            runs = served.ask("GET", f"/v1/runs?from={began - 60}&until={time.time() + 60}&limit=1000")["runs"]
            check_runs(runs, ids)
            late = check_order(runs, planned)
            print(f"makespan: planned {makespan:.0f} s, measured {took:.0f} s: {'within' if took <= 1.15 * makespan + 2 else 'NOT within'} 15 %")
            print(f"order: {late} of {count} jobs began before one that was planned more than 3 s earlier on the same devices")
            changes(served, slurm)
            print("check:", subprocess.run([accord, "serve", "--check", "--state", os.path.join(folder, "state")],
                                           capture_output=True, text=True).stdout.strip() if not served.stop() else "")


def check_runs(runs, ids):
    """Each job ran once, on nodes of one type with enough devices, and no device was used twice."""
    assert sorted(run["job"] for run in runs if run["outcome"] == "succeeded") == sorted(ids), "a job ran not exactly once"
    devices = {name: (kind, number) for name, kind, number in NODES}
    for run in runs:
        assert all(devices[node][0] == run["device_type"] for node in run["nodes"]), run
    for node, (_, number) in devices.items():
        here = [run for run in runs if node in run["nodes"]]
        for run in here:
            used = sum(other["devices"] // len(other["nodes"]) for other in here
                       if other["start_s"] <= run["start_s"] < other["end_s"])
            assert used <= number, (node, used)
    print(f"{len(runs)} runs, each on the nodes and devices of its plan, none twice")


def check_order(runs, planned):
    start = {run["job"]: run for run in runs}
    wrong = set()
    for a in planned.values():
        for b in planned.values():
            x, y = start[a["id"]], start[b["id"]]
            if set(x["nodes"]) & set(y["nodes"]) and a["planned_start_s"] + 3 < b["planned_start_s"] and x["start_s"] > y["start_s"] + 1:
                wrong.add(b["id"])
    return len(wrong)


def changes(served, slurm):
    """A running job shrinks and grows, a node is drained, a node fails; each is planned anew within 5 s."""
    large = submit(served, "large", 25, [("a100", 8), ("a100", 4)], "red", "--elastic", "malleable")
    served.wait(lambda: phases(served)[large] == "running", 20, "the large job does not run")
    time.sleep(2)
    urgent = submit(served, "urgent", 4, [("a100", 4)], "blue", "--priority", "500")
    at = time.time()
    served.wait(lambda: phases(served)[urgent] == "running", 20, "the urgent job does not run")
    print(f"an urgent job ran after {time.time() - at:.1f} s")
    served.wait(lambda: phases(served)[urgent] == "complete", 30, "the urgent job is not complete")
    served.wait(lambda: job(served, large)["devices"] == 8, 20, "the large job does not grow again")
    sizes = [run["devices"] for run in runs_of(served, large)]
    print("the large job had", sizes, "devices")
    lost = job(served, large)["nodes"][0]
    slurm.fail(lost)
    at = time.time()
    served.wait(lambda: lost not in job(served, large).get("nodes", [lost]) and phases(served)[large] == "running", 20,
                "the job of the node that failed does not run elsewhere")
    print(f"after {lost} failed, its job ran elsewhere in {time.time() - at:.1f} s")
    slurm.restart(lost)
    moved = job(served, large)["nodes"][0]
    served.run("drain", moved, "--reason", "fans")
    at = time.time()
    served.wait(lambda: moved not in job(served, large).get("nodes", [moved]) and phases(served)[large] in ("running", "complete"),
                25, "the job of the drained node does not run elsewhere")
    print(f"after {moved} was drained, its job ran elsewhere in {time.time() - at:.1f} s")
    served.run("cancel", str(large))
    served.wait(lambda: phases(served)[large] == "cancelled", 20, "it is not cancelled")


def job(served, number):
    view = served.ask("GET", f"/v1/jobs/{number}")
    return dict(view, nodes=view.get("nodes", []), devices=view.get("devices", 0))


def runs_of(served, number):
    runs = served.ask("GET", f"/v1/runs?from=0&until={time.time() + 60}&limit=1000")["runs"]
    return [run for run in runs if run["job"] == number and run.get("run", 0) > 0]


if __name__ == "__main__":
    main()
