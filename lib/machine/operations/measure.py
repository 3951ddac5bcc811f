#!/usr/bin/env python3
"""Measures single operations, collectives and board power with PyTorch, and prints a table of them.

    python3 measure.py > operations.csv
    torchrun --nproc-per-node=8 measure.py > operations.csv     # all-reduce, too

One row is one operation. `latency_ms` is the median of repeated runs, each of them after the L2 was overwritten.
`bytes` is the size of a collective's buffer on each device. `watts` is the mean power of the board while an operation
of the kind ran again and again; it is empty where nobody reports power. Of `linear` and `bmm`, the sizes are m x n
times n x k. Of `attention`, `batch` is batch times heads, `m` the queries, `n` the keys and `k` the width of a head.
Nothing is written but the table, and progress on stderr.
"""
import argparse
import csv
import os
import shutil
import statistics
import subprocess
import sys
import time

import torch
import torch.nn.functional as F

DEFAULT_DEVICE = "cuda"
COLUMNS = "operation batch m n k width type device latency_ms kernel bytes watts".split()
TYPES = {"fp32": "float32", "bf16": "bfloat16", "fp16": "float16"}
FLUSH_BYTES = 256 << 20
ROW_ELEMENTS = (768, 1024, 1600, 2048, 2560, 4096, 6400, 8192, 12288, 16384)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", default=DEFAULT_DEVICE, help=f"device of PyTorch (default: {DEFAULT_DEVICE})")
    parser.add_argument("--types", default="fp32", help="fp32,bf16,fp16 (default: fp32)")
    parser.add_argument("--seconds", type=float, default=600, help="time to spend in all (default: 600)")
    parser.add_argument("--quick", action="store_true", help="one small operation of each kind")
    options = parser.parse_args()
    for name in options.types.split(","):
        if name not in TYPES:
            parser.error(f"unknown type '{name}', expected one of {', '.join(TYPES)}")
    return options


def shapes(quick):
    """(operation, batch, m, n, k, width), from small to large; an unused size is 0."""
    found = []
    for m in (1, 16, 128, 512, 2048, 8192):
        for n, k in ((768, 768), (768, 3072), (4096, 1024), (4096, 4096), (4096, 12288), (2048, 50272), (1000, 1000)):
            found.append(("linear", 1, m, n, k, 0))
    for batch in (8, 96, 768):
        for m, n, k in ((64, 64, 64), (128, 64, 96), (512, 64, 512), (512, 512, 64), (1024, 96, 1024), (196, 96, 196)):
            found.append(("bmm", batch, m, n, k, 0))
            found.append(("attention", batch, m, m, n, 0))
    for batch in (64, 1024, 16384, 131072):
        for width in ROW_ELEMENTS:
            for operation in ("softmax", "ln", "add", "mul", "addu", "gelu", "relu", "tanh", "copy"):
                found.append((operation, batch, 0, 0, 0, width))
    found = list(dict.fromkeys(found))
    found.sort(key=lambda s: s[1] * max(s[2] * s[3] * s[4] / 64, s[5], 1))
    if quick:
        found = list({shape[0]: shape for shape in reversed(found)}.values())
    return found


def function_of(operation, batch, m, n, k, width, make):
    """The operation as a function without arguments. Its operands are made here, once."""
    if operation == "linear":
        x, weight = make(m, n), make(k, n)
        return lambda: F.linear(x, weight)
    if operation == "bmm":
        a, b = make(batch, m, n), make(batch, n, k)
        return lambda: torch.bmm(a, b)
    if operation == "attention":
        q, key, value = make(1, batch, m, k), make(1, batch, n, k), make(1, batch, n, k)
        return lambda: F.scaled_dot_product_attention(q, key, value)
    x = make(batch, width)
    if operation in ("add", "mul"):
        y = make(batch, width)
        return (lambda: x + y) if operation == "add" else (lambda: x * y)
    return {
        "softmax": lambda: F.softmax(x, dim=-1),
        "ln": lambda: F.layer_norm(x, (width,)),
        "addu": lambda: x + 1.5,
        "gelu": lambda: F.gelu(x),
        "relu": lambda: F.relu(x),
        "tanh": lambda: torch.tanh(x),
        "copy": x.clone,
    }[operation]


def elements_of(operation, batch, m, n, k, width):
    """Elements of all operands, the result and what attention may keep between its two products."""
    if width:
        return 3 * batch * width
    kept = 2 * m * n if operation == "attention" else 0
    return batch * (m * k + k * n + m * n + kept)


class Clock:
    """Seconds of one run, on a device with events or on one without."""

    def __init__(self, device):
        self.device = device
        self.cuda = device.type == "cuda"
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device=device) if self.cuda else None

    def wait(self):
        if self.cuda:
            torch.cuda.synchronize(self.device)

    def once(self, run):
        if not self.cuda:
            start = time.perf_counter()
            run()
            return time.perf_counter() - start
        self.flush.zero_()
        start, stop = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        run()
        stop.record()
        stop.synchronize()
        return start.elapsed_time(stop) / 1e3

    def median(self, run, limit, least=5, most=50):
        """After three runs that are not counted; at least `least` runs, more within `limit` seconds."""
        for _ in range(3):
            run()
        self.wait()
        times, begin = [], time.perf_counter()
        while len(times) < least or (len(times) < most and time.perf_counter() - begin < limit):
            times.append(self.once(run))
        return statistics.median(times)


class Power:
    """Mean watts of the board while something runs again and again; None where nobody reports them."""

    def __init__(self, device):
        index = device.index or 0
        listed = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
        name = listed[index] if index < len(listed) and listed[index] else str(index)
        self.command = ["nvidia-smi", "-i", name, "--query-gpu=power.draw", "--format=csv,noheader,nounits"]
        self.known = device.type == "cuda" and shutil.which("nvidia-smi") is not None

    def mean(self, run, wait, seconds=2.0):
        if not self.known:
            return None
        samples, begin = [], time.perf_counter()
        while time.perf_counter() - begin < seconds:
            # The host keeps the device busy until the reading has ended: it takes tens of milliseconds.
            pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL}
            with subprocess.Popen(self.command, text=True, **pipes) as reading:
                while reading.poll() is None:
                    run()
                    wait()
                text = reading.stdout.read()
            try:
                watts = float(text)
            except ValueError:
                return None
            if time.perf_counter() - begin > seconds / 4:  # the board's own mean lags behind
                samples.append(watts)
        return statistics.mean(samples) if samples else None


def device_name(device):
    return torch.cuda.get_device_name(device) if device.type == "cuda" else device.type


def measure_local(options, device, write):
    clock, power = Clock(device), Power(device)
    jobs = [(shape, name) for shape in shapes(options.quick) for name in options.types.split(",")]
    largest = {(shape[0], name): shape for shape, name in jobs}
    begin, skipped = time.perf_counter(), 0
    for done, (shape, name) in enumerate(jobs):
        left = options.seconds - (time.perf_counter() - begin)
        if left <= 0:
            skipped = len(jobs) - done
            break
        dtype = getattr(torch, TYPES[name])
        size = 4 if name == "fp32" else 2
        if device.type == "cuda" and elements_of(*shape) * size > 0.8 * torch.cuda.mem_get_info(device)[0]:
            skipped += 1
            continue
        run = function_of(*shape, lambda *sizes, d=dtype: torch.randn(*sizes, dtype=d, device=device))
        seconds = clock.median(run, left / (len(jobs) - done))
        is_largest = not options.quick and largest[shape[0], name] == shape
        watts = power.mean(run, clock.wait) if is_largest else None
        operation, batch, m, n, k, width = shape
        write(operation=operation, batch=batch, m=m, n=n, k=k, width=width, type=name, seconds=seconds, watts=watts)
        if sys.stderr.isatty():
            print(f"measure.py: {done + 1} of {len(jobs)}", end="\r", file=sys.stderr)
    if skipped:
        print(f"measure.py: {skipped} operations do not fit the time or the memory and are left out", file=sys.stderr)


def measure_collectives(options, device, write):
    """Every rank takes part; `batch` is the number of ranks. The number of runs is fixed: ranks must agree on it."""
    import torch.distributed as dist

    clock = Clock(device)
    for name in options.types.split(","):
        dtype = getattr(torch, TYPES[name])
        size = 4 if name == "fp32" else 2
        for power_of_two in (10,) if options.quick else range(10, 29, 2):
            count = (1 << power_of_two) // size
            buffer = torch.zeros(count, dtype=dtype, device=device)
            dist.barrier()
            seconds = clock.median(lambda b=buffer: dist.all_reduce(b), 0, least=20, most=20)
            write(operation="all_reduce", batch=dist.get_world_size(), width=count, type=name, seconds=seconds,
                  bytes=count * size)


def main():
    options = arguments()
    rank, world = int(os.environ.get("RANK", "0")), int(os.environ.get("WORLD_SIZE", "1"))
    device = torch.device(options.device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            sys.exit("measure.py: no CUDA device; --device names another one")
        if device.index is None:
            device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.cuda.set_device(device)
        torch.backends.cuda.matmul.allow_tf32 = False  # so that fp32 is fp32
    name, table = device_name(device), csv.writer(sys.stdout, lineterminator="\n")

    def write(seconds, watts=None, **cells):
        if rank != 0:
            return
        cells.update(device=name, latency_ms=f"{seconds * 1e3:.6g}", watts="" if watts is None else f"{watts:.1f}")
        table.writerow([cells.get(column) or "" for column in COLUMNS])
        sys.stdout.flush()

    if rank == 0:
        table.writerow(COLUMNS)
    with torch.no_grad():
        if world > 1:
            import torch.distributed as dist

            dist.init_process_group("nccl" if device.type == "cuda" else "gloo")
            measure_collectives(options, device, write)
            dist.barrier()
            dist.destroy_process_group()
        if rank == 0:
            measure_local(options, device, write)


if __name__ == "__main__":
    main()
