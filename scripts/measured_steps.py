#!/usr/bin/env python3
"""Writes docs/measured-steps.md anew: the steps of lib/catalog/measured-steps.csv against what `accord compile` says of them.

Usage: scripts/measured_steps.py > docs/measured-steps.md          (a minute; the rows are those of scripts/measure_steps.py)
"""
import csv

import compiled_steps

PAGE = """# Steps measured for Accord

Training steps of decoders on one H100 SXM, measured with plain PyTorch by `scripts/measure_steps.py`, against `accord compile`
of the same job with nothing set but its sizes. The rows and their configuration are in `lib/catalog/measured-steps.csv`, with
BERT and ResNet-50 beside them. No calibration has seen any of them. Written by `scripts/measured_steps.py`.

- *Step*: computed against measured. *In*: whether the measured step lies in the interval that is printed.
- *Allocated*: tensors, against the peak of PyTorch's allocator. *On the device*: with fragments and the context, against what
  the allocator has reserved, which is without the context (0.5 GB or so).
- *Board*: energy of the step over its time, without the host's share, against the mean of `nvidia-smi`.

| step | measured | step | in | allocated | on the device | board |
|---|--:|--:|---|--:|--:|--:|
"""


def compared(row, answer):
    """(step, allocated, on the device, board), as computed / measured - 1."""
    seconds, memory = answer["step_time_s"], answer["memory"]
    watts = answer["energy_J"] / seconds - answer["host_power_W"]
    pairs = (
        (seconds, row["step_time_s"]),
        (memory["allocated_bytes"], row["peak_allocated"]),
        (memory["on_device_bytes"], row["peak_reserved"]),
        (watts, row["watts"]),
    )
    return [computed / float(measured) - 1 for computed, measured in pairs]


def main():
    with open(compiled_steps.CATALOG + "/measured-steps.csv", encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if compiled_steps.is_priced(row)]
    print(PAGE, end="")
    errors = {}
    for row, answer in compiled_steps.price_all(rows, 1):
        found = compared(row, answer)
        errors.setdefault(row["mode"], []).append(found)
        estimate = answer["step_time_estimate"]
        inside = estimate["low_s"] <= float(row["step_time_s"]) <= estimate["high_s"]
        cells = [f"{100 * error:+.1f} %" for error in found]
        print(f"| {row['id']} | {1e3 * float(row['step_time_s']):.1f} ms | {cells[0]} | {'yes' if inside else 'no'} | {' | '.join(cells[1:])} |")
    print()
    for mode, found in errors.items():
        sums = []
        for name, column in zip(("step", "allocated", "on the device", "board"), zip(*found)):
            sums.append(f"{name} {100 * sum(map(abs, column)) / len(column):.1f} ({100 * sum(column) / len(column):+.1f})")
        print(f"`{mode}`, {len(found)} rows, mean error and bias in percent: {', '.join(sums)}.")
    print(
        """
Where it is far off: the smallest steps wait for the host, which launches faster here (125 M) or slower (Llama's norms and
rotations are several kernels each) than the prior of a server; and `torch.compile` merges operations, which `--fuse` describes
and the default does not."""
    )


if __name__ == "__main__":
    main()
