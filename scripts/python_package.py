#!/usr/bin/env python3
"""Writes the parts of the Python package that follow from the program `accord`.

    scripts/python_package.py           writes them anew
    scripts/python_package.py --check   fails if they are not what the program says

tools/python/accord/results/*.py  a class for each JSON document, from `accord schema NAME`
tools/python/accord/commands.py   a function for each command, from `accord COMMAND --help`
tools/python/accord/operations.py a method for each operation of a model, from `accord list operations --json`
"""
import json
import keyword
import os
import re
import subprocess
import sys

from schema_page import unit_of

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
PACKAGE = os.path.join(ROOT, "tools", "python", "accord")
ACCORD = os.environ.get("ACCORD", os.path.join(ROOT, "build", "bin", "accord"))
MADE = "Made by scripts/python_package.py; do not edit."

# The commands that are functions: name of the function, and of the documents that it may answer.
COMMANDS = {
    "calibrate": ("calibrate", ["calibrate", "operations", "rates", "steps", "noise"]),
    "choose": ("choose", ["choose"]),
    "compare": ("compare", ["compare", "compare_cluster"]),
    "compile": ("compile_", ["plan", "placement"]),
    "diff": ("diff", ["diff"]),
    "emit": ("emit", ["emit"]),
    "estimate": ("estimate", ["estimate"]),
    "explain": ("explain", ["explain"]),
    "fmt": ("format_", []),
    "import": ("import_model", []),
    "jobs": ("jobs", ["job_schedule", "jobs", "actor"]),
    "latency": ("latency", ["latency"]),
    "list": ("list_", ["list"]),
    "mine": ("mine", ["mine"]),
    "partition": ("partition", ["partition", "layer_plan"]),
    "prune": ("prune", ["prune", "placement"]),
    "schedule": ("schedule", ["schedule"]),
    "time": ("time", ["time"]),
    "tune": ("tune", ["tune", "servers"]),
    "verify": ("verify", ["verify"]),
    "vote": ("vote", ["vote", "vote_answers"]),
}
# Commands that are no functions: clients of a scheduler, and what is for the command line; `accord.run` runs them, too.
OTHERS = {"answer", "ask", "cancel", "completion", "drain", "guard", "man", "measure", "member", "queue", "run", "schema", "serve", "token", "top", "watch"}
# Options with which a command prints text instead of its document: `accord.run` has them.
TEXT_OPTIONS = {
    "calibrate": ["accuracy", "placements"],
    "compile": ["until"],
    "explain": ["markdown"],
    "fmt": ["check", "print"],
    "vote": ["widths"],
}
# Commands that write their folder only if one is named; here it is a temporary one, for what reads from it.
WRITING = {"latency"}
# The table of a document that people look at first.
TABLES = {
    "compare": "operations",
    "compare_cluster": "ranks",
    "diff": "operations",
    "plan": "operations",
    "placement": "stages",
    "latency": "configurations",
    "schedule": "slots",
    "calibrate": "parameters",
    "jobs": "policies",
    "job_schedule": "jobs",
    "choose": "trainings",
    "verify": "checked",
}
MEMBERS = set()  # filled by main
WORDS = {"List", "Dict", "Any", "Literal", "Optional", "Tuple", "Union", "Answer", "Record"}


def accord(*arguments):
    done = subprocess.run([ACCORD, *arguments], capture_output=True, text=True, check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join([ACCORD, *arguments])}: exit status {done.returncode}\n{done.stderr}")
    return done.stdout


def camel(name):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", name))


def singular(name):
    for end, instead in (("ies", "y"), ("sses", "ss"), ("ses", "se"), ("ches", "ch"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("s", "")):
        if name.endswith(end):
            return name[: -len(end)] + instead
    return name


def quoted(text):
    return json.dumps(text, ensure_ascii=False)


def members():
    """What every answer has already; a key of such a name gets a `_` behind it."""
    sys.path.insert(0, os.path.dirname(PACKAGE))
    from accord.answer import Answer

    return {*dir(Answer), *vars(Answer({}))}


def attribute_of(key):
    return key + "_" if keyword.iskeyword(key) or key in MEMBERS else key


def root_of(document):
    name = camel(document)
    return name + "Answer" if name in WORDS else name


class Results:
    """The classes of one document."""

    def __init__(self, name, schema):
        self.name, self.schema = name, schema
        self.classes = {}  # by name: (key that tells structures apart, lines)
        self.order = []
        self.root = root_of(name)
        self.reserved = WORDS | {self.root}

    def text(self):
        lines = self.fields(self.schema, [])
        root = f"class {self.root}(Answer):\n    {self.doc(self.schema)}\n\n"
        if self.name in TABLES:
            root += f"    _table = {quoted(TABLES[self.name])}\n"
        body = "\n\n\n".join([*(self.classes[one][1] for one in self.order), root + "\n".join(lines)])
        typing = sorted(word for word in ("Any", "Dict", "List", "Literal", "Optional", "Tuple", "Union") if re.search(rf"\b{word}\b\[|\bAny\b" if word == "Any" else rf"\b{word}\[", body))
        imports = f"from typing import {', '.join(typing)}\n\n" if typing else ""
        record = "Record, key" if "(Record)" in body else "key"
        title = self.schema["title"]
        return f'"""The document `{title}`. {MADE}"""\n\n{imports}from ..answer import Answer\nfrom ..record import {record}\n\n__all__ = [{", ".join(quoted(one) for one in sorted([*self.order, self.root]))}]\n\n\n{body}\n'

    def doc(self, schema):
        text = schema.get("description", "").replace("\\", "\\\\")
        text = text[:1].upper() + text[1:]
        if text and text[-1] not in ".:!?":
            text += "."
        return f'"""{text}"""' if text else '"""An object of the document."""'

    def fields(self, schema, path):
        lines = []
        for key, one in schema.get("properties", {}).items():
            kind, about = self.kind(one, [*path, key]), one.get("description", "")
            if key not in schema.get("required", []) and not kind.startswith("Optional["):
                kind = f"Optional[{kind}]"
            unit = unit_of(key, "number") if re.search(r"\b(int|float)\b", kind) else ""
            parts = [quoted(about)] if about or unit else []
            parts += [quoted(unit)] if unit else []
            name = attribute_of(key)
            parts += [f"name={quoted(key)}"] if name != key else []
            lines.append(f"    {name}: {kind} = key({', '.join(parts)})")
        return lines

    def kind(self, schema, path):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            return self.kind(self.schema["$defs"][name], [name])
        if "const" in schema:
            return f"Literal[{schema['const']!r}]".replace("'", '"')
        if "enum" in schema:
            words = ", ".join(quoted(one) for one in schema["enum"] if one is not None)
            return f"Optional[Literal[{words}]]" if None in schema["enum"] else f"Literal[{words}]"
        kind = schema.get("type")
        if isinstance(kind, list):
            rest = [one for one in kind if one != "null"]
            inner = [self.kind(schema | {"type": one}, path) for one in rest]
            inner = inner[0] if len(inner) == 1 else f"Union[{', '.join(inner)}]"
            return f"Optional[{inner}]" if "null" in kind else inner
        if kind is None and "anyOf" in schema:
            return f"Union[{', '.join(dict.fromkeys(self.kind(one, path) for one in schema['anyOf']))}]"
        if kind == "array":
            if "prefixItems" in schema:
                return f"Tuple[{', '.join(self.kind(one, path) for one in schema['prefixItems'])}]"
            return f"List[{self.kind(schema.get('items', {}), [*path[:-1], singular(path[-1])])}]"
        if kind == "object" and "properties" in schema:
            return self.object(schema, path)
        if kind == "object":
            inner = schema.get("additionalProperties")
            return f"Dict[str, {self.kind(inner, [*path[:-1], singular(path[-1])])}]" if isinstance(inner, dict) else "Dict[str, Any]"
        return {"string": "str", "integer": "int", "number": "float", "boolean": "bool"}.get(kind, "Any")

    def object(self, schema, path):
        """A class of this structure, under the shortest name that is free."""
        same = json.dumps(schema, sort_keys=True)
        names = [camel("_".join(path[-length:])) for length in range(1, len(path) + 1)]
        for name in names + [names[0] + word for word in ("Entry", "Part", "Item")]:
            if name in self.reserved:
                continue
            if name not in self.classes:
                self.classes[name] = (same, "")  # a name that is taken, while its parts are described
                lines = self.fields(schema, path)
                self.classes[name] = (same, f"class {name}(Record):\n    {self.doc(schema)}\n\n" + "\n".join(lines))
                self.order.append(name)
                return name
            if self.classes[name][0] == same:
                return name
        sys.exit(f"{self.name}: no name is left for {path}")


def results():
    """(path, text) of each module, and of the one that has them all."""
    names = sorted({one for _, documents in COMMANDS.values() for one in documents} | {"unknown"})
    made, lines = [], []
    for name in names:
        one = Results(name, json.loads(accord("schema", name)))
        made.append((f"results/{name}.py", one.text()))
        lines.append(f"from .{name} import {one.root} as {one.root}")
    head = f'"""A class for each document that a command prints. {MADE}"""\n\n'
    made.append(("results/__init__.py", head + "\n".join(lines) + "\n"))
    return made


class Option:
    """One line of `--help`: an option, or an argument without a name."""

    def __init__(self, names, rest, about):
        self.names, self.about = [one.strip() for one in names.split(",")], about
        long = next((one for one in self.names if one.startswith("--")), self.names[0])
        alone = re.fullmatch(r"(.*?)\{(.*)\}", long)
        self.flag = alone[1] if alone else long
        self.alone = alone[2] if alone else None
        self.argument = not long.startswith("-")
        name = self.flag.lstrip("-").replace("-", "_")
        self.name = "out" if name == "output" else attribute_of(name)
        self.required = "REQUIRED" in rest
        self.several = "..." in rest
        self.kind = rest.split(" ")[0].split(":")[0].split("=")[0] if rest else ""
        words = re.search(r"\{([^}]*)\}", rest)
        self.words = words[1].split(",") if words else []
        default = re.search(r"=(\S+)(?= |$)", re.sub(r"\{[^}]*\}", "", rest))
        self.default = default[1] if default else ""

    def type(self):
        if self.words:
            one = f"Literal[{', '.join(quoted(word) for word in self.words)}]"
        else:
            one = {"": "bool", "TEXT": "Value", "INT": "int", "UINT": "int", "FLOAT": "float"}[self.kind]
        if self.kind == "" and self.words:
            one = f"Union[bool, {one}]"
        return f"Union[{one}, Sequence[{one}]]" if self.several else one


def options_of(*command):
    """(summary, options, example) of a command."""
    text = accord(*command, "--help")
    summary = text.splitlines()[0].rstrip(".")
    options, example = [], text.partition("\nExample: ")[2]
    for line in text.partition("\nExample: ")[0].splitlines():
        if re.match(r"  \S", line):
            # CLI11 writes the description from column 30 on, or on the next line where the head is too long.
            head, about = (line[:30], line[30:]) if len(line) > 30 and line[29] == " " else (line, "")
            names, _, rest = head.strip().partition(" ")
            options.append(Option(names, re.sub(r" ?Excludes:.*", "", rest), about))
        elif options and line.startswith("      ") and line.strip():
            options[-1].about = (options[-1].about + " " + line.strip()).strip()
    return summary, [one for one in options if one.flag not in ("-h", "--help", "--json")], example


def signature(arguments, options):
    lines = []
    for one in arguments:
        kind = "Union[Value, Sequence[Value]]" if one.several else one.type()
        lines.append(f"    {one.name}: {kind}," if one.required else f"    {one.name}: Optional[{kind}] = None,")
    if options:
        lines.append("    *,")
    for one in sorted(options, key=lambda option: not option.required):
        if one.required:
            lines.append(f"    {one.name}: {one.type()},")
        elif one.kind == "" and not one.words:
            lines.append(f"    {one.name}: bool = False,")
        else:
            lines.append(f"    {one.name}: Optional[{one.type()}] = None,")
    return "\n".join(lines)


def documentation(summary, options):
    lines = [f'    """{summary}.', ""]
    for one in options:
        about = one.about.replace("\\", "\\\\")
        default = f" (default: {one.default})" if one.default and "default" not in about and one.name != "out" else ""
        lines.append(f"    {one.name}: {about}{default}")
    return "\n".join(lines) + '\n    """'


def function(command, name, documents):
    omitted = TEXT_OPTIONS.get(command, [])
    summary, all_options, _ = options_of(command)
    every = [one for one in all_options if one.name not in omitted]
    arguments, options = [one for one in every if one.argument], [one for one in every if not one.argument]
    out = next((one for one in every if one.name == "out"), None)
    writes = out is not None and (out.default == "out" or "(default: out)" in out.about or command in WRITING)
    classes = [root_of(one) for one in documents]
    result = classes[0] if len(classes) == 1 else f"Union[{', '.join(classes)}]" if classes else "str"
    if not classes:
        extra = ', "--print"' if command == "fmt" else ""
        call = f"return told([{quoted(command)}{extra}], [{', '.join(one.name for one in arguments)}], options)"
    else:
        call = f"answer = asked({quoted(command)}, [{', '.join(one.name for one in arguments)}], options, [{', '.join(classes)}], writes={writes})\n    return cast({quoted(result)}, answer)"
    head = f"@checked({', '.join(quoted(one) for one in omitted)})\ndef {name}(\n{signature(arguments, options)}\n) -> {result}:"
    return f"{head}\n{documentation(summary, every)}\n{given(options)}\n    {call}"


def given(options):
    """The statement that collects the options by their names on the command line."""
    lines = "".join(f"        {quoted(one.flag)}: {one.name},\n" for one in options)
    return f"    options: Options = {{\n{lines}    }}" if options else "    options: Options = {}"


def import_function():
    """All importers in one function: what one of them does not know, it refuses."""
    text = accord("import", "--help").partition("Subcommands:")[2].partition("\n\n")[0]
    kinds = re.findall(r"^  (\S+)  +(.*)$", text, re.M)
    options, about = {}, []
    for kind, summary in kinds:
        about.append(f"    {kind}: {summary}")
        for one in options_of("import", kind)[1]:
            if not one.argument:
                options.setdefault(one.flag, one)
    options = list(options.values())
    words = ", ".join(quoted(kind) for kind, _ in kinds)
    doc = documentation("Convert a model of another format to .dnn", options).replace("\n\n", "\n\n" + "\n".join(about) + "\n\n", 1)
    return f"@checked()\ndef import_model(\n    kind: Literal[{words}],\n    file: Union[Value, Sequence[Value]],\n{signature([], options)}\n) -> str:\n{doc}\n{given(options)}\n    return told([\"import\", kind], [file], options)"


def commands():
    listed = re.findall(r"^  (\S+)  ", accord("--help").partition("Subcommands:")[2], re.M)
    for one in sorted({*listed} ^ {*COMMANDS, *OTHERS}):
        sys.exit(f"scripts/python_package.py: command '{one}' is not in the program, or neither in COMMANDS nor in OTHERS")
    functions = [import_function() if command == "import" else function(command, *COMMANDS[command]) for command in sorted(COMMANDS)]
    names = sorted(name for name, _ in COMMANDS.values())
    classes = sorted({root_of(one) for _, documents in COMMANDS.values() for one in documents})
    typing = "from typing import Literal, Optional, Sequence, Union, cast"
    head = f'"""A function for each command, with its options as keyword arguments. {MADE}"""\n\n{typing}\n\nfrom .ask import Options, Value, asked, checked, told\nfrom .results import (\n' + "".join(f"    {one},\n" for one in classes) + ")\n\n"
    head += "__all__ = [\n" + "".join(f"    {quoted(one)},\n" for one in names) + "]\n\n\n"
    return "commands.py", head + "\n\n\n".join(functions) + "\n"


def operations():
    entries = json.loads(accord("list", "operations", "--json"))["entries"]
    methods = []
    for entry in entries:
        name, words = re.fullmatch(r"(\w+)\((.*)\)", entry["description"]).groups()
        words = [one.strip() for one in words.split(",") if one.strip()]
        methods.append(operation(name, words))
    head = f'"""The operations of models, as methods. {MADE}"""\n\nfrom typing import Any, Optional, Sequence, Tuple\n\nfrom .tensors import Operand, Setting, Size, Tensor\n\n__all__ = ["NAMES", "Operations"]\n\nNAMES = [\n'
    head += "".join(f"    {quoted(one['name'])},\n" for one in entries) + "]\n\n\n"
    head += 'class Operations:\n    """What a model, a module or the body of one can say; `name` is that of the result."""\n\n'
    head += "    def call(self, operation: Any, *operands: Any, name: Optional[str] = None, **attributes: Any) -> Tensor:\n        raise NotImplementedError\n\n"
    head += "    def several(self, names: Sequence[str], operation: Any, *operands: Any, **attributes: Any) -> Tuple[Tensor, ...]:\n        raise NotImplementedError\n\n"
    return "operations.py", head + "\n\n".join(methods) + "\n"


# Operands by the name that `accord list operations` gives them; every other word is an attribute.
OPERANDS = {"x", "a", "b", "q", "k", "v", "ids", "logits", "labels", "updates", "row_offsets", "columns", "values", "dense", "table"}


# Operations with several results, by the names of these.
SEVERAL = {"topk": ["values", "ids"]}


def operation(name, words):
    parameters, passed, named = ["self"], [], []
    variadic = "..." in words
    for i, word in enumerate(word for word in words if word != "..."):
        optional, word = word.endswith("?"), word.rstrip("?")
        is_operand = word in OPERANDS and not optional and not (word == "k" and name == "topk")
        if is_operand and variadic:
            parameters.append(f"*{word}: Operand")
            passed.append(f"*{word}")
        elif is_operand or (not optional and i < 2 and word in ("dims", "permutation", "seq", "hidden") and name in ("zeros", "parameter", "reshape", "transpose", "positions")):
            parameters.append(f"{word}: Operand" if is_operand else f"{word}: Size")
            passed.append(word)
        else:
            if "*" not in parameters and not variadic:
                parameters.append("*")
            kind = "Setting"
            parameters.append(f"{word}: Optional[{kind}] = None" if optional else f"{word}: {kind}")
            named.append(f"{word}={word}")
    if "*" not in parameters and not variadic:
        parameters.append("*")
    if name in SEVERAL:
        call = ", ".join([f"({', '.join(quoted(one) for one in SEVERAL[name])})", quoted(name), *passed, *named])
        return f"    def {name}({', '.join(parameters)}) -> Tuple[Tensor, ...]:\n        return self.several({call})"
    parameters.append("name: Optional[str] = None")
    call = ", ".join([quoted(name), *passed, "name=name", *named])
    return f"    def {name}({', '.join(parameters)}) -> Tensor:\n        return self.call({call})"


def main():
    MEMBERS.update(members())
    made = [*results(), commands(), operations()]
    wrong = []
    for path, text in made:
        full = os.path.join(PACKAGE, path)
        old = ""
        if os.path.exists(full):
            with open(full, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        wrong.append(path)
        if "--check" not in sys.argv:
            os.makedirs(os.path.dirname(full), exist_ok=True)
            with open(full, "w", encoding="utf-8") as file:
                file.write(text)
    folder = os.path.join(PACKAGE, "results")
    known = {os.path.basename(path) for path, _ in made}
    for name in sorted(os.listdir(folder)):
        if name.endswith(".py") and name not in known:
            wrong.append(f"results/{name}")
            if "--check" not in sys.argv:
                os.remove(os.path.join(folder, name))
    if "--check" in sys.argv and wrong:
        sys.exit(f"tools/python/accord is not what the program says ({', '.join(wrong)}): run scripts/python_package.py")


if __name__ == "__main__":
    main()
