"""examples.py EXAMPLES WORK [whole]: what the READMEs of the examples show, by the program `accord`, within a C++ program and within Python.

Each of the three works in folders of its own, one command after the other: the program anew each time, the others in one process.
Behind each command its exit status, standard output, standard error and every file of the folder are the same bytes. No field is left
out: none of them holds a time that was measured. With `whole`, only what is left out otherwise.
"""

import hashlib
import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import readmes  # noqa: E402
from accord import _native  # noqa: E402

# Left out, since each takes long, three times; a command like it is there.
LEFT_OUT = {
    "08-mine: mine examples/08-mine/bert.dnn --metric tdp_time",
    "09-mine-cluster: mine examples/09-mine-cluster/llama2.dnn --threads 2 -o out/",
    "13-night: jobs hurry.dnn",
    "14-week: jobs --simulate week.csv --servers 16x4 --device-power 300W --power 20kW,10kW@12h,20kW@18h",
    "15-microarchitecture: mine kws.dnn --space space.accel -o out/",
}
PLUGINS = "custom-pass"  # its commands load plugins that examples/custom-pass.test builds


def by_program():
    def run(words, folder):
        done = subprocess.run(["accord", *words], cwd=folder, capture_output=True, stdin=subprocess.DEVNULL, check=False)
        return done.returncode, done.stdout, done.stderr

    return run


def by_cpp():
    process = subprocess.Popen(["accord-embedded", "session"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def run(words, folder):
        process.stdin.write(("\x1f".join([folder, *words]) + "\n").encode())
        process.stdin.flush()
        status, output, messages, _ = (int(one) for one in process.stdout.readline().split())
        return status, process.stdout.read(output), process.stdout.read(messages)

    return run


def by_python():
    def run(words, folder):
        os.chdir(folder)
        answer = _native.run(words)
        return answer.status, answer.output.encode(), answer.messages.encode()

    return run


def files_of(folder):
    """Digest by path of each file that is there. What is a link belongs to the examples."""
    found = {}
    for place, _, names in os.walk(folder):
        for name in names:
            path = os.path.join(place, name)
            with open(path, "rb") as file:
                found[os.path.relpath(path, folder)] = hashlib.sha256(file.read()).hexdigest()
    return found


def prepare(examples, folder, name):
    """A folder as a checkout is, in which the files of an example lie besides."""
    if not os.path.exists(folder):
        shutil.copytree(os.path.join(examples, name), folder, ignore=shutil.ignore_patterns("*.md", "*.ipynb"))
        os.symlink(examples, os.path.join(folder, "examples"))


def answers(examples, work, commands, run):
    """What one side answers to each command, and the files that there are behind it."""
    found = []
    for command in commands:
        folder = os.path.join(work, command.folder)
        prepare(examples, folder, command.folder)
        if command.setup:
            subprocess.run(command.setup, shell=True, cwd=folder, check=True)
        found.append((*run(command.words, folder), files_of(folder)))
    return found


def differences(one, other):
    for what, a, b in zip(("exit status", "standard output", "standard error"), one, other):
        if a != b:
            yield f"{what}:\n{a}\n{b}"
    for path in sorted({*one[3], *other[3]}):
        if one[3].get(path) != other[3].get(path):
            yield f"file {path}"


def main():
    examples, work = (os.path.abspath(one) for one in sys.argv[1:3])
    is_whole = sys.argv[3:] == ["whole"]
    shutil.rmtree(work, ignore_errors=True)
    every = [one for one in readmes.shown(examples) if one.folder != PLUGINS]
    titles = [f"{one.folder}: {' '.join(one.words)}" for one in every]
    missing = sorted(LEFT_OUT - set(titles))
    commands = [one for one, title in zip(every, titles) if (title in LEFT_OUT) == is_whole]
    sides = {"program": by_program(), "cpp": by_cpp(), "python": by_python()}
    with ThreadPoolExecutor(len(sides)) as pool:
        found = dict(zip(sides, pool.map(lambda side: answers(examples, os.path.join(work, side), commands, sides[side]), sides)))
    wrong = [f"no README has '{one}'" for one in missing]
    for i, command in enumerate(commands):
        for side in ("cpp", "python"):
            wrong += [f"{command.folder}: accord {' '.join(command.words)}: in {side}: {one}" for one in differences(found["program"][i], found[side][i])]
    print("\n".join(wrong))
    files = sum(len(one[3]) for one in found["program"])
    print(f"{len(commands)} commands of {len({one.folder for one in commands})} examples, {files} files: {len(wrong)} differences")


main()
