#!/usr/bin/env python3
"""check_schema.py SCHEMA.json DOCUMENT.json: JSON Schema draft 2020-12, as far as docs/schema uses it.

Standard library only. An unknown keyword in a schema is an error, so that no rule is silently skipped.
Exit status 1 and one line per violation, with its path.
"""
import json
import re
import sys

ANNOTATIONS = {"$schema", "$id", "$defs", "title", "description"}
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}


def is_type(value, name):
    if name == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if name == "integer":
        whole = isinstance(value, int) or isinstance(value, float) and value.is_integer()
        return whole and not isinstance(value, bool)
    return isinstance(value, TYPES[name])


def check(value, schema, root, path, errors):
    def wrong(text):
        errors.append(f"{path}: {text}")

    for key, rule in schema.items():
        if key in ANNOTATIONS:
            continue
        if key == "$ref":
            target = root
            for part in rule.removeprefix("#/").split("/"):
                target = target[part]
            check(value, target, root, path, errors)
        elif key == "anyOf":
            tries = []
            for one in rule:
                found = []
                check(value, one, root, path, found)
                tries.append(found)
            if all(tries):
                wrong("none of " + " or ".join(found[0] for found in tries))
        elif key == "type":
            names = rule if isinstance(rule, list) else [rule]
            if not any(is_type(value, n) for n in names):
                wrong(f"expected {' or '.join(names)}, found {json.dumps(value)[:60]}")
                return
        elif key == "enum":
            if value not in rule:
                wrong(f"{json.dumps(value)[:60]} is none of {rule}")
        elif key == "const":
            if value != rule:
                wrong(f"expected {rule!r}, found {json.dumps(value)[:60]}")
        elif key == "minimum":
            if is_type(value, "number") and value < rule:
                wrong(f"{value} is less than {rule}")
        elif key == "exclusiveMinimum":
            if is_type(value, "number") and value <= rule:
                wrong(f"{value} is not more than {rule}")
        elif key == "maximum":
            if is_type(value, "number") and value > rule:
                wrong(f"{value} is more than {rule}")
        elif key == "pattern":
            if isinstance(value, str) and not re.search(rule, value):
                wrong(f"'{value}' does not match {rule}")
        elif key == "minItems":
            if isinstance(value, list) and len(value) < rule:
                wrong(f"{len(value)} elements, at least {rule} expected")
        elif key == "maxItems":
            if isinstance(value, list) and len(value) > rule:
                wrong(f"{len(value)} elements, at most {rule} expected")
        elif key == "prefixItems":
            for i, (item, one) in enumerate(zip(value if isinstance(value, list) else [], rule)):
                check(item, one, root, f"{path}[{i}]", errors)
        elif key == "items":
            behind = len(schema.get("prefixItems", []))
            for i, item in enumerate(value[behind:] if isinstance(value, list) else [], behind):
                check(item, rule, root, f"{path}[{i}]", errors)
        elif key == "required":
            for name in rule:
                if isinstance(value, dict) and name not in value:
                    wrong(f"'{name}' is missing")
        elif key == "properties":
            for name, item in (value.items() if isinstance(value, dict) else ()):
                if name in rule:
                    check(item, rule[name], root, f"{path}.{name}", errors)
        elif key == "additionalProperties":
            for name, item in (value.items() if isinstance(value, dict) else ()):
                if name in schema.get("properties", {}):
                    continue
                if rule is False:
                    wrong(f"'{name}' is not described")
                elif isinstance(rule, dict):
                    check(item, rule, root, f"{path}.{name}", errors)
        else:
            raise SystemExit(f"check_schema.py: keyword '{key}' is not supported")


def main():
    if len(sys.argv) != 3:
        raise SystemExit(__doc__)
    with open(sys.argv[1], encoding="utf-8") as file:
        schema = json.load(file)
    with sys.stdin if sys.argv[2] == "-" else open(sys.argv[2], encoding="utf-8") as file:
        document = json.load(file, parse_constant=lambda word: sys.exit(f"'{word}' is no JSON"))
    errors = []
    check(document, schema, schema, "$", errors)
    for error in errors[:50]:
        print(error)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
