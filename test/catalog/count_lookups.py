"""Straight formulas of the catalogue's recommendation and graph models; what they return is said in count.py."""


def layers(*widths):
    """Parameters and multiply-accumulates of linear layers with biases."""
    pairs = list(zip(widths, widths[1:]))
    return sum(a * b + b for a, b in pairs), sum(a * b for a, b in pairs)


KAGGLE_ROWS = (1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992, 5461306, 10,
               5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572)


def dlrm_kaggle(dim=16):
    vectors = len(KAGGLE_ROWS) + 1
    pairs = vectors * (vectors - 1) // 2
    bottom = layers(13, 512, 256, 64, dim)
    top = layers(dim + pairs, 512, 256, 1)
    return dim * sum(KAGGLE_ROWS) + bottom[0] + top[0], bottom[1] + top[1] + pairs * dim


def ncf(users=138493, items=26744, factors=64):
    mlp = layers(4 * factors, 4 * factors, 2 * factors, factors)
    out = layers(2 * factors, 1)
    return 3 * factors * (users + items) + mlp[0] + out[0], mlp[1] + out[1]


OUTBRAIN = {300000: 128, 250000: 128, 100000: 128, 5000: 128, 4: 19}  # rows and widths; the others are 64 wide:
OUTBRAIN_64 = (4000, 4000, 2500, 2500, 2000, 1000, 1000, 300)


def wide_deep():
    numbers = 13
    tables = sum(rows * width for rows, width in OUTBRAIN.items()) + 64 * sum(OUTBRAIN_64)
    deep = layers(sum(OUTBRAIN.values()) + 64 * len(OUTBRAIN_64) + numbers, *[1024] * 5, 1)
    wide = sum(OUTBRAIN) + sum(OUTBRAIN_64) + numbers + 1
    return tables + deep[0] + wide, deep[1] + numbers


def gcn(nodes=2708, edges=10556, features=1433, hidden=16, classes=7):
    widths = (features, hidden, classes)
    macs = sum(nodes * a * b + (edges + nodes) * b for a, b in zip(widths, widths[1:]))
    return layers(*widths)[0], macs


def graphsage(nodes=2449029, edges=61859140, features=100, hidden=256, classes=47):
    widths = (features, hidden, hidden, classes)
    pairs = list(zip(widths, widths[1:]))
    macs = sum(2 * nodes * a * b + 2 * edges * a for a, b in pairs)
    return sum(2 * a * b + b for a, b in pairs), macs


def gat(nodes=2708, features=1433, hidden=8, heads=8, classes=7):
    # Two attention vectors and a bias per output; messages along the edges are element-wise.
    outputs = (heads * hidden, classes)
    inputs = (features, heads * hidden)
    return sum(a * b + 3 * b for a, b in zip(inputs, outputs)), sum(nodes * a * b for a, b in zip(inputs, outputs))
