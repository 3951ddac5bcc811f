"""Jobs on an `accord serve` that dies, on an engine whose commands lie, or on a disk that is full: nothing is lost or doubled.

    serve_deaths.py ACCORD FOLDER COUNT HOW [JOBS] [SEED]

HOW: `local` or `slurm`: the scheduler is killed COUNT times and started again; `slurm-faults`: COUNT commands of Slurm
fail, hang, answer garbage, or do their work and then fail; `full`: the disk of the state (a small one of its own) is
full COUNT times; `supervisors`: COUNT supervisors of local tasks are killed, now and then with the scheduler. Jobs are handed in meanwhile, with keys, again and again until there is an answer.
"""
import contextlib
import http.client
import os
import random
import shutil
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from served import Served  # noqa: E402
from slurm_cluster import SlurmCluster, processes, signal_process  # noqa: E402

WORK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "work.py")
RATES = {"a100": 10, "k80": 2}
NODES = [("a1", "a100", 4), ("a2", "a100", 4), ("k1", "k80", 8)]
SIZES = [[("a100", 1)], [("a100", 2), ("k80", 8)], [("a100", 4), ("a100", 2)], [("a100", 8), ("a100", 4)], [("k80", 4)],
         [("k80", 2), ("a100", 1)]]
PATIENCE = 150  # seconds behind COUNT times

# A start says so in a file of its run; runs up to ACCORD_FAILS fail in their middle.
START = 'echo "${NODE_RANK:-${SLURM_NODEID:-0}}" >> "$0/$ACCORD_JOB-$ACCORD_RUN"; [ "$ACCORD_RUN" -gt "$FAILS" ] || set -- "$@" --fail-at 0.5; exec "$@"'

WRAPPER = """\
#!/bin/bash
# {name} as it is on a bad day, as long as the file `lies` is there.
here={folder}; real={real}
[ -e $here/lies ] || exec $real "$@"
case $((RANDOM % {odds})) in
0) what=fails ;; 1) what=hangs ;; 2) what=garbage ;; 3) what=fails-then ;; 4) what=cut ;; 5) what=hangs-then ;;
*) exec $real "$@" ;;
esac
echo "$what {name} $*" >> $here/faults
[ "$(wc -l < $here/faults)" -lt {count} ] || rm -f $here/lies
case $what in
fails) echo "slurm_{name}: error: Unable to contact slurm controller" >&2; exit 1 ;;
hangs) exec sleep 30 ;;
garbage) head -c 300 /dev/urandom; exit 0 ;;
fails-then) $real "$@" > /dev/null; exit 1 ;;
cut) $real "$@" | head -c $((1 + RANDOM % 90)); exit 0 ;;
hangs-then) $real "$@" > /dev/null; exec sleep 30 ;;
esac
"""


def submission(draw, number, starts):
    """A job of 1 to 4 s on the first of its sizes."""
    sizes = draw.choice(SIZES)
    kind, devices = sizes[0]
    fails = 2 if number == 0 else 0
    command = ["/bin/sh", "-c", START, starts, sys.executable, WORK, *[f"{name}={rate}" for name, rate in RATES.items()]]
    return {
        "name": f"job{number}", "tenant": ["red", "green", "blue"][number % 3], "key": f"key{number}",
        "samples": round(draw.uniform(1, 4) * RATES[kind] * devices), "command": command,
        "measured": [{"device_type": kind, "devices": devices, "samples_per_s": RATES[kind] * devices}
                     for kind, devices in sizes],
        "elasticity": "malleable" if number % 3 == 1 else "moldable", "restart_s": 0.2, "notice_s": 3,
        "environment": {"FAILS": str(fails)}, "max_failures": 3,
    }


class Submitter(threading.Thread):
    """Hands jobs in, each when its share of the deaths has happened."""

    def __init__(self, served, jobs, count, draw):
        super().__init__(daemon=True)
        self.served, self.jobs, self.count, self.draw = served, jobs, count, draw
        self.ids, self.deaths, self.repeats, self.trouble, self.end = [], 0, 0, "", False

    def run(self):
        for number, job in enumerate(self.jobs):
            while self.deaths < 0.8 * number * self.count / len(self.jobs) and not self.end:
                time.sleep(0.02)
            if number in (7, 11):
                job["after"] = [self.ids[number - 3]]
            self.ids.append(self.hand_in(job, number % 10 == 9))

    def hand_in(self, job, by_command):
        """Until there is an answer; sometimes once more, for it may be lost on its way."""
        answers, wanted = set(), self.draw.choice([1, 1, 2])
        while not self.end:
            try:
                answers.add(self.by_command(job) if by_command else self.served.ask("POST", "/v1/jobs", job)["id"])
                wanted -= 1
                if not wanted:
                    break
            except (OSError, RuntimeError, ValueError, http.client.HTTPException) as error:
                self.repeats, self.trouble = self.repeats + 1, f"{job['key']}: {error}"
            time.sleep(self.draw.uniform(0.02, 0.3))
        assert len(answers) == 1 or self.end, f"{job['key']} is the jobs {answers}"
        return min(answers, default=0)

    def by_command(self, job):
        words = ["run", "--name", job["name"], "--tenant", job["tenant"], "--key", job["key"], "--elastic", job["elasticity"],
                 "--restart", "0.2s", "--notice", "3s", "--env", "FAILS=0"]
        for one in job["measured"]:
            words += ["--measured", f"{one['device_type']}={one['devices']}:{one['samples_per_s']}"]
        words += ["--samples", str(job["samples"])]
        return int(self.served.run(*words, "--", *job["command"]).stdout.split()[1])


def all_events(served):
    found = []
    while True:
        page = served.ask("GET", f"/v1/events?limit=1000&after={found[-1]['number'] if found else 0}")["events"]
        if not page:
            return found
        found += page


def kill_again(served, submitter, count, draw):
    for death in range(count):
        time.sleep(draw.uniform(0.05, 0.7))
        served.kill()
        served.start()
        submitter.deaths = death + 1


def kill_supervisors(served, submitter, state, count, draw):
    """Of the tasks that run; where none runs for long, fewer."""
    mark = f"ACCORD_TASK_FOLDER={state}/local/tasks/".encode()
    killed, end = 0, time.time() + 20 + 3 * count
    while killed < count and time.time() < end:
        time.sleep(draw.uniform(0.05, 0.7))
        if draw.random() < 0.2:
            served.kill()
            served.start()
        found = [number for number, environment, words in processes()
                 if b"supervises" in words and any(one.startswith(mark) for one in environment)]
        if found:
            signal_process(draw.choice(found), 9)
            killed += 1
        submitter.deaths = max(killed, count - int((end - time.time()) / 3))
    submitter.deaths = count


def lie(tools, submitter, count):
    open(os.path.join(tools, "lies"), "w").close()
    end = time.time() + 20 + 3 * count
    while os.path.exists(os.path.join(tools, "lies")) and time.time() < end:
        with contextlib.suppress(OSError), open(os.path.join(tools, "faults")) as faults:
            submitter.deaths = len(faults.readlines())
        time.sleep(0.05)
    with contextlib.suppress(OSError):
        os.remove(os.path.join(tools, "lies"))
    submitter.deaths = count


def fill_again(state, submitter, count, draw):
    path = os.path.join(state, "fill")
    for time_full in range(count):
        time.sleep(draw.uniform(0.3, 1.5))
        with contextlib.suppress(OSError), open(path, "wb", buffering=0) as file:
            for size in (65536, 4096, 512):
                with contextlib.suppress(OSError):
                    while file.write(b"x" * size):
                        pass
        time.sleep(draw.uniform(0.2, 1.5))
        os.remove(path)
        submitter.deaths = time_full + 1


def make_tools(folder, count):
    os.makedirs(folder)
    for name in ("sbatch", "squeue", "scontrol", "scancel"):
        path = os.path.join(folder, name)
        with open(path, "w") as file:
            file.write(WRAPPER.format(name=name, folder=folder, real=shutil.which(name), count=count, odds=40))
        os.chmod(path, 0o755)
    return folder


def check(served, submitter, folder, how, jobs):
    """What has to hold in the end."""
    found = {job["id"]: job for job in served.jobs()}
    assert len(found) == len(jobs) and sorted(found) == sorted(submitter.ids), f"jobs {sorted(found)}, answers {submitter.ids}"
    assert len({job["submission"]["name"] for job in found.values()}) == len(jobs), "a job is there twice"
    events = all_events(served)
    assert [event["number"] for event in events] == list(range(1, len(events) + 1)), "events have holes"
    for kind in ("submitted", "complete"):
        assert sorted(event["job"] for event in events if event["kind"] == kind) == sorted(found), f"{kind} not exactly once"
    runs = served.ask("GET", f"/v1/runs?from_s=0&until_s={time.time() + 60}&limit=10000")["runs"]
    assert sorted(run["job"] for run in runs if run["outcome"] == "succeeded") == sorted(found), "a job succeeded not exactly once"
    started = 0
    for name in os.listdir(os.path.join(folder, "starts")):
        with open(os.path.join(folder, "starts", name)) as file:
            ranks = file.read().split()
        assert len(ranks) == len(set(ranks)), f"run {name} started twice: ranks {ranks}"
        number, run = (int(part) for part in name.split("-"))
        assert any((one["job"], one["run"]) == (number, run) for one in runs), f"run {name} is not known"
        started += 1
    for number, job in enumerate(jobs):
        own = [run for run in runs if run["job"] == submitter.ids[number]]
        if how != "full" and job["elasticity"] == "moldable":  # else work that cannot write fails
            ends, lost = sorted(run["outcome"] for run in own), []
            if how == "supervisors":  # runs are counted with those that were lost
                lost = ["lost"] * ends.count("lost")
            failed = ["failed"] * max(0, int(job["environment"]["FAILS"]) - len(lost))
            assert ends in (failed + lost + ["succeeded"], ["failed"] * ends.count("failed") + lost + ["succeeded"]), \
                f"{job['name']}: {own}"
        if "after" in job:
            before = max(run["end_s"] for run in runs if run["job"] == job["after"][0])
            assert min(run["start_s"] for run in own) >= before - 1, f"{job['name']} began before its time"
    return len(events), len(runs), started


def left(how, folder, slurm):
    """What the engine still has."""
    if slurm:
        return slurm.run("squeue", "--noheader", "--format=%i %j %T").split()
    tasks = os.path.join(folder, "state", "local", "tasks")
    mark = f"ACCORD_TASK_FOLDER={tasks}".encode()
    return os.listdir(tasks) + [number for number, environment, _ in processes()
                                if any(one.startswith(mark) for one in environment)]


def run(accord, folder, count, how, size, seed, slurm):
    draw = random.Random(seed)
    starts, state = os.path.join(folder, "starts"), os.path.join(folder, "state")
    os.makedirs(starts)
    words = ["--name", "lab", "--interval", "0.2", "--plan-limit", "1", "--engine", "slurm" if slurm else "local"]
    if how == "slurm-faults":
        tools = make_tools(os.path.join(folder, "tools"), count)
        words += ["--engine-option", f"tools={tools}", "--engine-option", "time-limit=2"]
    if not slurm:
        words += ["--engine-option", "nodes=" + ",".join(f"{name}={kind}:{number}" for name, kind, number in NODES)]
    jobs = [submission(draw, number, starts) for number in range(size)]
    with Served(accord, state, words, slurm.environment if slurm else None) as served:
        submitter = Submitter(served, jobs, count, random.Random(seed + 1))
        submitter.start()
        began = time.time()
        try:
            if how == "slurm-faults":
                lie(tools, submitter, count)
            elif how == "supervisors":
                kill_supervisors(served, submitter, state, count, draw)
            elif how == "full":
                fill_again(state, submitter, count, draw)
            else:
                kill_again(served, submitter, count, draw)
            took = time.time() - began
            served.wait(lambda: not submitter.is_alive() and
                        all(job["phase"] == "complete" for job in served.jobs()), PATIENCE + size,
                        "not complete")
        except RuntimeError as error:
            phases = [f"{job['submission']['name']} {job['phase']}: {job.get('wait', '')} {job.get('reason', '')}"
                      for job in served.jobs() if job["phase"] != "complete"]
            raise RuntimeError(f"{error}: {phases}; {len(submitter.ids)} are handed in, last trouble: {submitter.trouble}") from None
        finally:
            submitter.end = True
        events, runs, started = check(served, submitter, folder, how, jobs)
        served.wait(lambda: not left(how, folder, slurm), PATIENCE, "the engine still has tasks")
    sound = subprocess.run([accord, "serve", "--check", "--state", state], capture_output=True, text=True)
    assert sound.stdout == "the state is sound\n", sound.stdout + sound.stderr
    print(f"{count} times in {took:.0f} s, all {size} jobs complete {time.time() - began - took:.0f} s later: {events} events, "
          f"{runs} runs, {started} started, none twice; {submitter.repeats} submissions were repeated")
    print(sound.stdout.strip())


def main():
    accord, folder, count, how = sys.argv[1], os.path.abspath(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
    size = int(sys.argv[5]) if len(sys.argv) > 5 else 30
    seed = int(sys.argv[6]) if len(sys.argv) > 6 else 1
    state = os.path.join(folder, "state")
    os.makedirs(state)
    with contextlib.ExitStack() as stack:
        stack.callback(end_all, folder)
        slurm = None
        if how.startswith("slurm"):
            slurm = stack.enter_context(SlurmCluster(os.path.join(folder, "slurm"), NODES))
        if how == "full":
            subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m", "accord-test", state], check=True)
            stack.callback(subprocess.run, ["umount", "--lazy", state])
        run(accord, folder, count, how, size, seed, slurm)


def end_all(folder):
    """Whatever still runs of the tasks."""
    mark = f"={folder}/state/".encode()
    for _ in range(3):
        for number, environment, _ in processes():
            if any(mark in one for one in environment if one.startswith((b"ACCORD_TASK_FOLDER", b"ACCORD_SUPERVISE", b"ACCORD_PROGRESS"))):
                signal_process(number, 9)


if __name__ == "__main__":
    main()
