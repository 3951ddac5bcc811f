#!/usr/bin/env python3
"""Does what a tutorial says, in the present folder: tutorial.py PAGE.md

A line `NAME`: before a fenced block names the file that the block is. Lines that are indented by four blanks or more,
in a paragraph of their own, are commands; each has to end with status 0. Prints each command before it runs.
A picture is of what the command before it wrote (scripts/pictures.py takes it)."""
import pathlib
import re
import subprocess
import sys


def parts(page):
    """Files, commands and pictures of a page, in their order: ("file", name, text), ("command", line, "") or ("picture", file, "")."""
    name, block, before = None, None, ""
    for line in page.read_text().splitlines():
        if block is not None:
            if line.startswith("```"):
                if name:
                    yield "file", name, "\n".join(block) + "\n"
                name, block = None, None
            else:
                block.append(line)
        elif line.startswith("```"):
            block = []
        elif found := re.fullmatch(r"`([\w./-]+)`:", line):
            name = found[1]
        elif found := re.fullmatch(r"!\[.*\]\((\w+\.png)\)", line):
            yield "picture", found[1], ""
        elif re.match(r" {4,}\S", line) and (not before.strip() or before.startswith("    ")):
            yield "command", line.strip(), ""
        before = line


def do(command):
    print("$", command, flush=True)
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    if done.returncode != 0:
        sys.exit(f"status {done.returncode}\n{done.stdout}{done.stderr}")


def main():
    commands = 0
    for kind, text, content in parts(pathlib.Path(sys.argv[1])):
        if kind == "file":
            pathlib.Path(text).write_text(content)
        elif kind == "command":
            commands += 1
            do(text)
    if not commands:
        sys.exit("the page has no command")
    print(f"{commands} commands")


if __name__ == "__main__":
    main()
