# The files of the tree that the rules are about, read once.
import os
import re

# Built, or not of this house; what tests read may be anything.
SKIP = re.compile(r"(build[^/]*|out|\.git|\.ci|fuzz-crashes)$|(.*/)?(node_modules|__pycache__|Inputs)$")
SOURCES = (".cpp", ".h", ".td", ".def", ".inc")


class Tree:
    def __init__(self, root):
        self.root = root
        self.files = []  # paths from the root, sorted by folder
        self.folders = {}  # folder -> names of its files
        for folder, folders, names in os.walk(root):
            here = os.path.relpath(folder, root)
            here = "" if here == "." else here
            folders[:] = sorted(f for f in folders if not SKIP.match(os.path.join(here, f)))
            self.folders[here] = sorted(names)
            self.files += [os.path.join(here, name) for name in sorted(names)]
        self.known = set(self.files)
        self.sources = [f for f in self.files if f.endswith(SOURCES)]
        self.texts = {}

    def text(self, path):
        if path not in self.texts:
            with open(os.path.join(self.root, path), encoding="utf-8", errors="replace") as file:
                self.texts[path] = file.read()
        return self.texts[path]

    def lines(self, path):
        return self.text(path).splitlines()

    def exists(self, path):
        return os.path.exists(os.path.join(self.root, path))
