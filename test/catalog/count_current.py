"""Straight formulas of the catalogue's current language models, speech and diffusion; what they return is said in count.py."""


def attention(hidden, heads, kv_heads, width, biases=0):
    """Weights of the four products; `biases`: of how many of them."""
    weights = 2 * hidden * heads * width + 2 * hidden * kv_heads * width
    outputs = [heads * width, kv_heads * width, kv_heads * width, hidden]
    return weights, sum(outputs[:biases])


def scores(queries, keys, heads, width, values=None):
    """Scores and their product with the values."""
    return queries * keys * heads * (width + (values or width))


def decoder(layers, hidden, heads, kv_heads, inner, vocab, seq, width=128, biases=0, head_norms=False, norms=2, tied=False, windows=(), experts=None):
    """`windows`: keys that a query sees, of each layer; `experts`: (all, taken by a token)."""
    weights, bias = attention(hidden, heads, kv_heads, width, biases)
    fed, used = 3 * hidden * inner, 3 * hidden * inner
    if experts:
        fed, used = experts[0] * fed + hidden * experts[0], experts[1] * used + hidden * experts[0]
    layer = weights + bias + fed + norms * hidden + (2 * width if head_norms else 0)
    macs = layers * seq * (weights + used) + seq * hidden * vocab
    macs += sum(scores(seq, min(seq, windows[i % len(windows)] if windows else seq), heads, width) for i in range(layers))
    return (1 if tied else 2) * vocab * hidden + layers * layer + hidden, macs


def llama3_70b(seq=8192):
    return decoder(80, 8192, 64, 8, 28672, 128256, seq)


def llama3_405b(seq=8192):
    return decoder(126, 16384, 128, 8, 53248, 128256, seq)


def qwen2_5_7b(seq=4096):
    return decoder(28, 3584, 28, 4, 18944, 152064, seq, biases=3)


def qwen2_5_32b(seq=4096):
    return decoder(64, 5120, 40, 8, 27648, 152064, seq, biases=3)


def qwen3_8b(seq=4096):
    return decoder(36, 4096, 32, 8, 12288, 151936, seq, head_norms=True)


def qwen3_32b(seq=4096):
    return decoder(64, 5120, 64, 8, 25600, 151936, seq, head_norms=True)


def qwen3_30b_a3b(seq=4096):
    return decoder(48, 2048, 32, 4, 768, 151936, seq, head_norms=True, experts=(128, 8))


def gemma2_9b(seq=8192, window=4096):
    return decoder(42, 3584, 16, 8, 14336, 256000, seq, 256, norms=4, tied=True, windows=(window, seq))


def gemma3_4b(seq=8192, window=1024):
    return decoder(34, 2560, 8, 4, 10240, 262208, seq, 256, head_norms=True, norms=4, tied=True, windows=(window,) * 5 + (seq,))


def deepseek_v3(seq=4096):
    hidden, heads, inner = 7168, 128, 18432
    attends = hidden * 1536 + 1536 * heads * 192 + hidden * 576 + 512 * heads * 256 + heads * 128 * hidden
    expert, gate = 3 * hidden * 2048, hidden * 256
    parameters = 2 * 129280 * hidden + 61 * (attends + 1536 + 512 + 2 * hidden) + hidden
    parameters += 3 * 3 * hidden * inner + 58 * (257 * expert + gate)
    macs = 61 * (seq * attends + scores(seq, seq, heads, 192, 128)) + 3 * seq * 3 * hidden * inner
    return parameters, macs + 58 * seq * (9 * expert + gate) + seq * hidden * 129280


def mamba(layers, hidden, seq, vocab=50280, state=16, kernel=4):
    inner, rank = 2 * hidden, hidden // 16
    products = hidden * 2 * inner + inner * (rank + 2 * state) + rank * inner + inner * hidden
    layer = products + inner * (kernel + 1) + inner + inner * state + inner + hidden
    # The convolution also gives what lies behind the last token, kernel - 1 places. The scan is no product, c h within it neither.
    macs = layers * (seq * products + (seq + kernel - 1) * inner * kernel)
    return vocab * hidden + layers * layer + hidden, macs + seq * hidden * vocab


def mamba_130m(seq=2048):
    return mamba(24, 768, seq)


def mamba_2_8b(seq=2048):
    return mamba(64, 2560, seq)


def whisper_large_v3(seq=448, frames=1500):
    hidden, heads, vocab, channels, layers = 1280, 20, 51866, 128, 32
    norm, attends, fed = 2 * hidden, 4 * hidden**2 + 3 * hidden, 8 * hidden**2 + 5 * hidden
    parameters = 3 * channels * hidden + hidden + 3 * hidden**2 + hidden + frames * hidden + vocab * hidden + seq * hidden
    parameters += layers * (attends + fed + 2 * norm) + layers * (2 * attends + fed + 3 * norm) + 2 * norm
    macs = 2 * frames * 3 * channels * hidden + frames * 3 * hidden**2
    macs += layers * (12 * frames * hidden**2 + scores(frames, frames, heads, 64))
    macs += layers * (14 * seq * hidden**2 + 2 * frames * hidden**2 + scores(seq, seq, heads, 64) + scores(seq, frames, heads, 64))
    return parameters, macs + seq * hidden * vocab


def dit_xl_2(layers=28, hidden=1152, heads=16, classes=1000):
    patches, channels = 256, 4
    layer = 12 * hidden**2 + 9 * hidden + 6 * (hidden**2 + hidden)
    cut, out = 4 * channels, 4 * 2 * channels
    parameters = (cut + 1) * hidden + (256 + 1) * hidden + hidden**2 + hidden + (classes + 1) * hidden + patches * hidden
    parameters += layers * layer + 2 * (hidden**2 + hidden) + (hidden + 1) * out
    macs = layers * (patches * 12 * hidden**2 + scores(patches, patches, heads, hidden // heads) + 6 * hidden**2)
    return parameters, macs + patches * (cut + out) * hidden + 256 * hidden + 3 * hidden**2


class Conditioned:
    """The U-Net of Stable Diffusion, layer by layer."""

    def __init__(self):
        self.parameters = self.macs = 0

    def product(self, inputs, outputs, rows=1, bias=True):
        self.parameters += inputs * outputs + (outputs if bias else 0)
        self.macs += rows * inputs * outputs

    def norm(self, channels):
        self.parameters += 2 * channels

    def residual(self, inputs, outputs, side):
        self.norm(inputs)
        self.product(9 * inputs, outputs, side**2)
        self.product(1280, outputs)
        self.norm(outputs)
        self.product(9 * outputs, outputs, side**2)
        if inputs != outputs:
            self.product(inputs, outputs, side**2)

    def attention(self, channels, side, text=(77, 768)):
        pixels = side**2
        self.norm(channels)
        self.product(channels, channels, pixels)
        for keys, width in ((pixels, channels), text):
            self.norm(channels)
            self.product(channels, channels, pixels, bias=False)
            for _ in range(2):
                self.product(width, channels, keys, bias=False)
            self.product(channels, channels, pixels)
            self.macs += 2 * pixels * keys * channels
        self.norm(channels)
        self.product(channels, 8 * channels, pixels)
        self.product(4 * channels, channels, pixels)
        self.product(channels, channels, pixels)


def stable_diffusion_unet(size=64):
    net, kept, side, channels = Conditioned(), [320], size, 320
    net.product(320, 1280)
    net.product(1280, 1280)
    net.product(9 * 4, 320, side**2)
    for level, width in enumerate((320, 640, 1280, 1280)):
        for _ in range(2):
            net.residual(channels, width, side)
            if level < 3:
                net.attention(width, side)
            channels = width
            kept.append(width)
        if level < 3:
            side //= 2
            net.product(9 * width, width, side**2)
            kept.append(width)
    net.residual(1280, 1280, side)
    net.attention(1280, side)
    net.residual(1280, 1280, side)
    for level, width in enumerate((1280, 1280, 640, 320)):
        for _ in range(3):
            net.residual(channels + kept.pop(), width, side)
            if level > 0:
                net.attention(width, side)
            channels = width
        if level < 3:
            side *= 2
            net.product(9 * width, width, side**2)
    net.norm(320)
    net.product(9 * 320, 4, side**2)
    return net.parameters, net.macs
