#!/usr/bin/env python3
"""Writes the tables of docs/dlrm.md anew: where a step of DLRM spends time and energy, and what prefetching gains.

Usage: scripts/dlrm_study.py [--accord FILE] [--check] [--only NAME,...]

Each table stands in the page between `<!-- NAME -->` and `<!-- end -->`. All numbers are answers of `accord` about examples/18-dlrm,
whose `data` blocks are replaced where loaders are compared. --check: fails if the page is not what the answers give.
"""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXAMPLE = ROOT / "examples/18-dlrm"
PAGE = ROOT / "docs/dlrm.md"
MB = 1e6

# Kinds of operations by what they are for.
PARTS = {
    ("linear", "forward"): "layers, forward",
    ("contract", "data_gradient"): "layers, gradient of inputs",
    ("contract", "weight_gradient"): "layers, gradient of weights",
    ("embedding", "forward"): "tables, rows looked up",
    ("embedding_rows_grad", "weight_gradient"): "tables, rows of gradients",
    ("update_rows", "update"): "tables, update of rows",
    ("interaction", "forward"): "interaction, forward",
    ("interaction_grad", "data_gradient"): "interaction, gradient",
    ("reduce_dimensions", "weight_gradient"): "biases, gradient",
    ("update", "update"): "layers, update",
}


class Study:
    def __init__(self, accord, folder):
        self.accord, self.folder = accord, Path(folder)
        for file in EXAMPLE.iterdir():
            shutil.copy(file, self.folder)

    def run(self, *words):
        done = subprocess.run([self.accord, *map(str, words)], capture_output=True, text=True, cwd=self.folder)
        if done.returncode not in (0, 2):
            sys.exit(f"accord {' '.join(map(str, words))}: exit status {done.returncode}\n{done.stderr}")
        return done.stdout

    def file(self, data, name="dlrm.dnn"):
        """The example with this `data` block in each of its trainings that has one."""
        text = (EXAMPLE / name).read_text()
        made = self.folder / f"made-{name}"
        made.write_text(re.sub(r"data \{[^}]*\}", f"data {{ {data} }}", text))
        return made.name

    def estimate(self, train, data, batch=2048, device="v100_32g"):
        return json.loads(self.run("estimate", self.file(data), "--train", train, "--batch", batch, "--microbatch", batch,
                                   "--target", device, "--json"))

    def loading(self, train, rate, prefetch, batch=2048, more="", device="v100_32g"):
        return self.estimate(train, f"loader = {rate:.6g} B/s, prefetch = {prefetch}{more}", batch, device)["totals"]["loading"]


def row(*cells):
    return "| " + " | ".join(str(c) for c in cells) + " |"


def table(head, rows):
    return "\n".join([row(*head), "|" + "".join("---|" if i == 0 else "--:|" for i in range(len(head)))] + [row(*r) for r in rows])


def where(study):
    """Time, bandwidth and energy of the device by what operations are for; the host's waiting; loading and copying."""
    out = []
    for train, name in (("kaggle", "Kaggle"), ("terabyte", "Terabyte")):
        document = study.estimate(train, "loader = 320e6 B/s, prefetch = 2")
        totals, step = document["totals"], document["totals"]["step_time_s"]
        parts = {}
        for kind in document["kinds"]:
            part = parts.setdefault(PARTS.get((kind["kind"], kind["phase"]), "element-wise, concatenation, loss"), [0, 0, 0, 0])
            for i, key in enumerate(("time_s", "bytes", "energy_J", "operations")):
                part[i] += kind[key]
        rows = [(part, int(n), f"{t * 1e6:.0f}", f"{100 * t / step:.1f}", f"{b / t / 1e9:.0f}", f"{e * 1e3:.1f}", f"{e / t:.0f}")
                for part, (t, b, e, n) in sorted(parts.items(), key=lambda item: -item[1][0])]
        busy, energy = sum(p[0] for p in parts.values()), sum(p[2] for p in parts.values())
        idle = totals["step_energy"]["idle_J"] / step
        rest = step - busy
        rows.append(("the device waits for its host", "", f"{rest * 1e6:.0f}", f"{100 * rest / step:.1f}", 0, f"{idle * rest * 1e3:.1f}", f"{idle:.0f}"))
        rows.append(("**step**", "", f"**{step * 1e6:.0f}**", "100", f"{sum(p[1] for p in parts.values()) / step / 1e9:.0f}",
                     f"**{(energy + idle * rest) * 1e3:.0f}**", f"{(energy + idle * rest) / step:.0f}"))
        loading = totals["loading"]
        for part, key in (("loading, at 320 MB/s, on the host", "load_s"), ("copying to the device", "copy_s")):
            rows.append((part, "", f"{loading[key] * 1e6:.0f}", f"{100 * loading[key] / step:.1f}", "", "", ""))
        out.append(f"{name}, {2048:,} samples a step:\n\n" + table(
            ("part", "operations", "us", "% of the step", "GB/s of device memory", "mJ", "W"), rows))
    return "\n\n".join(out)


def rates(study):
    """The step over loader rates, with and without prefetch."""
    rows = []
    for rate in (10, 30, 50, 100, 200, 325, 500, 1000, 2000):
        cells = [rate]
        for train in ("kaggle", "terabyte"):
            serial, ahead = (study.loading(train, rate * MB, depth) for depth in (0, 2))
            cells += [f"{serial['step_s'] * 1e3:.2f}", f"{ahead['step_s'] * 1e3:.2f}", f"{100 * (ahead['gain'] - 1):.0f} %", ahead["bound"]]
        rows.append(cells)
    return table(("loader, MB/s", "Kaggle in turn, ms", "prefetched, ms", "faster by", "binds", "Terabyte in turn, ms", "prefetched, ms",
                  "faster by", "binds"), rows)


def claim(study):
    """Loader rates at which the claim is true, in both readings; each rate is asked again."""
    rows = []
    for train, name, batch in (("kaggle", "Kaggle", 128), ("kaggle", "Kaggle", 2048), ("terabyte", "Terabyte", 2048), ("kaggle", "Kaggle", 16384),
                               ("terabyte", "Terabyte", 16384)):
        known = study.loading(train, 1e9, 2, batch)
        size, compute, copy = known["batch_bytes"], known["compute_s"], known["copy_s"]
        cells = [f"{name}, {batch:,}", f"{compute * 1e3:.2f}"]
        for gain in (1.3, 1 / 0.7):
            fast = size / ((gain - 1) * compute - copy)     # the computation binds, loading is hidden
            slow = size / ((compute + copy) / (gain - 1))   # loading binds, the computation is hidden
            for rate in (slow, fast):
                assert abs(study.loading(train, rate, 2, batch)["gain"] - gain) < 1e-4 * gain, (train, batch, rate)
            cells += [f"{slow / MB:.1f}", f"{fast / MB:.0f}"]
        cells.append(f"{size / compute / MB:.0f}")
        rows.append(cells)
    for train, batch in (("kaggle", 128), ("terabyte", 2048)):  # what the page says of the batches of the public scripts
        assert round(100 * study.loading(train, 24 * MB, 2, batch)["gain"] - 100) in (25, 26), (train, batch)
    return table(("data set, batch", "step, ms", "1.30 x as fast: slow loader, MB/s", "… fast loader", "30 % less time: slow loader", "… fast loader",
                  "twice as fast near"), rows)


def auto(study):
    """What `auto` chooses for one worker's rate and the variation of its times."""
    rows = []
    for train, name in (("kaggle", "Kaggle"), ("terabyte", "Terabyte")):
        for rate in (22, 60):
            for variation in (0, 0.5, 1, 2):
                found = study.estimate(train, f"worker = {rate} MB/s, workers = auto, max_workers = 20, prefetch = auto, variation = {variation}")
                loading = found["totals"]["loading"]
                steps = {d["prefetch"]: d for d in loading["depths"]}
                chosen = loading["prefetch"]
                rows.append((f"{name}, {rate} MB/s", variation, loading["workers"], chosen, f"{steps[chosen]['queue_bytes'] / 2**20:.2f}",
                             f"{loading['step_s'] * 1e3:.3f}", f"{steps[chosen - 1]['step_s'] * 1e3:.3f}", f"{steps[2]['step_s'] * 1e3:.3f}"))
    return table(("one worker", "variation", "workers", "depth", "MiB in host memory", "step, ms", "one batch less, ms", "two batches, ms"), rows)


def devices(study):
    """The best plan of the whole Terabyte model on up to so many devices."""
    rows = []
    text = (EXAMPLE / "dlrm.dnn").read_text()
    for train, name, limits in (("terabyte_whole_8", "whole, rows of 128", (1, 4, 8)), ("terabyte_8", "modulo 10 million, rows of 64", (1, 2, 4, 8))):
        for limit in limits:
            head, _, tail = text.partition(f"train {train} ")
            (study.folder / "some.dnn").write_text(head + f"train {train} " + tail.replace("\n}", f"\n  require devices <= {limit}\n}}", 1))
            plan = json.loads(study.run("compile", "some.dnn", "--train", train, "-o", "some", "--json"))
            if plan["status"] == "infeasible":
                rows.append((name, limit, "infeasible: the tables do not fit", *[""] * 6))
                continue
            tables = {group["parallel_config"]["tables"] for group in plan["stages"] if "tables" in group.get("parallel_config", {})}
            degrees = [f"data {plan['data_parallel']}"] + ([f"{plan['pipeline_parallel']} stages"] if plan["pipeline_parallel"] > 1 else [])
            degrees.append(f"{'/'.join(sorted(tables - {'whole'}))} of tables divided" if tables - {"whole"} else "tables whole")
            step = plan["step_time_s"]
            bound = "input" if any("wait for their input" in text or "not hidden" in text for text in plan["assumptions"]) else "devices"
            rows.append((name, limit, ", ".join(degrees), plan["devices"], f"{step * 1e3:.2f}", f"{plan['throughput'] / 1e6:.2f}", bound,
                         f"{plan['energy_J'] / step:.0f}", plan["status"]))
    return table(("tables", "devices, at most", "plan", "devices", "step, ms", "M samples/s", "waits for", "W, with the host", ""), rows)


def energy(study):
    """What prefetching saves of a device's energy: it draws its idle power while it waits."""
    rows = []
    for train, name in (("kaggle", "Kaggle"), ("terabyte", "Terabyte")):
        for rate in (100, 325):
            totals = study.estimate(train, f"loader = {rate} MB/s, prefetch = 2")["totals"]
            used, loading = totals["step_energy"], totals["loading"]
            idle = used["idle_J"] / used["step_s"]
            serial = loading["load_s"] + loading["copy_s"] + loading["compute_s"]
            before, after = (used["total_J"] + idle * (step - used["step_s"]) for step in (serial, loading["step_s"]))
            rows.append((f"{name}, {rate} MB/s", f"{before * 1e3:.0f}", f"{after * 1e3:.0f}", f"{100 * (1 - after / before):.1f} %",
                         f"{before / serial:.0f}", f"{after / loading['step_s']:.0f}"))
    return table(("loader", "in turn, mJ", "prefetched, mJ", "less by", "in turn, W", "prefetched, W"), rows)


PUBLISHED = """import "catalog/dlrm.dnn"
import "catalog/recommender.dnn"

train torchrec = dlrm() on dgx_superpod_a100_40g {
  batch     = 2048
  precision = fp32
  optimizer = sgd
  search { tensor_parallel = 1, table_parallel = {rows, columns}, pipeline_parallel = 1, data_parallel = 8, microbatch = 256 }
}

module bag(ids, feature, lookups) -> y {
  let y = reshape(embedding_bag(slice(ids, axis = 0, start = feature * lookups, size = lookups), rows = 1000000, dim = 64, sparse = true), [1, 64])
}
model random(lookups) {
  input dense_features  : float[512]
  input sparse_features : int32[8 * lookups]
  input label           : fp32[1]
  let dense = relu_layers(dense_features, [512, 64])
  let features = concat(reshape(dense, [1, 64]), BAGS, axis = 0)
  let logit = linear(relu_layers(concat(dense, interaction(features), axis = 0), [1024, 1024, 1024]), out = 1)
  loss binary_cross_entropy(logit, label)
}
train random_50  = random(lookups = 50)  on v100_16g { batch = 2048, precision = fp32, optimizer = sgd, search { microbatch = 2048 } }
train random_100 = random(lookups = 100) on v100_16g { batch = 2048, precision = fp32, optimizer = sgd, search { microbatch = 2048 } }
""".replace("BAGS", ", ".join(f"bag(sparse_features, {i}, lookups)" for i in range(8)))


def published(study):
    """Measured steps of DLRM beside computed ones: those of docs/published.md, and three that no calibration has seen."""
    rows = []
    for line in (ROOT / "docs/published.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if cells[0].startswith("dlrm-"):
            rows.append((f"`{cells[0]}`", "65,536", f"{float(cells[2]) * 1e3:.2f}", f"{float(cells[3]) * 1e3:.2f}", f"{cells[4]} %", "fitted"))
    (study.folder / "published.dnn").write_text(PUBLISHED)
    for train, what, measured in (("torchrec", "TorchRec, rows of 128, 8 A100 of 40 GB", 10), ("random_50", "Naumov et al. 2019, random, 50 lookups a table, V100", 62),
                                  ("random_100", "… 100 lookups a table", 62)):
        step = json.loads(study.run("compile", "published.dnn", "--train", train, "-o", "published", "--json"))["step_time_s"] * 1e3
        rows.append((what, "2,048", f"{measured:.2f}", f"{step:.2f}", f"{100 * (step / measured - 1):+.1f} %", "not seen"))
    return table(("row", "batch", "measured, ms", "computed, ms", "error", "by the calibration"), rows)


GRAPHS = """import "catalog/graphsage.dnn"
import "catalog/gcn.dnn"
train sage = graphsage() on v100_32g { batch = 1, precision = fp32, optimizer = adam, data { loader = 1 GB/s, prefetch = 2 } }
train cora = gcn() on v100_32g { batch = 1, precision = fp32, optimizer = adam, data { loader = 1 GB/s, prefetch = 2 } }
"""


def graph(study):
    """Graph networks over a whole graph: parts of the step, and what reading the graph in each step would gain or cost."""
    (study.folder / "graphs.dnn").write_text(GRAPHS)
    rows = []
    for train, name in (("sage", "GraphSAGE, ogbn-products"), ("cora", "GCN, Cora")):
        document = json.loads(study.run("estimate", "graphs.dnn", "--train", train, "--json"))
        step, loading = document["totals"]["step_time_s"], document["totals"]["loading"]
        share = {"layers": 0, "graph": 0, "other": 0}
        for kind in document["kinds"]:
            part = "graph" if kind["kind"].startswith("spmm") else "layers" if kind["kind"] in ("linear", "contract") else "other"
            share[part] += kind["time_s"]
        rows.append((name, f"{step * 1e3:.1f}", *(f"{100 * share[part] / step:.0f} %" for part in share), f"{loading['batch_bytes'] / MB:.0f}",
                     f"{loading['batch_bytes'] / loading['compute_s'] / 1e9:.2f}", f"{loading['batch_bytes'] / (0.3 * loading['compute_s'] - loading['copy_s']) / 1e9:.2f}"
                     if 0.3 * loading["compute_s"] > loading["copy_s"] else "none"))
    return table(("model, graph", "step, ms", "products with weights", "products with the graph", "the rest", "MB read", "hidden from, GB/s",
                  "1.30 x as fast at, GB/s"), rows)


TABLES = {"where": where, "rates": rates, "claim": claim, "auto": auto, "energy": energy, "devices": devices, "published": published,
          "graph": graph}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--accord", default=str(ROOT / "build/bin/accord"))
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--only", default=",".join(TABLES), help="tables, separated by commas")
    given = parser.parse_args()
    page = PAGE.read_text()
    made = page
    with tempfile.TemporaryDirectory() as folder:
        study = Study(given.accord, folder)
        for name in given.only.split(","):
            found = re.search(rf"<!-- {name} -->\n.*?<!-- end -->", made, re.S)
            if not found:
                sys.exit(f"docs/dlrm.md has no table {name}")
            made = made[:found.start()] + f"<!-- {name} -->\n\n{TABLES[name](study)}\n\n<!-- end -->" + made[found.end():]
    if not given.check:
        PAGE.write_text(made)
    elif made != page:
        sys.exit("docs/dlrm.md is not what Accord answers: run scripts/dlrm_study.py")


if __name__ == "__main__":
    main()
