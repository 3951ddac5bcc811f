#!/usr/bin/env python3
"""Public models through their best route: the table test/import/Inputs/models/table.csv and the page docs/models.md.

    scripts/public_models.py count [NAME...]    the programs and counts of rows of the routes torch, onnx and huggingface; needs
                                                torch, torchvision, timm, transformers and onnx, all in one Python
    scripts/public_models.py measure [NAME...]  what `accord` says of each row now, and the page; needs nothing but `accord` on PATH
    scripts/public_models.py check FOLDER [N]   does `accord` say what the table says, and is the page that of the table? With N, of
                                                every N-th row and of those whose plans are verified (a test: of every second)

The rows are those of public_rows.py; a new one is added there. After a change of an importer or of costs: `measure`. A row that does
not pass stays in the table with its cause. Columns of table.csv:

    name, family, route, file, options    the row; `file` from the root of the repository, `options` those of `accord import`
    source, published                     who counted; published FLOP of a sample, 2 for each multiply-accumulate, where torchvision states some
    parameters, forward_flops             of one sample: products and convolutions of the forward pass
    target, batch                         of the training that is compiled; mixed(bf16), adamw
    accord_parameters, accord_flops, difference_percent, step_time, memory_gib, devices, result
                                          what `accord` says; result is `passes`, or the cause
"""
import concurrent.futures
import csv
import json
import os
import re
import shutil
import subprocess
import sys
import threading
import time

from public_rows import ROWS

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = "test/import/Inputs/models"
TABLE = os.path.join(ROOT, FOLDER, "table.csv")
PAGE = os.path.join(ROOT, "docs", "models.md")
GIVEN = ["name", "family", "route", "file", "options", "source", "published", "parameters", "forward_flops", "target", "batch"]
SAID = ["accord_parameters", "accord_flops", "difference_percent", "step_time", "memory_gib", "devices", "result"]
# What FlopCounterMode counts. The softmax of attention in one kernel comes on top: with heads of 64, 5 FLOP beside 256.
PRODUCTS = {"linear", "conv1d", "conv2d", "conv3d", "depthwise_conv2d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d",
            "matmul", "contract", "flash_attention", "lstm", "gru", "moe_dispatch", "moe_experts", "spmm", "interaction"}
TRAINING = ["--precision", "mixed(bf16)", "--optimizer", "adamw"]
NEAR = 0.5
VERIFIED = {"resnet50", "distilbert_base", "vit_l_16", "wav2vec2_base", "llama_2_7b", "dit_xl_2"}


def read_table():
    if not os.path.exists(TABLE):
        return {}
    with open(TABLE, encoding="utf-8") as file:
        return {row["name"]: row for row in csv.DictReader(file)}


def write_table(rows):
    """Rows of public_rows.py, in its order; counts that are not there are empty."""
    os.makedirs(os.path.dirname(TABLE), exist_ok=True)
    with open(TABLE, "w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, GIVEN + SAID, lineterminator="\n", extrasaction="ignore")
        writer.writeheader()
        writer.writerows({**dict.fromkeys(GIVEN + SAID, ""), **rows[name]} for name in ROWS if name in rows)


def stated(name):
    """What public_rows.py says of a row, as columns."""
    row = ROWS[name]
    given = {"name": name, "options": "", "target": "h100", "batch": 32, **{key: row[key] for key in row if key in GIVEN}}
    endings = {"torch": ".pt2", "onnx": ".onnx"}
    if row["route"] in endings:
        given["file"] = f"{FOLDER}/{name}{endings[row['route']]}"
    elif row["route"] == "catalog":
        with open(os.path.join(ROOT, "test", "catalog", "expected.csv"), encoding="utf-8") as file:
            counted = next(one for one in csv.DictReader(file) if one["model"] == name and not one["arguments"])
        given.update(source=counted["source"], parameters=counted["parameters"])
        given["forward_flops"] = 2 * int(counted["forward_macs"]) if counted["forward_macs"] else ""
    return {key: str(value) for key, value in given.items()}


def count(names):
    """Exports and counts; the others keep what they have."""
    import torch

    import public_rows

    rows = read_table()
    for name in names or [name for name in ROWS if ROWS[name]["route"] != "catalog"]:
        begin, row = time.time(), {**rows.get(name, {}), **stated(name)}
        try:
            row.update({key: str(value) for key, value in public_rows.counted(torch, name, row, ROOT).items()})
            print(f"{name}: {time.time() - begin:.0f} s", flush=True)
        except Exception as error:  # the others go on
            row["result"] = f"not exported: {type(error).__name__}: {' '.join(str(error).split())[:160]}"
            print(f"{name}: {row['result']}", flush=True)
        rows[name] = row
        write_table(rows)


def accord(*arguments):
    return subprocess.run(["accord", *arguments], capture_output=True, text=True, cwd=ROOT)


def refusal(run):
    """Code and text of the first error, or the exit status. Places are left out: they are those of this machine."""
    found = re.search(r"error\[(A\d+)\]: (.*)", run.stderr)
    if found:
        return f"{found[1]}: {' '.join(found[2].split())[:240]}"
    if run.returncode == 2:
        return "infeasible: " + " ".join((run.stdout + run.stderr).split())[:200]
    return f"exit status {run.returncode}"


def cost_of(row, folder):
    """The row with what `accord` says of it, the seconds that took, and what is wrong with its certificate."""
    begin = time.time()
    said = answers(row, folder)
    wrong = ""
    if row["name"] in VERIFIED and said["result"] == "passes":
        run = accord("verify", os.path.join(folder, row["name"]))
        wrong = "" if run.returncode == 0 else "the plan is not verified: " + (run.stdout + run.stderr)[-300:]
    shutil.rmtree(os.path.join(folder, row["name"]), ignore_errors=True)
    return {**row, **dict.fromkeys(SAID, ""), **said}, time.time() - begin, wrong


def is_product(kind):
    """A convolution whose weights are computed is an operation that the file states."""
    return kind in PRODUCTS or kind.startswith("custom convolution")


def target_of(text, folder):
    """`NAME[8]` is the cluster NAME of the catalogue with 8 servers, as a file."""
    sized = re.fullmatch(r"(\w+)\[(\d+)\]", text)
    if not sized:
        return text
    path = os.path.join(folder, f"{sized[1]}_{sized[2]}.accel")
    if not os.path.exists(path):
        with open(os.path.join(ROOT, "lib", "catalog", "dgx.accel"), encoding="utf-8") as file:
            whole = re.search(r"^cluster %s \{\n.*?^\}\n" % sized[1], file.read(), re.MULTILINE | re.DOTALL)[0]
        with open(path + f".{threading.get_ident()}", "w", encoding="utf-8") as file:
            file.write('import "catalog/h100.accel"\n' + re.sub(r"(server \w+)\[\d+\]", rf"\1[{sized[2]}]", whole, count=1))
        os.replace(file.name, path)
    return f"{path}:{sized[1]}"


def answers(row, folder):
    model, train = os.path.join(folder, row["name"] + ".dnn"), []
    if row["route"] == "catalog":
        model, train = row["file"], ["--train", row["name"]]
    else:
        if not row["parameters"]:
            return {"result": row["result"]}
        run = accord("import", row["route"], row["file"], "-o", model, "--name", row["name"], *row["options"].split())
        if run.returncode != 0:
            return {"result": refusal(run)}
    run = accord("estimate", model, *train, "--target", "h200", "--batch", "1", *TRAINING, "--json")
    if run.returncode != 0:
        return {"result": refusal(run)}
    estimate = json.loads(run.stdout)
    parameters = int(estimate["totals"]["parameters"])
    flops = sum(one["flops"] * one["count"] for one in estimate["operations"] if one["phase"] == "forward" and is_product(one["kind"]))
    said = {"accord_parameters": str(parameters), "accord_flops": str(int(flops))}
    faults = []
    if str(parameters) != row["parameters"]:
        faults.append(f"{parameters - int(row['parameters']):+d} parameters")
    if row["forward_flops"]:
        difference = 100 * (flops / int(row["forward_flops"]) - 1)
        said["difference_percent"] = f"{difference:.3f}".replace("-0.000", "0.000")
        if abs(difference) > NEAR:
            faults.append(f"{difference:+.2f} % FLOPs")
    out = os.path.join(folder, row["name"])
    run = accord("compile", model, *train, "--target", target_of(row["target"], folder), "--batch", row["batch"], *TRAINING, "-o", out, "--json")
    if run.returncode != 0:
        return {**said, "result": "not compiled: " + refusal(run)}
    plan = json.loads(run.stdout)
    said["step_time"] = seconds(plan["step_time_s"])
    said["memory_gib"] = f"{plan['memory']['peak_bytes'] / 2**30:.1f}"
    said["devices"] = str(plan.get("devices", 1))
    cause = ROWS[row["name"]].get("cause", "")
    return {**said, "result": ", ".join(faults) + (": " + cause if cause else "") if faults else "passes"}


def run_all(names, folder):
    """Rows in their order, on all cores."""
    kept = read_table()
    rows = [{**dict.fromkeys(GIVEN + SAID, ""), **kept.get(name, {}), **stated(name)} for name in names]
    os.makedirs(folder, exist_ok=True)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(lambda row: cost_of(row, folder), rows))


def measure(names):
    rows = read_table()
    for row, took, wrong in run_all(names or list(ROWS), os.environ.get("TMPDIR", "/tmp") + f"/public_models.{os.getpid()}"):
        rows[row["name"]] = row
        print(f"{row['name']:28} {took:5.1f} s  {row['step_time']:>10}  {row['result']} {wrong}")
    write_table(rows)
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page(rows))


def check(folder, each=1):
    """Each row that differs has a line, and a line that differs fails the test."""
    kept, different = read_table(), 0
    if list(kept) != list(ROWS):
        print("the rows of the table are not those of public_rows.py:", " ".join(sorted(set(kept) ^ set(ROWS))) or "another order")
        different += 1
    chosen = [name for i, name in enumerate(ROWS) if name in kept and (i % each == 0 or name in VERIFIED)]
    for row, _, wrong in run_all(chosen, folder):
        changes = [f"{key} is {row[key] or 'nothing'}, was {kept[row['name']][key] or 'nothing'}" for key in GIVEN + SAID
                   if row[key] != kept[row["name"]][key]]
        if changes or wrong:
            print(f"{row['name']}: {'; '.join(changes)} {wrong}")
            different += 1
    with open(PAGE, encoding="utf-8") as file:
        if file.read() != page(kept):
            print("docs/models.md is not the page of the table")
            different += 1
    passed = sum(row["result"] == "passes" for row in kept.values())
    print(f"{passed} models pass, {len(kept) - passed} do not" if not different else
          f"{different} differ from the table: if that is meant, run scripts/public_models.py measure")
    return 1 if different else 0


def number(text, units=((1e15, "P"), (1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k"))):
    value = float(text)
    for size, prefix in units:
        if value >= size:
            return f"{value / size:.4g} {prefix}"
    return f"{value:.4g}"


def seconds(value):
    """With four digits, as `accord compile` prints them."""
    return f"{value:.4g} s" if value >= 1 else f"{1e3 * value:.4g} ms" if value >= 1e-3 else f"{1e6 * value:.4g} us"


def page(rows):
    """docs/models.md of the table."""
    rows = [rows[name] for name in ROWS if name in rows]
    passed = [row for row in rows if row["result"] == "passes"]
    compared = [abs(float(row["difference_percent"])) for row in passed if row["difference_percent"]]
    exact = sum(value < 0.0005 for value in compared)
    text = f"""# Public models

Can you bring your model in, are its counts right, and does its training compile? {len(rows)} public models, each through the route that
[importers](importers.md) names for it, or from the catalogue: **{len(passed)} pass, {len(rows) - len(passed)} do not**. A model passes if

- its parameters are equal to the last one to those that its publisher or PyTorch counts,
- FLOPs of one sample's forward pass are within {NEAR} % ({exact} of {len(compared)} are equal; the largest difference is {max(compared, default=0):.2f} %), and
- its training compiles for an H100, or for a cluster of them where it needs more than one: `mixed(bf16)`, AdamW, with the batch of its row.

FLOPs are those of products and convolutions, 2 for each multiply-accumulate, as `torch.utils.flop_counter` has them. Attention
in one kernel counts its softmax besides: that is the difference of most transformers. Step times are plans with the measured efficiencies of
the catalogue, not measurements ([how accurate they are](accuracy.md)). Small networks take as long as the host launches their kernels,
whatever the size of a picture.

`scripts/public_models.py measure` writes this page and its table, `test/import/Inputs/models/table.csv`, which has all digits and where each
count comes from. A test runs every second row, without PyTorch: programs of the routes `torch` and `onnx` are kept without weights. In
programs that transformers wrote a causal mask is a computed tensor; it is recognized up to 2,048 positions. Beyond that attention is computed in
full, as PyTorch does with such a mask.

"""
    text += table("What passes", passed)
    text += "## What does not pass\n\n"
    failed = [row for row in rows if row["result"] != "passes"]
    if not failed:
        return text + "Every row passes.\n"
    text += "| model | family | route | cause |\n|---|---|---|---|\n"
    for row in failed:
        cause = row["result"].replace("|", "\\|").replace("<", "&lt;")
        text += f"| {row['name']} | {row['family']} | {row['route']} | {cause} |\n"
    return text


def table(title, rows):
    text = f"## {title}\n"
    for family in dict.fromkeys(row["family"] for row in rows):
        text += f"\n### {family[0].upper() + family[1:]}\n\n"
        text += "| model | route | parameters | forward FLOPs | difference | H100 | batch | step time | memory |\n"
        text += "|---|---|---|---|---|---|---|---|---|\n"
        for row in rows:
            if row["family"] == family:
                difference = f"{float(row['difference_percent']):.2f} %" if row["difference_percent"] else "no count"
                text += (f"| {row['name']} | {row['route']} | {number(row['accord_parameters'])} | {number(row['accord_flops'])} | {difference} "
                         f"| {row['devices']} | {row['batch']} | {row['step_time']} | {row['memory_gib']} GiB |\n")
    return text + "\n"


def main():
    arguments = sys.argv[1:]
    if not arguments or arguments[0] in ("-h", "--help"):
        print(__doc__)
        return not arguments
    unknown = [name for name in arguments[1:] if name not in ROWS]
    if unknown and arguments[0] in ("count", "measure"):
        print("public_rows.py has no row", " ".join(unknown), file=sys.stderr)
        return 1
    if arguments[0] == "count":
        return count(arguments[1:])
    if arguments[0] == "measure":
        return measure(arguments[1:])
    if arguments[0] == "check" and (len(arguments) == 2 or (len(arguments) == 3 and arguments[2].isdigit() and int(arguments[2]) > 0)):
        return check(arguments[1], *map(int, arguments[2:]))
    print(__doc__, file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
