#!/usr/bin/env python3
"""Measures whole training steps of decoders, BERT and ResNet-50 on one GPU with plain PyTorch, and prints a table of them.

    python3 scripts/measure_steps.py > steps.csv          # about five minutes on an H100; --seconds 60: as many as fit

Weights, gradients and both moments are fp32, products bf16 by autocast, AdamW is fused, attention is PyTorch's flash kernel.
`mode` is `eager` or `compile` (torch.compile of the whole model). `step_s` is the mean over about three seconds after four
steps that are not counted; forward, backward and optimizer are medians of CUDA events. Bytes are those of PyTorch's allocator;
`static_bytes` is what is allocated between two steps. `watts` is the mean of the board in the second half of the three seconds.
The table has the columns that `scripts/compiled_steps.py` reads, and more.
"""
import argparse
import csv
import gc
import statistics
import sys
import threading
import time

import pynvml
import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.checkpoint import checkpoint

COLUMNS = """id family model layers hidden ffn heads kv_heads vocab seq_len attn_kernel mlp_kind arch_notes accelerator n_devices
devices_per_node inter_node_GBps_per_dev
precision optimizer tp pp vpp dp cp ep zero_stage seq_parallel recompute global_batch micro_batch metric step_time_s framework source quality mode
p10_s p90_s forward_s backward_s optimizer_s peak_allocated peak_reserved static_bytes watts parameters""".split()


class Layer(nn.Module):
    def __init__(self, kind, hidden, inner, heads, groups):
        super().__init__()
        self.kind, self.heads, self.groups, self.width = kind, heads, groups, hidden // heads
        gated = kind == "llama"
        norm = nn.RMSNorm if gated else nn.LayerNorm
        self.before, self.between = norm(hidden), norm(hidden)
        self.qkv = nn.Linear(hidden, (heads + 2 * groups) * self.width, bias=not gated)
        self.out = nn.Linear(hidden, hidden, bias=not gated)
        self.gate = nn.Linear(hidden, inner, bias=False) if gated else None
        self.up, self.down = nn.Linear(hidden, inner, bias=not gated), nn.Linear(inner, hidden, bias=not gated)

    def attention(self, x, rotary):
        batch, length, hidden = x.shape
        parts = self.qkv(x).split([hidden, self.groups * self.width, self.groups * self.width], -1)
        q, k, v = (part.view(batch, length, -1, self.width).transpose(1, 2) for part in parts)
        if rotary:
            q, k = rotated(q, *rotary), rotated(k, *rotary)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=self.kind != "bert", enable_gqa=self.groups != self.heads)
        return self.out(y.transpose(1, 2).reshape(batch, length, hidden))

    def mlp(self, x):
        return self.down(F.silu(self.gate(x)) * self.up(x) if self.gate else F.gelu(self.up(x)))

    def forward(self, x, rotary):
        if self.kind == "bert":
            x = self.before(x + self.attention(x, rotary))
            return self.between(x + self.mlp(x))
        x = x + self.attention(self.before(x), rotary)
        return x + self.mlp(self.between(x))


def rotated(x, cosine, sine):
    a, b = x.float().chunk(2, -1)
    return torch.cat([a * cosine - b * sine, a * sine + b * cosine], -1).to(x.dtype)


class Transformer(nn.Module):
    """GPT-2 or BERT with learned positions and a tied head, or Llama."""

    def __init__(self, kind, layers, hidden, inner, heads, groups, vocabulary, length, recompute):
        super().__init__()
        self.recompute = recompute
        self.table = nn.Embedding(vocabulary, hidden)
        self.positions = None if kind == "llama" else nn.Embedding(length, hidden)
        self.layers = nn.ModuleList(Layer(kind, hidden, inner, heads, groups) for _ in range(layers))
        self.norm = nn.RMSNorm(hidden) if kind == "llama" else nn.LayerNorm(hidden)
        self.head = nn.Linear(hidden, vocabulary, bias=False)
        if kind != "llama":
            self.head.weight = self.table.weight
            return
        width = hidden // heads
        angles = torch.outer(torch.arange(length), 10000 ** (-torch.arange(0, width, 2) / width))
        self.register_buffer("cosine", angles.cos())
        self.register_buffer("sine", angles.sin())

    def forward(self, tokens, labels):
        x = self.table(tokens)
        rotary = None if self.positions else (self.cosine, self.sine)
        if self.positions:
            x = x + self.positions.weight
        for layer in self.layers:
            x = checkpoint(layer, x, rotary, use_reentrant=False) if self.recompute else layer(x, rotary)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1).float(), labels.flatten())


class Power(threading.Thread):
    """Watts of the board, twenty times a second."""

    def __init__(self, device):
        super().__init__(daemon=True)
        self.device, self.watts, self.over = device, [], False

    def run(self):
        while not self.over:
            self.watts.append(pynvml.nvmlDeviceGetPowerUsage(self.device) / 1e3)
            time.sleep(0.05)


def measured(model, inputs, device):
    """The columns of one configuration that are measured."""
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-5, fused=True)

    def step():
        events = [torch.cuda.Event(enable_timing=True) for _ in range(4)]
        events[0].record()
        with torch.autocast("cuda", torch.bfloat16):
            loss = model(*inputs)
        events[1].record()
        loss.backward()
        events[2].record()
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
        events[3].record()
        return events

    for _ in range(4):
        step()
    torch.cuda.synchronize()
    static = torch.cuda.memory_allocated()
    torch.cuda.reset_peak_memory_stats()
    begin = time.perf_counter()
    step()
    torch.cuda.synchronize()
    count = max(8, min(200, int(3 / (time.perf_counter() - begin))))
    power = Power(device)
    power.start()
    begin = time.perf_counter()
    steps = [step() for _ in range(count)]
    torch.cuda.synchronize()
    seconds = (time.perf_counter() - begin) / count
    power.over = True
    between = sorted(a[0].elapsed_time(b[0]) / 1e3 for a, b in zip(steps, steps[1:]))
    parts = [statistics.median(events[i].elapsed_time(events[i + 1]) / 1e3 for events in steps) for i in range(3)]
    return {
        "step_time_s": f"{seconds:.6g}",
        "p10_s": f"{between[len(between) // 10]:.6g}",
        "p90_s": f"{between[len(between) * 9 // 10]:.6g}",
        "forward_s": f"{parts[0]:.6g}",
        "backward_s": f"{parts[1]:.6g}",
        "optimizer_s": f"{parts[2]:.6g}",
        "peak_allocated": torch.cuda.max_memory_allocated(),
        "peak_reserved": torch.cuda.max_memory_reserved(),
        "static_bytes": static,
        "watts": f"{statistics.mean(power.watts[len(power.watts) // 2:]):.1f}",
    }


def transformers():
    """(kind, model, layers, hidden, inner, heads, groups, vocabulary, length, micro-batch, recompute, mode)"""

    def gpt(name, layers, hidden, heads, length, micro, recompute=False, mode="eager"):
        return ("gpt", name, layers, hidden, 4 * hidden, heads, heads, 50304, length, micro, recompute, mode)

    def bert(length, micro):
        return ("bert", "bert-large", 24, 1024, 4096, 16, 16, 30528, length, micro, False, "eager")

    tiny = ("llama", "llama-1.1b", 22, 2048, 5632, 32, 4, 32000)
    llama = ("llama", "llama-3.2-1b", 16, 2048, 8192, 32, 8, 128256)
    found = [gpt("gpt-125m", 12, 768, 12, 1024, micro) for micro in (1, 4, 16, 32)]
    found += [gpt("gpt-350m", 24, 1024, 16, 1024, micro) for micro in (1, 4, 16)]
    found += [gpt("gpt-1.3b", 24, 2048, 16, 2048, micro) for micro in (1, 2, 8)]
    found += [gpt("gpt-1.3b", 24, 2048, 16, 2048, 16, True), gpt("gpt-2.7b", 32, 2560, 32, 2048, 1)]
    found += [gpt("gpt-2.7b", 32, 2560, 32, 2048, 4, True)]
    found += [(*tiny, length, micro, False, "eager") for length, micro in ((2048, 1), (2048, 4), (8192, 1))]
    found += [(*llama, 4096, 1, False, "eager"), (*llama, 4096, 4, True, "eager")]
    found += [bert(512, 8), bert(128, 32), bert(512, 32)]
    found += [gpt("gpt-125m", 12, 768, 12, 1024, 16, mode="compile"), gpt("gpt-1.3b", 24, 2048, 16, 2048, 2, mode="compile")]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--seconds", type=float, default=600, help="begin no configuration after so long (default: 600)")
    parser.add_argument("--accelerator", default="", help="its name in lib/catalog/accelerators.csv")
    options = parser.parse_args()
    pynvml.nvmlInit()
    device = pynvml.nvmlDeviceGetHandleByIndex(torch.cuda.current_device())
    table = csv.DictWriter(sys.stdout, COLUMNS, restval="", lineterminator="\n")
    table.writeheader()
    begin = time.perf_counter()

    def write(row, make, **cells):
        """Measures what `make` gives, a module and its inputs."""
        if time.perf_counter() - begin > options.seconds:
            return
        gc.collect()
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
        row |= cells
        row |= {"accelerator": options.accelerator or torch.cuda.get_device_name(), "n_devices": 1, "precision": "bf16", "optimizer": "adam",
                "global_batch": row["micro_batch"], "framework": f"PyTorch {torch.__version__} {row['mode']}", "source": "scripts/measure_steps.py",
                "quality": "A", "metric": "step"}  # fmt: skip
        try:
            model, inputs = make()
            row["parameters"] = sum(one.numel() for one in model.parameters())
            row |= measured(torch.compile(model) if row["mode"] == "compile" else model, inputs, device)
            table.writerow(row)
            sys.stdout.flush()
        except torch.OutOfMemoryError:
            print(f"measure_steps.py: {row['id']} does not fit the memory", file=sys.stderr)

    with torch.device("cuda"):
        for kind, name, layers, hidden, inner, heads, groups, vocabulary, length, micro, recompute, mode in transformers():

            def transformer(sizes=(kind, layers, hidden, inner, heads, groups, vocabulary, length, recompute), micro=micro):
                tokens = torch.randint(sizes[6], (micro, sizes[7]))
                return Transformer(*sizes), (tokens, tokens)

            row = {"id": f"{name}-s{length}-b{micro}-{mode}", "family": "llm-dense" if kind != "bert" else "bert", "model": name, "mode": mode,
                   "layers": layers, "hidden": hidden, "ffn": inner, "heads": heads, "kv_heads": groups, "vocab": vocabulary, "seq_len": length,
                   "attn_kernel": "flash", "mlp_kind": "swiglu" if kind == "llama" else "gelu2", "micro_batch": micro,
                   "recompute": "full" if recompute else "none", "tp": 1, "pp": 1, "dp": 1, "cp": 1, "zero_stage": 0}  # fmt: skip
            write(row, transformer)
        for micro in (32, 128, 256):

            def convolutions(micro=micro):
                import torchvision

                net = torchvision.models.resnet50().to(memory_format=torch.channels_last)
                images = torch.randn(micro, 3, 224, 224).to(memory_format=torch.channels_last)
                return Classifier(net), (images, torch.randint(1000, (micro,)))

            write({"id": f"resnet50-b{micro}-eager", "family": "cnn", "model": "resnet50", "mode": "eager", "micro_batch": micro}, convolutions)


class Classifier(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, images, labels):
        return F.cross_entropy(self.net(images).float(), labels)


if __name__ == "__main__":
    main()
