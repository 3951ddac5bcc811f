# Two types of one name in one namespace: the linker keeps the destructor of one of them for both. Those within a .cpp are in a namespace
# without a name.
import re

LIBRARY = ("lib/", "dialects/", "passes/")
NAMESPACE = re.compile(r"namespace ?(?:inline )?([\w:]*) ?\{")
TYPE = re.compile(r"(?:template <.*> )?(?:struct|class|enum class) (\w+)(?: final)?(?: : [^;{]*)? \{")


def types_of(lines):
    """Full names of the types that begin at the margin, but for those of a namespace without a name."""
    within = []
    for line in lines:
        if line.startswith(("namespace", "inline namespace")):
            within += NAMESPACE.findall(line)
        elif line.startswith("} // namespace") and within:
            within.pop()
        found = TYPE.match(line)
        if found and "" not in within:
            yield "::".join([*within, found[1]])


def check(tree):
    places = {}
    for path in tree.sources:
        if path.startswith(LIBRARY) and path.endswith((".h", ".cpp")):
            for name in types_of(tree.lines(path)):
                places.setdefault(name, set()).add(path)
    return [f"{name}: a type of this name is in {', '.join(sorted(paths))}" for name, paths in sorted(places.items()) if len(paths) > 1]
