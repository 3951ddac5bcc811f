#!/usr/bin/env python3
"""Holds the tree against the rules of the house: includes (layers.txt), sizes, names, READMEs, links, streams, loose ends.

usage: rules.py ROOT [--all] [--list-short] [--write-pending]
  --all            also what pending.txt names
  --list-short     also name the .cpp files under 60 lines
  --write-pending  write what is open now to pending.txt beside this file
pending.txt names what is still open and fails no test; a line of it that is not open any more does.
"""
import os
import sys

import layers
import names
import pages
import sizes
import streams
from tree import Tree

HERE = os.path.dirname(os.path.abspath(__file__))


def read(name):
    path = os.path.join(HERE, name)
    if not os.path.exists(path):
        return ""
    with open(path, encoding="utf-8") as file:
        return file.read()


def main(arguments):
    if "--help" in arguments or not arguments:
        print(__doc__.strip())
        return 0 if arguments else 1
    tree = Tree(arguments[0])
    files, short = sizes.check_files(tree)
    found = [
        *layers.check(tree, layers.Layers(read("layers.txt"))),
        *files,
        *sizes.check_code(tree),
        *pages.check(tree),
        *names.check(tree),
        *streams.check(tree),
    ]
    found = list(dict.fromkeys(found))
    if "--list-short" in arguments:
        for path in short:
            print(f"{path}: {len(tree.lines(path))} lines")
    if "--write-pending" in arguments:
        with open(os.path.join(HERE, "pending.txt"), "w", encoding="utf-8") as file:
            file.write("".join(line + "\n" for line in found))
        return 0
    pending = set() if "--all" in arguments else set(read("pending.txt").splitlines())
    bad = [line for line in found if line not in pending]
    bad += [f"pending.txt: '{line}' is not open any more" for line in sorted(pending - set(found))]
    for line in bad:
        print(line)
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
