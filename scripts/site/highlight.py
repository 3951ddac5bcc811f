"""Colours of `.accel` and `.dnn` for Pygments, from the grammars that the editors use (tools/vscode/syntaxes).

Such a grammar is TextMate's. Only what ours use is understood: `match` with a `name` or with `captures`, `begin` and
`end` with a `name`, `include` of the repository or of the grammar itself. Anything else is refused, so that the site never
colours in another way than the editors without a word."""
import json
import pathlib
import sys
import types

from pygments.formatters import HtmlFormatter
from pygments.lexer import RegexLexer
from pygments.lexers import LEXERS
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text

SYNTAXES = pathlib.Path(__file__).resolve().parents[2] / "tools" / "vscode" / "syntaxes"

# The longest beginning of a scope's name decides.
SCOPES = {
    "comment": Comment, "string": String, "constant.character": String.Escape, "constant.numeric": Number, "constant.language": Keyword.Constant,
    "keyword.operator": Operator, "keyword.other.unit": Keyword.Type, "keyword": Keyword, "storage": Keyword.Declaration,
    "support.function": Name.Builtin, "support": Name.Builtin, "entity.name.function": Name.Function,
    "entity.name": Name.Class, "variable": Name.Variable, "punctuation": Punctuation, "meta": Text,
}


def token(scope):
    for length in range(scope.count(".") + 1, 0, -1):
        name = ".".join(scope.split(".")[:length])
        if name in SCOPES:
            return SCOPES[name]
    raise ValueError(f"no colour for the scope '{scope}'")


def captured(colours):
    """Gives each group its colour; what stands between groups stays text."""
    def give(_, match, __=None):
        at = match.start()
        for group, colour in sorted(colours.items(), key=lambda one: match.start(one[0])):
            start, end = match.span(group)
            if start < at:
                continue
            if start > at:
                yield at, Text, match.string[at:start]
            yield start, colour, match.string[start:end]
            at = end
        if at < match.end():
            yield at, Text, match.string[at:match.end()]
    return give


def rules(grammar, patterns, states):
    """Rules of a state of a RegexLexer for patterns of a grammar; states of `begin` and `end` are added to `states`."""
    made = []
    for pattern in patterns:
        if "include" in pattern:
            name = pattern["include"]
            inner = grammar["patterns"] if name == "$self" else grammar["repository"][name[1:]].get(
                "patterns", [grammar["repository"][name[1:]]])
            made += rules(grammar, inner, states)
        elif "match" in pattern and "captures" in pattern:
            made.append((pattern["match"], captured({int(n): token(one["name"]) for n, one in pattern["captures"].items()})))
        elif "match" in pattern:
            made.append((pattern["match"], token(pattern["name"])))
        elif "begin" in pattern:
            state = f"state{len(states)}"
            states[state] = []
            colour = token(pattern["name"])
            states[state] = [(pattern["end"], colour, "#pop")] + rules(grammar, pattern.get("patterns", []), states) + [(r".|\n", colour)]
            made.append((pattern["begin"], colour, state))
        else:
            raise ValueError(f"a rule of the grammar that is not understood: {pattern}")
    return made


def lexer(language):
    grammar = json.loads((SYNTAXES / f"{language}.tmLanguage.json").read_text())
    states = {"root": []}
    states["root"] = rules(grammar, grammar["patterns"], states) + [(r"\w+|.|\n", Text)]
    return type(language.capitalize() + "Lexer", (RegexLexer,), {
        "name": language, "aliases": [language], "filenames": [f"*.{language}"], "tokens": states})


def register():
    """Makes both languages known to Pygments by their names, for code blocks of the site."""
    module = types.ModuleType("accord_lexers")
    sys.modules["accord_lexers"] = module
    module.__all__ = []
    for language in ("accel", "dnn"):
        made = lexer(language)
        setattr(module, made.__name__, made)
        module.__all__.append(made.__name__)
        LEXERS[made.__name__] = ("accord_lexers", made.name, tuple(made.aliases), tuple(made.filenames), ())


def style():
    return HtmlFormatter(style="friendly").get_style_defs(".codehilite")
