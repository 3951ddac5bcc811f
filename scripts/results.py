#!/usr/bin/env python3
"""Writes lib/driver/results: a struct of C++ for documents, from their schemas in docs/schema.

    scripts/results.py           writes them anew
    scripts/results.py --check   fails if they are not what the schemas say
"""
import collections
import json
import os
import re
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "lib", "driver", "results")
# Of each document: the name of its struct.
DOCUMENTS = {
    "estimate": "Estimate",
    "job_schedule": "JobSchedule",
    "mine": "Mine",
    "placement": "Placement",
    "plan": "Plan",
    "verify": "Verify",
}
RESERVED = set("and auto bool case char class const default delete do double else enum export float for friend if int long new not operator or private public short signed static struct switch template this throw union unsigned using void while xor of".split())


def camel(key):
    return "".join(part[:1].upper() + part[1:] for part in re.split(r"[^A-Za-z0-9]+", key))


def singular(name):
    for end, instead in (("ies", "y"), ("sses", "ss"), ("ches", "ch"), ("ss", "ss"), ("us", "us"), ("is", "is"), ("s", "")):
        if name.endswith(end):
            return name[: -len(end)] + instead
    return name


def member(key):
    name = re.sub(r"\W", "_", key)
    return name + "_" if name in RESERVED else name


class Shared:
    """Objects that stand in several places of a document under one name: one struct beside the others for all of them."""

    def __init__(self, schema):
        self.counts, self.names, self.structs = collections.Counter(), {}, {}
        self.count(schema)

    def count(self, schema, key=""):
        if "properties" in schema:
            self.counts[self.shape(schema, camel(singular(key)))] += 1
        for name, one in schema.get("properties", {}).items():
            self.count(one, name)
        for inner in ("items", "additionalProperties"):
            if isinstance(schema.get(inner), dict):
                self.count(schema[inner], singular(key))
        for name, one in schema.get("$defs", {}).items():
            self.count(one, name)

    @staticmethod
    def shape(schema, name):
        """What a struct is made of; what is said of the whole object is no part of it."""
        return name + json.dumps({key: schema.get(key) for key in ("properties", "required")}, sort_keys=True)

    def struct(self, schema, name, definitions, document):
        """Its name; nothing for an object that stands in one place."""
        shape = self.shape(schema, name)
        if self.counts[shape] < 2:
            return None
        if shape not in self.names:
            while name in self.structs or name in (document, "Document", "Answer"):
                name += "Entry"
            self.names[shape] = name
            self.structs[name] = None  # the name is taken while those that it needs are made
            made = Struct(name, schema, definitions, self, (document,))
            del self.structs[name]
            self.structs[name] = made  # behind those that it needs
        return self.names[shape]


class Struct:
    """One struct, with those that only it needs inside of it."""

    def __init__(self, name, schema, definitions, shared, outer=()):
        self.name, self.schema, self.definitions, self.shared, self.outer = name, schema, definitions, shared, (*outer, name)
        self.inner, self.lines, self.reads = {}, [], []
        required = schema.get("required", [])
        for key, one in schema["properties"].items():
            kind = self.kind(one, key)
            is_required = key in required
            if not is_required and not kind.startswith(("std::optional", "std::vector", "std::map", "bool")):
                kind = f"std::optional<{kind}>"
            start = {"double": " = 0", "int64_t": " = 0", "bool": " = false"}.get(kind, "")
            about = one.get("description", "")
            line = f"{kind} {member(key)}{start};"
            fits = about and 2 * len(self.outer) + len(line) + len(about) < 112
            self.lines += [f"/// {about[:1].upper()}{about[1:]}"] if about and not fits else []
            self.lines.append(f"{line} ///< {about}" if fits else line)
            self.reads.append(f'"{"" if is_required else "?"}{key}", out.{member(key)}')

    def kind(self, schema, key):
        if "$ref" in schema:
            name = schema["$ref"].rsplit("/", 1)[1]
            definition = self.definitions[name]
            return f"Named{camel(name)}" if "properties" in definition else self.kind(definition, name)
        kind = schema.get("type")
        if isinstance(kind, list):
            rest = [one for one in kind if one != "null"]
            inner = self.kind(schema | {"type": rest[0] if len(rest) == 1 else None}, key)
            return inner if inner.startswith("std::optional") else f"std::optional<{inner}>"
        if "const" in schema or "enum" in schema:
            value = schema.get("const", "")
            return "bool" if isinstance(value, bool) else "int64_t" if isinstance(value, int) else "std::optional<std::string>" if None in schema.get("enum", []) else "std::string"
        if kind == "array" and "items" in schema:
            return f"std::vector<{self.kind(schema['items'], singular(key))}>"
        if kind == "object" and "properties" in schema:
            return self.struct(schema, camel(singular(key)))
        if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
            return f"std::map<std::string, {self.kind(schema['additionalProperties'], singular(key))}>"
        return {"string": "std::string", "integer": "int64_t", "number": "double", "boolean": "bool"}.get(kind, "std::optional<Document>")

    def struct(self, schema, name):
        if beside := self.shared.struct(schema, name, self.definitions, self.outer[0]):
            return beside
        while name in self.outer or name in self.shared.structs or name in ("Document", "Answer") or (name in self.inner and self.inner[name].schema != schema):
            name += "Entry"
        if name not in self.inner:
            self.inner[name] = Struct(name, schema, self.definitions, self.shared, self.outer)
        return name

    def text(self, named=()):
        out = [f"struct {self.name} {{"]
        for one in [*named, *self.inner.values()]:
            out += [one.text(), ""]
        out += [*self.lines, "", *([] if self.outer[1:] else ["/// Throws NoSuchValue where the document is another one."])]
        out += [f"static {self.name} of(const Document &from) {{", f"{self.name} out;", f"read(from, {', '.join(self.reads)});", "return out;", "}", "};"]
        return "\n".join(out)


def used(definitions):
    """The structs that others share, each behind those that it needs."""
    order = []

    def visit(name):
        if name in order or "properties" not in definitions[name]:
            return
        for one in re.findall(r'"#/\$defs/(\w+)"', json.dumps(definitions[name])):
            if one != name:
                visit(one)
        order.append(name)

    for name in definitions:
        visit(name)
    return order


def header(document, name):
    with open(os.path.join(ROOT, "docs", "schema", document + ".schema.json"), encoding="utf-8") as file:
        schema = json.load(file)
    definitions = schema.get("$defs", {})
    shared = Shared(schema)
    named = [Struct("Named" + camel(one), definitions[one], definitions, shared, (name,)) for one in used(definitions)]
    whole = Struct(name, schema, definitions, shared)
    text = f"""// The document of `{schema["title"]}`: {schema["description"]}
// Written by scripts/results.py from docs/schema/{document}.schema.json. Units are in the names.
#pragma once
#include "lib/driver/results/Read.h"

namespace accord::results {{

{whole.text([*named, *shared.structs.values()])}

}} // namespace accord::results
"""
    formatter = os.environ.get("CLANG_FORMAT", "clang-format-22")
    return subprocess.run([formatter, "--assume-filename=lib/driver/results/A.h"], input=text, capture_output=True, text=True, check=True, cwd=ROOT).stdout


def main():
    wrong = []
    for document, name in DOCUMENTS.items():
        path, text = os.path.join(FOLDER, name + ".h"), header(document, name)
        old = ""
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                old = file.read()
        if old == text:
            continue
        wrong.append(name + ".h")
        if "--check" not in sys.argv:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    if "--check" in sys.argv and wrong:
        sys.exit(f"lib/driver/results is not what docs/schema says ({', '.join(wrong)}): run scripts/results.py")


if __name__ == "__main__":
    main()
