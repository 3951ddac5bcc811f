"""The commands that the READMEs of the examples show, as somebody who follows them runs them."""

import os
import re
from collections import namedtuple

# `folder`: of the README. `setup`: what a shell does before, or nothing. `words`: the command, without `accord`.
Shown = namedtuple("Shown", "folder setup words")

LOOP = re.compile(r"for (\w+) in (.*); do$")


def shown(examples):
    """Every `accord …` that stands in a README as code, in order; a loop is written out."""
    for folder in sorted(os.listdir(examples)):
        readme = os.path.join(examples, folder, "README.md")
        if os.path.exists(readme):
            with open(readme, encoding="utf-8") as file:
                code = [line.strip() for line in re.sub(r" *\\\n *", " ", file.read()).splitlines() if line.startswith("    ")]
            yield from of_code(folder, code)


def of_code(folder, code):
    variable, values = "", [""]
    for line in code:
        line = re.sub(r"\s+#.*", "", line)
        loop = LOOP.match(line)
        if loop:
            variable, values = loop[1], loop[2].split()
        elif line == "done":
            variable, values = "", [""]
        for value in values:
            setup, _, command = line.rpartition("&& ")
            if command.startswith("accord "):
                words = command.replace(f"${variable}", value) if variable else command
                yield Shown(folder, setup.rpartition("&&")[0] or setup, words.split()[1:])
