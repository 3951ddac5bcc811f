"""tamper_fields.py ACCORD FOLDER SOURCE [--every N] [--outside PATTERN]...: changes every field of every file of an answer, one at
a time, and counts what `accord verify` refuses.

A field of a document goes up, down or over to the other truth, a text gets another letter, a list loses an element; of fields
with the same path but for indexes the first and the last are changed. Of other files one digit in each of twenty places is.
Three questions: does it notice the change by the manifest; if the manifest was forged along, by the certificate alone; and, what
the certificate does not notice, from the sources (--from). It fails where the manifest or the sources miss a change, or the
certificate one that no pattern, "FILE: FIELD" with * for anything, says to be outside of what it gives. Figures by file."""
import argparse
import copy
import fnmatch
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

parser = argparse.ArgumentParser()
parser.add_argument("accord")
parser.add_argument("folder")
parser.add_argument("source")
parser.add_argument("--every", type=int, default=1)
parser.add_argument("--outside", action="append", default=[])
options = parser.parse_args()


def walk(value, path=()):
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from walk(inner, path + (key,))
    elif isinstance(value, list):
        if value:
            yield path, "shorter"
        for i, inner in enumerate(value):
            yield from walk(inner, path + (i,))
    elif isinstance(value, bool):
        yield path, "other"
    elif isinstance(value, (int, float)):
        yield path, "up"
        yield path, "down"
    elif isinstance(value, str) and value:
        yield path, "letter"


def changed(value, how):
    if how == "shorter":
        return value[:-1]
    if how == "other":
        return not value
    if how == "letter":
        return value[:-1] + ("x" if value[-1] != "x" else "y")
    step = 1 if isinstance(value, int) else abs(value) * 0.1 + (value == 0)
    return value + step if how == "up" else value - step


def representatives(document):
    groups = {}
    for path, how in walk(document):
        groups.setdefault((tuple("*" if isinstance(part, int) else part for part in path), how), []).append(path)
    for (_, how), paths in groups.items():
        for path in dict.fromkeys((paths[0], paths[-1])):
            yield path, how


def changes(path):
    """Texts of a file with one change each, and what it is."""
    with open(path, encoding="utf-8", errors="surrogateescape") as file:
        text = file.read()
    if path.endswith(".json"):
        document = json.loads(text)
        for at, how in representatives(document):
            other = copy.deepcopy(document)
            inside = other
            for part in at[:-1]:
                inside = inside[part]
            if at:
                inside[at[-1]] = changed(inside[at[-1]], how)
            yield "/".join(map(str, at)) + " " + how, json.dumps(other, indent=2) + "\n"
        return
    lines = [m.start() for m in re.finditer(r"[0-9]", text)]
    for at in lines[:: max(1, len(lines) // 20)]:
        digit = "1" if text[at] != "1" else "2"
        yield f"digit {at}", text[:at] + digit + text[at + 1:]


def verify(folder, *more):
    return subprocess.run([options.accord, "verify", folder, *more], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode


def forge(folder, name):
    path = os.path.join(folder, "manifest.json")
    with open(path, encoding="utf-8") as file:
        manifest = json.load(file)
    with open(os.path.join(folder, name), "rb") as file:
        text = file.read()
    for entry in manifest["files"]:
        if entry["name"] == name:
            entry["bytes"], entry["sha256"] = len(text), hashlib.sha256(text).hexdigest()
    with open(path, "w", encoding="utf-8") as file:
        json.dump(manifest, file)


def names(folder):
    return sorted(os.path.relpath(os.path.join(at, name), folder) for at, _, all_ in os.walk(folder) for name in all_)


assert verify(options.folder, "--from", options.source) == 0, "the answer as it was written"
counts, missed, tried, number = {}, [], {}, 0
for name in names(options.folder):
    if name == "manifest.json":
        continue
    for what, text in changes(os.path.join(options.folder, name)):
        number += 1
        if number % options.every:
            continue
        tried[name] = tried.get(name, 0) + 1
        with tempfile.TemporaryDirectory() as scratch:
            copy_ = os.path.join(scratch, "answer")
            shutil.copytree(options.folder, copy_)
            with open(os.path.join(copy_, name), "w", encoding="utf-8", errors="surrogateescape") as file:
                file.write(text)
            if verify(copy_) != 1:
                missed.append(f"by the manifest: {name}: {what}")
            forge(copy_, name)
            if verify(copy_) == 1:
                counts[name] = counts.get(name, 0) + 1
                continue
            change = f"{name}: {what}"
            if not any(fnmatch.fnmatch(change, pattern) for pattern in options.outside):
                missed.append("by the certificate: " + change)
            if verify(copy_, "--from", options.source) != 1:
                missed.append("from the sources: " + change)
for name, all_ in tried.items():
    print(f"{name}: {counts.get(name, 0)} of {all_} changes noticed by the certificate alone, the manifest forged")
print(f"{sum(tried.values())} changes, {sum(counts.values())} noticed by the certificate alone")
for line in missed:
    print("missed", line)
sys.exit(bool(missed))
