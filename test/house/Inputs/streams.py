# What is printed: commands run within other programs, too, so they print to the streams of lib/support/CommandHost.h.
import re

OWN = re.compile(r"llvm::(outs|errs)\(\)|\bstd::(cout|cerr)\b|fmt::print\((std(out|err),|\")")
MAY = ("lib/support/CommandHost.cpp", "tools/accord/Process.cpp", "tools/accord-opt/", "tools/accord-mpi/", "tools/accord-lsp/")


def check(tree):
    return [
        f"{path}:{number}: prints past standardOutput() and standardError()"
        for path in tree.sources
        if path.startswith(("lib/", "passes/", "tools/")) and not path.startswith(MAY)
        for number, line in enumerate(tree.lines(path), 1)
        if OWN.search(line.split("//", 1)[0])
    ]
