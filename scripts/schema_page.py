#!/usr/bin/env python3
"""schema_page.py SCHEMA.json...: prints docs/schema/README.md, a table of the keys of each document. See schemas.sh."""
import json
import sys

HEAD = """# Documents and their schemas

You read what `accord … --json` prints with a program of your own. This page lists the keys of each document. A JSON
Schema (draft 2020-12) beside it says the same to programs; `accord schema NAME` prints it.

- Objects are closed: no document has a key that is not listed here. A key with `?` may be absent.
- `stages[].name` is the key `name` of each element of the list `stages`, `sizes{}` any key of the object `sizes`.
- `schema` of a document grows by one when a reader of the older form would misread the newer.
- `test/tools/check_schema.py SCHEMA DOCUMENT` checks a document with nothing but Python's standard library.

`scripts/schemas.sh` writes this page and the schemas from the descriptions in the code.
"""

# How a key ends, and in which unit its numbers then are.
UNITS = [
    ("bytes_per_s", "B/s"), ("flops_per_s", "FLOP/s"), ("energy_per_byte_J", "J/B"), ("energy_per_flop_J", "J/FLOP"),
    ("energy_per_flop_by_type_J", "J/FLOP"), ("price_per_hour", "USD/h"), ("per_hour", "1/h"), ("_bytes", "B"), ("bytes", "B"), ("_bits", "bit"),
    ("flops", "FLOP"), ("cycles", "cycles"), ("_mm2", "mm²"), ("_m2", "m²"), ("_ps", "ps"), ("_s", "s"), ("_pJ", "pJ"),
    ("_J", "J"), ("_W", "W"), ("_Hz", "Hz"), ("_hz", "Hz"), ("_per_second", "1/s"), ("gCO2e", "g"),
]  # fmt: skip


def unit_of(key, kind):
    if not {"number", "integer"} & set(kind.replace(",", "").split()):
        return ""
    return next((unit for end, unit in UNITS if key.endswith(end)), "")


def kind_of(schema):
    """The type in words."""
    if "$ref" in schema:
        name = schema["$ref"].rsplit("/", 1)[1]
        return f"*{name}*"
    if "const" in schema:
        return f"`{json.dumps(schema['const'])}`"
    if "enum" in schema:
        return ", ".join("null" if one is None else f"`{one}`" for one in schema["enum"])
    if "anyOf" in schema and "type" not in schema:
        return " or ".join(kind_of(one) for one in schema["anyOf"])
    kind = schema.get("type", "any")
    if isinstance(kind, list):
        return " or ".join(kind_of(schema | {"type": one}) for one in kind)
    if kind == "array":
        if "prefixItems" in schema:
            return "[" + ", ".join(kind_of(one) for one in schema["prefixItems"]) + "]"
        size = f"{schema['minItems']} " if "minItems" in schema and schema["minItems"] == schema.get("maxItems") else ""
        return f"list of {size}{kind_of(schema.get('items', {}))}"
    if kind == "object" and isinstance(schema.get("additionalProperties"), dict):
        return f"object of {kind_of(schema['additionalProperties'])}"
    return kind


def rows(schema, path, optional):
    """(key, type, unit, description) of all keys below a value, in the order of the schema."""
    if isinstance(schema.get("items"), dict):
        yield from rows(schema["items"], path + "[]", False)
    if isinstance(schema.get("additionalProperties"), dict):
        yield from rows(schema["additionalProperties"], path + "{}", False)
    for form in schema.get("anyOf", []) + schema.get("prefixItems", []):
        if "type" in form:
            yield from rows(form, path, optional)
    for key, one in schema.get("properties", {}).items():
        full = f"{path}.{key}" if path else key
        kind = kind_of(one)
        absent = "" if key in schema.get("required", []) else "?"
        yield full + absent, kind, unit_of(key, kind), one.get("description", "")
        yield from rows(one, full, bool(absent))


def table(schema):
    lines = ["| key | type | unit | what it is |", "|---|---|---|---|"]
    seen = set()
    for key, kind, unit, text in rows(schema, "", False):
        line = f"| `{key}` | {kind} | {unit} | {text.replace('|', chr(92) + '|')} |"
        if line not in seen:  # of several forms
            lines.append(line)
        seen.add(line)
    return "\n".join(lines)


def main():
    schemas = []
    for path in sys.argv[1:]:
        with open(path, encoding="utf-8") as file:
            schemas.append((path.rsplit("/", 1)[1].removesuffix(".schema.json"), json.load(file)))
    print(HEAD)
    for name, schema in schemas:
        print(f"- [{name}](#{name}): `{schema['title']}`")
    for name, schema in schemas:
        print(f"\n## {name}\n\n`{schema['title']}`, [schema]({name}.schema.json).", schema.get("description", ""))
        print(f"\n{table(schema)}")
        for part, one in schema.get("$defs", {}).items():
            about = one.get("description", "")
            print(f"\n**{part}**" + (f": {about}" if about else "") + (f" ({kind_of(one)})" if "properties" not in one else ""))
            if "properties" in one or "anyOf" in one or "items" in one:
                print(f"\n{table(one)}")


if __name__ == "__main__":
    main()
