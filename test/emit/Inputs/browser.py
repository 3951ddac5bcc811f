"""Opens a page in a headless Chromium."""
import os
import subprocess
import sys
import tempfile


def dom_of(chromium, page, name, place=""):
    """The page's elements after its scripts, opened at `place` ("#op=…"); ends the process on any console message."""
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
                 "--disable-background-networking", "--disable-component-update", "--virtual-time-budget=2000",
                 "--window-size=1280,1600", f"--user-data-dir={profile}", "--enable-logging=stderr", "--v=0"]
        done = subprocess.run([chromium, *flags, "--dump-dom", "file://" + os.path.abspath(page) + place], check=True,
                              capture_output=True, text=True, timeout=120, env={**os.environ, "HOME": profile})
    messages = [line for line in done.stderr.splitlines() if "CONSOLE" in line]
    for message in messages:
        print(message)
    if messages:
        sys.exit(1)
    print(f"{name}: no console message")
    return done.stdout
