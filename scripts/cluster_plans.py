#!/usr/bin/env python3
"""Plans random trainings on random clusters, verifies each, and prints a table: step, gap, times, what verify says.

cluster_plans.py ACCORD FOLDER [--seed 1] [--count 20] [--jobs NUMBER,NUMBER] [--degrees] [--batches]

A problem is a model of the catalogue, servers of a DGX SuperPOD, a batch, and what `search` leaves open. With
--degrees, the degrees of each runner-up are fixed and planned again: none may be better than the runner-up. With
--batches, plans are made anew at other batches and compared with the intervals of the latency model.
"""
import argparse
import json
import pathlib
import random
import re
import subprocess
import sys
import time

MODELS = [("llama3", "llama3_8b()"), ("llama3", "llama3_70b()"), ("bloom", "bloom_176b()"), ("opt", "opt_1_3b()"),
          ("mixtral", "mixtral_8x7b()"), ("vit", "vit_l_16()"), ("deepseek", "deepseek_v3()"), ("gpt2", "gpt2_xl()"),
          ("bert", "bert_large()"), ("megatron", "megatron_18b()"), ("qwen", "qwen3_32b()"), ("t5", "t5_large()"),
          ("gpt3", "gpt3()"), ("resnet", "resnet50()")]
DEGREES = ("tensor_parallel", "pipeline_parallel", "data_parallel", "microbatch")


def superpod(catalogue, name, servers):
    """The text of a SuperPOD of the catalogue with another number of servers."""
    text = catalogue[catalogue.index(f"cluster {name} {{"):]
    text = text[:text.index("\n}\n") + 3]
    return re.sub(r"server dgx\[\d+\]", f"server dgx[{servers}]", text.replace(f"cluster {name}", "cluster pod"))


def problem(pick, catalogue):
    file, model = pick.choice(MODELS)
    servers = pick.choice([1, 2, 3, 4, 8, 12, 16, 32, 64])
    if servers < 8 and file in ("bloom", "deepseek", "gpt3"):
        servers *= 8
    pod = pick.choice(["dgx_superpod_a100", "dgx_superpod_h100"])
    batch = servers * 8 * pick.choice([1, 2, 4, 6])
    schedule = pick.choice(["one_f_one_b", "{gpipe, one_f_one_b}", "{one_f_one_b, interleaved(2..4)}"])
    search = {"microbatch": pick.choice(["pow2 1..4", "pow2 1..8", "{1, 2}"]), "tensor_parallel": "pow2 1..8",
              "pipeline_parallel": pick.choice(["1..8", "pow2 1..16", "1..16"]), "schedule": schedule,
              "recompute": pick.choice(["{none, full}", "{none, selective, full}"]), "zero": pick.choice(["{0, 1}", "1"])}
    return {"file": file, "model": model, "pod": pod, "servers": servers, "batch": batch, "search": search,
            "cluster": superpod(catalogue, pod, servers)}


def text_of(one, batch=None, search=None):
    keys = "\n".join(f"    {key} = {value}" for key, value in (search or one["search"]).items())
    return (f'import "catalog/{one["file"]}.dnn"\nimport "pod.accel"\n'
            f'train t = {one["model"]} on pod {{\n  batch = {batch or one["batch"]}\n  precision = mixed(bf16)\n'
            f'  optimizer = adam\n  search {{\n{keys}\n  }}\n  maximize throughput\n}}\n')


class Planner:
    def __init__(self, accord, folder):
        self.accord, self.folder = accord, folder

    def plan(self, one, name, **other):
        folder = self.folder / name
        folder.mkdir(parents=True, exist_ok=True)
        header = '\n'.join(f'import "catalog/{file}.accel"' for file in ("a100", "h100"))
        keep = header.split("\n")[0 if "a100" in one["pod"] else 1]
        (folder / "pod.accel").write_text(f"{keep}\n{one['cluster']}", encoding="utf-8")
        (folder / "job.dnn").write_text(text_of(one, **other), encoding="utf-8")
        begin = time.time()
        ran = subprocess.run([self.accord, "compile", folder / "job.dnn", "-o", folder / "out"], capture_output=True,
                             text=True)
        path = folder / "out" / "plan.json"
        plan = json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
        return ran, plan, time.time() - begin

    def verify(self, name):
        begin = time.time()
        ran = subprocess.run([self.accord, "verify", self.folder / name / "out"], capture_output=True, text=True)
        return ran, time.time() - begin


def runners_up(planner, one, name, plan):
    """The largest share by which a plan with the degrees of a runner-up is better than it."""
    worst, count = 0.0, 0
    for i, other in enumerate(plan.get("runners_up") or []):
        if not other["uniform_config"]:
            continue
        search = dict(one["search"], **{key: other[key] for key in DEGREES[:3]})
        _, again, _ = planner.plan(one, f"{name}/{i}", search=search)
        if again and again["status"] in ("optimal", "feasible"):
            worst, count = max(worst, 1 - again["step_time_s"] / other["step_time_s"]), count + 1
    return f"{count} runners-up: better by {worst:.2%} at most"


def batches(planner, one, name, limit):
    """Plans at other batches against the latency model's intervals."""
    out = planner.folder / name / "out"
    path = out / "certificate" / "latency.json"
    if not path.exists():
        return "no latency model"
    notes = json.loads(path.read_text(encoding="utf-8"))["notes"]
    space = {}
    exec(compile((out / "latency_model.py").read_text(encoding="utf-8"), "latency_model.py", "exec"), space)
    widest, checked, wrong, actual = 0.0, 0, [], 0.0
    for note in notes:
        begin = re.match(r"at other batches, tensor (\d+), pipeline (\d+), data (\d+), micro-batch (\d+): no plan", note)
        if not begin:
            continue
        at = dict(zip(DEGREES, map(int, begin.groups())))
        for percent, least, most in re.findall(r"([0-9.e-]+) % from (\d+) to (\d+) samples", note):
            widest = max(widest, float(percent))
            unit = at["data_parallel"] * at["microbatch"]
            batch = (int(least) + int(most)) // 2 // unit * unit
            if checked >= limit or batch < int(least):
                continue
            try:
                said = space["evaluate"](batch=batch, **at).step_time_s
            except ValueError:
                continue
            _, again, _ = planner.plan(one, f"{name}/b{checked}", batch=batch, search=dict(one["search"], **at))
            checked += 1
            if not again or again["status"] not in ("optimal", "feasible"):
                continue
            step = again["step_time_s"]
            actual = max(actual, 1 - step / said)
            if not said * (1 - float(percent) / 100 * 1.01 - 1e-12) <= step:
                wrong.append((at, batch, said, step, percent))
    return f"{checked} other batches, {len(wrong)} outside: {wrong[:1] or ''} widest {widest} %, shorter by {actual:.2%} at most"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accord")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--jobs", help="numbers of problems to run, others are left out")
    parser.add_argument("--degrees", action="store_true", help="fix the degrees of each runner-up")
    parser.add_argument("--batches", type=int, default=0, help="numbers of plans at other batches")
    args = parser.parse_args()
    catalogue = (pathlib.Path(__file__).parent.parent / "lib/catalog/dgx.accel").read_text(encoding="utf-8")
    pick = random.Random(args.seed)
    planner = Planner(args.accord, args.folder.resolve())
    failed = 0
    wanted = {int(number) for number in args.jobs.split(",")} if args.jobs else set(range(args.count))
    for number in range(args.count):
        one = problem(pick, catalogue)
        if number not in wanted:
            continue
        ran, plan, seconds = planner.plan(one, str(number))
        label = f"{number} | {one['model'][:-2]} | {one['servers'] * 8} {one['pod'][-4:]} | {one['batch']}"
        if not plan:
            print(f"{label} | exit {ran.returncode}: {ran.stderr.strip().splitlines()[:1]}", flush=True)
            failed += ran.returncode not in (2, 4)
            continue
        checked, took = planner.verify(str(number))
        holds = "valid" if checked.returncode == 0 else f"exit {checked.returncode}"
        failed += checked.returncode != 0
        at = "t{tensor_parallel} p{pipeline_parallel} d{data_parallel}".format(**plan) if "tensor_parallel" in plan else ""
        print(f"{label} | {at} | {plan['status']} | {plan.get('step_time_s', 0):.4g} s | {100 * plan.get('gap', 0):.3g} % | "
              f"{seconds:.1f} s | {holds} | {took:.1f} s", flush=True)
        if args.degrees:
            print("   ", runners_up(planner, one, str(number), plan), flush=True)
        if args.batches:
            print("   ", batches(planner, one, str(number), args.batches), flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
