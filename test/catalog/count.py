#!/usr/bin/env python3
"""What the catalogue's models must count to, from straight formulas that read no `.dnn` file.

    python3 count.py           check expected.csv and step_flops.csv (exit status 1 if a row differs)
    python3 count.py --print   print what the formulas give

Each function returns (parameters, forward multiply-accumulates of one sample). The latter count convolutions, linear
layers, batched matmuls and recurrences, nothing element-wise; attention scores count in full, causal or not.
"""
import csv
import fractions
import os
import sys

import count_lookups
import count_transformers


def linear(inputs, outputs, bias=True):
    return inputs * outputs + (outputs if bias else 0)


def gpt2(layers=12, hidden=768, heads=12, vocab=50257, seq=1024):
    norm = 2 * hidden
    layer = 2 * norm + 4 * linear(hidden, hidden) + linear(hidden, 4 * hidden) + linear(4 * hidden, hidden)
    parameters = vocab * hidden + seq * hidden + layers * layer + norm
    # Narayanan et al., SC 2021: 24 B s h^2 + 4 B s^2 h FLOP a layer and 2 B s h V for the head, two FLOP each.
    macs = layers * (12 * seq * hidden**2 + 2 * seq**2 * hidden) + seq * hidden * vocab
    return parameters, macs


def gpt3(layers=96, hidden=12288, heads=96, vocab=50257, seq=2048):
    return gpt2(layers, hidden, heads, vocab, seq)


def bert_base(layers=12, hidden=768, heads=12, vocab=30522, seq=512, longest=512, masked=76):
    return bert_large(layers, hidden, heads, vocab, seq, longest, masked)


def bert_large(layers=24, hidden=1024, heads=16, vocab=30522, seq=512, longest=512, masked=76):
    norm = 2 * hidden
    tables = (vocab + longest + 2) * hidden + norm
    layer = 4 * linear(hidden, hidden) + 2 * norm + linear(hidden, 4 * hidden) + linear(4 * hidden, hidden)
    pooler = linear(hidden, hidden)
    words = linear(hidden, hidden) + norm + vocab  # the decoder's weight is the word table; its bias is its own
    follows = linear(hidden, 2)
    macs = layers * (12 * seq * hidden**2 + 2 * seq**2 * hidden)
    macs += masked * (hidden**2 + hidden * vocab) + hidden**2 + 2 * hidden
    return tables + layers * layer + pooler + words + follows, macs


def llama2(layers=32, hidden=4096, heads=32, kv_heads=None, inner=11008, vocab=32000, seq=4096):
    shared = hidden // heads * (kv_heads or heads)
    weights = 2 * hidden**2 + 2 * hidden * shared + 3 * hidden * inner
    parameters = 2 * vocab * hidden + layers * (weights + 2 * hidden) + hidden
    return parameters, layers * (seq * weights + 2 * seq**2 * hidden) + seq * hidden * vocab


def resnet50(classes=1000, size=224):
    parameters = macs = 0

    def conv(inputs, outputs, kernel, side):
        """A square convolution to side x side outputs, with its batch normalization's scale and shift."""
        nonlocal parameters, macs
        weights = inputs * outputs * kernel**2
        parameters += weights + 2 * outputs
        macs += weights * side**2

    def halve(side):
        return (side - 1) // 2 + 1

    side = halve(size)
    conv(3, 64, 7, side)
    side = halve(side)
    inputs = 64
    for stage, blocks in enumerate((3, 4, 6, 3)):
        inner = 64 * 2**stage
        for block in range(blocks):
            before = side
            if block == 0 and stage > 0:
                side = halve(side)
            conv(inputs, inner, 1, before)
            conv(inner, inner, 3, side)
            conv(inner, 4 * inner, 1, side)
            if block == 0:
                conv(inputs, 4 * inner, 1, side)
            inputs = 4 * inner
    return parameters + linear(inputs, classes), macs + inputs * classes


CRITEO_ROWS = (40000000, 39060, 17295, 7424, 20265, 3, 7122, 1543, 63, 40000000, 3067956, 405282, 10, 2209, 11938, 155, 4,
               976, 14, 40000000, 40000000, 40000000, 590152, 12973, 108, 36)


def dlrm(dim=128):
    vectors = len(CRITEO_ROWS) + 1
    bottom = (13, 512, 256, dim)
    top = (dim + vectors * (vectors - 1) // 2, 1024, 1024, 512, 256, 1)
    mlps = sum(linear(a, b) for widths in (bottom, top) for a, b in zip(widths, widths[1:]))
    # No operations: implementations differ in whether the dot interaction computes the half it throws away.
    return dim * sum(CRITEO_ROWS) + mlps, None


def gnmt(hidden=1024, vocab=32320, length=50, target=50):
    def lstm(inputs):
        """Weights and biases: four gates, one bias vector for the input and one for the state."""
        return 4 * hidden * (inputs + hidden), 8 * hidden

    h = hidden
    encoder = [lstm(h), lstm(h), lstm(2 * h), lstm(h), lstm(h)]  # the first two are the two directions of layer one
    decoder = [lstm(h), lstm(2 * h), lstm(2 * h), lstm(2 * h)]
    attention = 2 * h * h + h + h + 1  # query and key weights, score vector, bias and gain
    parameters = vocab * h + sum(w + b for w, b in encoder + decoder) + attention + linear(h, vocab)
    macs = length * sum(w for w, _ in encoder) + target * sum(w for w, _ in decoder)
    macs += target * h * h + length * h * h + 2 * target * length * h  # query, key; scores and context
    return parameters, macs + target * h * vocab


GPT2_SIZES = {"gpt2_small": (12, 768, 12), "gpt2_medium": (24, 1024, 16), "gpt2_large": (36, 1280, 20),
              "gpt2_xl": (48, 1600, 25)}


def count(model, arguments):
    if model in GPT2_SIZES:
        layers, hidden, heads = GPT2_SIZES[model]
        return gpt2(layers, hidden, heads, **arguments)
    if model in count_transformers.MEGATRON_SIZES:
        layers, hidden, _ = count_transformers.MEGATRON_SIZES[model]
        return count_transformers.megatron(layers, hidden, **arguments)
    for formulas in (count_transformers, count_lookups):
        if hasattr(formulas, model):
            return getattr(formulas, model)(**arguments)
    return {f.__name__: f for f in (gpt2, gpt3, bert_base, bert_large, llama2, resnet50, dlrm, gnmt)}[model](**arguments)


def step_flops(batch, layers, hidden, vocab, seq):
    """Narayanan et al., SC 2021, equation (3) without activation recomputation: 72 B s L h^2 (1 + s/6h + V/12Lh)."""
    share = 1 + fractions.Fraction(seq, 6 * hidden) + fractions.Fraction(vocab, 12 * layers * hidden)
    return 72 * batch * seq * layers * hidden**2 * share


def rows(name):
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), name), newline="") as file:
        for row in csv.DictReader(file):
            row["given"] = {k: int(v) for k, v in (a.split("=") for a in row["arguments"].split())}
            yield row


def main():
    wrong = 0
    show = "--print" in sys.argv[1:]
    for row in rows("expected.csv"):
        got = ["" if n is None else str(n) for n in count(row["model"], row["given"])]
        wanted = [row["parameters"], row["forward_macs"]]
        if show or got != wanted:
            print(row["model"], row["arguments"], "computed", *got, "expected", *wanted)
        wrong += got != wanted
    for row in rows("step_flops.csv"):
        layers, hidden, _ = {**GPT2_SIZES, **count_transformers.MEGATRON_SIZES}.get(row["model"], (96, 12288, 96))
        given = dict(layers=layers, hidden=hidden, seq=1024 if row["model"] in GPT2_SIZES else 2048,
                     vocab=51200 if row["model"] in count_transformers.MEGATRON_SIZES else 50257)
        given.update({k: v for k, v in row["given"].items() if k in given})
        batch = int(row["batch"])
        got = step_flops(batch, **given)
        # Backward costs twice the forward pass, and a multiply-accumulate is two FLOP: six per multiply-accumulate.
        if show or got != int(row["step_flops"]) or got != 6 * batch * count(row["model"], row["given"])[1]:
            print(row["model"], row["arguments"], "computed", got, "expected", row["step_flops"])
        wrong += got != int(row["step_flops"]) or got != 6 * batch * count(row["model"], row["given"])[1]
    print("all expectations agree" if not wrong else "%d rows differ" % wrong)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
