#!/usr/bin/env python3
"""interrupt.py COMMAND...: runs the command with a terminal for its standard error, presses Ctrl-C when that shows a gap, and
prints standard output. Exit status of the command; 99 if no gap was ever shown."""
import os
import pty
import re
import signal
import subprocess
import sys

ours, theirs = pty.openpty()
# What a shell runs in the background ignores Ctrl-C, and so would what is started from it.
process = subprocess.Popen(
    sys.argv[1:],
    stdout=subprocess.PIPE,
    stderr=theirs,
    env=dict(os.environ, TERM="xterm"),
    preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
)
os.close(theirs)
seen, shown = b"", False
while True:
    try:
        piece = os.read(ours, 4096)
    except OSError:  # the terminal is gone: the command ended
        break
    if not piece:
        break
    seen += piece
    if not shown and re.search(rb"\r\w+: [^,\r]+, at least [^,\r]+, gap [0-9.]+ %, \d+ s, \w+", seen):
        shown = True
        process.send_signal(signal.SIGINT)
sys.stdout.buffer.write(process.stdout.read())
print("progress ends with an empty line" if seen.endswith(b"\r\x1b[K") else repr(seen[-200:]))
status = process.wait()
sys.exit(status if shown else 99)
