#!/usr/bin/env python3
"""What the catalogue's models must count to, from straight formulas that read no `.dnn` file.

    python3 count.py           check expected.csv and step_flops.csv (exit status 1 if a row differs)
    python3 count.py --print   print what the formulas give

Each function returns (parameters, forward multiply-accumulates of one sample). The latter count convolutions, linear
layers, batched matmuls and recurrences, nothing element-wise; attention scores count in full, causal or not.
published_gmacs is what the source itself says for these multiply-accumulates, in thousand millions: 0.5 % apart at most.
"""
import csv
import fractions
import os
import sys

import count_current
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


def bert_base(layers=12, hidden=768, heads=12, vocab=30522, seq=512, max_position=512, masked=76):
    return bert_large(layers, hidden, heads, vocab, seq, max_position, masked)


def bert_large(layers=24, hidden=1024, heads=16, vocab=30522, seq=512, max_position=512, masked=76):
    norm = 2 * hidden
    tables = (vocab + max_position + 2) * hidden + norm
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


class Layers:
    """Layers applied one after the other to a square image (or to `of`): what they hold and compute."""

    def __init__(self, channels, side, bias=False, norm=True):
        self.parameters = self.macs = 0
        self.channels, self.side, self.bias, self.norm = channels, side, bias, norm

    def conv(self, outputs, kernel=1, stride=1, padding=0, groups=1, of=None, keep=True):
        """A convolution of `of` = (channels, side); kernel and padding may be (rows, columns). Returns what it gives."""
        rows, columns = kernel if isinstance(kernel, tuple) else (kernel, kernel)
        channels, before = of or (self.channels, self.side)
        if isinstance(padding, tuple):  # to the same extent
            side = before
        else:
            side = (before + 2 * padding - rows) // stride + 1
        weights = channels // groups * outputs * rows * columns
        self.parameters += weights + (outputs if self.bias else 0) + (2 * outputs if self.norm else 0)
        self.macs += weights * side**2
        if keep:
            self.channels, self.side = outputs, side
        return outputs, side

    def pool(self, kernel, stride, padding=0):
        self.side = (self.side + 2 * padding - kernel) // stride + 1

    def linear(self, inputs, outputs):
        self.parameters += linear(inputs, outputs)
        self.macs += inputs * outputs


def resnet(blocks, expansion=4, groups=1, group_width=64, size=224):
    net = Layers(3, size)
    net.conv(64, 7, 2, 3)
    net.pool(3, 2, 1)
    for stage, count in enumerate(blocks):
        width = 64 * 2**stage
        for block in range(count):
            start = net.channels, net.side
            stride = 2 if block == 0 and stage > 0 else 1
            if expansion == 1:
                net.conv(width, 3, stride, 1)
                net.conv(width, 3, 1, 1)
            else:
                inner = width * groups * group_width // 64
                net.conv(inner)
                net.conv(inner, 3, stride, 1, groups)
                net.conv(width * expansion)
            if start != (net.channels, net.side):
                net.conv(net.channels, 1, stride, of=start)
    net.linear(net.channels, 1000)
    return net.parameters, net.macs


def resnet18():
    return resnet((2, 2, 2, 2), expansion=1)


def resnet34():
    return resnet((3, 4, 6, 3), expansion=1)


def resnet50():
    return resnet((3, 4, 6, 3))


def resnet101():
    return resnet((3, 4, 23, 3))


def resnext101_32x8d():
    return resnet((3, 4, 23, 3), groups=32, group_width=8)


def ssd_resnet34(classes=81):
    net = Layers(3, 300)
    net.conv(64, 7, 2, 3)
    net.pool(3, 2, 1)
    for width, blocks, first in ((64, 3, 1), (128, 4, 2), (256, 6, 1)):
        for block in range(blocks):
            start, stride = (net.channels, net.side), first if block == 0 else 1
            net.conv(width, 3, stride, 1)
            net.conv(width, 3, 1, 1)
            if start[0] != width:
                net.conv(width, 1, stride, of=start)
    net.bias, net.norm = True, False
    maps = [(net.channels, net.side)]
    for inner, outputs, stride, padding in ((256, 512, 2, 1), (256, 512, 2, 1), (128, 256, 2, 1), (128, 256, 1, 0),
                                            (128, 256, 1, 0)):
        net.conv(inner)
        maps.append(net.conv(outputs, 3, stride, padding))
    for boxes, at in zip((4, 6, 6, 6, 4, 4), maps):
        net.conv(boxes * 4, 3, 1, 1, of=at, keep=False)
        net.conv(boxes * classes, 3, 1, 1, of=at, keep=False)
    return net.parameters, net.macs


def alexnet(channels=(64, 192, 384, 256, 256), size=224, padding=2, groups=1):
    net = Layers(3, size, bias=True, norm=False)
    net.conv(channels[0], 11, 4, padding)
    net.pool(3, 2)
    net.conv(channels[1], 5, 1, 2, groups)
    net.pool(3, 2)
    net.conv(channels[2], 3, 1, 1)
    net.conv(channels[3], 3, 1, 1, groups)
    net.conv(channels[4], 3, 1, 1, groups)
    net.pool(3, 2)
    for inputs, outputs in ((net.channels * net.side**2, 4096), (4096, 4096), (4096, 1000)):
        net.linear(inputs, outputs)
    return net.parameters, net.macs


def alexnet_2012():
    return alexnet((96, 256, 384, 384, 256), 227, 0, 2)


def vgg16():
    net = Layers(3, 224, bias=True, norm=False)
    for outputs in (64, 64, 0, 128, 128, 0, 256, 256, 256, 0, 512, 512, 512, 0, 512, 512, 512, 0):
        if outputs:
            net.conv(outputs, 3, 1, 1)
        else:
            net.pool(2, 2)
    for inputs, outputs in ((512 * 7 * 7, 4096), (4096, 4096), (4096, 1000)):
        net.linear(inputs, outputs)
    return net.parameters, net.macs


def tc_resnet8(width=1, classes=12, coefficients=40, frames=98):
    parameters = macs = 0

    def conv(inputs, outputs, kernel, extent):
        nonlocal parameters, macs
        parameters += inputs * outputs * kernel + 2 * outputs
        macs += inputs * outputs * kernel * extent

    channels = int(16 * width)
    conv(coefficients, channels, 3, frames)
    for wide in (int(24 * width), int(32 * width), int(48 * width)):
        frames = (frames + 1) // 2
        conv(channels, wide, 9, frames)
        conv(wide, wide, 9, frames)
        conv(channels, wide, 1, frames)
        channels = wide
    return parameters + linear(channels, classes), macs + channels * classes


def inverted_residual(net, wide, outputs, kernel, stride, squeeze):
    if wide != net.channels:
        net.conv(wide)
    net.conv(wide, kernel, stride, kernel // 2, groups=wide)
    if squeeze:
        net.linear(wide, squeeze)
        net.linear(squeeze, wide)
    net.conv(outputs)


def eights(value):
    """The multiple of eight nearest to value that is not more than a tenth below it: the paper's code."""
    near = max(8, int(value + 4) // 8 * 8)
    return near + 8 if near < 0.9 * value else near


def mobilenet_v2():
    net = Layers(3, 224)
    net.conv(32, 3, 2, 1)
    for times, outputs, count, stride in ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1),
                                          (6, 160, 3, 2), (6, 320, 1, 1)):
        for block in range(count):
            inverted_residual(net, times * net.channels, outputs, 3, stride if block == 0 else 1, 0)
    net.conv(1280)
    net.linear(1280, 1000)
    return net.parameters, net.macs


def mobilenet_v3_large():
    net = Layers(3, 224)
    net.conv(16, 3, 2, 1)
    for kernel, wide, outputs, gated, stride in (
            (3, 16, 16, 0, 1), (3, 64, 24, 0, 2), (3, 72, 24, 0, 1), (5, 72, 40, 1, 2), (5, 120, 40, 1, 1),
            (5, 120, 40, 1, 1), (3, 240, 80, 0, 2), (3, 200, 80, 0, 1), (3, 184, 80, 0, 1), (3, 184, 80, 0, 1),
            (3, 480, 112, 1, 1), (3, 672, 112, 1, 1), (5, 672, 160, 1, 2), (5, 960, 160, 1, 1), (5, 960, 160, 1, 1)):
        inverted_residual(net, wide, outputs, kernel, stride, gated and eights(wide // 4))
    net.conv(960)
    net.linear(960, 1280)
    net.linear(1280, 1000)
    return net.parameters, net.macs


def efficientnet_b0():
    net = Layers(3, 224)
    net.conv(32, 3, 2, 1)
    for times, kernel, stride, outputs, count in ((1, 3, 1, 16, 1), (6, 3, 2, 24, 2), (6, 5, 2, 40, 2), (6, 3, 2, 80, 3),
                                                  (6, 5, 1, 112, 3), (6, 5, 2, 192, 4), (6, 3, 1, 320, 1)):
        for block in range(count):
            inverted_residual(net, times * net.channels, outputs, kernel, stride if block == 0 else 1, net.channels // 4)
    net.conv(1280)
    net.linear(1280, 1000)
    return net.parameters, net.macs


def inception_v3(auxiliary=1):
    net = Layers(3, 299)
    row, column = ((1, 7), (0, 3)), ((7, 1), (3, 0))

    def branch(*convolutions):
        """Convolutions in a row on the block's input; (outputs, kernel, padding, stride), the end may be left out."""
        at = net.channels, net.side
        for outputs, kernel, *rest in convolutions:
            padding, stride = (rest + [0, 1][len(rest):])[:2]
            at = net.conv(outputs, kernel, stride, padding, of=at, keep=False)
        return at

    def join(*branches, pooled=0):
        net.channels, net.side = sum(channels for channels, _ in branches) + pooled, branches[0][1]

    net.conv(32, 3, 2)
    net.conv(32, 3)
    net.conv(64, 3, 1, 1)
    net.pool(3, 2)
    net.conv(80)
    net.conv(192, 3)
    net.pool(3, 2)
    for pool in (32, 64, 64):
        join(branch((64, 1)), branch((48, 1), (64, 5, 2)), branch((64, 1), (96, 3, 1), (96, 3, 1)), branch((pool, 1)))
    join(branch((384, 3, 0, 2)), branch((64, 1), (96, 3, 1), (96, 3, 0, 2)), pooled=net.channels)
    for c in (128, 160, 160, 192):
        join(branch((192, 1)), branch((c, 1), (c, *row), (192, *column)),
             branch((c, 1), (c, *column), (c, *row), (c, *column), (192, *row)), branch((192, 1)))
    if auxiliary:
        net.conv(768, 5, of=net.conv(128, of=(768, 5), keep=False), keep=False)
        net.linear(768, 1000)
    join(branch((192, 1), (320, 3, 0, 2)), branch((192, 1), (192, *row), (192, *column), (192, 3, 0, 2)),
         pooled=net.channels)
    for _ in range(2):
        wide, deep = branch((384, 1)), branch((448, 1), (384, 3, 1))
        forks = [net.conv(384, kernel, 1, padding, of=at, keep=False) for at in (wide, deep)
                 for kernel, padding in (((1, 3), (0, 1)), ((3, 1), (1, 0)))]
        join(branch((320, 1)), *forks, branch((192, 1)))
    net.linear(net.channels, 1000)
    return net.parameters, net.macs


def unet(channels=3, classes=2, size=512):
    net = Layers(channels, size)
    for outputs in (64, 128, 256, 512, 1024):
        net.conv(outputs, 3, 1, 1)
        net.conv(outputs, 3, 1, 1)
        net.side //= 2
    net.side *= 2
    for outputs in (512, 256, 128, 64):
        up = 4 * 2 * outputs * outputs  # 2 x 2, each pixel becomes four
        net.parameters += up + outputs
        net.macs += up * net.side**2
        net.channels, net.side = 2 * outputs, 2 * net.side
        net.conv(outputs, 3, 1, 1)
        net.conv(outputs, 3, 1, 1)
    net.parameters += linear(64, classes)
    return net.parameters, net.macs + 64 * classes * size**2


def vit(layers, hidden):
    tokens = 14 * 14 + 1
    patches = linear(3 * 16 * 16, hidden)
    layer = 4 * hidden + 4 * linear(hidden, hidden) + linear(hidden, 4 * hidden) + linear(4 * hidden, hidden)
    parameters = patches + hidden + tokens * hidden + layers * layer + 2 * hidden + linear(hidden, 1000)
    macs = layers * (12 * tokens * hidden**2 + 2 * tokens**2 * hidden)
    return parameters, macs + 14 * 14 * 3 * 16 * 16 * hidden + hidden * 1000


def vit_b_16():
    return vit(12, 768)


def vit_l_16():
    return vit(24, 1024)


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
    for formulas in (count_transformers, count_current, count_lookups):
        if hasattr(formulas, model):
            return getattr(formulas, model)(**arguments)
    return globals()[model](**arguments)


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
        if row["published_gmacs"]:
            apart = int(row["forward_macs"]) / (1e9 * float(row["published_gmacs"])) - 1
            if show or abs(apart) > 0.005:
                print(row["model"], row["arguments"], "is %+.2f %% from the published operations" % (100 * apart))
            wrong += abs(apart) > 0.005
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
