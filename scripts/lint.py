#!/usr/bin/env python3
"""Runs clang-tidy over the C++ of the repository, each file only when something that it depends on has changed.

usage: scripts/lint.sh [--all | --changed | FILE...] [--jobs N] [--fix]

  --all        every source that build/compile_commands.json names (the default)
  --changed    those that differ from the last commit, and those that include a header which differs
  FILE...      these alone
  --jobs N     so many at once (default: one for each processor)
  --fix        let clang-tidy repair what it can, one file at a time
  --help       this text

Needs a build that is up to date: files that are generated and precompiled headers are read from build/. What is clean leaves a stamp, an empty
file whose name is a hash of the source, of all headers of the repository that it includes, of its command and of .clang-tidy; so a second run
costs nothing, in another checkout of the same user too: stamps lie in ~/.cache/accord/tidy ($XDG_CACHE_HOME) and are kept for 30 days.
Sources of one room are examined together, since most of the time goes into the headers that all of them include. Where two do not compile
together, because each has something of the same name for itself, they are divided.
"""
import concurrent.futures
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
BUILD = os.path.join(ROOT, "build")
CACHE = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
STAMPS = os.path.join(CACHE, "accord", "tidy")
KEPT = 30 * 24 * 3600  # seconds that a stamp is kept after it was last of use
OURS = "dialects|examples|lib|passes|test|tools"
BATCH = 24  # sources of a room at a time; more would take more memory
# What a source defines for itself, in a namespace without a name or static: constants, types, functions.
CONSTANT = re.compile(r"(?m)^(?:static |constexpr |const )[^;{}()=#]*?\b(k[A-Z]\w*)\s*[\[({=]")
TYPE = re.compile(r"(?m)^(?:class|struct|enum class|enum) (\w+)(?: final)?(?: :[^;{:][^;{]*)? *\{")
FUNCTION = re.compile(r"(?m)^(?!return|using|namespace|typedef|extern|class|struct|enum|TEST|INSTANTIATE)[\w:<>,&*\[\] ]*[\w>&*\]] [&*]*(\w+)\([^;{}]*\)[^;{}()]*\{")
LOOKED_UP = {"PrintTo"}  # functions that a library calls by their name
header_words = None  # read when the first batch is put together
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
    settings = b""
    for name in (".clang-tidy", "test/.clang-tidy"):
        with open(os.path.join(ROOT, name), "rb") as file:
            settings += file.read()
    version = subprocess.run([tidy, "--version"], capture_output=True, check=True).stdout

    def key(path):
        hashed = hashlib.sha256(settings + version + known[path].replace(ROOT, "").encode())
        for name in sorted(sources.closure(path)):
            hashed.update(os.path.relpath(name, ROOT).encode() + sources.facts(name)[0].encode())
        return hashed.hexdigest()

    def is_clean(path):
        try:
            os.utime(os.path.join(STAMPS, keys[path]))
            return True
        except FileNotFoundError:
            return False

    open_stamps()
    keys = {path: key(path) for path in paths}
    todo = [path for path in paths if not is_clean(path)]

    # The largest first: one long batch at the end would leave the other processors idle.
    batches = [[path] for path in todo] if fix else batches_of(todo, known)
    batches.sort(key=lambda batch: -sum(sources.facts(name)[2] for path in batch for name in sources.closure(path)))
    said, bad, done = set(), 0, 0
    with concurrent.futures.ThreadPoolExecutor(1 if fix else jobs) as pool:
        for results in pool.map(lambda batch: examine(tidy, batch, known, fix), batches):
            for batch, findings in results:
                done += len(batch)
                if not findings:
                    for path in batch:
                        with open(os.path.join(STAMPS, keys[path]), "w", encoding="utf-8"):
                            pass
                    continue
                bad += len(batch)
                for finding in findings:  # that of a header comes with each file that includes it
                    if finding not in said:
                        said.add(finding)
                        print(finding.replace(ROOT + os.sep, ""), flush=True)
    print(f"{len(paths)} files, {len(todo)} looked at, {bad} not clean")
    return 1 if bad else 0


def open_stamps():
    """Makes the folder of stamps, in build/ where the user has no home, and removes those that were long of no use."""
    global STAMPS
    try:
        os.makedirs(STAMPS, exist_ok=True)
    except OSError:
        STAMPS = os.path.join(BUILD, "tidy")
        os.makedirs(STAMPS, exist_ok=True)
    oldest = time.time() - KEPT
    for stamp in os.scandir(STAMPS):
        if stamp.stat().st_mtime < oldest:
            os.remove(stamp.path)


def flags_of(command):
    """What the compiler is told, without the launcher, the source and the output."""
    words = shlex.split(command)
    start = next((i for i, word in enumerate(words) if "clang" in os.path.basename(word)), None)
    words = words[start + 1:] if start is not None else fail("build/ was not configured with clang (cmake --preset release)")
    kept = []
    while words:
        word = words.pop(0)
        if word in ("-o", "-c"):
            words.pop(0)
        else:
            kept.append(word)
    return kept


def alike(command):
    """What two commands have in common if their sources can be examined together: all but the level of optimization, and of a precompiled
    header, of which there is one for each level, what it includes."""
    kept = [word for word in flags_of(command) if not re.match(r"-O\d$", word) and not word.endswith(".hxx")]
    for i, word in enumerate(kept):
        if word.endswith(".hxx.pch"):
            with open(word[:-len(".pch")], encoding="utf-8") as file:
                kept[i] = "".join(line for line in file if line.startswith("#include"))
    return tuple(kept)


def batches_of(paths, known):
    """Sources of one room (lib/placement, test/lib/placement) that are compiled alike and use the same namespaces, at most BATCH at a time. The bases of passes are written by
    a file that is included once: each source of passes is alone."""
    groups = {}
    for path in paths:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        used = tuple(sorted(set(re.findall(r"(?m)^using namespace [\w:]+", text))))
        alone = path if "#define GEN_PASS_DEF" in text else ""
        parts = os.path.relpath(path, ROOT).split(os.sep)
        room = tuple(parts[:3 if parts[0] == "test" else 2])
        groups.setdefault((room, alike(known[path]), used, alone), []).append(path)
    return [group[i:i + BATCH] for group in groups.values() for i in range(0, len(group), BATCH)]


def words_of_headers():
    """All words of the headers of the repository, and the types that one of them declares and does not define."""
    words, declared = set(), set()
    listed = subprocess.run(["git", "-C", ROOT, "ls-files", "*.h"], capture_output=True, text=True, check=True).stdout.split()
    for name in listed:
        with open(os.path.join(ROOT, name), encoding="utf-8") as file:
            text = file.read()
        words.update(re.findall(r"\w+", text))
        declared.update(re.findall(r"(?:class|struct) (\w+);", text))
    return words, declared


def together(batch):
    """One source that includes the batch, behind all headers of it. Names that a source defines for itself get a number, where another
    source or a header has the same one: types, constants, and functions that no header speaks of."""
    global header_words
    header_words = header_words or words_of_headers()
    words, declared = header_words
    types, others, headers = [], [], {}
    for path in batch:
        with open(path, encoding="utf-8") as file:
            text = file.read()
        types.append(set(TYPE.findall(text)) - declared)
        others.append(set(CONSTANT.findall(text)) | set(FUNCTION.findall(text)) - words - LOOKED_UP)
        headers.update(dict.fromkeys(re.findall(r"(?m)^#include .*", text)))
    lines = list(headers)
    for number, path in enumerate(batch):
        again = {name for name in types[number] if name in words or sum(name in one for one in types) > 1}
        again = sorted(again | {name for name in others[number] if sum(name in one for one in others) > 1})
        lines += [f"#define {name} {name}_{number}" for name in again]
        lines.append(f'#include "{path}" // NOLINT(bugprone-suspicious-include)')
        lines += [f"#undef {name}" for name in again]
    return "\n".join(lines) + "\n"


def checks_of(path):
    """What test/.clang-tidy adds for a test: clang-tidy looks for it beside the source alone, and a batch is elsewhere."""
    if not path.startswith(os.path.join(ROOT, "test") + os.sep):
        return []
    with open(os.path.join(ROOT, "test/.clang-tidy"), encoding="utf-8") as file:
        checks = re.search(r"(?ms)^Checks:\s*>?(.*?)(?=^\S|\Z)", file.read()) or fail("test/.clang-tidy names no checks")
        return ["--checks=" + re.sub(r"\s", "", checks.group(1))]


def examine(tidy, batch, known, fix):
    """Runs clang-tidy over a batch; a list of (sources, findings), divided where the sources do not compile together."""
    source = batch[0]
    if len(batch) > 1:
        source = os.path.join(BUILD, "tidy-" + hashlib.sha256("\n".join(batch).encode()).hexdigest()[:16] + ".cpp")
        with open(source, "w", encoding="utf-8") as file:
            file.write(together(batch))
    command = [tidy, "--quiet", f"--config-file={ROOT}/.clang-tidy", *checks_of(batch[0]), f"--header-filter=^{re.escape(ROOT)}/({OURS})/", *(["--fix"] if fix else []), source,
               "--", *sorted({f"-iquote{os.path.dirname(path)}" for path in batch}), *flags_of(known[batch[0]])]
    result = subprocess.run(command, capture_output=True, text=True, cwd=BUILD, check=False)
    if len(batch) > 1:
        os.remove(source)
        if "[clang-diagnostic-error" in result.stdout:
            named = set(re.findall(r"(?m)^(/\S+?):\d+:\d+: error", result.stdout))
            apart = [path for path in batch if path in named]
            if not apart or len(apart) == len(batch):
                apart = batch[len(batch) // 2:]
            return examine(tidy, [path for path in batch if path not in apart], known, fix) + examine(tidy, apart, known, fix)
    if result.returncode == 0:
        return [(batch, [])]
    findings = [text.rstrip() for text in re.split(r"(?m)^(?=/\S+:\d+:\d+: (?:error|warning))", result.stdout) if text.strip()]
    named = {finding.split(":")[0] for finding in findings}
    bad = [path for path in batch if path in named] if named and named <= set(batch) else batch  # of a header: all that include it
    text = findings or [f"{os.path.relpath(batch[0], ROOT)}: clang-tidy failed\n{result.stderr.strip()}"]
    return [(bad, text), ([path for path in batch if path not in bad], [])]


sys.exit(main(sys.argv[1:]))
