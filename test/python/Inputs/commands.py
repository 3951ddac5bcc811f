"""commands.py EXAMPLES: the commands in the READMEs of the examples, run by the tool and by the Python package.

Both run in a folder of their own, so that files have the same names. What the tool prints with --json, and the `json` of
the answer in Python, are the same bytes.
"""
import inspect
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "Inputs"))
import readmes  # noqa: E402

import accord
from accord import commands

# What takes more than a few seconds is left to the tests of the commands themselves.
EXPENSIVE = re.compile(r"^(compile .*(07-cluster|09-mine|10-mine|--target out/)|mine |jobs |prune .*resnet|vote )|--simulate|wide")
# Commands that the READMEs do not have, or not where they are cheap; `out/` has the last answer.
OTHERS = [
    "compile examples/03-own-model/tiny_lm.dnn --train tiny --effort 1 -o out/",
    "verify out/",
    "explain out/",
    "explain out/ block.layer.attention.query",
    "explain A0104",
    "diff out/ out/",
    "emit torchrun out/",
    "estimate examples/04-compare-machines/resnet50.dnn --target h200 --batch 64",
    "latency examples/01-first-plan/gpt2_xl.dnn --at microbatch=1,2",
    "schedule examples/03-own-model/tiny_lm.dnn --train tiny --effort 0",
    "list operations",
    "list machines",
]
PRINTS = {"fmt", "import"}


def examples(folder):
    """(folder of the example, words) of every command in a README, and of the others."""
    for one in readmes.shown(folder):
        if one.folder != "custom-pass" and not one.setup:  # of a plugin that is to be built
            yield one.folder, one.words
    for line in OTHERS:
        yield "", shlex.split(line)


def in_python(words):
    """Calls the function of a command line; an Infeasible has an answer, too."""
    command, *rest = words
    name = {"compile": "compile_", "list": "list_"}.get(command, command)
    function = getattr(commands, name)
    parameters = inspect.signature(function).parameters
    values, options, i = [], {}, 0
    while i < len(rest):
        word = rest[i]
        i += 1
        if not word.startswith("-"):
            values.append(word)
            continue
        option, _, value = word.lstrip("-").partition("=")
        option = {"o": "out", "output": "out"}.get(option, option.replace("-", "_"))
        option = option if option in parameters else option + "_"
        if parameters[option].default is False:
            options[option] = True
        else:
            if not value:
                value, i = rest[i], i + 1
            options[option] = value
    try:
        return 0, getattr(accord, name.rstrip("_"))(*values, **options)
    except accord.Infeasible as error:
        return 2, error.answer


def main():
    warnings.simplefilter("ignore")
    source, work = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
    shutil.rmtree(work, ignore_errors=True)
    for side in ("tool", "python"):
        os.makedirs(os.path.join(work, side))
        shutil.copytree(source, os.path.join(work, side, "examples"), ignore=shutil.ignore_patterns("custom-pass", "*.ipynb"))
    assert sorted(accord.__all__) == sorted(accord._PLACES) and all(getattr(accord, name) for name in accord.__all__)
    assert {name.rstrip("_") for name in commands.__all__} <= set(accord.__all__)
    done, before = 0, None
    for example, words in examples(source):
        if example != before:  # each example begins without the answers of others
            before = example
            for side in ("tool", "python"):
                shutil.rmtree(os.path.join(work, side, "out"), ignore_errors=True)
        line = " ".join(words)
        if EXPENSIVE.search(line) or words[0] in PRINTS:
            continue
        here = "" if "examples/" in line or not example else os.path.join("examples", example)
        tool = subprocess.run(["accord", *words, "--json"], cwd=os.path.join(work, "tool", here), capture_output=True, check=False)
        if tool.returncode == 1 and example:
            continue  # the answer that it speaks of was expensive
        os.chdir(os.path.join(work, "python", here))
        status, answer = in_python(words)
        done += 1
        if status != tool.returncode or answer.json.encode() != tool.stdout:
            sys.exit(f"accord {line}: exit status {tool.returncode} and {status}, {len(tool.stdout)} and {len(answer.json)} bytes")
        print(f"accord {line}: {answer!r}")
    print(f"{done} commands are the same")


main()
