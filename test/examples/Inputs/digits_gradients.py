"""digits_gradients.py FOLDER: gradients of train.py against finite differences of its loss."""
import sys

import numpy as np

sys.path.insert(0, sys.argv[1])
sys.dont_write_bytecode = True
import train  # noqa: E402

images, labels = (one[:6] for one in train.images())
images = images.astype(float)


def loss(network):
    scores = network.forward(images)[1]
    logarithms = scores - np.log(np.exp(scores).sum(1, keepdims=True))
    return -logarithms[np.arange(len(labels)), labels].mean()


count, worst, step = 0, 0, 1e-8
random = np.random.default_rng(2)
for kernel in (1, 3, 5):
    network = train.Network(5, 3, kernel)
    weights = network.weights
    for name in weights:  # biases are not 0, where a rectifier has no slope
        weights[name] = weights[name] + (random.normal(0, 0.1, weights[name].shape) if name[0] == "b" else 0.0)
        weights[name] = weights[name].astype(float)
    gradients = network.gradients(images, labels)
    for name, weight in weights.items():
        for _ in range(2):
            at = tuple(random.integers(0, size) for size in weight.shape)
            middle = weight[at]
            weight[at] = middle + step
            above = loss(network)
            weight[at] = middle - step
            below = loss(network)
            weight[at] = middle
            worst = max(worst, abs((above - below) / (2 * step) - gradients[name][at]))
            count += 1
print(f"{count} slopes of 3 networks agree" if worst < 1e-5 else f"they differ by {worst}")
