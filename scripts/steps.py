#!/usr/bin/env python3
"""Writes docs/steps.md: what `accord compile` says of published training steps, with nothing set but the framework and the
degrees that were run. Each question has fits of its own: as the catalogue is; the cluster not known; the row's source left out
of every fit; its accelerator left out; the data sheet alone. And rows left out one fold at a time, for the intervals.

Usage: scripts/steps.py [TRAINING-TIMES.csv [MEASURED-STEP.csv]] [--only QUESTION]... > page.md     (six minutes on two cores)
"""
import argparse
import collections
import os
import sys
import tempfile
import zlib

import calibrations
import compiled_steps
from compiled_steps import Score, price_all, reason

FOLDS = 5
FEW = 10  # rows of a stratum whose coverage says something


def source_of(row):
    return row["source"].split(":")[0].strip('"')


def without(rows, priced, is_left_out, **of_target):
    """The priced rows by calibrations of all rows but those that `is_left_out` names."""
    with tempfile.TemporaryDirectory() as folder:
        generations = {calibrations.generation_of(row) for row in priced}
        calibrations.fit_all([row for row in rows if calibrations.generation_of(row) in generations and not is_left_out(row)], folder)
        measured = [row for row in priced if any(name.startswith(compiled_steps.Target(row).machine) for name in os.listdir(folder))]
        alone = [row for row in priced if row not in measured]  # nobody else measured the machine
        return price_all(measured, folder=folder, **of_target) + price_all(alone, sheet=True)


def as_shipped(rows, priced):
    return price_all(priced)


def unknown_cluster(rows, priced):
    return price_all(priced, generic=True)


def source_left_out(rows, priced):
    answers = []
    for source in sorted(set(map(source_of, priced))):
        own = [row for row in priced if source_of(row) == source]
        answers += without(rows, own, lambda row, source=source: source_of(row) == source, generic=True)
    return answers


def row_left_out(rows, priced):
    answers = []
    for fold in range(FOLDS):
        out = {row["id"] for row in priced if zlib.crc32(row["id"].encode()) % FOLDS == fold}
        answers += without(rows, [row for row in priced if row["id"] in out], lambda row, out=out: row["id"] in out)
    return answers


def accelerator_left_out(rows, priced):
    answers = []
    for accelerator in sorted({row["accelerator"] for row in priced}):
        own = [row for row in priced if row["accelerator"] == accelerator]
        answers += without(rows, own, lambda row, accelerator=accelerator: row["accelerator"] == accelerator, generic=True)
    return answers


def data_sheet(rows, priced):
    return price_all(priced, sheet=True)


QUESTIONS = {
    "as the catalogue is": as_shipped,
    "the cluster not known": unknown_cluster,
    "the source left out": source_left_out,
    "a fifth of the rows left out": row_left_out,
    "the accelerator left out": accelerator_left_out,
    "from the data sheet alone": data_sheet,
}


def table(name, groups):
    lines = [f"| {name} | rows | mean error | bias | worst | inside the interval |", "|---|--:|--:|--:|--:|--:|"]
    for group, answers in groups:
        score = Score(answers)
        if score.rows:
            lines.append(f"| {group} | {score.rows} | {score.mean:.1f} % | {score.bias:+.1f} % | {score.worst:+.1f} % | "
                         f"{score.inside} ({100 * score.inside / score.rows:.0f} %) |")
    return lines


def grouped(answers, key):
    groups = collections.defaultdict(list)
    for row, answer in answers:
        groups[key(row)].append((row, answer))
    return sorted(groups.items())


def stratum(row):
    return f"{source_of(row)}, {row['accelerator']}, {row['precision'].split('-')[0]}"


def page(answers, priced):
    lines = ["# Published steps, through `accord compile`", "",
             "Written by `scripts/steps.py`; do not edit. Each row of a decoder in training-times.csv and measured-step.csv becomes a training of its",
             "published shape, batch and degrees; what a row does not state (its recomputation, its stage of ZeRO, its micro-batch) is whatever the plan",
             "chooses. Nothing is set but the framework. The interval is the one that the summary prints (90 %).", "",
             "- *as the catalogue is*: fitted to these rows too, those of Selene, Jean Zay and vTrain's cluster on those clusters (lib/catalog/clusters.accel)",
             "- *the cluster not known*: the same rows on the accelerator's generic cluster",
             "- *the source left out*: no row of the source in any fit, on the generic cluster",
             "- *a fifth of the rows left out*: each row by fits that have not seen it, on its cluster",
             "- *the accelerator left out*: no row of the accelerator in any fit; others of its generation speak for it, else its data sheet",
             "- *from the data sheet alone*: the defaults of machines of which nothing was measured", ""]
    lines += table("question", [(name, own) for name, own in answers.items()]) + [""]
    for name, own in answers.items():
        lines += [f"## By source: {name}", ""] + table("source, accelerator, precision", grouped(own, stratum)) + [""]
        if name in ("the accelerator left out", "from the data sheet alone"):
            lines += table("accelerator", grouped(own, lambda row: row["accelerator"])) + [""]
    missing = Score(next(iter(answers.values()))).without
    if missing:
        lines += ["## Rows without a step", ""] + [f"- `{row['id']}`: {reason(answer)}" for row, answer in missing] + [""]
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("times", nargs="?")
    parser.add_argument("steps", nargs="?")
    parser.add_argument("--only", action="append", choices=list(QUESTIONS))
    arguments = parser.parse_args()
    times, steps = calibrations.tables()
    rows = calibrations.load(arguments.times or times, arguments.steps or steps)
    priced = [row for row in rows if compiled_steps.is_priced(row)]
    answers = {}
    for name in arguments.only or QUESTIONS:
        answers[name] = QUESTIONS[name](rows, priced)
        print(f"{name}: {Score(answers[name])}", file=sys.stderr)
    print(page(answers, priced))


if __name__ == "__main__":
    main()
