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
import math
import os
import signal
import time
import urllib.request
from typing import Any, Optional, Union

__all__ = ["Progress"]

MAX_PAUSE = 60.0  # seconds without a try after a server did not answer


class Progress:
    """`total` and `done` are samples, of all runs of the job: whole numbers, or infinity where nobody says a total.

    `every` is the shortest time in seconds between two lines.
    """

    def __init__(self, total: Optional[float] = None, every: float = 1.0) -> None:
        environment = os.environ
        self.total = self._whole(environment.get("ACCORD_SAMPLES") or total or math.inf)
        self.done = self._whole(environment.get("ACCORD_SAMPLES_DONE") or 0)
        self.should_save = False
        self._saved: Optional[float] = None
        rank = environment.get("RANK", environment.get("SLURM_PROCID", environment.get("NODE_RANK", "0")))
        self._reports = rank == "0"
        self._file = environment.get("ACCORD_PROGRESS")
        self._server, self._token = environment.get("ACCORD_SERVER"), environment.get("ACCORD_TASK_TOKEN")
        self._every, self._last, self._pause, self._not_before = every, 0.0, 0.0, 0.0
        try:
            signal.signal(signal.SIGUSR1, self._save)
        except ValueError:  # not the main thread: the program asks `should_save` of another object, or handles the signal
            pass
        self.report(self.done)  # it began
        self._last = 0.0

    @staticmethod
    def _whole(said: Union[str, float]) -> float:
        number = float(said)
        return int(number) if math.isfinite(number) else number

    def _save(self, *_: Any) -> None:
        self.should_save = True

    def report(
        self,
        samples: float,
        saved: Optional[float] = None,
        batch: Optional[float] = None,
        noise: Optional[float] = None,
        loss: Optional[float] = None,
    ) -> None:
        """`samples` were trained on so far, `saved` of them are in a checkpoint. Never raises and never waits long."""
        now = time.time()
        is_last = self.should_save or samples >= self.total
        if saved is not None:
            self._saved = saved  # said in all later lines, too: one may be lost
        if not self._reports or (now - self._last < self._every and saved is None and not is_last):
            return
        self._last = now
        line = {"samples": float(samples), "time_s": now}
        for key, value in (("saved", self._saved), ("batch", batch), ("noise", noise), ("loss", loss)):
            if value is not None and math.isfinite(value):  # JSON has no other numbers
                line[key] = float(value)
        text = json.dumps(line)
        try:
            if self._file and os.path.isdir(os.path.dirname(self._file)):
                with open(self._file, "a", encoding="utf-8") as file:
                    file.write(text + "\n")
            elif self._server and self._token and (is_last or now >= self._not_before):
                self._post(text)
                self._pause = 0.0
        except (OSError, ValueError):  # it is tried again, less and less often
            self._pause = min(MAX_PAUSE, 2 * self._pause + 1)
            self._not_before = now + self._pause

    def _post(self, text: str) -> None:
        headers = {"Authorization": f"Bearer {self._token}", "Content-Type": "application/json"}
        request = urllib.request.Request(f"{self._server}/v1/progress", text.encode(), headers, method="POST")
        with urllib.request.urlopen(request, timeout=2):
            pass
