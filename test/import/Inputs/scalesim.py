#!/usr/bin/env python3
"""scalesim.py WORK CSV...: imports every list and compares the multiply-accumulates of each layer with SCALE-Sim's own
arithmetic on the row."""
import csv
import json
import math
import os
import subprocess
import sys


def macs(row):
    name, numbers = row[0].strip(), [int(cell) for cell in row[1:] if cell.strip()]
    if len(numbers) == 3:
        return math.prod(numbers)
    height, width, rows, columns, channels, filters, stride = numbers
    outputs = (math.ceil((height - rows) / stride) + 1) * (math.ceil((width - columns) / stride) + 1)
    return outputs * rows * columns * channels * filters  # "DP": channels layers of one channel, the same product


def main():
    work, *paths = sys.argv[1:]
    for path in paths:
        name = os.path.basename(path)[:-len(".csv")]
        model = os.path.join(work, name + ".dnn")
        subprocess.run(["accord", "import", "scalesim", path, "-o", model], check=True, stderr=subprocess.DEVNULL)
        subprocess.run(["accord", "fmt", "--check", model], check=True)
        run = subprocess.run(["accord", "estimate", model, "--target", "h200", "--batch", "1", "--precision", "fp32", "--optimizer",
                              "sgd", "--json"], capture_output=True, text=True)
        if run.returncode:
            sys.exit(path + run.stdout + run.stderr)
        got = [op["flops"] // 2 for op in json.loads(run.stdout)["operations"]
               if op["phase"] == "forward" and op["kind"] in ("conv2d", "linear")]
        with open(path, newline="") as file:
            wanted = [macs(row) for row in list(csv.reader(file))[1:] if any(cell.strip() for cell in row)]
        print(name, len(got), sum(got), "as in the list" if got == wanted else f"the list has {wanted}, found {got}")


if __name__ == "__main__":
    main()
