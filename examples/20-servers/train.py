"""Trains a small network with numpy on images that worker processes decode; Accord changes its loader while it runs.

`accord tune` says the setting in ACCORD_SETTINGS, a JSON file that is replaced as a whole, and wants lines of progress
in ACCORD_PROGRESS. Without them the training runs with one worker. usage: train.py [SECONDS]
"""
import json
import multiprocessing
import os
import sys
import time
import zlib

import numpy as np

BATCH, SIDE, HIDDEN, CLASSES = 64, 24, 256, 10
BLOBS = 64  # compressed images that are decoded again and again, with a new crop each time


def blobs():
    random = np.random.default_rng(1)
    return [zlib.compress(random.integers(0, 40, (SIDE + 8, SIDE + 8), dtype=np.uint8).repeat(4, 0).repeat(4, 1).tobytes(), 6)
            for _ in range(BLOBS)]


def decode(random, images):
    """A batch: decompressed, cropped, averaged down to SIDE x SIDE, normalized."""
    out = np.empty((BATCH, SIDE * SIDE), np.float32)
    for row in range(BATCH):
        big = np.frombuffer(zlib.decompress(images[random.integers(BLOBS)]), np.uint8).reshape(4 * (SIDE + 8), -1)
        y, x = random.integers(0, 32, 2)
        crop = big[y:y + 4 * SIDE, x:x + 4 * SIDE].astype(np.float32)
        out[row] = crop.reshape(SIDE, 4, SIDE, 4).mean((1, 3)).ravel()
    out -= out.mean(1, keepdims=True)
    return out / (out.std(1, keepdims=True) + 1e-5)


def work(seed, queue, stop):
    random, images = np.random.default_rng(seed), blobs()
    while not stop.is_set():
        queue.put(decode(random, images))


class Loader:
    """Processes that put batches into a queue of bounded length."""

    def __init__(self, workers, prefetch, seed):
        self.stop, self.queue = multiprocessing.Event(), multiprocessing.Queue(prefetch)
        self.workers = [multiprocessing.Process(target=work, args=(seed + i, self.queue, self.stop), daemon=True)
                        for i in range(workers)]
        for worker in self.workers:
            worker.start()

    def close(self):
        self.stop.set()
        for worker in self.workers:
            worker.terminate()
            worker.join()
        self.queue.close()
        self.queue.cancel_join_thread()


def settings():
    path = os.environ.get("ACCORD_SETTINGS")
    if not path:
        return {"loader_workers": 1, "prefetch": 1}
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def main():
    limit = float(sys.argv[1]) if len(sys.argv) > 1 else 120
    random = np.random.default_rng(0)
    first = random.normal(0, .05, (SIDE * SIDE, HIDDEN)).astype(np.float32)
    second = random.normal(0, .05, (HIDDEN, CLASSES)).astype(np.float32)
    wanted = random.normal(0, 1, (SIDE * SIDE, CLASSES)).astype(np.float32)  # whom the network imitates
    now, loader, seed = None, None, 1
    samples, begin = 0, time.monotonic()
    progress = open(os.environ.get("ACCORD_PROGRESS", os.devnull), "a", encoding="utf-8")
    while time.monotonic() - begin < limit:
        asked = settings()
        if now is None or any(asked[key] != now[key] for key in ("loader_workers", "prefetch")):
            if loader:
                loader.close()
            seed += 100
            now, loader = asked, Loader(asked["loader_workers"], asked["prefetch"], seed)
        inputs = loader.queue.get()
        labels = (inputs @ wanted).argmax(1)
        for _ in range(2):  # passes over the batch
            hidden = np.maximum(inputs @ first, 0)
            scores = hidden @ second
            scores = np.exp(scores - scores.max(1, keepdims=True))
            error = scores / scores.sum(1, keepdims=True)
            error[np.arange(BATCH), labels] -= 1
            change = (error @ second.T) * (hidden > 0)
            second -= .01 / BATCH * (hidden.T @ error)
            first -= .01 / BATCH * (inputs.T @ change)
        samples += BATCH
        progress.write(json.dumps({"samples": samples, "seconds": time.monotonic() - begin}) + "\n")
        progress.flush()
    loader.close()


if __name__ == "__main__":
    main()
