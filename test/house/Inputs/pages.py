# Pages and all other text: READMEs, links, lengths, merges that were not finished, loose ends.
import os
import re

LENGTHS = {"README.md": 70, "docs/architecture.md": 150}
ROOM = 20
LOOSE_ENDS = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")
MERGE = re.compile(r"(<{7}|>{7})( |$)", re.M)
TEXT = (".cpp", ".h", ".td", ".g4", ".def", ".inc", ".md", ".py", ".sh", ".txt", ".cmake", ".js", ".html", ".css", ".json", ".accel", ".dnn", ".test", ".mlir")


def check_links(tree, path):
    text = re.sub(r"```.*?```|`[^`\n]*`", "", tree.text(path), flags=re.S)
    folder = os.path.dirname(path)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target and not tree.exists(os.path.join(folder, target)):
            yield f"{path}: the link to '{target}' leads nowhere"


def rooms(tree):
    """Folders that want a README: the top ones with anything built in them, and every subject."""
    for folder, names in tree.folders.items():
        depth = folder.count("/") + 1 if folder else 0
        used = any(p.startswith(folder + "/") for p in tree.sources) or "CMakeLists.txt" in names
        if depth == 1 and folder not in ("grammar", "lib") and used or depth == 2 and folder.startswith(("lib/", "dialects/", "passes/")) and used:
            yield folder
    yield from ("grammar", "scripts", "lib/catalog")


def check(tree):
    problems = []
    for path in tree.files:
        if path.endswith(".md"):
            problems += check_links(tree, path)
            most = LENGTHS.get(path) or (ROOM if path.endswith("/README.md") and not path.startswith(("examples/", "docs/")) else None)
            if most and len(tree.lines(path)) > most:
                problems.append(f"{path}: more than {most} lines")
        if path.endswith(TEXT) or "." not in os.path.basename(path):
            text = tree.text(path)
            if MERGE.search(text):
                problems.append(f"{path}: a merge that was not finished")
            if path.endswith((".cpp", ".h", ".td", ".g4", ".def")) and LOOSE_ENDS.search(text):
                for number, line in enumerate(text.splitlines(), 1):
                    if LOOSE_ENDS.search(line):
                        problems.append(f"{path}:{number}: a loose end: {line.strip()}")
    for room in rooms(tree):
        if f"{room}/README.md" not in tree.known:
            problems.append(f"{room}: a room without README.md")
    return problems
