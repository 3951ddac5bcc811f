#!/usr/bin/env python3
"""Rows of measured steps by name of the network, as rows that `accord calibrate` reads (columns of training-times.csv).

Usage: scripts/step_rows.py MEASURED-STEP.csv > steps.csv

A row is kept where it trains all weights of a dense decoder whose dimensions are public. What it does not state is left
open, never guessed: `accord calibrate` then says what it assumes.
"""
import csv
import re
import sys

# layers, hidden, inner width, heads, heads of keys and values, vocabulary, gated: model cards and papers of the networks.
LLAMA = (128256, True)
MODELS = [
    (r"gpt-?3[ -]5b", (24, 4096, 16384, 32, 32, 50257, False)),
    (r"gpt-?3[ -]20b", (44, 6144, 24576, 48, 48, 50257, False)),
    (r"gpt-?3[ -]175b", (96, 12288, 49152, 96, 96, 50257, False)),
    (r"llama-?2-?7b", (32, 4096, 11008, 32, 32, 32000, True)),
    (r"llama-?2-?13b", (40, 5120, 13824, 40, 40, 32000, True)),
    (r"llama-?2-?70b", (80, 8192, 28672, 64, 8, 32000, True)),
    (r"llama-?3(\.1)?[-_ ]8b", (32, 4096, 14336, 32, 8, *LLAMA)),
    (r"llama-?3(\.1)?[-_ ]70b", (80, 8192, 28672, 64, 8, *LLAMA)),
    (r"llama-?3(\.1)?[-_ ]405b", (126, 16384, 53248, 128, 8, *LLAMA)),
    (r"mistral-7b", (32, 4096, 14336, 32, 8, 32000, True)),
    (r"nemotron4?-15b", (32, 6144, 24576, 48, 8, 256000, False)),
    (r"nemotron-22b", (40, 6144, 24576, 48, 48, 256000, False)),
    (r"nemotron4?-340b", (96, 18432, 73728, 96, 8, 256000, False)),
]
COLUMNS = ("id tier family model params_b layers hidden ffn heads kv_heads vocab seq_len attn_kernel mlp_kind arch_notes accelerator n_devices "
           "devices_per_node intra_node inter_node inter_node_GBps_per_dev precision optimizer tp pp vpp dp cp ep zero_stage seq_parallel recompute "
           "global_batch micro_batch grad_accum metric value unit step_time_s model_pflop_per_step mem_gb_per_dev framework source locator evidence "
           "quality notes").split()
# layers, hidden, width of one expert, heads, heads of keys and values, vocabulary, width of a head, experts, experts of a token:
# model cards. Networks with latent attention or state spaces are left out.
EXPERTS = [
    (r"qwen3[-_]30b", (48, 2048, 768, 32, 4, 151936, 128, 128, 8)),
    (r"qwen3[-_]235b", (94, 4096, 1536, 64, 4, 151936, 128, 128, 8)),
    (r"gpt[- _]oss[- _]120b", (36, 2880, 2880, 64, 8, 201088, 64, 128, 4)),
    (r"grok1[- _]314b", (64, 6144, 32768, 48, 8, 131072, 128, 8, 2)),
]
# Rows whose recipe keeps weights and states in bf16 (weight_dtype = "bfloat16" in the README that the row names).
BF16_WEIGHTS = {"tpurecipe-tpu-v6e-Llama3.1-70B-v6e-32"}
PRECISIONS = {"bf16": "bf16", "fp8": "fp8", "mxfp8": "fp8", "fp8-cs": "fp8", "fp8-mx": "fp8"}


def dimensions(model, known=MODELS):
    for pattern, sizes in known:
        if re.match(pattern, model.lower().replace("_", "-") if "llama3" not in model.lower() else model.lower()):
            return sizes
    return None


def converted(row):
    """The row, or why it is left out."""
    model = row["model"]
    if re.search(r"lora|sft|packed|bert", model.lower()):
        return "not all weights of a decoder, or sequences of several lengths"
    known, experts = dimensions(model), dimensions(model, EXPERTS)
    if not known and not experts:
        return "no decoder of public dimensions"
    if " or " in row["precision"]:
        return f"one of several precisions, '{row['precision']}'"
    precision = row["precision"].lower().split()[0]
    if precision.startswith("fp8"):
        precision = "fp8"
    if precision not in PRECISIONS:
        return f"precision '{row['precision']}'"
    layers, hidden, ffn, heads, kv, vocab, gated = known or (*experts[:6], True)
    out = dict.fromkeys(COLUMNS, "")
    out.update({name: row[name] for name in ("id", "model", "accelerator", "n_devices", "devices_per_node", "seq_len", "global_batch", "micro_batch",
                                             "tp", "pp", "vpp", "cp", "ep", "step_time_s", "framework", "source", "locator", "quality")})
    out.update(layers=layers, hidden=hidden, ffn=ffn, heads=heads, kv_heads=kv, vocab=vocab, attn_kernel="flash", mlp_kind="swiglu" if gated else "gelu",
               precision=PRECISIONS[precision], optimizer="adam", metric="step_time", unit="s", value=row["step_time_s"])
    if row["id"] in BF16_WEIGHTS:
        out["precision"] = "bf16 weights"
    fsdp = "fsdp" in row["zero_or_fsdp"].lower()
    out["family"] = "llm-dense-fsdp" if fsdp else "llm-dense"
    if experts:
        out["family"] = "llm-moe"
        out["arch_notes"] = "head {} experts {} of_token {}".format(*experts[6:])
    out["zero_stage"] = "fsdp" if fsdp else "1" if "distributed" in row["zero_or_fsdp"].lower() else ""
    recompute = row["recompute"].lower()
    out["recompute"] = ("full" if recompute.startswith("full") else "selective" if recompute.startswith("selective") else
                        "any" if "remat" in recompute or "minimal" in recompute else "not stated")
    if row["tp"] not in ("", "1"):
        out["seq_parallel"] = "yes"  # what Megatron and torchtitan do with a tensor degree
    devices, tp, pp, cp = (int(row[name] or 1) for name in ("n_devices", "tp", "pp", "cp"))
    if not row["tp"]:
        return "no parallel degrees"
    out["dp"] = devices // (tp * pp * cp)
    return out


def main(path):
    writer = csv.DictWriter(sys.stdout, COLUMNS, lineterminator="\n")
    writer.writeheader()
    for row in csv.DictReader(open(path, encoding="utf-8")):
        made = converted(row)
        if isinstance(made, dict):
            writer.writerow(made)
        else:
            print(f"{row['id']}: {made}", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1])
