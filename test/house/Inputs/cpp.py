# What the checks know of C++: tokens without comments, text and preprocessor lines, and where function bodies begin and end.
import re
from dataclasses import dataclass

TOKEN = re.compile(
    r"""(?P<comment>//[^\n]*(?:\\\n[^\n]*)*|/\*.*?\*/)
    |(?P<raw>(?:u8|[uUL])?R"(?P<mark>[^()\s\\"]{0,16})\(.*?\)(?P=mark)")
    |(?P<text>(?:u8|[uUL])?"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Za-z_])'(?:[^'\\\n]|\\.)*')
    |(?P<line>\n)
    |(?P<directive>^[ \t]*\#(?:[^\n\\]|\\\n|\\.)*)
    |(?P<word>[A-Za-z_]\w*)
    |(?P<number>\.?\d(?:[eEpP][+-]|'?[\w.])*)
    |(?P<mark2>::|->|&&|\|\||[-+*/%^&|]=|<<=|<=>|<=|>=|==|!=|\+\+|--|[-+*/%^&|!~=<>?:;,.(){}\[\]\\@`$])""",
    re.S | re.M | re.X,
)


@dataclass(slots=True)
class Token:
    text: str
    line: int


def tokens_of(source):
    """All tokens but comments, with literals as '""' and numbers as '0'."""
    out, line = [], 1
    for match in TOKEN.finditer(source):
        kind, text = match.lastgroup, match.group()
        if kind == "mark":  # the inner group of a raw string closes last
            kind = "raw"
        if kind == "word" or kind == "mark2":
            out.append(Token(text, line))
        elif kind in ("text", "raw"):
            out.append(Token('""', line))
        elif kind == "number":
            out.append(Token("0", line))
        line += text.count("\n")
    return out


@dataclass
class Function:
    name: str  # as written where it is defined: `Class::member`, whether inside of the class or outside
    qualifiers: list  # what stands before the last `::` of the name as it is written
    line: int  # of the name
    end: int  # line of the closing brace
    complexity: int


BRANCHES = {"if", "for", "while", "case", "catch", "&&", "||", "?", "and", "or"}
CLASSES = {"class", "struct", "union"}
PAIRS = {"(": ")", "[": "]", "{": "}"}


def close_of(tokens, at):
    """Index of the bracket that closes the one at `at`; of the end if there is none."""
    depth = 0
    for i in range(at, len(tokens)):
        text = tokens[i].text
        if text in PAIRS:
            depth += 1
        elif text in (")", "]", "}"):
            depth -= 1
            if depth == 0:
                return i
    return len(tokens) - 1


def name_before(tokens, first, paren):
    """The function's name that ends before the parenthesis at `paren`: its parts, and its line. None if there is none."""
    i = paren - 1
    parts = []
    # operator==( , operator()( , operator bool(
    for back in range(i, max(first, i - 4) - 1, -1):
        if tokens[back].text == "operator":
            parts.append("operator" + "".join(t.text for t in tokens[back + 1 : paren]))
            i = back - 1
            break
    else:
        if i >= first and tokens[i].text == ">":  # a specialization: name<...>(
            depth = 0
            while i >= first:
                depth += {">": 1, "<": -1}.get(tokens[i].text, 0)
                i -= 1
                if depth == 0:
                    break
        if i < first or not re.match(r"[A-Za-z_]", tokens[i].text):
            return None
        name = tokens[i].text
        i -= 1
        if i >= first and tokens[i].text == "~":
            name, i = "~" + name, i - 1
        parts.append(name)
    line = tokens[i + 1].line
    while i > first and tokens[i].text == "::":
        i -= 1
        if tokens[i].text == ">":
            depth = 0
            while i >= first:
                depth += {">": 1, "<": -1}.get(tokens[i].text, 0)
                i -= 1
                if depth == 0:
                    break
        if i < first or not re.match(r"[A-Za-z_]", tokens[i].text):
            break
        parts.append(tokens[i].text)
        i -= 1
    return parts[::-1], line


NOT_NAMES = {"if", "for", "while", "switch", "return", "sizeof", "decltype", "alignas", "noexcept", "requires", "catch", "__attribute__"}


class Scanner:
    """Finds functions with bodies and classes, at namespace scope and inside of classes."""

    def __init__(self, source):
        self.tokens = tokens_of(source)
        self.functions = []
        self.classes = set()
        self.scope(0, len(self.tokens), [])

    def scope(self, first, end, owners):
        tokens, start, i = self.tokens, first, first
        while i < end:
            text = tokens[i].text
            if text == ";" or text == "}":
                start = i + 1
            elif text == ":" and tokens[i - 1].text in ("public", "private", "protected"):
                start = i + 1
            elif text in ("(", "["):
                i = close_of(tokens, i)
            elif text == "{":
                i = self.brace(start, i, end, owners)
                start = i + 1 if tokens[i].text == "}" and not self.goes_on else start
            i += 1

    def brace(self, start, at, end, owners):
        """Reads the block at `at`, whose head begins at `start`; returns where it closes. `goes_on`: the head is not over."""
        tokens = self.tokens
        self.goes_on = False
        close = close_of(tokens, at)
        begin = start
        while begin < at and tokens[begin].text == "template" and tokens[begin + 1].text == "<":
            depth, k = 0, begin + 1
            while k < at:
                depth += {"<": 1, ">": -1}.get(tokens[k].text, 0)
                k = close_of(tokens, k) if tokens[k].text in ("(", "{", "[") else k
                if depth == 0:
                    break
                k += 1
            begin = k + 1
        # The head on its upper level: words, and where parentheses stand.
        flat, parens, i = [], [], begin
        while i < at:
            if tokens[i].text == "(":
                parens.append(i)
            flat.append(tokens[i].text)
            if tokens[i].text in PAIRS:
                i = close_of(tokens, i)
            i += 1
        if "namespace" in flat or (flat[:1] == ["extern"] and not parens):
            self.scope(at + 1, close, owners)
            self.goes_on = False
            return close
        kind = next((w for w in flat if w in CLASSES or w == "enum"), None)
        name = None
        for paren in parens:
            name = name_before(tokens, begin, paren)
            if name and name[0][-1] not in NOT_NAMES and not any(
                tokens[k].text == "=" and tokens[k - 1].text != "operator" for k in range(begin, paren)
            ):
                break
            name = None
        if kind and not name:
            if kind != "enum":
                base = flat.index(":") if ":" in flat else len(flat)
                words = [w for w in flat[flat.index(kind) + 1 : base] if re.match(r"[A-Za-z_]\w*$", w) and w not in ("final", "alignas")]
                owner = words[-1] if words else "(unnamed)"
                self.classes.add(owner)
                self.scope(at + 1, close, owners + [owner])
            self.goes_on = True  # `struct A {...} a;`: up to the semicolon
            return close
        if not name:
            self.goes_on = True  # an initializer
            return close
        # A member is initialized with braces: `: a{1}, b{2} {`; the body stands behind `)` or `}` or a word of the head's end.
        head = [t.text for t in tokens[begin:at]]
        after = close_of(tokens, paren)
        rest = [t.text for t in tokens[after + 1 : at]]
        if ":" in rest and tokens[at - 1].text not in (")", "}") and "->" not in rest:
            self.goes_on = True
            return close
        if ":" in rest and tokens[at - 1].text == "}" and tokens[close + 1 : close + 2] and tokens[close + 1].text == ",":
            self.goes_on = True
            return close
        if head and head[-1] == "=":
            self.goes_on = True
            return close
        parts, line = name
        complexity = 1 + sum(1 for t in tokens[begin:close] if t.text in BRANCHES)
        # An rvalue reference is no condition: `&&` behind a type, in parameters or in declarations of the body.
        complexity -= sum(1 for k in range(begin, close) if tokens[k].text == "&&" and self.reference(k))
        self.functions.append(Function("::".join(owners[-1:] + parts if owners else parts), parts[:-1], line, tokens[close].line, complexity))
        return close

    def reference(self, k):
        before, after = self.tokens[k - 1].text, self.tokens[k + 1].text
        return before in ("auto", ">") or after in (")", ",", "...", "[") or (before[0].isupper() and self.tokens[k - 2].text != "::")
