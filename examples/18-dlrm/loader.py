#!/usr/bin/env python3
"""Measures how fast one worker loads batches of clicks, as `worker` and `variation` of a `data` block.

Usage: loader.py [--batches N] [--batch SAMPLES] [--file FILE]

FILE has 40 integers of 32 bits for each sample, as facebookresearch/dlrm stores Criteo Terabyte: label, 13 numbers, 26 categories. Without
one, a file of random clicks is written and read back, so it comes from the page cache and not from a disk. Two loaders are
measured: `blocks` reads a batch at once; `samples` makes a sample at a time and stacks them, as a Dataset of PyTorch with a collate function
does. Times are those of the processor, so that other programs do not count; replace `samples` by your own loader. Needs numpy.
"""
import argparse
import tempfile
import time

import numpy

FIELDS = 40


def convert(rows):
    """Numbers as their logarithms, categories modulo 10 million, and labels."""
    return numpy.log1p(rows[..., 1:14].astype(numpy.float32)), rows[..., 14:] % 10_000_000, rows[..., :1].astype(numpy.float32)


def blocks(file, batch, count):
    for _ in range(count):
        yield convert(numpy.fromfile(file, numpy.int32, batch * FIELDS).reshape(batch, FIELDS))


def samples(file, batch, count):
    for _ in range(count):
        rows = numpy.fromfile(file, numpy.int32, batch * FIELDS).reshape(batch, FIELDS)
        dataset = [convert(rows[i]) for i in range(batch)]
        yield tuple(numpy.stack(parts) for parts in zip(*dataset))


def measure(loader, path, batch, count):
    """Bytes per second, as the model takes them, and the standard deviation of a batch's time over its mean."""
    times = []
    with open(path, "rb") as file:
        start = time.process_time()
        for numbers, categories, labels in loader(file, batch, count):
            size = numbers.nbytes + categories.nbytes + labels.nbytes
            now = time.process_time()
            times.append(now - start)
            start = now
    times = numpy.array(times[1:])  # the first one reads pages that the others find
    return size / times.mean(), times.std() / times.mean()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batches", type=int, default=200)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--file")
    given = parser.parse_args()
    with tempfile.NamedTemporaryFile() as made:
        if not given.file:
            numpy.random.default_rng(1).integers(0, 2**30, given.batches * given.batch * FIELDS, numpy.int32).tofile(made.name)
        for loader in (blocks, samples):
            rate, variation = measure(loader, given.file or made.name, given.batch, given.batches)
            print(f"{loader.__name__:8} worker = {rate / 1e6:.1f} MB/s, variation = {variation:.2f}")


if __name__ == "__main__":
    main()
