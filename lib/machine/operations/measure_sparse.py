#!/usr/bin/env python3
"""Measures 2:4 products, and what finding their masks takes, with PyTorch, and prints a table of them.

    python3 measure.py > sparse.csv
    accord calibrate --operations sparse.csv -o gpu.operations

`sparse_linear` has `m` rows, `n` inputs and `k` outputs; the weights keep 2 of every 4 inputs. `latency_ms` is of the
sparse kernel, `dense_ms` of the dense one, each the median of repeated runs after the L2 was overwritten. `sparsify`
finds the two largest of every four of m x n weights and stores them. `sparsify_transposable` finds a mask that is 2:4
along both dimensions and stores both orders, as training needs them in each step with a new mask. Nothing is written
but the table, and progress on stderr.
"""
import argparse
import csv
import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch.sparse import SparseSemiStructuredTensor, to_sparse_semi_structured

DEFAULT_DEVICE = "cuda"
COLUMNS = "operation batch m n k width type device latency_ms kernel bytes watts dense_ms".split()
TYPES = {"bf16": "bfloat16", "fp16": "float16"}
FLUSH_BYTES = 256 << 20
ROWS = (64, 256, 1024, 4096, 8192, 16384, 32768)
# Inputs and outputs of layers of BERT, ViT-L, GPT-2 and Llama, squares, and long and wide ones.
WEIGHTS = ((768, 768), (768, 3072), (3072, 768), (1024, 1024), (1024, 4096), (4096, 1024), (1600, 6400), (6400, 1600),
           (2048, 2048), (2048, 8192), (8192, 2048), (4096, 4096), (4096, 11008), (11008, 4096), (4096, 14336),
           (14336, 4096), (4096, 28672), (8192, 8192), (16384, 4096), (10240, 3072))


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--device", default=DEFAULT_DEVICE, help=f"device of PyTorch (default: {DEFAULT_DEVICE})")
    parser.add_argument("--types", default="bf16", help="bf16,fp16 (default: bf16)")
    parser.add_argument("--seconds", type=float, default=600, help="time to spend in all (default: 600)")
    parser.add_argument("--backend", choices=("cusparselt", "cutlass"), help="kernels of PyTorch (default: its choice)")
    parser.add_argument("--quick", action="store_true", help="nine small products and one mask of each kind")
    options = parser.parse_args()
    for name in options.types.split(","):
        if name not in TYPES:
            parser.error(f"unknown type '{name}', expected one of {', '.join(TYPES)}")
    return options


def jobs_of(options):
    """(operation, m, n, k, type), from small to large; k of a mask is 0."""
    rows, weights = ((64, 128, 256), WEIGHTS[:3]) if options.quick else (ROWS, WEIGHTS)
    found = [("sparse_linear", m, n, k) for m in rows for n, k in weights]
    for operation in ("sparsify", "sparsify_transposable"):
        found += [(operation, k, n, 0) for n, k in (weights[:1] if options.quick else weights)]
    found.sort(key=lambda job: job[1] * job[2] * max(job[3], 1))
    return [(*job, name) for job in found for name in options.types.split(",")]


class Clock:
    """Seconds of one run, on a device with events or on one without."""

    def __init__(self, device):
        self.device = device
        self.cuda = device.type == "cuda"
        self.flush = torch.empty(FLUSH_BYTES, dtype=torch.int8, device=device) if self.cuda else None

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
        if self.cuda:
            torch.cuda.synchronize(self.device)
        times, begin = [], time.perf_counter()
        while len(times) < least or (len(times) < most and time.perf_counter() - begin < limit):
            times.append(self.once(run))
        return statistics.median(times)


def largest_two(weights):
    """The weights with the two smallest of every four in a row set to zero."""
    fours = weights.reshape(-1, 4)
    kept = fours.abs().topk(2, dim=1).indices
    mask = torch.zeros_like(fours).scatter(1, kept, 1)
    return (fours * mask).reshape(weights.shape)


def runs_of(job, device):
    """The sparse function and the dense one; None where there is none."""
    operation, m, n, k, name = job
    dtype = getattr(torch, TYPES[name])
    if operation == "sparse_linear":
        x = torch.randn(m, n, dtype=dtype, device=device)
        weights = largest_two(torch.randn(k, n, dtype=dtype, device=device))
        stored = to_sparse_semi_structured(weights)
        return (lambda: F.linear(x, stored)), (lambda: F.linear(x, weights))
    weights = torch.randn(m, n, dtype=dtype, device=device)
    if operation == "sparsify":
        return (lambda: to_sparse_semi_structured(largest_two(weights))), None
    stored = type(to_sparse_semi_structured(largest_two(weights)))
    return (lambda: stored.prune_dense_static_sort(weights)), None


def bytes_of(job):
    _, m, n, k, _ = job
    return 2 * (m * n + 2 * n * k + 2 * m * k) if k else 12 * m * n


def main():
    options = arguments()
    device = torch.device(options.device)
    if device.type == "cuda":
        if not torch.cuda.is_available():
            sys.exit("measure.py: no CUDA device; --device names another one")
        torch.cuda.set_device(device)
        if torch.cuda.get_device_capability(device) < (8, 0):
            sys.exit("measure.py: the device has no sparse matrix units (compute capability 8.0 and above have)")
    if options.backend:
        SparseSemiStructuredTensor._FORCE_CUTLASS = options.backend == "cutlass"  # pylint: disable=protected-access
    device_name = torch.cuda.get_device_name(device) if device.type == "cuda" else device.type
    clock, table = Clock(device), csv.writer(sys.stdout, lineterminator="\n")
    table.writerow(COLUMNS)
    jobs = jobs_of(options)
    begin, skipped, failed = time.perf_counter(), 0, {}
    with torch.no_grad():
        for done, job in enumerate(jobs):
            left = options.seconds - (time.perf_counter() - begin)
            if left <= 0:
                skipped += len(jobs) - done
                break
            if device.type == "cuda" and bytes_of(job) > 0.8 * torch.cuda.mem_get_info(device)[0]:
                skipped += 1
                continue
            limit = left / (len(jobs) - done) / 2
            try:
                sparse, dense = runs_of(job, device)
                cells = {"latency_ms": f"{clock.median(sparse, limit) * 1e3:.6g}"}
                if dense:
                    cells["dense_ms"] = f"{clock.median(dense, limit) * 1e3:.6g}"
            except (RuntimeError, NotImplementedError, AttributeError) as error:
                failed[job[0]] = str(error).split("\n", maxsplit=1)[0]
                continue
            cells.update(zip(("operation", "m", "n", "k", "type"), job), batch=1, device=device_name)
            table.writerow([cells.get(column) or "" for column in COLUMNS])
            sys.stdout.flush()
            if sys.stderr.isatty():
                print(f"measure.py: {done + 1} of {len(jobs)}", end="\r", file=sys.stderr)
    if skipped:
        print(f"measure.py: {skipped} operations do not fit the time or the memory and are left out", file=sys.stderr)
    for operation, error in failed.items():
        print(f"measure.py: {operation} is left out where PyTorch refuses it: {error}", file=sys.stderr)


if __name__ == "__main__":
    main()
