#!/usr/bin/env python3
"""One trial of a tuning at any size: a perceptron with two hidden layers, trained by numpy on images of digits.

What accord tune gives: ACCORD_CONFIGURATION (a file with the hyper-parameters), ACCORD_UNITS (units to have done at the
end), ACCORD_VALUES (a file for a line after each unit) and ACCORD_TRIAL_FOLDER, where the state is saved.

With a rule `mup` of the width, `width_ratio` r is the width divided by that of the base, and the network is in the maximal
update parametrization (Yang et al., arXiv 2203.03466, table 8): `learning_rate` is that of the hidden matrix, all others
have r times as much, output weights begin with a variance that does not depend on the width, and outputs are divided by r.
Without it r is 1: the standard parametrization.
"""
import gzip
import json
import os

import numpy as np

TRAINED, CLASSES, EPOCHS = 1347, 10, 10


def images():
    """Pixels from 0 to 1, [image, pixel], and labels, in an order that is always the same."""
    here = os.path.dirname(os.path.abspath(__file__))
    with gzip.open(os.path.join(here, "..", "21-architectures", "digits.csv.gz"), "rt") as lines:
        table = np.loadtxt(lines, delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    return (table[:, :-1] / 16).astype(np.float32), table[:, -1].astype(int)


class Perceptron:
    """All weights in one vector, of which each array is a part; `rates` is by what the learning rate of each is multiplied."""

    def __init__(self, pixels, width, ratio=1.0, optimizer="adam", seed=0):
        random = np.random.default_rng(seed)
        parts = [("w1", (pixels, width), 2 / pixels, ratio), ("b1", (width,), 0, ratio),
                 ("w2", (width, width), 2 / width, 1), ("b2", (width,), 0, ratio),
                 ("w3", (width, CLASSES), ratio / width, ratio),
                 ("b3", (CLASSES,), 0, ratio if optimizer == "adam" else 1)]
        self.optimizer, self.multiplier, self.step, self.part = optimizer, 1 / ratio, 0, {}
        size = sum(int(np.prod(shape)) for _, shape, _, _ in parts)
        self.weights, self.rates = np.zeros(size, np.float32), np.zeros(size, np.float32)
        self.mean, self.square = np.zeros(size, np.float32), np.zeros(size, np.float32)
        first = 0
        for name, shape, variance, rate in parts:
            last = first + int(np.prod(shape))
            self.part[name] = (slice(first, last), shape)
            self.weights[first:last] = random.normal(0, variance ** 0.5, last - first) if variance else 0
            self.rates[first:last], first = rate, last

    def of(self, vector, name):
        where, shape = self.part[name]
        return vector[where].reshape(shape)

    def forward(self, x):
        one = np.maximum(x @ self.of(self.weights, "w1") + self.of(self.weights, "b1"), 0)
        two = np.maximum(one @ self.of(self.weights, "w2") + self.of(self.weights, "b2"), 0)
        scores = self.multiplier * (two @ self.of(self.weights, "w3")) + self.of(self.weights, "b3")
        scores = scores - scores.max(1, keepdims=True)
        return one, two, scores - np.log(np.exp(scores).sum(1, keepdims=True))

    def loss(self, x, label):
        """Mean cross-entropy, in nats."""
        return float(-self.forward(x)[2][np.arange(len(label)), label].mean(dtype=np.float64))

    def gradient(self, x, label):
        one, two, logs = self.forward(x)
        out, back = np.empty_like(self.weights), np.exp(logs)
        back[np.arange(len(label)), label] -= 1
        back /= len(label)
        self.of(out, "w3")[:], self.of(out, "b3")[:] = self.multiplier * (two.T @ back), back.sum(0)
        back = self.multiplier * (back @ self.of(self.weights, "w3").T) * (two > 0)
        self.of(out, "w2")[:], self.of(out, "b2")[:] = one.T @ back, back.sum(0)
        back = (back @ self.of(self.weights, "w2").T) * (one > 0)
        self.of(out, "w1")[:], self.of(out, "b1")[:] = x.T @ back, back.sum(0)
        return out

    def update(self, gradient, rate):
        self.step += 1
        if self.optimizer == "sgd":  # with momentum
            self.mean = np.float32(0.9) * self.mean + gradient
            self.weights -= np.float32(rate) * self.rates * self.mean
            return
        self.mean += np.float32(0.1) * (gradient - self.mean)
        self.square += np.float32(0.001) * (gradient * gradient - self.square)
        size = np.sqrt(self.square / np.float32(1 - 0.999 ** self.step)) + np.float32(1e-8)
        self.weights -= np.float32(rate / (1 - 0.9 ** self.step)) * self.rates * self.mean / size

    def epoch(self, x, label, batch, rate, decays, order):
        """`decays`: the learning rate falls to 0 over EPOCHS, linearly; else it stays."""
        steps = -(-len(x) // batch)
        for first in range(0, len(x), batch):
            part = order[first:first + batch]
            left = 1 - self.step / (steps * EPOCHS) if decays else 1
            self.update(self.gradient(x[part], label[part]), rate * left)


def main():
    if os.environ.get("NODE_RANK", os.environ.get("SLURM_NODEID", "0")) != "0":
        return  # a trial on several nodes: this network is too small to be divided, so the first one trains
    with open(os.environ["ACCORD_CONFIGURATION"], encoding="utf-8") as file:
        chosen = json.load(file)
    folder = os.environ["ACCORD_TRIAL_FOLDER"]
    state_file = os.path.join(folder, "state.npz")
    x, label = images()
    network = Perceptron(x.shape[1], chosen["width"], chosen.get("width_ratio", 1))
    unit, value = 0, None
    if os.path.exists(state_file):
        state = np.load(state_file)
        unit, value, network.step = int(state["unit"]), float(state["value"]), int(state["step"])
        network.weights, network.mean, network.square = state["weights"], state["mean"], state["square"]

    with open(os.environ["ACCORD_VALUES"], "a", encoding="utf-8") as values:
        def say():
            values.write(json.dumps({"unit": unit, "value": value}) + "\n")
            values.flush()

        if unit:
            say()  # it may have been stopped between saving and saying
        while unit < int(os.environ["ACCORD_UNITS"]):
            order = np.random.default_rng(unit).permutation(TRAINED)
            with np.errstate(all="ignore"):
                network.epoch(x[:TRAINED], label[:TRAINED], chosen["batch"], chosen["learning_rate"],
                              chosen.get("schedule") == "linear", order)
                value = network.loss(x[TRAINED:], label[TRAINED:])
            unit += 1
            np.savez(os.path.join(folder, "next.npz"), unit=unit, value=value, step=network.step,
                     weights=network.weights, mean=network.mean, square=network.square)
            os.replace(os.path.join(folder, "next.npz"), state_file)
            say()
            if value != value:
                break  # diverged: no unit more would help


if __name__ == "__main__":
    main()
