#!/usr/bin/env python3
"""Stops `accord compile`, `schedule` and `mine` at many moments, and holds every answer against the truth and `accord verify`.

  stops.py FOLDER                     24 jobs, two moments each: the sweep of ./check
  stops.py FOLDER --feasible 200 --infeasible 100 --step 50 --until 2000     every 50 ms of the first two seconds

A job is feasible or infeasible by construction: trainings that may use less memory than one parameter of the model takes,
design spaces with less area than any of their designs has, projects whose modes are known by dynamic programming.
Each run is stopped by SIGINT, SIGTERM, `timeout` or --time-limit in turn; one more has seconds, in which most end by themselves (some
projects would take half a minute). What must hold, whatever the moment:

  exit status   status of the answer     besides
  0             optimal or feasible      the job is feasible; `accord verify` accepts the folder
  2             infeasible               the job is infeasible; `accord verify` accepts the folder
  4             unknown, or no answer    `accord verify` accepts the folder, if there is one
  by the signal no answer                it came before the command had begun

`accord verify` may ask for --allow-trusted where the search of a mining is all that rules designs out.
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


def model(draw):
    """The catalogue's file, and the model with its sizes."""
    file, name, ranges = draw.choice(MODELS)
    sizes = {key: draw.choice(bounds) for key, bounds in ranges.items()}
    return file, f"{name}({', '.join(f'{key} = {value}' for key, value in sizes.items())})"


class Compile:
    """A training on a device or a cluster."""

    command, ending, document = "compile", ".dnn", "plan.json"

    @staticmethod
    def text(draw, feasible):
        file, call = model(draw)
        target = draw.choice(CLUSTERS + DEVICES)
        lines = [f'import "catalog/{file}.dnn"', f"train job = {call} on {target} {{"]
        lines.append(f"  batch = {draw.choice([16, 32, 64])}")
        lines.append(f"  precision = {draw.choice(['mixed(bf16)', 'fp32'])}")
        lines.append(f"  optimizer = {draw.choice(['adam', 'sgd'])}")
        lines.append(f"  search {{ microbatch = {draw.choice(['1', '{1, 2, 4}'])} }}")
        if target in CLUSTERS:
            lines.append(f"  require devices <= {draw.choice([8, 16, 64])}")
        if not feasible:
            lines.append("  require device.memory <= 64 KiB")
        return "\n".join(lines) + "\n}\n", ""


class Mine:
    """A design space of one device, or of the devices of a cluster."""

    command, ending, document = "mine", ".dnn", "mine.json"

    @staticmethod
    def text(draw, feasible):
        file, call = model(draw)
        placed = draw.random() < 0.5
        arrays, sizes = draw.choice([(4, "64..128"), (8, "32..256"), (16, "64..256")])
        lines = ["accelerator space {", "  clock = 940 MHz", "  technology = 16 nm"]
        lines.append("  memory hbm : dram { capacity = {16 GiB, 32 GiB}, bandwidth = 900 GB/s, energy = 3.9 pJ/bit }")
        lines.append("  memory vmem : scratchpad { capacity = pow2 4..16 MiB, bandwidth = 2048 B/cycle, double_buffered = true, queue = 8 }")
        lines.append(f"  core mxu[pow2 1..{arrays}] : tensor {{ array = (pow2 {sizes}) x (pow2 {sizes}), dataflow = weight_stationary,")
        lines.append("    multiply = bf16, accumulate = fp32, reads = vmem }")
        lines.append("  core vpu[2] : vector { lanes = pow2 256..1024, types = {fp32, bf16}, reads = vmem }")
        lines.append("  path hbm -> vmem -> {mxu, vpu}")
        lines.append("  power { idle = 40 W, mac = 0.6 pJ }")
        lines.append("  area { mac = 760 um2, lane = 760 um2, sram = 1.4 mm2 per 1 MiB }")
        lines.append(f"  require area <= {'60' if feasible else '0.5'} mm2")
        lines.append("}")
        if placed:
            lines.append("cluster pod {")
            lines.append("  server board[2] {")
            lines.append("    device chip[4] : space")
            lines.append("    network ici { connects = chip, topology = switch, bandwidth = 100 GB/s, latency = 1 us }")
            lines.append("  }")
            lines.append("  network ethernet { connects = board, topology = fat_tree(oversubscription = 1), bandwidth = 50 GB/s, latency = 5 us }")
            lines.append("}")
        machine = "\n".join(lines) + "\n"
        lines = [f'import "catalog/{file}.dnn"', 'import "MACHINE"']
        lines.append(f"train job = {call} on {'pod' if placed else 'space'} {{")
        lines.append(f"  batch = {draw.choice([16, 32])}")
        lines.append("  precision = mixed(bf16)")
        lines.append("  optimizer = adam")
        lines.append(f"  search {{ microbatch = {draw.choice(['1', '{1, 2}'])}{', tensor_parallel = pow2 1..4' if placed else ''} }}")
        lines.append("  maximize throughput")
        return "\n".join(lines) + "\n}\n", machine


class Schedule:
    """A project of jobs with two modes within a budget; with too little of it there is no schedule."""

    command, ending, document = "schedule", ".mm", "problem.mlir"

    @staticmethod
    def text(draw, feasible):
        jobs = draw.choice([12, 20, 30])
        modes = [[(draw.randint(1, 10), draw.randint(1, 9), draw.randint(1, 9)) for _ in range(2)] for _ in range(jobs)]
        least = {0: 0}  # of the second budget by what is spent of the first
        for one in modes:
            after = {}
            for spent, other in least.items():
                for _, first, second in one:
                    after[spent + first] = min(after.get(spent + first, 10**9), other + second)
            least = after
        first = draw.choice(sorted(least))
        second = min(other for spent, other in least.items() if spent <= first)
        second = second + draw.randint(0, 8) if feasible else second - 1
        if second < 0:
            first, second = min(least) - 1, 10**6
        stars = "*" * 72
        rows = [stars, "projects : 1", f"jobs (incl. supersource/sink ): {jobs + 2}", "RESOURCES", "  - renewable : 1 R"]
        rows += ["  - nonrenewable : 2 N", "  - doubly constrained : 0 D", stars, "PRECEDENCE RELATIONS:"]
        rows += ["jobnr. #modes #successors successors", f"1 1 {jobs} {' '.join(str(j + 2) for j in range(jobs))}"]
        rows += [f"{j + 2} 2 1 {jobs + 2}" for j in range(jobs)] + [f"{jobs + 2} 1 0", stars, "REQUESTS/DURATIONS:"]
        rows += ["jobnr. mode duration R 1 N 1 N 2", "-" * 72, "1 1 0 0 0 0"]
        for j, one in enumerate(modes):
            for m, (duration, a, b) in enumerate(one):
                rows.append(f"{f'{j + 2} ' if m == 0 else ''}{m + 1} {duration} {draw.randint(1, 4)} {a} {b}")
        rows += [f"{jobs + 2} 1 0 0 0 0", stars, "RESOURCEAVAILABILITIES:", "R 1 N 1 N 2", f"5 {first} {second}", stars]
        return "\n".join(rows) + "\n", ""


KINDS = [Compile, Compile, Mine, Schedule]


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

    def run(self, kind, path, name, feasible, moment, how):
        """Returns whether the run was over before the moment came."""
        out = os.path.join(self.folder, name)
        command = ["accord", kind.command, path, "-o", out]
        if kind is Schedule:
            command.append("--json")
        if how in ("limit", "none"):
            command += ["--time-limit", f"{moment} ms"]
        before = sum(os.times()[2:4])
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
            if how == "timeout":  # it tells the process, and then its group
                time.sleep(0.002)
                process.send_signal(signal.SIGTERM)
        stdout, stderr = process.communicate()
        total = sum(os.times()[2:4]) - before
        if spent is not None and process.returncode >= 0:
            self.late.append((total - spent, name))
        self.runs += 1
        self.judge(kind, name, out, feasible, process.returncode, stdout.decode(), stderr.decode(errors="replace"))
        return how != "none" and time.monotonic() - begin < moment / 1000

    def judge(self, kind, name, out, feasible, code, stdout, stderr):
        document = os.path.join(out, kind.document)
        status = None
        if kind is Schedule:
            status = json.loads(stdout)["status"] if stdout else None
        elif os.path.exists(document):
            with open(document, encoding="utf-8") as file:
                status = json.load(file)["status"]
        key = kind.command, code, status
        self.counts[key] = self.counts.get(key, 0) + 1
        allowed = {0: ("optimal", "feasible"), 2: ("infeasible",), 4: ("unknown", None)}
        if -code in (signal.SIGINT, signal.SIGTERM):
            allowed[code] = (None,)
        if code not in allowed or status not in allowed[code]:
            self.complain(name, f"exit status {code}, status {status}: {stderr.strip()[:300]}")
        elif (code == 0 and not feasible) or (code == 2 and feasible):
            self.complain(name, f"exit status {code} of a job that is {'feasible' if feasible else 'infeasible'}")
        if os.path.exists(document):
            trusting = ["--allow-trusted"] if kind is Mine else []
            verified = subprocess.run(["accord", "verify", out, *trusting], capture_output=True, text=True)
            if verified.returncode != 0:
                self.complain(name, f"status {status} is refused: {(verified.stdout + verified.stderr).strip()[:300]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--feasible", type=int, default=16)
    parser.add_argument("--infeasible", type=int, default=8)
    parser.add_argument("--step", type=int, help="milliseconds between two moments")
    parser.add_argument("--until", type=int, default=2000)
    parser.add_argument("--whole", type=int, default=5, help="seconds after which a run ends that nothing else stops")
    parser.add_argument("--first", type=int, default=0, help="number of the first job")
    options = parser.parse_args()
    os.makedirs(options.folder, exist_ok=True)
    sweep = Sweep(options.folder)
    ways = ["int", "term", "limit", "timeout"]
    numbers = list(range(options.first, options.feasible + options.infeasible))
    random.Random(0).shuffle(numbers)  # so that a part of a long sweep says something of all
    for turn, number in enumerate(numbers):
        if options.step and turn % 20 == 0:
            print(f"{turn} jobs, {sweep.runs} runs, {sweep.wrong} wrong answers", flush=True)
        feasible = number < options.feasible
        kind = KINDS[number % len(KINDS)]
        path = os.path.join(options.folder, f"job-{number}{kind.ending}")
        text, machine = kind.text(random.Random(number), feasible)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text.replace("MACHINE", f"job-{number}.accel"))
        if machine:
            with open(os.path.join(options.folder, f"job-{number}.accel"), "w", encoding="utf-8") as file:
                file.write(machine)
        if options.step:
            moments = list(range(options.step, options.until + 1, options.step))
        else:
            moments = [60 + 45 * (number % 7), 420 + 60 * (number % 5)]
        sweep.run(kind, path, f"job-{number}-whole", feasible, 1000 * options.whole, "none")
        for index, moment in enumerate(moments):
            how = ways[(number + index) % len(ways)]
            if sweep.run(kind, path, f"job-{number}-{how}-{moment}", feasible, moment, how):
                break  # it is over by then, and would be at each later moment
    for (command, code, status), count in sorted(sweep.counts.items(), key=str):
        print(f"{command}, exit status {code}, status {status}: {count}")
    late = sorted(sweep.late)
    if options.step and late:
        share = lambda part: late[min(len(late) - 1, int(part * len(late)))][0]
        print(f"processor time from the stop to the end: median {share(0.5):.2f} s, 99 % {share(0.99):.2f} s, ", end="")
        print(f"at most {late[-1][0]:.2f} s ({late[-1][1]})")
    print(f"{sweep.runs} runs, {sweep.wrong} wrong answers")
    return 1 if sweep.wrong else 0


sys.exit(main())
