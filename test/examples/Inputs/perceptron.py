"""perceptron.py FOLDER: gradients of train.py against finite differences, and the maximal update parametrization against its law.

The law (Yang et al., arXiv 2203.03466, section 5 and appendix D.1): the first step changes outputs by as much at each width,
and in the standard parametrization by more the wider the network is.
"""
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import train  # noqa: E402

x, label = (one[:64] for one in train.images())
worst, count = 0, 0
for ratio in (1.0, 4.0):
    network = train.Perceptron(64, 8, ratio, seed=1)
    network.weights = network.weights.astype(float) + np.random.default_rng(2).normal(0, 0.1, network.weights.shape)
    gradient = network.gradient(x, label)
    for i in np.random.default_rng(3).integers(0, len(gradient), 40):
        middle, sides = network.weights[i], []
        for network.weights[i] in (middle + 1e-7, middle - 1e-7):
            sides.append(network.loss(x, label))
        network.weights[i] = middle
        worst, count = max(worst, abs((sides[0] - sides[1]) / 2e-7 - gradient[i])), count + 1
print(f"{count} slopes of 2 networks agree" if worst < 1e-5 else f"they differ by {worst}")


def change(width, ratio, optimizer):
    """Of outputs, the root of the mean square, by the second step: in the first one output weights have not moved yet."""
    out = []
    for seed in range(4):
        network = train.Perceptron(64, width, ratio, optimizer, seed)
        rate = 0.01 / ratio if optimizer == "adam" else 0.1
        before = network.forward(x)[2]
        for _ in range(2):
            network.update(network.gradient(x, label), rate)
        out.append(np.sqrt(((network.forward(x)[2] - before) ** 2).mean()))
    return np.mean(out)


for optimizer in ("adam", "sgd"):
    narrow = change(64, 1, optimizer)
    standard, mup = change(1024, 1, optimizer) / narrow, change(1024, 16, optimizer) / narrow
    print(f"{optimizer}: width 1024 moves outputs as width 64 does, and more in the standard parametrization"
          if 0.5 < mup < 2 < standard else f"{optimizer}: {mup} {standard}")
