"""kill_answers.py ACCORD COMMAND JOB OTHER [KILLS]: kills `accord COMMAND` (compile, mine, schedule) at moments of its run over an
older answer, and looks whether the folder is one whole answer each time. Moments are even over the whole run, and dense where the
answer is written. A mining keeps a checkpoint: a second run goes on from what the killed one left, to the same answer."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time

import answer_content

accord, word, job, other = sys.argv[1:5]
kills = int(sys.argv[5]) if len(sys.argv) > 5 else 40


def run(source, wait=None):
    command = [accord, word, source, "-o", "out"]
    if word == "mine" and source == other:
        command += ["--checkpoint", "kept", "--checkpoint-every", "20"]
        command += ["--resume", "kept"] if os.path.exists("kept") else []
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    if wait is not None:
        time.sleep(wait)
        process.send_signal(signal.SIGKILL)
    return process.wait()


def content():
    own, files = answer_content.content()
    return own if word != "mine" else json.dumps(files, sort_keys=True)  # a resumed run has other arguments


shutil.rmtree("out", ignore_errors=True)
began = time.monotonic()
assert run(other) == 0
took = time.monotonic() - began
new = content()
shutil.rmtree("out")
if os.path.exists("kept"):
    os.remove("kept")
assert run(job) == 0
old = content()
seen, resumed = {old: 0, new: 0}, 0
for i in range(kills):
    # Half of the moments lie in the last third, where files are written.
    share = i / kills * 2 if i % 2 else 2 / 3 + (i / kills) / 2
    status = run(other, min(share, 1.2) * took)
    found = content()
    assert found in seen, "a folder of neither answer"
    assert status != 0 or found == new, "a run that ended left the older answer"
    seen[found] += 1
    if word == "mine" and found == old:
        if os.path.exists("kept"):
            resumed += 1
        assert run(other) == 0 and content() == new, "a resumed run has another answer"
    if content() == new:
        assert run(job) == 0 and content() == old
    if os.path.exists("kept"):
        os.remove("kept")
assert not [name for name in os.listdir(".") if name.startswith(".out.accord")] or run(job) == 0
assert not [name for name in os.listdir(".") if name.startswith(".out.accord")], "a later run leaves what a killed one wrote"
print(f"{kills} kills: {seen[old]} older answers, {seen[new]} newer ones, no mixed folder" + (f", {resumed} resumed" if resumed else ""))
