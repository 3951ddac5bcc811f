"""Processes of one search that are killed or stand still while it runs; the answer stays.

mine_ranks.py WHAT FOLDER accord mine ...: starts the command on three processes with a checkpoint in
FOLDER, waits until that is there, then does WHAT:
  kill   ends the second process as `kill -9` does; the run goes on to its end
  leader ends the first one; the run ends without an answer
  all    ends mpirun and all processes
  stop   lets the second one stand still; the run goes on to its end
"""

import os
import pathlib
import signal
import subprocess
import sys
import time

what, folder, command = sys.argv[1], pathlib.Path(sys.argv[2]), sys.argv[3:]
folder.mkdir(parents=True, exist_ok=True)
checkpoint = folder / "known.json"
checkpoint.unlink(missing_ok=True)


def processes():
    """By rank."""
    found = {}
    for process in pathlib.Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if str(checkpoint) not in (process / "cmdline").read_text():
                continue
            for entry in (process / "environ").read_text().split("\0"):
                if entry.startswith("OMPI_COMM_WORLD_RANK="):
                    found[int(entry.split("=")[1])] = int(process.name)
        except OSError:  # it has ended
            continue
    return found


with open(folder / "log.txt", "w") as log:
    run = subprocess.Popen(
        ["mpirun", "--oversubscribe", "--enable-recovery", "-n", "3", *command, "--checkpoint", str(checkpoint)],
        stdout=log,
        stderr=log,
        start_new_session=True,
    )
    began = time.monotonic()
    ranks = {}
    while len(ranks) < 3 or not checkpoint.exists():
        if len(ranks) < 3:
            ranks = processes()
        if run.poll() is not None or time.monotonic() - began > 300:
            run.kill()
            for process in processes().values():
                os.kill(process, signal.SIGKILL)
            sys.exit("it ended, or nothing came, before there was a checkpoint: see " + log.name)
        time.sleep(0.002)
    if what == "all":
        os.kill(run.pid, signal.SIGKILL)
    for rank in {"kill": [1], "leader": [0], "all": [0, 1, 2], "stop": []}[what]:
        os.kill(ranks[rank], signal.SIGKILL)
    if what == "stop":
        os.kill(ranks[1], signal.SIGSTOP)
    try:
        run.wait(300)
    finally:
        ended = time.monotonic()
        while processes() and time.monotonic() - ended < 10:  # a killed process needs a moment
            time.sleep(0.01)
        for process in processes().values():
            print("left over", process)
            os.kill(process, signal.SIGKILL)
answered = (folder / "mine.json").exists()
print(what, "answered" if answered else "not answered")
