#!/usr/bin/env python3
"""A training as people write it: a small network, gradients by hand, an evaluation now and then, checkpoints.

    train.py module|remote|lines|post|metrics [--seed N] [--fail-at SHARE]

It says how far it is by accord.progress (`remote`: without a folder that the scheduler sees), by lines of JSON that it
writes itself, by posts to the scheduler, or by metrics for Prometheus that are asked for at METRICS_PORT. What is true
stands beside it: a line "TIME SAMPLES" for each step, in the file TRUTH. Steps take the time of their arithmetic and a
wait in place of an accelerator, of uneven length. It fails once at a share of its work.
"""
import http.server
import json
import math
import os
import random
import sys
import threading
import time
import urllib.request

BATCH, HIDDEN, POINTS = 16, 8, 256
STEP, EVALUATION, CHECKPOINT = 0.06, 0.25, 0.1  # seconds of waiting
EVALUATE_EVERY, SAVE_EVERY = 40, 90  # steps

how, seed = sys.argv[1], int(sys.argv[sys.argv.index("--seed") + 1]) if "--seed" in sys.argv else 1
fail_at = float(sys.argv[sys.argv.index("--fail-at") + 1]) if "--fail-at" in sys.argv else 2
truth_file = os.environ["TRUTH"]
checkpoint_file = truth_file + ".checkpoint"
draw, began = random.Random(seed), time.time()
total, done = float(os.environ["ACCORD_SAMPLES"]), float(os.environ["ACCORD_SAMPLES_DONE"])


class Network:
    """One hidden layer of tanh, squared error, plain stochastic gradient descent."""

    def __init__(self):
        self.first = [(draw.gauss(0, 1), draw.gauss(0, 1)) for _ in range(HIDDEN)]
        self.second = [draw.gauss(0, 0.3) for _ in range(HIDDEN)]

    def forward(self, x):
        hidden = [math.tanh(a * x + b) for a, b in self.first]
        return hidden, sum(w * h for w, h in zip(self.second, hidden))

    def step(self, batch, rate=0.02):
        loss = 0.0
        for x, y in batch:
            hidden, out = self.forward(x)
            error = out - y
            loss += error * error / len(batch)
            for i, h in enumerate(hidden):
                a, b = self.first[i]
                inner = error * self.second[i] * (1 - h * h)
                self.second[i] -= rate * error * h
                self.first[i] = (a - rate * inner * x, b - rate * inner)
        return loss


def load():
    network = Network()
    if done > 0:
        with open(checkpoint_file) as file:
            state = json.load(file)
        assert state["samples"] == done, f"the scheduler says {done}, the checkpoint has {state['samples']}"
        network.first, network.second = [tuple(pair) for pair in state["first"]], state["second"]
    return network


def save(network, samples):
    with open(checkpoint_file + ".new", "w") as file:
        json.dump({"samples": samples, "first": network.first, "second": network.second}, file)
    os.rename(checkpoint_file + ".new", checkpoint_file)
    time.sleep(CHECKPOINT)


class Lines:
    """What a program does that knows of no module."""

    def report(self, samples, saved=None, loss=None):
        line = {"samples": samples, "epoch": int(samples // POINTS)}
        line.update({key: value for key, value in (("saved", saved), ("loss", loss)) if value is not None})
        with open(os.environ["ACCORD_PROGRESS"], "a") as file:
            file.write(json.dumps(line) + "\n")


class Posts:
    def report(self, samples, saved=None, loss=None):
        line = {"samples": samples, "loss": loss or 0.0, **({"saved": saved} if saved is not None else {})}
        headers = {"Authorization": "Bearer " + os.environ["ACCORD_TASK_TOKEN"], "Content-Type": "application/json"}
        url = os.environ["ACCORD_SERVER"] + "/v1/progress"
        with urllib.request.urlopen(urllib.request.Request(url, json.dumps(line).encode(), headers), timeout=30):
            pass


class Metrics:
    """A counter of what this process trained on, as exporters have it, for whoever asks."""

    def __init__(self):
        count = self

        class Page(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                text = f"# HELP samples_total Trained on.\n# TYPE samples_total counter\nsamples_total {count.samples}\n"
                self.send_response(200)
                self.send_header("Content-Type", "text/plain; version=0.0.4")
                self.end_headers()
                self.wfile.write(text.encode())

            def log_message(self, *_):
                pass

        self.samples = 0.0
        server = http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["METRICS_PORT"])), Page)
        threading.Thread(target=server.serve_forever, daemon=True).start()

    def report(self, samples, saved=None, loss=None):
        self.samples = samples - done


def reporter():
    if how == "remote":
        del os.environ["ACCORD_PROGRESS"]
    if how in ("module", "remote"):
        from accord.progress import Progress
        progress = Progress()
        assert progress.total == total and progress.done == done
        return progress
    return {"lines": Lines, "post": Posts, "metrics": Metrics}[how]()


progress, network = reporter(), load()
data = [(x, math.sin(3 * x)) for x in (draw.uniform(-1, 1) for _ in range(POINTS))]
time.sleep(draw.uniform(0.5, 2))  # compiling, as it were
samples, step, said, first = done, 0, 0.0, None
truth = open(truth_file, "a", buffering=1)
truth.write(f"{began:.6f} {samples:.0f}\n")
while samples < total:
    batch = min(BATCH, int(total - samples))
    loss = network.step(draw.sample(data, batch))
    first = loss if first is None else first
    time.sleep(STEP * draw.choice((0.6, 0.8, 1, 1.2, 1.9)))
    samples, step = samples + batch, step + 1
    truth.write(f"{time.time():.6f} {samples:.0f}\n")
    if step % EVALUATE_EVERY == 0:
        evaluated = sum((network.forward(x)[1] - y) ** 2 for x, y in data) / len(data)
        time.sleep(EVALUATION)
        print(f"{samples:.0f} samples: loss {evaluated:.4f}", flush=True)
    if step % SAVE_EVERY == 0:
        save(network, samples)
        progress.report(samples, saved=samples, loss=loss)
    elif how not in ("lines", "post") or time.time() - said >= 0.5:
        said = time.time()
        progress.report(samples, loss=loss)
    if done == 0 and samples / total > fail_at:
        print("out of memory, as it were")
        sys.exit(3)
assert not math.isnan(loss)
progress.report(samples, saved=samples, loss=loss)
