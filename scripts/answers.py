#!/usr/bin/env python3
"""Records what commands answer, and compares two records number by number.

  scripts/answers.py record TREE RECORD    runs every line of TREE/test/answers/commands.txt with TREE/build/bin/accord
  scripts/answers.py compare OLD NEW       holds two records against each other through test/answers/renames.txt

A record is a folder with one JSON file a command: exit status, diagnostics as (code, file, line, column), every document and text that the command
wrote. Two numbers are equal when they differ by at most 1e-12 of the larger one. Of texts, the sequence of numbers is compared. A key that was
renamed is looked up in renames.txt (`old new`, one pair a line; `old -` for a key that is gone, `- new` for a new one). Differences end with
exit status 1.
"""
import concurrent.futures
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

NUMBER = re.compile(r"(?<![\w.#-])-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
DIAGNOSTIC = re.compile(r"^(.*?):(\d+):(\d+): (error|warning)(?:\[(\w+)\])?: (.*)$")
CODE = re.compile(r"\[?([AW]\d{4})\]?")
TIMES = re.compile(r"(?i)(wall|elapsed|seconds_spent|_seconds$|search_s|solve_s)")


def commands(tree):
    for line in open(os.path.join(tree, "test/answers/commands.txt"), encoding="utf-8"):
        line = line.split("#")[0].strip()
        if line:
            name, command = line.split(":", 1)
            yield name.strip(), command.strip()
    folder = os.path.join(tree, "test/diagnostics")
    broken = sorted(f for f in os.listdir(folder) if f.endswith(".dnn"))
    for name in broken:
        yield "broken-" + name[:-4], f"compile test/diagnostics/{name} -o {{out}}"


def read_documents(folder):
    found = {}
    for here, _, files in os.walk(folder):
        for name in sorted(files):
            path = os.path.join(here, name)
            try:
                text = open(path, encoding="utf-8").read()
            except UnicodeDecodeError:
                continue
            key = os.path.relpath(path, folder)
            if name.endswith(".html"):
                continue  # a page shows what the documents beside it say
            found[key] = parse(text)
    return found


def parse(text):
    try:
        return {"json": json.loads(text)}
    except ValueError:
        return {"text": text}


def diagnostics(text, tree):
    found = []
    for line in text.splitlines():
        match = DIAGNOSTIC.match(line)
        if match:
            code = CODE.search(line)
            found.append([code.group(1) if code else "", os.path.relpath(match.group(1), tree) if os.path.isabs(match.group(1)) else match.group(1),
                          int(match.group(2)), int(match.group(3))])
        elif re.match(r"^(\w+: )?(error|warning)", line):
            code = CODE.search(line)
            found.append([code.group(1) if code else "", "", 0, 0])
    return found


def run(tree, binary, name, command):
    out = tempfile.mkdtemp()
    results = []
    for step in command.split("&&"):
        words = [word.replace("{out}", out) for word in step.split()]
        try:
            done = subprocess.run([binary] + words, cwd=tree, capture_output=True, text=True, timeout=900, check=False)
            status, stdout, stderr = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired:
            status, stdout, stderr = "timeout", "", ""
        results.append({"status": status, "stdout": parse(stdout.replace(out, "OUT")), "stderr": stderr.replace(out, "OUT"),
                        "diagnostics": diagnostics(stderr.replace(out, "OUT"), tree)})
    answer = {"command": command, "steps": results, "files": read_documents(out)}
    shutil.rmtree(out, ignore_errors=True)
    return name, answer


def record(tree, folder, only):
    tree = os.path.abspath(tree)
    binary = os.path.join(tree, "build/bin/accord")
    os.makedirs(folder, exist_ok=True)
    todo = [c for c in commands(tree) if not only or re.search(only, c[0])]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for name, answer in pool.map(lambda c: run(tree, binary, *c), todo):
            with open(os.path.join(folder, name + ".json"), "w", encoding="utf-8") as file:
                json.dump(answer, file, indent=1, sort_keys=True)
            print(name, [step["status"] for step in answer["steps"]], flush=True)


def read_renames(path):
    renames = {}
    if os.path.exists(path):
        for line in open(path, encoding="utf-8"):
            words = line.split("#")[0].split()
            if len(words) == 2:
                renames.setdefault(words[0], set()).add(words[1])
    return renames


class Comparison:
    def __init__(self, renames):
        self.renames = renames
        self.differences = []
        self.numbers = 0

    def differ(self, where, what):
        self.differences.append(f"{where}: {what}")

    def number(self, where, old, new):
        self.numbers += 1
        if abs(old - new) > 1e-12 * max(abs(old), abs(new)):
            self.differ(where, f"{old} became {new}")

    def values(self, where, old, new):
        if isinstance(old, bool) or isinstance(new, bool):
            if old != new:
                self.differ(where, f"{old} became {new}")
        elif isinstance(old, (int, float)) and isinstance(new, (int, float)):
            self.number(where, old, new)
        elif isinstance(old, str) and isinstance(new, str):
            self.text(where, old, new)
        elif isinstance(old, list) and isinstance(new, list):
            if len(old) != len(new):
                self.differ(where, f"{len(old)} entries became {len(new)}")
            for index, (a, b) in enumerate(zip(old, new)):
                self.values(f"{where}[{index}]", a, b)
        elif isinstance(old, dict) and isinstance(new, dict):
            seen = set()
            for key, value in old.items():
                names = [key] + sorted(self.renames.get(key, ()))
                name = next((n for n in names if n in new), None)
                if name is None:
                    if "-" not in names:
                        self.differ(where, f"'{key}' is gone")
                    continue
                seen.add(name)
                if "~" not in names:
                    self.values(f"{where}.{key}", value, new[name])
            for key in new:
                if key not in seen and key not in self.renames.get("-", ()):
                    self.differ(where, f"'{key}' is new")
        elif old != new:
            self.differ(where, f"{old!r} became {new!r}")

    def text(self, where, old, new):
        a, b = NUMBER.findall(old), NUMBER.findall(new)
        if len(a) != len(b):
            self.differ(where, f"{len(a)} numbers became {len(b)}")
            return
        for x, y in zip(a, b):
            self.number(where, float(x), float(y))

    def outputs(self, where, old, new):
        if "json" in old and "json" in new:
            self.values(where, old["json"], new["json"])
        elif "text" in old and "text" in new:
            self.text(where, old["text"], new["text"])
        else:
            self.differ(where, "one is a JSON document and the other is none")


def compare(old_folder, new_folder, renames):
    commands_seen, numbers, bad = 0, 0, 0
    for name in sorted(os.listdir(old_folder)):
        old = json.load(open(os.path.join(old_folder, name), encoding="utf-8"))
        path = os.path.join(new_folder, name)
        if not os.path.exists(path):
            print(f"{name[:-5]}: not run")
            bad += 1
            continue
        new = json.load(open(path, encoding="utf-8"))
        comparison = Comparison(renames)
        for index, (a, b) in enumerate(zip(old["steps"], new["steps"])):
            if a["status"] != b["status"]:
                comparison.differ(f"step {index}", f"exit status {a['status']} became {b['status']}")
            if a["diagnostics"] != b["diagnostics"]:
                comparison.differ(f"step {index}", f"diagnostics {a['diagnostics']} became {b['diagnostics']}")
            comparison.outputs(f"step {index}", a["stdout"], b["stdout"])
        for file, content in old["files"].items():
            other = next((new["files"][n] for n in [file] + sorted(renames.get(file, ())) if n in new["files"]), None)
            if other is None:
                comparison.differ(file, "not written any more")
            else:
                comparison.outputs(file, content, other)
        commands_seen += 1
        numbers += comparison.numbers
        if comparison.differences:
            bad += 1
            print(f"{name[:-5]}: {len(comparison.differences)} differences")
            for difference in comparison.differences[:8]:
                print(f"  {difference[:300]}")
    print(f"{commands_seen} commands, {numbers} numbers compared, {bad} commands differ")
    return 1 if bad else 0


def main():
    if len(sys.argv) >= 4 and sys.argv[1] == "record":
        record(sys.argv[2], sys.argv[3], sys.argv[4] if len(sys.argv) > 4 else None)
        return 0
    if len(sys.argv) == 4 and sys.argv[1] == "compare":
        here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
        return compare(sys.argv[2], sys.argv[3], read_renames(os.path.join(here, "test/answers/renames.txt")))
    print(__doc__)
    return 2


if __name__ == "__main__":
    sys.exit(main())
