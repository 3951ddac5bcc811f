# Sizes: files, folders, classes, functions.
import os
import re

import cpp

MAX_LINES = 900
MAX_FOLDER = 34  # source files
MIN_LINES = 60  # of a .cpp; shorter ones want a reason
MAX_SHORT = 45  # of some 570
MAX_COMPLEXITY = 30
MAX_CLASS_FILES = 2
REASON = re.compile(r"\s*//.*\bcomplexity: \S")


def check_files(tree):
    problems = []
    for path in tree.sources:
        count = len(tree.lines(path))
        if count > MAX_LINES and not path.endswith(".def"):
            problems.append(f"{path}: more than {MAX_LINES} lines")
    for folder, names in sorted(tree.folders.items()):
        count = sum(name.endswith((".cpp", ".h", ".td", ".def")) for name in names)
        if count > MAX_FOLDER:
            problems.append(f"{folder}: more than {MAX_FOLDER} source files")
    short = [p for p in tree.sources if p.endswith(".cpp") and not p.startswith(("tools/", "test/", "examples/", "lib/driver/commands/")) and len(tree.lines(p)) < MIN_LINES]
    if len(short) > MAX_SHORT:
        problems.append(f"lib, dialects, passes: more than {MAX_SHORT} .cpp under {MIN_LINES} lines")
    return problems, short


def check_code(tree):
    """Functions that branch too much, and classes over too many files."""
    problems, classes, parts = [], {}, {}
    for path in tree.sources:
        if not path.endswith((".cpp", ".h")):
            continue
        scanned = cpp.Scanner(tree.text(path))
        classes.setdefault(os.path.dirname(path), set()).update(scanned.classes)
        lines = None
        for function in scanned.functions:
            if function.complexity > MAX_COMPLEXITY:
                lines = lines or tree.lines(path)
                if not reason_above(lines, function):
                    problems.append(f"{path}: {function.name}: cyclomatic complexity above {MAX_COMPLEXITY}")
            if path.endswith(".cpp") and function.qualifiers:
                parts.setdefault((os.path.dirname(path), "::".join(function.qualifiers)), set()).add(path)
    known = set().union(*classes.values())
    for (folder, name), files in sorted(parts.items()):
        # Operations come from TableGen: what each answers stands with its kind (costs, gradients, folding).
        if len(files) > MAX_CLASS_FILES and name.split("::")[-1] in known:
            problems.append(f"{folder}: {name}: its members are in more than {MAX_CLASS_FILES} .cpp")
    return problems


def reason_above(lines, function):
    """A comment in the line above the function, or above what stands between (template, return type, doc comments)."""
    at = function.line - 2
    while at >= 0 and lines[at].strip() and not lines[at].rstrip().endswith((";", "}")):
        if REASON.match(lines[at]):
            return True
        at -= 1
    return False
