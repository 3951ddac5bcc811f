#!/usr/bin/env python3
"""cap_rows.py FOLDER > lib/catalog/measured-caps.csv: trainings under caps, from Zeus' traces.

FOLDER is examples/research_reproducibility/zeus_nsdi23/trace of ml-energy/zeus. A workload is a data set and a network; it
has rows in the largest batch of which the board draws more than half of what is between idle and the design power."""
import csv
import sys

TDP = {"v100": 250, "a40": 300, "p100": 250, "rtx6000": 260}
HEAD = """\
# Training on one board under caps of its power: watts and time, over that without a cap. Each workload in the largest
# batch of which it draws more than half of the watts between idle and the design power. idle: the smallest reading of the
# board's trace. Zeus (You et al., NSDI 2023), ml-energy/zeus, examples/research_reproducibility/zeus_nsdi23/trace,
# summary_power_BOARD.csv, commit 75a8b939, Apache-2.0. Written by scripts/cap_rows.py.
board, workload, idle, tdp, limit, uncapped, power, slowdown"""


def rows(folder, board, tdp):
    with open(f"{folder}/summary_power_{board}.csv") as file:
        table = [{**row, "watts": float(row["average_power"]), "seconds": float(row["time_per_epoch"])}
                 for row in csv.DictReader(file)]
    idle = round(min(row["watts"] for row in table), 1)
    runs = {}
    for row in table:
        key = row["dataset"], row["network"], int(row["batch_size"]), row["optimizer"]
        runs.setdefault(key, {})[int(float(row["power_limit"]))] = row
    largest = {}
    for key, run in runs.items():
        heavy = max(run) == tdp and run[tdp]["watts"] - idle >= 0.5 * (tdp - idle)
        if heavy and (key[:2] not in largest or key[2] > largest[key[:2]][0]):
            largest[key[:2]] = key[2], run
    for (data, network), (batch, run) in sorted(largest.items()):
        full = run[tdp]
        for limit in sorted(run)[:-1]:
            yield (f"{board}, {data}-{network}-b{batch}, {idle} W, {tdp} W, {limit} W, {full['watts']:.2f} W, "
                   f"{run[limit]['watts']:.2f} W, {run[limit]['seconds'] / full['seconds']:.3f}")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    print(HEAD)
    for name, power in TDP.items():
        print("\n".join(rows(sys.argv[1], name, power)))
