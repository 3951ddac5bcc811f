"""What a training tells the scheduler that runs it: `accord run`.

    from accord.progress import Progress

    progress = Progress()
    samples = progress.done                       # what a checkpoint of an earlier run has
    while samples < progress.total:
        samples += train_step()
        progress.report(samples, batch=256, loss=loss)
        if progress.should_save:                  # the scheduler wants the devices: save and end
            save(samples)
            progress.report(samples, saved=samples)
            break

Python's standard library is all it needs. Without a scheduler it does nothing, and `total` is what `Progress(total=...)`
says. Only rank 0 reports.
"""

import json
import os
import signal
import time
import urllib.request

__all__ = ["Progress"]


class Progress:
    """`total` and `done` are samples, of all runs of the job. `every` is the shortest time in seconds between two lines."""

    def __init__(self, total=None, every=1.0):
        environment = os.environ
        self.total = float(environment.get("ACCORD_SAMPLES", total or 0)) or float("inf")
        self.done = float(environment.get("ACCORD_SAMPLES_DONE", 0))
        self.should_save = False
        rank = environment.get("RANK", environment.get("SLURM_PROCID", environment.get("NODE_RANK", "0")))
        self._reports = rank == "0"
        self._file = environment.get("ACCORD_PROGRESS")
        self._server, self._token = environment.get("ACCORD_SERVER"), environment.get("ACCORD_TASK_TOKEN")
        self._every, self._last, self._fails = every, 0.0, 0
        try:
            signal.signal(signal.SIGUSR1, self._save)
        except ValueError:  # not the main thread: the program asks `should_save` of another object, or handles the signal
            pass

    def _save(self, *_):
        self.should_save = True

    def report(self, samples, saved=None, batch=None, noise=None, loss=None):
        """`samples` were trained on so far, `saved` of them are in a checkpoint. Never raises and never waits long."""
        now = time.time()
        is_last = saved is not None or samples >= self.total
        if not self._reports or (now - self._last < self._every and not is_last):
            return
        self._last = now
        line = {"samples": float(samples), "time": now}
        for key, value in (("saved", saved), ("batch", batch), ("noise", noise), ("loss", loss)):
            if value is not None:
                line[key] = float(value)
        text = json.dumps(line)
        try:
            if self._file and os.path.isdir(os.path.dirname(self._file)):
                with open(self._file, "a", encoding="utf-8") as file:
                    file.write(text + "\n")
            elif self._server and self._token and self._fails < 5:
                self._post(text)
        except (OSError, ValueError):
            self._fails += 1

    def _post(self, text):
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._server}/v1/progress", text.encode(), headers, method="POST")
        with urllib.request.urlopen(request, timeout=2):
            self._fails = 0
