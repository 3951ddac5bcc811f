#!/usr/bin/env python3
"""Stops `accord compile` of generated jobs at many moments, and holds every answer against the truth and `accord verify`.

  stops.py FOLDER                     20 jobs, two moments each: the sweep of ./check
  stops.py FOLDER --feasible 200 --infeasible 100 --step 50 --until 2000     every 50 ms of the first two seconds

A job is feasible or infeasible by construction: infeasible ones ask for less memory than one parameter of the model takes.
Each run is stopped by SIGINT, SIGTERM or --time-limit in turn. What must hold, whatever the moment:

  exit status   status of plan.json      besides
  0             optimal or feasible      the job is feasible; `accord verify` accepts the folder
  2             infeasible               the job is infeasible; `accord verify` accepts the folder
  4             unknown, or no plan.json `accord verify` accepts the folder, if there is one
  by the signal no plan.json             it came before the command had begun

Prints a line for each answer that breaks this, then sums, and the processor time between a stop and the end of its run.
The time is for people to read, and no reason to fail. Exit status 1 after a wrong answer."""
import argparse
import json
import os
import random
import signal
import subprocess
import sys
import time

MODELS = [
    ("bert", "bert_large", {"layers": (2, 6), "hidden": (256, 512), "heads": (4, 8)}),
    ("gpt2", "gpt2", {"layers": (2, 8), "hidden": (256, 768), "heads": (4, 8), "seq": (256, 512)}),
    ("gpt3", "gpt3", {"layers": (4, 12), "hidden": (1024, 2048), "heads": (8, 16), "seq": (256, 512)}),
    ("llama2", "llama2", {"layers": (2, 8), "hidden": (512, 1024), "heads": (8, 16), "seq": (256, 512)}),
]
CLUSTERS = ["dgx_superpod_a100", "dgx_superpod_h100"]
DEVICES = ["a100_80g", "h100"]


def job(number, feasible):
    """The text of a job, the same for the same number."""
    draw = random.Random(number)
    file, model, ranges = draw.choice(MODELS)
    sizes = {name: draw.choice(bounds) for name, bounds in ranges.items()}
    target = draw.choice(CLUSTERS + DEVICES)
    lines = [f'import "catalog/{file}.dnn"', f"train job = {model}({', '.join(f'{k} = {v}' for k, v in sizes.items())}) on {target} {{"]
    lines.append(f"  batch = {draw.choice([16, 32, 64])}")
    lines.append(f"  precision = {draw.choice(['mixed(bf16)', 'fp32'])}")
    lines.append(f"  optimizer = {draw.choice(['adam', 'sgd'])}")
    lines.append(f"  search {{ microbatch = {draw.choice(['1', '{1, 2, 4}'])} }}")
    if target in CLUSTERS:
        lines.append(f"  require devices <= {draw.choice([8, 16, 64])}")
    if not feasible:
        lines.append("  require device.memory <= 64 KiB")
    return "\n".join(lines) + "\n}\n"


def processor_seconds(pid):
    """Of a process that runs, all its threads."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as file:
            fields = file.read().rsplit(")", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, IndexError):
        return None


class Sweep:
    def __init__(self, folder):
        self.folder = folder
        self.counts, self.late, self.wrong, self.runs = {}, [], 0, 0

    def complain(self, where, what):
        self.wrong += 1
        print(f"{where}: {what}", flush=True)

    def run(self, path, name, feasible, moment, how):
        """Returns whether the run was over before the moment came."""
        out = os.path.join(self.folder, name)
        command = ["accord", "compile", path, "-o", out]
        if how == "limit":
            command += ["--time-limit", f"{moment} ms"]
        begin = time.monotonic()
        # What a shell runs in the background ignores SIGINT, and so would what is started from it.
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        spent = None
        if how != "none":
            time.sleep(max(0, moment / 1000 - (time.monotonic() - begin)))
            spent = processor_seconds(process.pid)
            if how != "limit":
                process.send_signal(signal.SIGINT if how == "int" else signal.SIGTERM)
        before = sum(os.times()[2:4])
        stdout, stderr = process.communicate()
        total = sum(os.times()[2:4]) - before
        if spent is not None and process.returncode >= 0:
            self.late.append((total - spent, name))
        self.runs += 1
        self.judge(name, out, feasible, process.returncode, stderr.decode(errors="replace"))
        return how != "none" and time.monotonic() - begin < moment / 1000

    def judge(self, name, out, feasible, code, stderr):
        document = os.path.join(out, "plan.json")
        status = None
        if os.path.exists(document):
            with open(document, encoding="utf-8") as file:
                status = json.load(file)["status"]
        self.counts[code, status] = self.counts.get((code, status), 0) + 1
        allowed = {0: ("optimal", "feasible"), 2: ("infeasible",), 4: ("unknown", None)}
        if -code in (signal.SIGINT, signal.SIGTERM):
            allowed[code] = (None,)
        if code not in allowed or status not in allowed[code]:
            self.complain(name, f"exit status {code}, status {status}: {stderr.strip()[:300]}")
        elif (code == 0 and not feasible) or (code == 2 and feasible):
            self.complain(name, f"exit status {code} of a job that is {'feasible' if feasible else 'infeasible'}")
        if status is not None:
            verified = subprocess.run(["accord", "verify", out], capture_output=True, text=True)
            if verified.returncode != 0:
                self.complain(name, f"status {status} is refused: {(verified.stdout + verified.stderr).strip()[:300]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--feasible", type=int, default=12)
    parser.add_argument("--infeasible", type=int, default=8)
    parser.add_argument("--step", type=int, help="milliseconds between two moments")
    parser.add_argument("--until", type=int, default=2000)
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    sweep = Sweep(options.folder)
    ways = ["int", "term", "limit"]
    for number in range(options.feasible + options.infeasible):
        feasible = number < options.feasible
        path = os.path.join(options.folder, f"job-{number}.dnn")
        with open(path, "w", encoding="utf-8") as file:
            file.write(job(number, feasible))
        if options.step:
            moments = list(range(options.step, options.until + 1, options.step))
        else:
            moments = [60 + 45 * (number % 7), 420 + 60 * (number % 5)]
        sweep.run(path, f"job-{number}-whole", feasible, 0, "none")
        for turn, moment in enumerate(moments):
            how = ways[(number + turn) % 3]
            if sweep.run(path, f"job-{number}-{how}-{moment}", feasible, moment, how):
                break  # it is over by then, and would be at each later moment
    for (code, status), count in sorted(sweep.counts.items(), key=str):
        print(f"exit status {code}, status {status}: {count}")
    late = sorted(sweep.late)
    if options.step and late:
        share = lambda part: late[min(len(late) - 1, int(part * len(late)))][0]
        print(f"processor time from the stop to the end: median {share(0.5):.2f} s, 99 % {share(0.99):.2f} s, ", end="")
        print(f"at most {late[-1][0]:.2f} s ({late[-1][1]})")
    print(f"{sweep.runs} runs, {sweep.wrong} wrong answers")
    return 1 if sweep.wrong else 0


sys.exit(main())
