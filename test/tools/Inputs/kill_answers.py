"""kill_answers.py ACCORD JOB OTHER [KILLS]: kills `accord compile` at moments of its run over an older answer, and looks whether
the folder is one whole answer each time. Moments are even over the whole run, and dense where the answer is written."""
import hashlib
import json
import os
import shutil
import signal
import subprocess
import sys
import time

accord, job, other = sys.argv[1:4]
kills = int(sys.argv[4]) if len(sys.argv) > 4 else 40


def compile_(source, wait=None):
    process = subprocess.Popen([accord, "compile", source, "-o", "out"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if wait is not None:
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
    return process.wait()


def content():
    """Of the folder by name; it must be what its manifest lists, and nothing else."""
    files = {}
    for at, _, names in os.walk("out"):
        for name in names:
            path = os.path.join(at, name)
            with open(path, "rb") as file:
                files[os.path.relpath(path, "out")] = hashlib.sha256(file.read()).hexdigest()
    with open("out/manifest.json", encoding="utf-8") as file:
        listed = {entry["name"]: entry["sha256"] for entry in json.load(file)["files"]}
    own = files.pop("manifest.json")
    assert files == listed, (sorted(files), sorted(listed))
    return own


shutil.rmtree("out", ignore_errors=True)
assert compile_(other) == 0
new = content()
shutil.rmtree("out")
began = time.monotonic()
assert compile_(job) == 0
took = time.monotonic() - began
old = content()
seen = {old: 0, new: 0}
for i in range(kills):
    # Half of the moments lie in the last third, where files are written.
    share = i / kills * 2 if i % 2 else 2 / 3 + (i / kills) / 2
    status = compile_(other, min(share, 1.2) * took)
    found = content()
    assert found in seen, "a folder of neither answer"
    assert status != 0 or found == new, "a run that ended left the older answer"
    seen[found] += 1
    if found == new:
        assert compile_(job) == 0 and content() == old
assert not [name for name in os.listdir(".") if name.startswith(".out.accord")] or compile_(job) == 0
assert not [name for name in os.listdir(".") if name.startswith(".out.accord")], "a later run leaves what a killed one wrote"
print(f"{kills} kills: {seen[old]} older answers, {seen[new]} newer ones, no mixed folder")
