# Checks what docs/architecture.md promises about the tree: who includes whom, sizes, a README in every room, no loose ends.
import os
import re
import sys

ROOT = sys.argv[1]
SKIP = re.compile(r"^(build.*|out|\.git|\.ci|node_modules|__pycache__|Inputs|fuzz-crashes)$")
SOURCE = (".cpp", ".h", ".td", ".g4", ".def")

# room -> what it must not include (prefixes), and what is excepted
FORBIDDEN = {
    "dialects/": (("lib/", "passes/", "tools/"), ("lib/support/",)),
    "lib/": (("passes/", "tools/", "test/"), ()),
    "lib/verify/": (("lib/", "dialects/", "mlir/", "z3"), ("lib/verify/", "lib/model/", "lib/support/")),
    "lib/model/": (("lib/", "dialects/", "mlir/", "z3"), ("lib/model/", "lib/support/")),
    "lib/array/": (("lib/", "dialects/", "mlir/", "z3"), ("lib/array/", "lib/model/", "lib/support/")),
    "lib/support/": (("lib/", "dialects/", "z3"), ("lib/support/",)),
    "lib/solve/": (("lib/", "dialects/", "mlir/"), ("lib/solve/", "lib/analysis/", "lib/model/", "lib/support/")),
    "lib/tile/": (("lib/", "dialects/", "mlir/", "z3"), ("lib/tile/", "lib/model/", "lib/support/")),
    "lib/interpret/": (("lib/", "z3"), ("lib/interpret/", "lib/support/")),
    "lib/import/": (("lib/", "dialects/", "mlir/"), ("lib/import/", "lib/syntax/", "lib/model/", "lib/support/")),
    "lib/import/mlir/": (("lib/", "dialects/"), ("lib/import/", "lib/support/")),
    "lib/latency/": (("lib/", "dialects/", "z3"), ("lib/latency/", "lib/analysis/", "lib/model/", "lib/network/", "lib/support/")),
    "lib/analysis/": (("lib/", "dialects/", "mlir/"), ("lib/analysis/", "lib/model/", "lib/support/")),
}
LOOSE_ENDS = re.compile(r"\b(" + "TO" + r"DO|FIX" + r"ME|XX" + r"X|HA" + r"CK)\b")

problems = []


def lines_of(path):
    with open(path, encoding="utf-8") as file:
        return file.read().splitlines()


def check_source(relative, lines):
    if len(lines) > 500 and not relative.endswith(".def"):
        problems.append(f"{relative}: {len(lines)} lines; the most is 500")
    for number, line in enumerate(lines, 1):
        if LOOSE_ENDS.search(line):
            problems.append(f"{relative}:{number}: a loose end: {line.strip()}")
        included = re.match(r'\s*#?include\s+["<]([^">]+)[">]', line)
        if not included:
            continue
        for room, (forbidden, excepted) in FORBIDDEN.items():
            name = included.group(1)
            # A room within a room has its own rule, and that of lib/.
            if any(other != room != "lib/" and other.startswith(room) and relative.startswith(other) for other in FORBIDDEN):
                continue
            if relative.startswith(room) and name.startswith(forbidden) and not name.startswith(excepted):
                problems.append(f"{relative}:{number}: '{room}' must not include '{name}'")


def check_links(folder, relative):
    text = re.sub(r"```.*?```", "", "\n".join(lines_of(os.path.join(ROOT, relative))), flags=re.S)
    for target in re.findall(r"\]\(([^)#\s]+)", text):
        if "://" not in target and not os.path.exists(os.path.join(folder, target)):
            problems.append(f"{relative}: the link to '{target}' leads nowhere")


def check_merged(relative):
    with open(os.path.join(ROOT, relative), "rb") as file:
        for number, line in enumerate(file, 1):
            if re.match(rb"(<{7}|>{7})( |$)", line):
                problems.append(f"{relative}:{number}: a merge that was not finished")


for folder, folders, files in os.walk(ROOT):
    folders[:] = sorted(f for f in folders if not SKIP.match(f))
    here = os.path.relpath(folder, ROOT)
    here = "" if here == "." else here + "/"
    sources = [f for f in sorted(files) if f.endswith(SOURCE)]
    for name in sources:
        check_source(here + name, lines_of(os.path.join(folder, name)))
    for name in files:
        if name.endswith(".md"):
            check_links(folder, here + name)
        check_merged(here + name)
    if here and not here.startswith(("test/", ".")) and here != "lib/support/errors/" and (sources or "CMakeLists.txt" in files):
        if here.count("/") <= 2 and here not in ("lib/", "cmake/") and not here.startswith("tools/a") and "README.md" not in files:
            problems.append(f"{here}: a room without README.md")
    if "README.md" in files and here and not here.startswith("examples/") and not here.startswith("docs/"):
        length = len(lines_of(os.path.join(folder, "README.md")))
        if length > 20:
            problems.append(f"{here}README.md: {length} lines; the most is 20")

for problem in problems:
    print(problem)
sys.exit(1 if problems else 0)
