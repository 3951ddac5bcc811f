"""built.py EXAMPLES FOLDER: programs that are built in Python.

They say the same as those of the examples (their estimates are the same bytes), and `accord fmt` finds nothing to change.
"""
import os
import random
import sys
import warnings

import accord
from accord.units import USD, B, GB, GHz, GiB, MHz, MiB, TB, W, cycle, h, kW, mm2, ns, s, us


def chip():
    made = accord.Machine("my_chip", clock=1 * GHz)
    hbm = accord.cited("3.9 pJ/bit", "O'Connor et al., Fine-Grained DRAM, MICRO 2017: HBM2 access")
    made.memory("hbm", "dram", capacity=32 * GiB, bandwidth=1.2 * TB / s, latency=120 * ns, energy=hbm)
    made.memory("buffer", "scratchpad", capacity=32 * MiB, bandwidth=4096 * B / cycle, banks=16, double_buffered=True, queue=8)
    array = accord.shape(128, 128)
    made.core("array", "tensor", 4, array=array, dataflow="weight_stationary", multiply="bf16", accumulate="fp32", reads="buffer")
    made.core("lane", "vector", 2, lanes=2048, types=["fp32", "bf16"], reads="buffer")
    made.path("hbm", "buffer", ["array", "lane"])
    made.power(idle=50 * W, tdp=250 * W, mac="0.6 pJ")
    made.entry("area", 500 * mm2)
    return made


def own_machine():
    search = {"microbatch": accord.pow2(1, 256)}
    return accord.Training("resnet50()", chip(), name="own_machine", imports=["catalog/resnet.dnn"], batch=256, precision="mixed(bf16)",
                           optimizer="momentum", search=search, maximize="throughput", require=["device.memory <= 0.95 * hbm.capacity"])  # fmt: skip


def tiny():
    mlp = accord.Module("mlp", "x", hidden=None, inner=None)
    wide = mlp.gelu(mlp.linear(mlp.operands[0], out=mlp.inner), name="h")
    mlp.result(mlp.linear(wide, out=mlp.hidden))
    layer = accord.Module("layer", "x", hidden=None, heads=None)
    layer.use("catalog/transformer.dnn")
    x = layer.operands[0]
    a = layer.let(x + layer.call("attention", layer.layer_norm(x), heads=layer.heads, causal=True), "a")
    layer.result(a + layer.call(mlp, layer.layer_norm(a), layer.hidden, 4 * layer.hidden))

    m = accord.Model("tiny_lm", layers=6, hidden=512, heads=8, vocab=8192, seq=256)
    tokens, labels = m.input("tokens", "int32", [m.seq]), m.input("labels", "int32", [m.seq])
    x = m.var(m.embedding(tokens, rows=m.vocab, dim=m.hidden) + m.positions(m.seq, m.hidden), name="x")
    with m.repeat(m.layers, name="block"):
        x.assign(m.call(layer, x, m.hidden, m.heads))
    m.loss(m.cross_entropy(m.linear(m.layer_norm(x), out=m.vocab, bias=False), labels))
    return accord.Training(m, "tpu_like", name="tiny", imports=["catalog/tpu.accel"], batch=128, precision="mixed(bf16)",
                           optimizer="adam", search={"microbatch": accord.pow2(1, 128)}, maximize="throughput",
                           require=["device.memory <= 0.95 * hbm.capacity"])  # fmt: skip


def own_cell():
    cell = accord.Module("minimal_gated", "x", hidden=None)
    x = cell.operands[0]
    hidden = cell.var(cell.zeros(cell.hidden), name="h")
    with cell.scan(x, collect=None) as (xt,):
        forget = cell.call("sigmoid", cell.linear(xt, out=cell.hidden) + cell.linear(hidden, out=cell.hidden, bias=False), name="forget")
        reset = cell.linear(forget * hidden, out=cell.hidden, bias=False)
        candidate = cell.tanh(cell.linear(xt, out=cell.hidden) + reset, name="candidate")
        hidden.assign(hidden + forget * (candidate - hidden))
    cell.result(hidden)
    m = accord.Model("own_cell", hidden=650, vocab=10000, steps=35)
    words, labels = m.input("words", "int32", [m.steps]), m.input("labels", "int32")
    last = m.call(cell, m.embedding(words, rows=m.vocab, dim=m.hidden), m.hidden)
    values, ids = m.topk(last, k=8)
    parts = m.split(m.relu(values), parts=2, axis=0)
    rows = m.embedding(ids, rows=m.hidden, dim=1)
    together = m.concat(last, parts[0] - 2 * parts[1], -m.reshape(rows, [8]), axis=0)
    m.loss(m.cross_entropy(m.linear(together, out=m.vocab // 2 - 1), labels))
    return accord.Training(m, "a100_80g", batch=20, precision="mixed(bf16)", optimizer="sgd")


def selene():
    made = accord.Cluster("selene_16")
    made.use("catalog/a100.accel")
    server = made.server("dgx", 2)
    server.device("gpu", "a100_80g", 8)
    server.host(memory=2 * TB, cpu_cores=128, power=2.25 * kW)
    server.network("nvlink", connects="gpu", topology="switch", bandwidth=300 * GB / s, latency=5 * us)
    made.network("ib", connects="dgx", topology="fat_tree(oversubscription = 1)", bandwidth=200 * GB / s, latency=10 * us)
    return made


def night():
    cluster = selene()
    batch = {"batch": 64, "precision": "mixed(bf16)", "optimizer": "adam"}
    tune = accord.Training("bert_large()", cluster, name="tune", imports=["catalog/bert.dnn"], samples=5e6, **batch)
    images = accord.Training("vit_b_16()", cluster, name="images", imports=["catalog/vit.dnn"], samples=120e6, **batch)
    jobs = [
        accord.Job(tune, "three", 3, tenant="language", arrives=2 * h, deadline=12 * h, elastic="moldable"),
        accord.Job(images, "one", tenant="vision", due=10 * h, late_price=5 * USD / h, elastic="malleable", restart="2 min"),
    ]
    tenants = {"language": {"weight": 2}, "vision": {"weight": 1, "quota": {"a100_80g": 4}}}
    return accord.Jobs("night", jobs, cluster, period="15 min", horizon=14 * h, carbon_intensity="{0 h: 420 g/kWh, 5 h: 300 g/kWh}",
                       tenants=tenants, capacity={"power": "{0 h: 16 kW, 4 h: 20 kW}"}, minimize=["mean_completion", "energy"],
                       require=["makespan <= 14 h"])  # fmt: skip


def space():
    made = accord.Machine("shapes", clock=940 * MHz, technology="16 nm")
    made.memory("hbm", "dram", capacity=16 * GiB, bandwidth=900 * GB / s)
    made.memory("vmem", "scratchpad", capacity=accord.pow2(4 * MiB, 64 * MiB), bandwidth=2048 * B / cycle)
    rows = accord.pow2(32, 256)
    flow = accord.one_of("weight_stationary", "output_stationary")
    made.core("mxu", "tensor", accord.pow2(1, 16), array=accord.shape(rows, rows), dataflow=flow, multiply="bf16", reads="vmem")
    made.core("vpu", "vector", accord.span(2, 8, 2), lanes=accord.pow2(128, 2048), types=["fp32", "bf16"], reads="vmem")
    made.path("hbm", "vmem", ["mxu", "vpu"])
    made.require("area <= 50 mm2", label="budget")
    return made


def drawn(seed):
    """Lines of all lengths, at random, in blocks."""
    dice = random.Random(seed)

    def expression(depth):
        kind = dice.randrange(7 if depth else 2)
        if kind == 0:
            return "n" * dice.randint(1, 12)
        if kind == 1:
            return dice.choice(["17", "0.25", "3 GB/s", "12 kW", "true"])
        inner = [expression(depth - 1) for _ in range(dice.randint(1, 4))]
        if kind == 2:
            return str(accord.one_of(*inner))
        if kind == 3:
            return "[" + ", ".join(inner) + "]"
        if kind == 4:
            return f"f({', '.join(inner)})"
        return f" {dice.choice(['+', '-', '*', '/', 'and', 'or'])} ".join(f"({one})" if " " in one else one for one in inner)

    def fill(block, depth):
        for _ in range(dice.randint(1, 6)):
            kind = dice.randrange(4)
            if kind == 0 and depth:
                fill(block.part("p" * dice.randint(1, 9)), depth - 1)
            elif kind == 1:
                block.require(f"n + ({expression(2)}) <= {expression(2)}")
            else:
                block.entry("k" * dice.randint(1, 20), expression(3))

    made = accord.Machine("drawn")
    fill(made.block, 4)
    return made


def main():
    warnings.simplefilter("ignore")
    examples, folder = sys.argv[1:]
    for made, file, train in ((own_machine(), "02-own-machine/resnet50.dnn", None), (tiny(), "03-own-model/tiny_lm.dnn", "tiny")):
        same = accord.estimate(made).json == accord.estimate(os.path.join(examples, file), train=train).json
        print(f"{made.name}: {'as' if same else 'NOT as'} {file}")
    print(f"own_cell: {accord.estimate(own_cell())!r}")
    print(f"a cluster: {accord.compile(tiny(), target=selene(), effort=0, batch=64)!r}")
    sources = [own_machine(), tiny(), own_cell(), night(), space(), *(drawn(seed) for seed in range(60))]
    files = []
    for i, one in enumerate(sources):
        one.save(os.path.join(folder, str(i)))
        files += [os.path.join(folder, str(i), name) for name in one.files()]
    accord.run("fmt", *files, check=True)
    print(f"{len(files)} files are formatted")


main()
