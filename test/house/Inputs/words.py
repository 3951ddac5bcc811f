"""words.py ROOT: finds the words that docs/GLOSSARY replaces (words.txt) in identifiers, keys, messages, languages, docs and comments."""
import os
import re
import subprocess
import sys

ROOT = sys.argv[1]
HERE = os.path.dirname(os.path.abspath(__file__))
# A comment, a raw string, a string, a number, an identifier.
TOKEN = re.compile(
    r"(?P<comment>//[^\n]*|/\*.*?\*/)|(?P<raw>R\"(?P<d>[^()\s\\]{0,16})\(.*?\)(?P=d)\")|(?P<string>\"(?:\\.|[^\"\\\n])*\")"
    r"|'(?:\\.|[^'\\\n])+'|\.?\d(?:[eEpP][+-]|[\w.]|'(?=\w))*|(?P<identifier>[A-Za-z_]\w*)",
    re.S,
)
PROSE = re.compile(r"\[\{.*?\}\]", re.S)  # of TableGen
KEY = re.compile(r'"([a-z][a-z0-9_]*)"')
SKIP = re.compile(r"^(build|\.git)|(^|/)(kubernetes\.schema\.json|renames\.txt|words\.(txt|py))$|^test/(import/Inputs|answers)/|CHANGELOG")


def files():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, text=True, check=False)
    if listed.returncode == 0:
        return [f for f in listed.stdout.split("\n") if f]
    found = []
    for here, folders, names in os.walk(ROOT):
        folders[:] = [f for f in folders if not f.startswith((".", "build"))]
        found += [os.path.relpath(os.path.join(here, name), ROOT) for name in names]
    return found


def rules():
    with open(os.path.join(HERE, "words.txt"), encoding="utf-8") as file:
        for line in file:
            if line.strip() and not line.startswith("#"):
                where, pattern, instead, *rest = [part.strip() for part in re.split(r" \|(?: |$)", line.rstrip("\n"))]
                yield where.split(), re.compile(pattern), instead, re.compile(rest[0]) if rest and rest[0] else None


def pieces(path, text):
    """(kind, offset, text) of everything in a file that a rule may speak about."""
    if path.endswith((".cpp", ".h", ".td", ".def")):
        product = not path.startswith("test/")
        if path.endswith(".td"):
            for match in PROSE.finditer(text):
                yield "comment", match.start(), match.group()
            text = PROSE.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
        for match in TOKEN.finditer(text):
            kind = match.lastgroup if match.lastgroup != "d" else "raw"
            if kind == "identifier":
                yield "identifier", match.start(), match.group()
            elif kind == "comment" and product:
                yield "comment", match.start(), match.group()
            elif kind in ("string", "raw") and product and not text[: match.start()].endswith("#include "):
                yield "message", match.start(), match.group()
                if KEY.fullmatch(match.group()) and "/output/" in path:
                    yield "key", match.start(), match.group()[1:-1]
    elif path.startswith("docs/schema/") and path.endswith(".json"):
        for match in re.finditer(KEY.pattern + r"(?=:)", text):
            yield "key", match.start(), match.group(1)
    elif path.startswith("lib/report/") and path.endswith((".js", ".html")):
        yield "message", 0, text
    elif path.endswith((".accel", ".dnn")) and path.startswith(("lib/", "examples/")):
        yield "language", 0, text
    elif path.endswith(".md"):
        yield "doc", 0, text


def main():
    found = 0
    table = list(rules())
    for path in sorted(files()):
        if SKIP.search(path):
            continue
        try:
            with open(os.path.join(ROOT, path), encoding="utf-8") as file:
                text = file.read()
        except (UnicodeDecodeError, OSError):
            continue
        for kind, offset, piece in pieces(path, text):
            for where, pattern, instead, excepted in table:
                if kind not in where:
                    continue
                for match in pattern.finditer(piece):
                    at = offset + match.start()
                    if excepted and excepted.search(f"{path}: " + text[max(0, at - 30) : at + len(match.group()) + 30]):
                        continue
                    found += 1
                    print(f"{path}:{text.count(chr(10), 0, at) + 1}: {kind} '{match.group()}': say {instead}")
    return 1 if found else 0


sys.exit(main())
