#!/usr/bin/env python3
"""One trial of an architecture search: the network of digits.dnn, trained by numpy on images of digits.

What accord tune gives: ACCORD_CONFIGURATION (a file with the hyper-parameters), ACCORD_UNITS (units to have done at the
end), ACCORD_VALUES (a file for a line after each unit) and ACCORD_TRIAL_FOLDER, where the state is saved.
"""
import gzip
import json
import os

import numpy as np

TRAINED, CLASSES = 1347, 10


def images():
    """Pixels from 0 to 1, [image, row, column, channel], and labels, in an order that is always the same."""
    file = os.path.join(os.path.dirname(os.path.abspath(__file__)), "digits.csv.gz")
    with gzip.open(file, "rt") as lines:
        table = np.loadtxt(lines, delimiter=",")
    table = table[np.random.default_rng(0).permutation(len(table))]
    return (table[:, :-1] / 16).reshape(-1, 8, 8, 1).astype(np.float32), table[:, -1].astype(int)


def patches(x, kernel, stride):
    """What each output of a convolution sees: [image, row, column, row and column in the kernel, channel]."""
    pad = kernel // 2
    x = np.pad(x, ((0, 0), (pad, pad), (pad, pad), (0, 0)))
    seen = np.lib.stride_tricks.sliding_window_view(x, (kernel, kernel), (1, 2))
    return seen[:, ::stride, ::stride].transpose(0, 1, 2, 4, 5, 3)


class Network:
    """Convolutions with their strides, and whether each adds its input; then means of channels and a linear layer."""

    def __init__(self, width, depth, kernel):
        random = np.random.default_rng(0)
        self.kernel, self.layers, self.weights, channels = kernel, [], {}, 1
        for out, stride, adds in ([(width, 1, False)] + [(width, 1, False)] + [(width, 1, True)] * (depth - 1)
                                  + [(2 * width, 2, False)] + [(2 * width, 1, True)] * (depth - 1)):
            rows = kernel * kernel * channels
            self.weights[f"w{len(self.layers)}"] = random.normal(0, (2 / rows) ** 0.5, (rows, out)).astype(np.float32)
            self.weights[f"b{len(self.layers)}"] = np.zeros(out, np.float32)
            self.layers.append((stride, adds))
            channels = out
        self.weights["w"] = random.normal(0, channels ** -0.5, (channels, CLASSES)).astype(np.float32)
        self.weights["b"] = np.zeros(CLASSES, np.float32)

    def forward(self, x):
        kept = []
        for number, (stride, adds) in enumerate(self.layers):
            seen = patches(x, self.kernel, stride)
            shape = seen.shape[:3]
            seen = seen.reshape(-1, seen.shape[3] * seen.shape[4] * seen.shape[5])
            made = np.maximum(seen @ self.weights[f"w{number}"] + self.weights[f"b{number}"], 0).reshape(*shape, -1)
            kept.append((x.shape, seen, made > 0))
            x = x + made if adds else made
        return x, x.mean((1, 2)) @ self.weights["w"] + self.weights["b"], kept

    def gradients(self, x, label):
        last, scores, kept = self.forward(x)
        scores = np.exp(scores - scores.max(1, keepdims=True))
        back = scores / scores.sum(1, keepdims=True)
        back[np.arange(len(label)), label] -= 1
        back /= len(label)
        out = {"w": last.mean((1, 2)).T @ back, "b": back.sum(0)}
        grid = last.shape[1] * last.shape[2]
        back = np.broadcast_to((back @ self.weights["w"].T / grid)[:, None, None], last.shape)
        kernel, pad = self.kernel, self.kernel // 2
        for number in reversed(range(len(self.layers))):
            stride, adds = self.layers[number]
            shape, seen, slope = kept[number]
            inner = (back * slope).reshape(len(seen), -1)
            out[f"w{number}"], out[f"b{number}"] = seen.T @ inner, inner.sum(0)
            if number == 0:
                break
            parts = (inner @ self.weights[f"w{number}"].T).reshape(*slope.shape[:3], kernel, kernel, shape[3])
            below = np.zeros((shape[0], shape[1] + 2 * pad, shape[2] + 2 * pad, shape[3]), np.float32)
            for row in range(kernel):
                for column in range(kernel):
                    below[:, row:row + shape[1]:stride, column:column + shape[2]:stride] += parts[:, :, :, row, column]
            below = below[:, pad:pad + shape[1], pad:pad + shape[2]]
            back = below + back if adds else below
        return out


def main():
    if os.environ.get("NODE_RANK", os.environ.get("SLURM_NODEID", "0")) != "0":
        return  # a trial on several nodes: this network is too small to be divided, so the first one trains
    with open(os.environ["ACCORD_CONFIGURATION"], encoding="utf-8") as file:
        chosen = json.load(file)
    folder = os.environ["ACCORD_TRIAL_FOLDER"]
    state_file = os.path.join(folder, "state.npz")
    x, label = images()
    network = Network(chosen["width"], chosen["depth"], chosen["kernel"])
    names = sorted(network.weights)
    means = {name: np.zeros_like(network.weights[name]) for name in names}
    squares = {name: np.zeros_like(network.weights[name]) for name in names}
    unit, value, step = 0, None, 0
    if os.path.exists(state_file):
        state = np.load(state_file)
        unit, value, step = int(state["unit"]), float(state["value"]), int(state["step"])
        for name in names:
            network.weights[name], means[name], squares[name] = (state[kind + name] for kind in ("", "m_", "v_"))

    with open(os.environ["ACCORD_VALUES"], "a", encoding="utf-8") as values:
        def say():
            values.write(json.dumps({"unit": unit, "value": value}) + "\n")
            values.flush()

        if unit:
            say()  # it may have been stopped between saving and saying
        while unit < int(os.environ["ACCORD_UNITS"]):
            order = np.random.default_rng(unit).permutation(TRAINED)
            with np.errstate(all="ignore"):
                for first in range(0, TRAINED, chosen["batch"]):
                    part = order[first:first + chosen["batch"]]
                    step += 1
                    for name, gradient in network.gradients(x[part], label[part]).items():  # Adam
                        means[name] = 0.9 * means[name] + 0.1 * gradient
                        squares[name] = 0.999 * squares[name] + 0.001 * gradient ** 2
                        size = np.sqrt(squares[name] / (1 - 0.999 ** step)) + 1e-8
                        rate = chosen["learning_rate"] / (1 - 0.9 ** step)
                        network.weights[name] = network.weights[name] - (rate * means[name] / size).astype(np.float32)
                scores = network.forward(x[TRAINED:])[1]
            unit += 1
            value = float((scores.argmax(1) == label[TRAINED:]).mean()) if np.isfinite(scores).all() else float("nan")
            saved = {kind + name: one[name] for kind, one in (("", network.weights), ("m_", means), ("v_", squares))
                     for name in names}
            np.savez(os.path.join(folder, "next.npz"), unit=unit, value=value, step=step, **saved)
            os.replace(os.path.join(folder, "next.npz"), state_file)
            say()
            if value != value:
                break  # diverged: no unit more would help


if __name__ == "__main__":
    main()
