# Runs every command of a list on every kind of bad input and says which did not answer as they must.
import argparse
import os
import re
import shutil
import subprocess
import sys

GOOD = """model good(hidden = 8) {
  input x : float[hidden]
  input y : float[hidden]
  loss mse(linear(x, out = hidden), y)
}
train good_training = good() on a100_80g {
  batch = 8
  precision = fp32
  optimizer = sgd
}
"""

CORE = """microarchitecture core {
  window = 1
  opcode add { reads = 2, writes = 1 }
  fetch   fetch { width = 1, buffer = 1, to = x }
  execute x { capacity = 1, units = {alu} }
  unit alu { entries = 1, reads = {r}, writes = {r}, operation add { latency = 1 cycle } }
  registers r[4] { width = 32 bit }
}
"""
SERVERS = "tuning servers { server { n = 1..3 } baseline { n = 2 } maximize samples_per_second }\n"
PROGRAM = """program good on core {
  add r1, r2, r3
}
"""

TRACE = """{"traceEvents": [{"ph": "X", "cat": "cpu_op", "name": "aten::mm", "ts": 1, "dur": 2, "args": {"Input Dims": [[8, 8], [8, 8]]}}]}
"""

ENSEMBLE = """{"voting": 1, "name": "e", "classes": 2, "rule": "majority", "quorum": 1, "timeout_ms": 100,
  "members": [{"name": "a", "url": "http://127.0.0.1:8501"}]}
"""

# Root reads every file, unless he gives that privilege up.
SETPRIV = shutil.which("setpriv", path="/usr/bin:/bin")
WITHOUT_PRIVILEGE = (
    [SETPRIV, "--bounding-set", "-dac_override,-dac_read_search"] if os.geteuid() == 0 and SETPRIV else []
)


def bad_inputs(work, extension, large):
    """Yields (what it is, path)."""

    def file(name, content):
        path = os.path.join(work, name + extension)
        if not os.path.exists(path):
            with open(path, "wb") as out:
                out.write(content)
        return path

    if large:
        line = {".dnn": b"let value = 1 + 2 * 3 // words\n", ".json": b'{"a": [1, 2, 3], "b": "text"}\n'}
        yield "100 MB", file("large", line.get(extension, b"accelerator a { clock = 1 GHz } // words\n") * 3_000_000)
        return
    # An empty file is a program that says nothing: `fmt` and `list` may accept it, nothing else can.
    yield "empty", file("empty", b"")
    yield "binary", file("binary", bytes(range(256)) * 64)
    yield "invalid UTF-8", file("utf8", b"model m\xff\xfe() { }\n")
    yield "only zeros", file("zeros", b"\0" * 4096)
    for name, bracket in (("round", b"("), ("square", b"["), ("curly", b"{")):
        yield "100,000 " + name + " brackets", file(name, bracket * 100_000)
    yield "brackets in a value", file("value", b"let a = " + b"(" * 100_000 + b"1" + b")" * 100_000 + b"\n")
    yield "one long line", file("long", b"let a = 1" + b" + 1" * 100_000 + b" @\n")
    folder = os.path.join(work, "folder" + extension)
    os.makedirs(folder, exist_ok=True)
    yield "a directory", folder
    yield "missing", os.path.join(work, "missing" + extension)
    unreadable = file("unreadable", b"let a = 1\n")
    os.chmod(unreadable, 0)
    if os.geteuid() != 0 or WITHOUT_PRIVILEGE:
        yield "unreadable", unreadable
    loop = os.path.join(work, "loop" + extension)
    if not os.path.islink(loop):
        os.symlink("loop" + extension, loop)
    yield "a link to itself", loop


# They ask a scheduler process and take no file.
WITHOUT_FILES = {"cancel", "completion", "drain", "man", "queue", "token", "top", "watch"}


def missing_commands(lines):
    """Commands that `accord --help` knows and no line takes a file with."""
    text = subprocess.run(["accord", "--help"], capture_output=True, text=True, check=True).stdout
    known = re.findall(r"^  ([a-z]+)  +\S", text.split("Subcommands:\n")[1], re.MULTILINE)
    return [name for name in known if name not in {line.split()[0] for line in lines} | WITHOUT_FILES]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", required=True)
    parser.add_argument("--work", required=True)
    parser.add_argument("--large", action="store_true")
    options = parser.parse_args()
    work = options.work
    os.makedirs(work, exist_ok=True)
    for name, text in (("good.dnn", GOOD), ("core.accel", CORE), ("good.txt", PROGRAM), ("good.trace", TRACE), ("ensemble.json", ENSEMBLE), ("votes.csv", "a\nright\n"), ("servers.dnn", SERVERS)):
        with open(os.path.join(work, name), "w", encoding="utf-8") as out:
            out.write(text)
    subprocess.run(["accord", "compile", "good.dnn", "-o", "good.plan"], cwd=work, capture_output=True, check=True)
    wrong = runs = 0
    with open(options.commands, encoding="utf-8") as lines:
        lines = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    for name in missing_commands(lines):
        wrong += 1
        print(f"no line of {options.commands} takes a file with `accord {name}`")
    for line in lines:
        words, extensions = line.rsplit(" : ", 1) if " : " in line else line.rsplit(":", 1)
        for extension in extensions.split():
            for what, path in bad_inputs(work, extension, options.large):
                command = ["accord"] + [path if word == "{}" else word for word in words.split()]
                if words.startswith("compile"):
                    command += ["-o", os.path.join(work, "out")]
                if what == "unreadable":
                    command = WITHOUT_PRIVILEGE + command
                try:
                    run = subprocess.run(command, cwd=work, stdin=subprocess.DEVNULL, capture_output=True, timeout=120)
                    status, text = run.returncode, (run.stdout + run.stderr).decode("utf-8", "replace")
                except subprocess.TimeoutExpired:
                    status, text = "no answer in 120 s", ""
                runs += 1
                allowed = (0, 1) if words.startswith(("fmt", "list")) and what in ("empty", "100 MB") else (1,)
                problem = None
                if status not in allowed:
                    problem = f"exit status {status}"
                elif status == 1 and os.path.basename(path) not in text:
                    problem = "the message does not name the file"
                elif len(text) > 200_000:
                    problem = f"{len(text)} bytes of messages"
                if problem:
                    wrong += 1
                    print(f"{' '.join(command)}\n  ({what}): {problem}; it said: {text[:300]!r}")
    if wrong:
        print(f"{wrong} of {runs} answers are wrong")
        return 1
    print(f"every command answered every bad input ({runs} runs)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
