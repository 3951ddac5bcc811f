#!/usr/bin/env python3
"""Runs clang-tidy over the C++ of the repository, each file only when something that it depends on has changed.

usage: scripts/lint.sh [--all | --changed | FILE...] [--jobs N] [--fix]

  --all        every source that build/compile_commands.json names (the default)
  --changed    those that differ from the last commit, and those that include a header which differs
  FILE...      these alone
  --jobs N     so many at once (default: one for each processor)
  --fix        let clang-tidy repair what it can, one file at a time
  --help       this text

Needs a build that is up to date: files that are generated and precompiled headers are read from build/. What is clean leaves a stamp in
build/tidy/ with a hash of the source, of all headers of the repository that it includes, and of .clang-tidy; so a second run costs nothing.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
STAMPS = os.path.join(BUILD, "tidy")
INCLUDE = re.compile(rb'^\s*#\s*include\s+["<]([^">]+)[">]', re.M)


def fail(text):
    sys.exit(f"error: {text}")


class Sources:
    """Files by text: their hash, and the headers of the repository and of the build that they include."""

    def __init__(self):
        self.known = {}

    def facts(self, path):
        if path not in self.known:
            with open(path, "rb") as file:
                text = file.read()
            headers = []
            for name in INCLUDE.findall(text):
                name = name.decode(errors="replace")
                for folder in (ROOT, BUILD, os.path.dirname(path)):
                    header = os.path.normpath(os.path.join(folder, name))
                    if header.startswith(ROOT + os.sep) and os.path.isfile(header):
                        headers.append(header)
                        break
            self.known[path] = hashlib.sha256(text).hexdigest(), headers, len(text)
        return self.known[path]

    def closure(self, path):
        """The file and all that it includes, directly or not."""
        seen, todo = {path}, [path]
        while todo:
            for header in self.facts(todo.pop())[1]:
                if header not in seen:
                    seen.add(header)
                    todo.append(header)
        return seen


def commands():
    path = os.path.join(BUILD, "compile_commands.json")
    if not os.path.exists(path):
        fail("there is no build/compile_commands.json: run ./quickstart or ./check first")
    with open(path, encoding="utf-8") as file:
        entries = json.load(file)
    # The build may have seen the repository under another path (a symbolic link): the path that is there counts.
    return {os.path.realpath(e["file"]): e["command"] for e in entries if not os.path.realpath(e["file"]).startswith(os.path.realpath(BUILD) + os.sep)}


def changed_files():
    def git(*arguments):
        return subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True, check=True).stdout.split("\n")

    names = git("diff", "--name-only", "HEAD") + git("ls-files", "--others", "--exclude-standard")
    return {os.path.realpath(os.path.join(ROOT, name)) for name in names if name}


def main(arguments):
    chosen, jobs, mode, fix = [], os.cpu_count() or 2, "--all", False
    while arguments:
        word = arguments.pop(0)
        if word in ("--help", "-h"):
            print(__doc__.strip())
            return 0
        if word in ("--all", "--changed"):
            mode = word
        elif word == "--fix":
            fix = True
        elif word == "--jobs" and arguments and arguments[0].isdigit() and int(arguments[0]) > 0:
            jobs = int(arguments.pop(0))
        elif word.startswith("-"):
            fail(f"unknown option '{word}' (scripts/lint.sh --help lists the options)")
        else:
            chosen.append(os.path.realpath(word))
    tidy = shutil.which("clang-tidy-22") or fail("clang-tidy-22 is missing (a Debian package; ./check installs it)")
    known = commands()
    for path in chosen:
        if path not in known:
            fail(f"'{os.path.relpath(path, ROOT)}' is no source of the build")
    sources = Sources()
    paths = sorted(chosen or known)
    if mode == "--changed" and not chosen:
        changed = changed_files()
        paths = [path for path in paths if changed & sources.closure(path)]
    with open(os.path.join(ROOT, ".clang-tidy"), "rb") as file:
        settings = file.read()
    version = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout

    def key(path):
        hashed = hashlib.sha256(settings + version + known[path].encode())
        for name in sorted(sources.closure(path)):
            hashed.update(os.path.relpath(name, ROOT).encode() + sources.facts(name)[0].encode())
        return hashed.hexdigest()

    def stamp(path):
        return os.path.join(STAMPS, os.path.relpath(path, ROOT) + ".clean")

    def is_clean(path):
        try:
            with open(stamp(path), encoding="utf-8") as file:
                return file.read() == keys[path]
        except FileNotFoundError:
            return False

    keys = {path: key(path) for path in paths}
    todo = [path for path in paths if not is_clean(path)]

    def lint(path):
        command = [tidy, "-p", BUILD, "--quiet", *(["--fix"] if fix else []), path]
        return path, subprocess.run(command, capture_output=True, text=True, cwd=BUILD, check=False)

    said, bad, done = set(), 0, 0
    # The largest first: one long file at the end would leave the other processors idle.
    todo.sort(key=lambda path: -sum(sources.facts(name)[2] for name in sources.closure(path)))
    with concurrent.futures.ThreadPoolExecutor(1 if fix else jobs) as pool:
        for path, result in pool.map(lint, todo):
            done += 1
            if result.returncode == 0:
                os.makedirs(os.path.dirname(stamp(path)), exist_ok=True)
                with open(stamp(path), "w", encoding="utf-8") as file:
                    file.write(keys[path])
            else:
                bad += 1
                # A header's finding comes with each file that includes it.
                for finding in re.split(r"(?m)^(?=/\S+:\d+:\d+: (?:error|warning))", result.stdout) or [result.stderr]:
                    if finding.strip() and finding not in said:
                        said.add(finding)
                        print(finding.replace(ROOT + os.sep, "").rstrip())
                if not result.stdout.strip():
                    print(f"{os.path.relpath(path, ROOT)}: clang-tidy failed\n{result.stderr.strip()}")
            if not sys.stdout.isatty() and done % 100 == 0:
                print(f"  {done} of {len(todo)} files", flush=True)
    print(f"{len(paths)} files, {len(todo)} looked at, {bad} not clean")
    return 1 if bad else 0


sys.exit(main(sys.argv[1:]))
