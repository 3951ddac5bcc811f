#!/usr/bin/env python3
"""A training that waits instead: so many samples a second on its devices, said line by line; it saves when it gets SIGUSR1.

    work.py a100=10 k80=2 [--fail-at SHARE] [--hurry FILE]

It is a hundred times faster from the moment when FILE is there.
"""
import json
import os
import signal
import sys
import time

rates = dict(word.split("=") for word in sys.argv[1:] if "=" in word)
fail_at = float(sys.argv[sys.argv.index("--fail-at") + 1]) if "--fail-at" in sys.argv else 2
hurry = sys.argv[sys.argv.index("--hurry") + 1] if "--hurry" in sys.argv else None
devices = int(os.environ["ACCORD_DEVICES_PER_NODE"]) * int(os.environ["ACCORD_NODES"])
rate = float(rates[os.environ["ACCORD_DEVICE_TYPE"]]) * devices
work, done = float(os.environ["ACCORD_SAMPLES"]), float(os.environ["ACCORD_SAMPLES_DONE"])
first = os.environ.get("NODE_RANK", os.environ.get("SLURM_NODEID", "0")) == "0"
stop = False


def save(*_):
    global stop
    stop = True


def report(saved):
    if not first:
        return
    line = {"samples": done, "time_s": time.time(), "batch": 32}
    if saved:
        line["saved"] = done
    with open(os.environ["ACCORD_PROGRESS"], "a") as file:
        file.write(json.dumps(line) + "\n")


signal.signal(signal.SIGUSR1, save)
at = time.time()
while done < work and not stop:
    time.sleep(min(0.1, (work - done) / rate))
    now = time.time()
    if hurry and os.path.exists(hurry):
        hurry, rate = None, 100 * rate
    done, at = min(work, done + rate * (now - at)), now
    report(False)
    if done / work > fail_at:
        sys.exit(3)
report(True)
