#!/usr/bin/env python3
"""Plans trainings on clusters of several device types, verifies each, and prints a table: step, gap, processor time.

mixed_cluster_plans.py ACCORD FOLDER [--seed 1] [--count 10] [--jobs 0,1,2] [--time-limit '20 s'] [--no-verify]

Problems 0 and 1 are the same for all seeds: GPT 6.7B on 8 A100 and 24 V100, GPT 39B on 128 H100, 128 A100 and 64 V100.
The others are random: two to four device types, their servers and networks, a model, a batch.
"""
import argparse
import json
import pathlib
import random
import resource
import shutil
import subprocess
import sys

FILES = {"a100_40g": "a100", "a100_80g": "a100", "v100_16g": "v100", "v100_32g": "v100", "h100": "h100", "h200": "h100",
         "b200": "blackwell", "mi300x": "instinct", "gaudi2": "gaudi"}
GPT = {"1.3B": (24, 2048, 16), "2.7B": (32, 2560, 32), "6.7B": (32, 4096, 32), "13B": (40, 5120, 40),
       "22B": (48, 6144, 64), "39B": (48, 8192, 64)}
MODELS = [("gpt2", f"gpt2(layers = {layers}, hidden = {hidden}, heads = {heads}, seq = 2048)")
          for layers, hidden, heads in GPT.values()]
OTHERS = [("llama2", "llama2()"), ("llama2", "llama2(layers = 40, hidden = 5120, heads = 40, inner = 13824)"),
          ("bert", "bert_large()"), ("t5", "t5_large()"), ("mixtral", "mixtral_8x7b()"),
          ("mixtral", "mixtral_8x7b(layers = 16, hidden = 2048, heads = 16, kv_heads = 8, inner = 5632)")]
INSIDE = {"a100_40g": 300, "a100_80g": 300, "v100_16g": 150, "v100_32g": 150, "h100": 450, "h200": 450, "b200": 900,
          "mi300x": 448, "gaudi2": 300}


def fixed(number):
    if number == 0:
        return {"model": MODELS[2], "servers": [("a100_40g", 1, 8), ("v100_32g", 3, 8)], "between": 25, "batch": 128}
    return {"model": MODELS[5], "servers": [("h100", 16, 8), ("a100_80g", 16, 8), ("v100_32g", 8, 8)], "between": 100,
            "batch": 1024}


def problem(pick):
    types = pick.sample(sorted(FILES), pick.choice([2, 2, 2, 3, 3, 4]))
    servers = [(name, pick.choice([1, 1, 2, 2, 3, 4, 8, 12, 16]), pick.choice([4, 8, 8, 8])) for name in types]
    model = pick.choice([*MODELS, *OTHERS])
    batch = pick.choice([1, 2, 4, 8]) * max(32, 2 ** (sum(count * each for _, count, each in servers)).bit_length() // 2)
    return {"model": model, "servers": servers, "between": pick.choice([12.5, 25, 50, 100, 200]), "batch": batch}


def cluster_of(one):
    lines = [f'import "catalog/{file}.accel"' for file in sorted({FILES[name] for name, _, _ in one["servers"]})]
    lines += ["cluster mixed {"]
    for number, (name, count, each) in enumerate(one["servers"]):
        lines += [f"  server s{number}[{count}] {{", f"    device gpu[{each}] : {name}",
                  f"    network link {{ connects = gpu, topology = switch, bandwidth = {INSIDE[name]} GB/s, latency = 3 us }}",
                  "  }"]
    connects = ", ".join(f"s{number}" for number in range(len(one["servers"])))
    lines += [f"  network ib {{ connects = {{{connects}}}, topology = switch, bandwidth = {one['between']} GB/s, latency = 5 us }}", "}"]
    return "\n".join(lines) + "\n"


def job_of(one):
    lines = [f'import "catalog/{one["model"][0]}.dnn"', 'import "mixed.accel"', f"train t = {one['model'][1]} on mixed {{", f"  batch = {one['batch']}", "  precision = mixed(fp16)",
              "  optimizer = adam", *one.get("extra", []), "  maximize throughput", "}"]
    return "\n".join(lines) + "\n"


def spent():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def run(*command):
    begin = spent()
    ran = subprocess.run([str(part) for part in command], capture_output=True, text=True)
    return ran, spent() - begin


def stages_of(certificate):
    """Device type, devices, tensor degree, micro-batch and layers of each stage, in a few letters."""
    configs, types = certificate["problem"]["parallel_configs"], certificate["problem"]["device_types"]
    text = []
    for stage in certificate["result"]["plan"]["stages"]:
        config = configs[stage["parallel_config"]]
        text.append(f"{types[config['device_type']]['name'].split('_')[0]}"
                    f"x{config['tensor'] * config['data']}t{config['tensor']}:{len(stage['layers'])}")
    return " ".join(text)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("accord")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=10)
    parser.add_argument("--jobs", help="numbers of problems to run, others are left out")
    parser.add_argument("--time-limit", help="of each, as accord compile has it")
    parser.add_argument("--no-verify", action="store_true")
    args = parser.parse_args()
    pick = random.Random(args.seed)
    wanted = {int(number) for number in args.jobs.split(",")} if args.jobs else set(range(args.count + 2))
    failed = 0
    for number in range(args.count + 2):
        one = fixed(number) if number < 2 else problem(pick)
        if number not in wanted:
            continue
        folder = args.folder / str(number)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        (folder / "mixed.accel").write_text(cluster_of(one), encoding="utf-8")
        (folder / "job.dnn").write_text(job_of(one), encoding="utf-8")
        limit = ["--time-limit", args.time_limit] if args.time_limit else []
        ran, seconds = run(args.accord, "compile", folder / "job.dnn", "-o", folder / "out", *limit)
        label = (f"{number} | {one['model'][1].split('(drop')[0]} | "
                 f"{' + '.join(f'{count * each} {name}' for name, count, each in one['servers'])} | {one['between']} | {one['batch']}")
        path = folder / "out" / "plan.json"
        if not path.exists():
            print(f"{label} | exit {ran.returncode}, {seconds:.1f} s: {ran.stderr.strip().splitlines()[:1]}", flush=True)
            failed += ran.returncode not in (2, 4)
            continue
        plan = json.loads(path.read_text(encoding="utf-8"))
        if plan["status"] not in ("optimal", "feasible"):
            print(f"{label} | {plan['status']} | {seconds:.1f} s", flush=True)
            continue
        certificate = json.loads((folder / "out" / "certificate" / "placement.json").read_text(encoding="utf-8"))
        text = ""
        if not args.no_verify:
            checked, took = run(args.accord, "verify", folder / "out")
            failed += checked.returncode != 0
            text = ("valid" if checked.returncode == 0 else f"exit {checked.returncode}") + f", {took:.1f} s"
            rests = [line.strip() for line in (checked.stdout + checked.stderr).splitlines() if "not bounded again" in line]
            text += f" ({rests[0]})" if rests else ""
        print(f"{label} | {plan.get('step_time_s', 0):.5g} s | {100 * plan.get('gap', 0):.3g} % | {seconds:.1f} s | {text} | "
              f"{plan.get('schedule')} {plan.get('microbatches')} | {stages_of(certificate)}", flush=True)
    print(f"{failed} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
