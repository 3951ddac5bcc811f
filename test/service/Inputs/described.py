"""A cluster that is described by a `jobs` block, served by processes of this machine.

    described.py ACCORD FOLDER
        quotas, power and maintenance limit what runs, and broken descriptions are refused
"""
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from served import Served  # noqa: E402

WORK = os.path.join(HERE, "work.py")
RATE = 10
MAINTENANCE = 25  # seconds from the start, in described.dnn
WATTS = {"a100_80g": 400, "h100": 700}
BROKEN = {
    "quota": "tenant vision { quota = {k80: 4} }",
    "capacity": "capacity k80 = 4",
    "more": "capacity h100 = 64",
    "server": "maintenance h100 { servers = {7}, from = 0 s, until = 1 h }",
    "server-type": "maintenance h100 { servers = {2}, from = 0 s, until = 1 h }",
    "twice": "tenant a { }\n  tenant a { }",
    "measure": "minimize nonsense",
    "no-tenant": "job x { tenant = nobody, samples = 100, configuration h100[4] { rate = 10 } }",
}


def refused(accord, folder):
    for name, text in BROKEN.items():
        path = os.path.join(folder, name + ".dnn")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f'import "{HERE}/described.accel"\njobs room on described {{\n  {text}\n}}\n')
        done = subprocess.run([accord, "serve", path, "--engine", "local", "--listen", "127.0.0.1:0", "--state",
                               os.path.join(folder, name)], capture_output=True, text=True, timeout=60)
        print(f"{name}: ends with {done.returncode}:", done.stderr.split("error", 1)[1].split("\n")[0])


def submit(served, name, kind, devices, seconds, tenant, *words):
    said = served.run("run", "--name", name, "--tenant", tenant, "--samples", str(seconds * RATE * devices), "--measured",
                      f"{kind}={devices}:{RATE * devices}", "--restart", "1s", *words, "--", sys.executable, WORK, f"{kind}={RATE}")
    return int(said.stdout.split()[1])


def main():
    accord, folder = sys.argv[1:3]
    os.makedirs(folder, exist_ok=True)
    refused(accord, folder)
    began = time.time()
    with Served(accord, os.path.join(folder, "state"), [os.path.join(HERE, "described.dnn"), "--engine", "local", "--interval", "0.5"]) as served:
        served.wait(lambda: len(served.ask("GET", "/v1/cluster").get("nodes", [])) == 3, 60, "no nodes")
        stranger = served.run("run", "--tenant", "nobody", "--samples", "10", "--measured", "h100=1:10", "true", check=False)
        print("a tenant that is not described:", stranger.returncode, (stranger.stdout + stranger.stderr).strip().splitlines()[0])
        jobs = {submit(served, f"see{i}", "a100_80g", 2, 3, "vision"): "vision" for i in range(4)}
        jobs |= {submit(served, f"hear{i}", "a100_80g", 4, 3, "speech"): "speech" for i in range(4)}
        away = submit(served, "serviced", "h100", 4, 2, "speech")
        large = submit(served, "large", "a100_80g", 8, 2, "vision")
        served.wait(lambda: all(job["phase"] == "complete" for job in served.jobs() if job["id"] != large), 130, "not all are complete")
        view = served.ask("GET", f"/v1/jobs/{large}")
        print("above its quota:", view["phase"], "-", view.get("wait", ""))
        runs = served.ask("GET", f"/v1/runs?from_s={began - 60:.0f}&until_s={time.time() + 60:.0f}&limit=1000")["runs"]
        runs = [run for run in runs if run.get("run", 0) > 0]
        check(runs, jobs, away, began)


def check(runs, jobs, away, began):
    assert sorted(run["job"] for run in runs) == sorted([*jobs, away]), runs
    vision, watts = 0, 0
    for run in runs:
        # A second is what is seen late of an end.
        here = [one for one in runs if one["start_s"] <= run["start_s"] and run["start_s"] + 1 < one["end_s"]]
        vision = max(vision, sum(one["devices"] for one in here if jobs.get(one["job"]) == "vision"))
        watts = max(watts, sum(one["devices"] * WATTS[one["device_type"]] for one in here))
    assert 0 < vision <= 4, vision
    assert 0 < watts <= 4900, watts
    print("the quota and the power are kept")
    (run,) = [run for run in runs if run["job"] == away]
    assert run["start_s"] >= began + MAINTENANCE, (run, began)
    print("nothing began on the server that was serviced")


if __name__ == "__main__":
    main()
