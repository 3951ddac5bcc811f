# Who includes whom, held against layers.txt: nothing is allowed that is not stated there.
import os
import re
from collections import namedtuple

INCLUDE = re.compile(r'\s*#?\s*include\s+(["<])([^">]+)[">]')
# What anybody may include: the standard library and POSIX, fmt, LLVM's support library.
FREE = re.compile(r"[a-z_]+$|(fcntl|ifaddrs|netdb|poll|unistd|sched|spawn|pthread|dlfcn)\.h$|(sys|netinet|net|arpa|llvm|llvm-c|fmt)/")
LIBRARIES = {
    "mlir": r"mlir/",
    "z3": r"z3",
    "antlr": r"grammar/|(tree|misc|atn)/|(antlr4-runtime|\w*(Token|TokenStream|Exceptions?|Strategy|Parser|ParserRuleContext|InputStream))\.h$",
    "ceres": r"ceres/",
    "qhull": r"libqhull_r/",
    "sqlite": r"sqlite3\.h",
    "pqxx": r"pqxx/",
    "eigen": r"Eigen/",
    "beast": r"boost/(beast|asio)",
    "boost": r"boost/(?!beast|asio)",
    "onnx": r"onnx",
    "protobuf": r"google/protobuf/|chakra\.pb\.h",
    "zlib": r"zlib\.h",
    "cli11": r"CLI/",
    "mpi": r"mpi\.h",
    "python": r"Python\.h$",
    "gtest": r"(gtest|gmock)/",
    "benchmark": r"benchmark/",
}
TOP = ("lib", "dialects", "passes", "tools", "examples", "test")

Row = namedtuple("Row", "folder group names libraries")
Include = namedtuple("Include", "file line target folder")  # `folder`: of the target, or `+library`, or None


def full(name):
    return name if name.split("/")[0] in TOP else "lib/" + name


def roles_of(folder):
    """Subject and role of a folder of lib/; no role for folders that are a subject as a whole."""
    parts = folder.split("/")
    return (parts[1], parts[2] if len(parts) > 2 else None) if parts[0] == "lib" and len(parts) > 1 else (None, None)


class Layers:
    def __init__(self, text):
        self.rows, self.groups, self.problems = {}, {}, []
        group = ""
        for number, line in enumerate(text.splitlines(), 1):
            heading = re.match(r"\[(\S+)\]\s*(.*)", line)
            if heading:
                group = heading.group(1)
                self.groups[group] = heading.group(2)
            elif line.strip() and not line.startswith("#"):
                folder, _, allowed = line.partition(":")
                words = allowed.split()
                row = Row(full(folder.strip()), group, [full(w) for w in words if w[0] != "+"], [w for w in words if w[0] == "+"])
                self.check_row(number, row)
                self.rows[row.folder] = row
        self.order = {folder: i for i, folder in enumerate(self.rows)}

    def check_row(self, number, row):
        at, role = f"layers.txt:{number}", roles_of(row.folder)[1]
        if row.folder in self.rows:
            self.problems.append(f"{at}: '{row.folder}' has two rows")
        above = [*self.rows, row.folder]
        for name in row.names:
            if name not in TOP and not any(f == name or f.startswith(name + "/") for f in above):
                self.problems.append(f"{at}: no row above that of '{row.folder}' is '{name}' or below it")
            other, part = roles_of(name)
            named = {part} if part else {roles_of(f)[1] for f in above if roles_of(f)[0] == other}
            if role == "verify" and other != "support" and not named <= {"problem", "verify", "model"}:
                self.problems.append(f"{at}: '{row.folder}' proves again and may not include '{name}'")
            if role == "problem" and other != "support" and not named <= {"problem", "model"}:
                self.problems.append(f"{at}: '{row.folder}' states a problem and may not include '{name}'")
            if role not in ("output", None) and part == "output":
                self.problems.append(f"{at}: '{row.folder}' may not include '{name}': only outputs include outputs")
        for library in row.libraries:
            if library[1:] not in LIBRARIES:
                self.problems.append(f"{at}: '{library}' is no library that layers.py knows")

    def allows(self, folder, target):
        """Whether a file of `folder` may include one of `target` (a folder or `+library`)."""
        row = self.rows.get(folder)
        if not row:
            return False
        if target.startswith("+"):
            return target in row.libraries
        return target == folder or (
            self.order.get(target, len(self.order)) < self.order[folder]
            and any(target == name or target.startswith(name + "/") for name in row.names)
        )


def includes_of(tree):
    """All includes but those of the standard library, in the order of the files."""
    found = []
    for path in tree.sources:
        here = os.path.dirname(path)
        for number, line in enumerate(tree.lines(path), 1):
            match = INCLUDE.match(line)
            if not match:
                continue
            target = match.group(2)
            beside = os.path.normpath(os.path.join(here, target))
            if target in tree.known:
                folder = os.path.dirname(target)
            elif beside in tree.known:
                target, folder = beside, here
            elif target.startswith(TOP) and target.endswith(".inc"):  # generated, in the folder of the same name
                folder = os.path.dirname(target)
            elif FREE.match(target):
                continue
            else:
                folder = next(("+" + name for name, pattern in LIBRARIES.items() if re.match(pattern, target)), None)
            found.append(Include(path, number, target, folder))
    return found


def check(tree, layers):
    """Lines `FILE -> TARGET` that the table does not allow, and what is wrong with the table."""
    problems = list(layers.problems)
    for folder in sorted({os.path.dirname(path) for path in tree.sources}):
        if folder and folder not in layers.rows and folder.split("/")[0] in TOP:
            problems.append(f"{folder}: has no row in layers.txt")
    for folder in layers.rows:
        if not any(path.startswith(folder + "/") for path in tree.sources):
            problems.append(f"{folder}: has a row in layers.txt and no files")
    for include in includes_of(tree):
        here = os.path.dirname(include.file)
        if here.split("/")[0] not in TOP:
            continue
        if include.folder is None:
            problems.append(f"{include.file} -> {include.target}: of no library that layers.py knows")
        elif include.folder != here and not layers.allows(here, include.folder):
            problems.append(f"{include.file} -> {include.target}")
    return problems
