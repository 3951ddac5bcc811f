"""Straight formulas of the catalogue's transformers; what they return is said in count.py."""
import fractions

# layers, hidden, heads of Narayanan et al., SC 2021, table 1.
MEGATRON_SIZES = {
    "megatron_1_7b": (24, 2304, 24), "megatron_3_6b": (30, 3072, 32), "megatron_7_5b": (36, 4096, 32),
    "megatron_18b": (40, 6144, 48), "megatron_39b": (48, 8192, 64), "megatron_76b": (60, 10240, 80),
    "megatron_145b": (80, 12288, 96), "megatron_310b": (96, 16384, 128), "megatron_530b": (105, 20480, 128),
    "megatron_1t": (128, 25600, 160)}


def attention_macs(queries, keys, hidden):
    """Scores and their product with the values."""
    return 2 * queries * keys * hidden


def megatron(layers, hidden, vocab=51200, seq=2048):
    # The paper's formula, without the scale and offset of the last norm, which the model has.
    share = 1 + fractions.Fraction(13, 12 * hidden) + fractions.Fraction(vocab + seq, 12 * layers * hidden)
    paper = 12 * layers * hidden**2 * share
    macs = layers * (12 * seq * hidden**2 + attention_macs(seq, seq, hidden)) + seq * hidden * vocab
    return paper + 2 * hidden, macs


def llama_layer(hidden, heads, kv_heads):
    """Weights of attention with grouped queries."""
    return 2 * hidden**2 + 2 * hidden * (hidden // heads * kv_heads)


def llama3_8b(layers=32, hidden=4096, heads=32, kv_heads=8, inner=14336, vocab=128256, seq=8192):
    weights = llama_layer(hidden, heads, kv_heads) + 3 * hidden * inner
    macs = layers * (seq * weights + attention_macs(seq, seq, hidden)) + seq * hidden * vocab
    return 2 * vocab * hidden + layers * (weights + 2 * hidden) + hidden, macs


def llama2_70b(seq=4096):
    return llama3_8b(80, 8192, 64, 8, 28672, 32000, seq)


def mixtral_8x7b(layers=32, hidden=4096, heads=32, kv_heads=8, inner=14336, experts=8, vocab=32000, seq=4096, capacity=1):
    weights = llama_layer(hidden, heads, kv_heads)
    gate, expert = hidden * experts, 3 * hidden * inner
    # Two experts a token, times the capacity; all of them hold parameters.
    slots = -(-seq * 2 * capacity // experts) * experts
    macs = layers * (seq * (weights + gate) + slots * expert + attention_macs(seq, seq, hidden)) + seq * hidden * vocab
    return 2 * vocab * hidden + layers * (weights + gate + experts * expert + 2 * hidden) + hidden, macs


def opt_1_3b(layers=24, hidden=2048, vocab=50272, seq=2048, max_position=2048):
    layer = 12 * hidden**2 + 13 * hidden
    macs = layers * (12 * seq * hidden**2 + attention_macs(seq, seq, hidden)) + seq * hidden * vocab
    return (vocab + max_position + 2) * hidden + layers * layer + 2 * hidden, macs


def bloom_176b(layers=70, hidden=14336, vocab=250880, seq=2048):
    layer = 12 * hidden**2 + 13 * hidden
    macs = layers * (12 * seq * hidden**2 + attention_macs(seq, seq, hidden)) + seq * hidden * vocab
    return vocab * hidden + 2 * hidden + layers * layer + 2 * hidden, macs


def t5_large(layers=24, hidden=1024, heads=16, inner=4096, vocab=32128, length=512, target=114):
    feed_forward = 2 * hidden * inner
    encoder = 4 * hidden**2 + feed_forward
    decoder = 8 * hidden**2 + feed_forward
    parameters = vocab * hidden + layers * (encoder + 2 * hidden + decoder + 3 * hidden) + 2 * (32 * heads + hidden)
    macs = layers * (length * encoder + attention_macs(length, length, hidden))
    # Keys and values of the second attention are the encoder's.
    macs += layers * (target * (6 * hidden**2 + feed_forward) + 2 * length * hidden**2)
    macs += layers * (attention_macs(target, target, hidden) + attention_macs(target, length, hidden))
    return parameters, macs + target * hidden * vocab


def transformer_big(layers=6, hidden=1024, vocab=32768, length=256, target=256):
    encoder, decoder = 12 * hidden**2, 16 * hidden**2
    parameters = vocab * hidden + layers * (encoder + 13 * hidden + decoder + 19 * hidden)
    macs = layers * (length * encoder + attention_macs(length, length, hidden))
    macs += layers * (target * (decoder - 2 * hidden**2) + 2 * length * hidden**2)
    macs += layers * (attention_macs(target, target, hidden) + attention_macs(target, length, hidden))
    return parameters, macs + target * hidden * vocab
