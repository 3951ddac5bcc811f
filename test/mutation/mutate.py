#!/usr/bin/env python3
"""Plants mutants into the sources of the verifiers: many in one build, of which one at a time is chosen when a program runs.

usage: mutate.py BUILD NUMBER SEED SOURCE...          rewrites the sources in place; prints a line for each mutant

A mutant is a comparison with another operator, a sum that is a difference, `and` that is `or`, or a condition that is
negated: `a < b` becomes `(accord::mutant(7) ? (a <= b) : (a < b))`. ACCORD_MUTANT=7 in the environment chooses it. Sites are drawn at random
from all of the sources, none inside another one. Works on a copy of the tree: see run.py.
"""
import json
import random
import subprocess
import sys

from clang import cindex

COMPARISONS = {"<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "&&": "||", "||": "&&", "+": "-", "-": "+"}
Kind = cindex.CursorKind


def arguments_of(build, source):
    commands = json.loads(subprocess.check_output(["ninja", "-C", build, "-t", "compdb"], text=True))
    words = next(entry["command"] for entry in commands if entry["file"].endswith(source) and " -c " in entry["command"]).split()
    words = words[next(i for i, word in enumerate(words) if "clang++" in word) + 1:]
    kept, skip = [], 0
    for i, word in enumerate(words):
        if skip:
            skip -= 1
        elif word == "-Xclang":
            skip = 1  # precompiled headers
        elif word in ("-c", "-o", "-MT", "-MF"):
            skip = 1
        elif word not in ("-MD", "-Winvalid-pch"):
            kept.append(word.replace('\\"', '"'))
    return kept


def offsets(cursor):
    return cursor.extent.start.offset, cursor.extent.end.offset


def is_scalar(kind):
    return kind.get_canonical().kind in (cindex.TypeKind.BOOL, cindex.TypeKind.INT, cindex.TypeKind.UINT, cindex.TypeKind.LONG, cindex.TypeKind.ULONG,
                                         cindex.TypeKind.DOUBLE, cindex.TypeKind.LONGLONG, cindex.TypeKind.ULONGLONG, cindex.TypeKind.INT128,
                                         cindex.TypeKind.USHORT, cindex.TypeKind.UCHAR)


def sites_of(unit, source, text):
    """(begin, end, text of the mutant with {} for the number, what it is) of each place where a mutant may be."""
    found = []

    def visit(cursor, inside, function):
        if cursor.location.file and not cursor.location.file.name.endswith(source):
            return
        inside = inside or cursor.kind in (Kind.COMPOUND_STMT, Kind.LAMBDA_EXPR)
        if cursor.kind in (Kind.FUNCTION_DECL, Kind.FUNCTION_TEMPLATE, Kind.CXX_METHOD, Kind.CONSTRUCTOR):
            function = cursor.spelling
        if cursor.kind == Kind.VAR_DECL and "constexpr" in [token.spelling for token in cursor.get_tokens()][:3]:
            return
        children = list(cursor.get_children())
        begin, end = offsets(cursor)
        if inside and cursor.kind == Kind.BINARY_OPERATOR and len(children) == 2 and is_scalar(cursor.type):
            left, right = offsets(children[0]), offsets(children[1])
            between = text[left[1]:right[0]].decode().strip()
            if between in COMPARISONS and begin == left[0] and end == right[1] and (between not in "+-" or is_scalar(children[0].type)):
                a, b = text[left[0]:left[1]].decode(), text[right[0]:right[1]].decode()
                made = f"(accord::mutant({{}}) ? (({a}) {COMPARISONS[between]} ({b})) : (({a}) {between} ({b})))"
                found.append((begin, end, made, f"{function}: {a} {COMPARISONS[between]} {b} for {a} {between} {b}"))
        if inside and cursor.kind == Kind.IF_STMT and children and is_scalar(children[0].type):
            first, last = offsets(children[0])
            condition = text[first:last].decode()
            made = f"(accord::mutant({{}}) != static_cast<bool>({condition}))"
            found.append((first, last, made, f"{function}: not ({condition})"))
        for child in children:
            visit(child, inside, function)

    visit(unit.cursor, False, "")
    return [site for site in found if b"\n#" not in text[site[0]:site[1]]]


def main():
    build, number, seed = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    texts, all_ = {}, []
    for source in sys.argv[4:]:
        with open(source, "rb") as file:
            texts[source] = file.read()
        unit = cindex.Index.create().parse(source, args=arguments_of(build, source))
        fatal = [str(d) for d in unit.diagnostics if d.severity >= cindex.Diagnostic.Fatal]
        if fatal:
            print(f"{source}: {fatal[0]}", file=sys.stderr)
        all_ += [(source, *site) for site in sites_of(unit, source, texts[source])]
    random.Random(seed).shuffle(all_)
    chosen = []
    for site in all_:
        apart = all(site[0] != other[0] or site[2] <= other[1] or other[2] <= site[1] for other in chosen)
        if apart and len(chosen) < number:
            chosen.append(site)
    print(f"{len(all_)} sites, {len(chosen)} mutants", file=sys.stderr)
    for i, (source, begin, _, _, what) in enumerate(chosen):
        line = texts[source][:begin].count(b"\n") + 1
        print(f"{i}\t{source}:{line}\t{' '.join(what.split())}")
    for source, text in texts.items():
        own = sorted(((begin, end, made.replace("{}", str(i), 1)) for i, (of, begin, end, made, _) in enumerate(chosen) if of == source), reverse=True)
        for begin, end, made in own:
            text = text[:begin] + made.encode() + text[end:]
        if own:
            with open(source, "wb") as file:
                file.write(b'#include "test/mutation/Mutant.h"\n' + text)


main()
