"""Trainings by `accord run` at `accord serve`: what is shown of their progress against what really happened.

    progress.py ACCORD FOLDER [JOBS [SAMPLES]]

JOBS trainings (train.py) at once: some use accord.progress, some write lines themselves, some post, some export metrics
for Prometheus; one fails once and goes on from its checkpoint, one is said to be twice as fast as it is. They write down
what is true themselves. At many moments the scheduler is asked; afterwards that is compared with the truth:
    the share of the work is within 2 % of it at 95 % of the moments
    the time that was really left lies in the interval shown at 90 % of them, less twice the noise of so many jobs
    restarts, deviation from the plan, and the history are right
"""
import bisect
import math
import os
import socket
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
from served import Served  # noqa: E402

TRAIN = os.path.join(HERE, "train.py")
KINDS = ("module", "lines", "post", "metrics", "remote")
RESTARTS, SLOWER = 1, 2  # which job fails once, and which is slower than it was said
SAID = 400.0  # samples a second that are said of the latter: about twice what it does
PER_JOB = 1  # moments of a job that tell something new: others of it say much the same


class Truth:
    def __init__(self, path):
        with open(path) as file:
            rows = [line.split() for line in file]
        self.times, self.samples = [float(row[0]) for row in rows], [float(row[1]) for row in rows]
        self.end = self.times[-1]
        back = [i for i in range(1, len(rows)) if self.samples[i] < self.samples[i - 1]]
        self.begin = back[-1] if back else 0  # of the last run

    def at(self, moment):
        index = bisect.bisect_right(self.times, moment)
        return self.samples[index - 1] if index else 0.0

    def rate(self, until):
        """Samples a second from the first third of the last run to a moment."""
        first = self.begin + (len(self.times) - self.begin) // 3
        return (self.at(until) - self.samples[first]) / (until - self.times[first])


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def watch(served, ids, limit):
    """What is shown of each job at each moment until all are over: (before, after, view)."""
    seen, end = {job: [] for job in ids}, time.time() + limit
    while time.time() < end:
        before = time.time()
        views = {job["id"]: job for job in served.jobs()}
        after = time.time()
        for job in ids:
            if views[job]["phase"] == "running":
                seen[job].append((before, after, views[job]))
        if all(views[job]["phase"] in ("complete", "failed", "cancelled") for job in ids):
            return seen, views
        time.sleep(0.4)
    raise SystemExit(f"after {limit} s not all jobs are over")


def compare(seen, truth, work):
    """Moments, those within 2 %, the largest distance, moments with an interval, those in it."""
    near = [0, 0, 0.0, 0, 0]
    for before, after, view in seen:
        if after > truth.end:
            continue
        low, high = truth.at(before) / work, truth.at(after) / work
        distance = max(low - view["share"], view["share"] - high, 0)
        near[0], near[2] = near[0] + 1, max(near[2], distance)
        near[1] += distance <= 0.02
        # Before a failure nobody knows of it; of the start and the end little can be said.
        if before < truth.times[truth.begin] or not 0.1 <= low <= 0.95 or "time_left_low_s" not in view:
            continue
        near[3] += 1
        near[4] += view["time_left_low_s"] - (after - before) <= truth.end - after <= view["time_left_high_s"]
    return near


def run(accord, folder, jobs, samples):
    words = ["--engine", "local", "--name", "lab", "--interval", "0.5",
             "--engine-option", f"nodes=a1=a100:{jobs}"]
    with Served(accord, os.path.join(folder, "state"), words) as served:
        ids, truths = [], []
        for job in range(jobs):
            truth = os.path.join(folder, f"truth{job}")
            options = ["--samples", str(samples), "--name", f"train{job}", "--max-devices", "1", "--restart", "0",
                       "--env", f"TRUTH={truth}"]
            if job == SLOWER:
                options += ["--measured", f"a100=1:{SAID}"]
            kind = KINDS[job % len(KINDS)]
            if kind == "metrics":
                port = free_port()
                options += ["--progress-from", f"http://127.0.0.1:{port}/metrics", "--env", f"METRICS_PORT={port}"]
            fails = ["--fail-at", "0.3"] if job == RESTARTS else []
            said = served.run("run", *options, "--", TRAIN, kind, "--seed", str(job), *fails).stdout
            ids.append(int(said.split()[1]))
            truths.append(truth)
        seen, views = watch(served, ids, 20 * samples / 100)
        shown = {job: served.ask("GET", f"/v1/jobs/{job}") for job in ids}
    check(ids, truths, seen, views, shown, samples)


def check(ids, truths, seen, views, shown, samples):
    sums, wrong = [0, 0, 0.0, 0, 0], []
    for index, job in enumerate(ids):
        if views[job]["phase"] != "complete" or views[job].get("restarts", 0) != (index == RESTARTS):
            wrong.append(f"job {job} is {views[job]['phase']} after {views[job].get('restarts', 0)} restarts: "
                         f"{views[job].get('reason', '')}")
            continue
        truth = Truth(truths[index])
        found = compare(seen[job], truth, samples)
        print(f"job {job} ({KINDS[index % len(KINDS)]}): {found[1]} of {found[0]} moments within 2 %, at most {100 * found[2]:.1f} %, "
              f"{found[4]} of {found[3]} intervals hold")
        sums = [a + b if i != 2 else max(a, b) for i, (a, b) in enumerate(zip(sums, found))]
        history = shown[job].get("history", [])
        if not 5 <= len(history) <= 640 or any(
                abs(point["samples"] - truth.at(point["time_s"])) > 0.05 * samples for point in history
                if truth.times[truth.begin] < point["time_s"]):
            wrong.append(f"the history of job {job} is not what happened: {history[-3:]}")
        if index == SLOWER:
            # Nothing is said while the speed is not settled, as on a machine that pauses.
            said = [(view["deviation"], truth.rate(before) / SAID - 1) for before, _, view in seen[job]
                    if before < truth.end and view.get("deviation", 0) != 0]
            if not said:
                wrong.append("no deviation from the plan was shown")
                continue
            shows, really = said[-1]
            print(f"deviation from the plan {100 * shows:.1f} %, really {100 * really:.1f} %: the last of {len(said)} moments")
            if abs(shows - really) > 0.1:
                wrong.append("the deviation from the plan is not what happened")
    moments, near, most, asked, inside = sums
    noise = math.sqrt(0.9 * 0.1 / (PER_JOB * len(ids)))
    print(f"{moments} moments: {near} within 2 % of the truth, at most {100 * most:.1f} %; "
          f"{inside} of {asked} intervals hold ({100 * inside / max(1, asked):.1f} %)")
    if moments < 10 * len(ids) or near < 0.95 * moments:
        wrong.append("the share of the work is not within 2 % of the truth")
    if asked < 5 * len(ids) or inside < (0.9 - 2 * noise) * asked:
        wrong.append("the time that was left is not in the interval shown")
    if wrong:
        raise SystemExit("\n".join(wrong))
    print("progress is shown as it was")


if __name__ == "__main__":
    folder = os.path.abspath(sys.argv[2])
    os.makedirs(folder, exist_ok=True)
    numbers = [int(word) for word in sys.argv[3:]]
    run(sys.argv[1], folder, numbers[0] if numbers else 8, numbers[1] if len(numbers) > 1 else 9000)
