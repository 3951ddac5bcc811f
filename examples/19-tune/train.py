#!/usr/bin/env python3
"""One trial of a tuning: a small network, trained by numpy, that tells the arms of spirals apart.

What accord tune gives: ACCORD_CONFIGURATION (a file with the hyper-parameters), ACCORD_UNITS (units to have done at the
end), ACCORD_VALUES (a file for a line after each unit) and ACCORD_TRIAL_FOLDER, where the state is saved. When it is told
to save (SIGUSR1) it ends behind the unit that it is in.
"""
import json
import os
import signal

import numpy as np

CLASSES, EPOCHS_OF_A_UNIT, LARGEST_WIDTH = 5, 10, 128


def spirals(points, seed):
    random = np.random.default_rng(seed)
    label = np.arange(points) % CLASSES
    radius = random.uniform(0.1, 1, points)
    angle = 2 * np.pi * label / CLASSES + 4 * radius + random.normal(0, 0.2, points)
    return np.stack([radius * np.sin(angle), radius * np.cos(angle)], 1), label


def forward(weights, x, activation):
    first, second, third = weights["w1"], weights["w2"], weights["w3"]
    act = np.tanh if activation == "tanh" else lambda z: np.maximum(z, 0)
    one = act(x @ first[:-1] + first[-1])
    two = act(one @ second[:-1] + second[-1])
    return one, two, two @ third[:-1] + third[-1]


def gradients(weights, x, label, activation):
    one, two, scores = forward(weights, x, activation)
    scores = np.exp(scores - scores.max(1, keepdims=True))
    back = scores / scores.sum(1, keepdims=True)
    back[np.arange(len(label)), label] -= 1
    back /= len(label)
    slope = (lambda a: 1 - a * a) if activation == "tanh" else (lambda a: (a > 0).astype(float))
    out = {"w3": np.vstack([two.T @ back, back.sum(0)])}
    back = back @ weights["w3"][:-1].T * slope(two)
    out["w2"] = np.vstack([one.T @ back, back.sum(0)])
    back = back @ weights["w2"][:-1].T * slope(one)
    out["w1"] = np.vstack([x.T @ back, back.sum(0)])
    return out


def narrowed(weights, speed, width):
    """The part of a wider network that has the neurons with the largest weights: those that it has learned already."""
    for first, second in (("w1", "w2"), ("w2", "w3")):
        size = np.abs(weights[first]).sum(0) * np.abs(weights[second][:-1]).sum(1)
        best = np.sort(np.argsort(-size, kind="stable")[:width])
        for part in (weights, speed):
            part[first] = part[first][:, best]
            part[second] = part[second][np.append(best, -1)]
    return weights, speed


def main():
    if os.environ.get("NODE_RANK", os.environ.get("SLURM_NODEID", "0")) != "0":
        return  # a trial on several nodes: this network is too small to be divided, so the first one trains
    told = []
    signal.signal(signal.SIGUSR1, lambda *_: told.append(True))
    with open(os.environ["ACCORD_CONFIGURATION"], encoding="utf-8") as file:
        chosen = json.load(file)
    folder = os.environ["ACCORD_TRIAL_FOLDER"]
    state_file = os.path.join(folder, "state.npz")
    # Hyper-parameters that act from a unit on are not there before.
    width, activation = chosen.get("width", LARGEST_WIDTH), chosen["activation"]
    rate = chosen["learning_rate"] * chosen.get("decay", 1)
    x, label = spirals(600, 1)
    test_x, test_label = spirals(600, 2)

    unit, value = 0, None
    random = np.random.default_rng(0)
    sizes = {"w1": (3, width), "w2": (width + 1, width), "w3": (width + 1, CLASSES)}
    weights = {key: random.normal(0, 1 / np.sqrt(size[0]), size) for key, size in sizes.items()}
    speed = {key: np.zeros(size) for key, size in sizes.items()}
    if os.path.exists(state_file):
        state = np.load(state_file)
        unit, value = int(state["unit"]), float(state["value"])
        weights = {key: state[key] for key in sizes}
        speed = {key: state["speed_" + key] for key in sizes}
        if width < weights["w2"].shape[1]:
            weights, speed = narrowed(weights, speed, width)

    with open(os.environ["ACCORD_VALUES"], "a", encoding="utf-8") as values:
        def say():
            values.write(json.dumps({"unit": unit, "value": value}) + "\n")
            values.flush()

        if unit:
            say()  # it may have been stopped between saving and saying
        while unit < int(os.environ["ACCORD_UNITS"]) and not told:
            random = np.random.default_rng(unit)  # the same order of samples, whenever the trial goes on
            with np.errstate(all="ignore"):
                for _ in range(EPOCHS_OF_A_UNIT):
                    order = random.permutation(len(x))
                    for first in range(0, len(x), chosen["batch"]):
                        part = order[first:first + chosen["batch"]]
                        for key, gradient in gradients(weights, x[part], label[part], activation).items():
                            speed[key] = chosen["momentum"] * speed[key] - rate * gradient
                            weights[key] = weights[key] + speed[key]
                scores = forward(weights, test_x, activation)[2]
            unit += 1
            value = float((scores.argmax(1) == test_label).mean()) if np.isfinite(scores).all() else float("nan")
            saved = {**weights, **{"speed_" + key: one for key, one in speed.items()}}
            np.savez(os.path.join(folder, "next.npz"), unit=unit, value=value, **saved)
            os.replace(os.path.join(folder, "next.npz"), state_file)
            say()
            if value != value:
                break  # diverged: no unit more would help


main()
