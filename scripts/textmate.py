#!/usr/bin/env python3
"""Writes the TextMate grammars of the editor extension from the words of the languages.

usage: textmate.py OPERATIONS [--check]
  OPERATIONS  what `accord list operations --json` prints
  --check     write nothing; exit with 1 where a grammar is not what the words say
Words come from grammar/Common.g4 (reserved words, and `tokens` for words with a meaning at certain places), and kinds of
declarations from lib/language/syntax/Ast.cpp.
"""
import json
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
FOLDER = os.path.join(ROOT, "tools/vscode/syntaxes")
# Tokens that are no word: made of several tokens, or written otherwise.
NO_WORDS = {"QUANTITY", "CROSS", "ELSE_IF", "LABEL"}
ONLY_DNN = {"input", "var", "repeat", "scan", "reverse", "loss", "in", "as", "gradient", "surrogate", "operation", "module",
            "model"}
CONTROL = {"if", "then", "else", "repeat", "scan", "reverse", "for", "in", "as", "import"}
OPERATORS = {"and", "or", "not"}
CONSTANTS = {"true", "false"}
AFTER_VALUES = {"x", "step", "per", "weight", "confidence", "samples", "source", "from", "error", "transposable", "then", "else", "and",
                "or", "on", "as", "for", "in"}


def read(path):
    with open(os.path.join(ROOT, path), encoding="utf-8") as file:
        return file.read()


def words():
    """Reserved words, words with a meaning at certain places, and kinds of declarations."""
    grammar = read("grammar/Common.g4")
    reserved = re.findall(r"^[A-Z]+ : '([a-z]+)' ;", grammar, re.M)
    tokens = re.search(r"tokens \{([^}]*)\}", grammar).group(1)
    contextual = [one.lower() for one in re.findall(r"\w+", tokens) if one not in NO_WORDS]
    spelling = re.search(r"spelling\(DeclarationKind kind\) \{.*?\{(.*?)\}", read("lib/language/syntax/Ast.cpp"), re.S)
    return reserved, contextual, re.findall(r'"(\w+)"', spelling.group(1))


def anyof(names):
    return r"\b(?:" + "|".join(sorted(names)) + r")\b"


def grammar_of(language, operations):
    reserved, contextual, kinds = words()
    if language == "accel":
        contextual = [one for one in contextual if one not in ONLY_DNN]
        kinds = [one for one in kinds if one not in ("train", "sparsity", "ensemble", "jobs", "tuning", *ONLY_DNN)]
    other = set(contextual) - CONTROL - set(kinds)
    patterns = [
        {"name": "comment.line.documentation.accord", "match": r"///.*$"},
        {"name": "comment.line.double-slash.accord", "match": r"//.*$"},
        {"name": "string.quoted.double.accord", "begin": '"', "end": '"|$',
         "patterns": [{"name": "constant.character.escape.accord", "match": r"\\."}]},
        {"match": r"\b(" + "|".join(sorted(kinds)) + r")\s+(?!(?:for|of|on)\b)([A-Za-z_]\w*)",
         "captures": {"1": {"name": "storage.type.accord"}, "2": {"name": "entity.name.type.accord"}}},
        # A unit is a name that is no key of the next entry, and no word that follows values.
        {"match": r"\b(0[xX][0-9a-fA-F][0-9a-fA-F_]*|[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)(?:[ \t]*(?!(?:" + "|".join(sorted(AFTER_VALUES)) +
                  r")\b(?!/))([A-Za-z]\w*(?:/[A-Za-z]\w*)*)(?![\w/])(?!\s*[=(])(?!\s+:))?",
         "captures": {"1": {"name": "constant.numeric.accord"}, "2": {"name": "keyword.other.unit.accord"}}},
        {"name": "keyword.operator.word.accord", "match": anyof(OPERATORS & set(reserved))},
        {"name": "constant.language.accord", "match": anyof(CONSTANTS & set(reserved))},
        # What may be a key or a name, too, is a word only where no '=' follows.
        {"name": "keyword.control.accord", "match": anyof((set(reserved) | set(contextual)) & CONTROL) + r"(?!\s*=[^=])"},
        {"name": "keyword.other.accord", "match": anyof(other) + r"(?!\s*=[^=])"},
        {"name": "storage.type.accord", "match": anyof(kinds) + r"(?!\s*=[^=])"},
    ]
    if language == "dnn":
        patterns.append({"match": r"\b(" + "|".join(sorted(operations)) + r")\s*(?=\()",
                         "captures": {"1": {"name": "support.function.accord"}}})
    patterns += [
        {"match": r"\b([A-Za-z_]\w*)\s*(?=\()", "captures": {"1": {"name": "entity.name.function.accord"}}},
        {"match": r"^\s*([A-Za-z_]\w*)\s+([A-Za-z_]\w*)\s*:\s*([A-Za-z_]\w*)",
         "captures": {"1": {"name": "storage.type.accord"}, "2": {"name": "variable.other.definition.accord"},
                      "3": {"name": "entity.name.type.accord"}}},
        # The same with a count, which has colours of its own.
        {"match": r"^\s*([A-Za-z_]\w*)\s+([A-Za-z_]\w*)(?=\s*\[[^\]]*\]\s*:)",
         "captures": {"1": {"name": "storage.type.accord"}, "2": {"name": "variable.other.definition.accord"}}},
        {"match": r"(?<=\])\s*:\s*([A-Za-z_]\w*)", "captures": {"1": {"name": "entity.name.type.accord"}}},
        {"match": r"\b([A-Za-z_]\w*)\s*(?==[^=])", "captures": {"1": {"name": "variable.other.property.accord"}}},
        {"name": "keyword.operator.accord", "match": r"->|\.\.|==|!=|<=|>=|[-+*/%^<>=]"},
    ]
    return {"$schema": "https://raw.githubusercontent.com/martinring/tmlanguage/master/tmlanguage.json",
            "name": "Accord machine" if language == "accel" else "Accord training", "scopeName": f"source.{language}",
            "fileTypes": [language], "patterns": patterns}


def main(arguments):
    if not arguments or "--help" in arguments:
        print(__doc__.strip())
        return 0 if arguments else 1
    with open(arguments[0], encoding="utf-8") as file:
        operations = [one["name"] for one in json.load(file)["entries"]]
    status = 0
    for language in ("accel", "dnn"):
        path = os.path.join(FOLDER, language + ".tmLanguage.json")
        text = json.dumps(grammar_of(language, operations), indent=2) + "\n"
        before = read(path) if os.path.exists(path) else ""
        if "--check" in arguments:
            if text != before:
                print(f"{path} is not what the words say any more: accord list operations --json > o.json; "
                      "scripts/textmate.py o.json")
                status = 1
        elif text != before:
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
    return status


sys.exit(main(sys.argv[1:]))
