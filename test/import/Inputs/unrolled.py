"""What a `.dnn` of an importer computes, with its repeats written out: one line for each operation, which names it by everything it is
computed from. Knows statements (input, let, var, assignments, repeat, loss) and calls, and nothing of how Accord reads or writes them."""
import hashlib
import re

TOKEN = re.compile(r'\s*(?:([A-Za-z_]\w*)|(\d[\w.e+-]*)|(\S))')


class Reader:
    def __init__(self, text):
        text = re.sub(r"//[^\n]*", "", text)
        self.tokens = [next(part for part in match if part) for match in TOKEN.findall(text)]
        self.at = 0

    def look(self):
        return self.tokens[self.at]

    def take(self, wanted=None):
        token = self.tokens[self.at]
        if wanted and token != wanted:
            raise ValueError(f"expected {wanted}, found {' '.join(self.tokens[self.at - 8:self.at + 3])}")
        self.at += 1
        return token


class Expander:
    def __init__(self, text):
        self.reader, self.operations, self.repeats, self.again = Reader(text), [], [], False
        self.counted = 0
        self.reader.take("model")
        self.reader.take()
        self.reader.take("(")
        self.reader.take(")")
        self.block([{}])
        self.operations.sort()

    def made(self, *parts):
        text = " ".join(map(str, parts))
        name = "%" + hashlib.sha1(text.encode()).hexdigest()[:16]
        self.operations.append(f"{name} = {text}")
        return name

    def count(self):
        self.counted += 1
        return self.counted

    def find(self, scopes, name):
        return next((scope[name] for scope in reversed(scopes) if name in scope), name)

    def block(self, scopes):
        take = self.reader.take
        take("{")
        while self.reader.look() != "}":
            word = take()
            if word == "input":
                name = take()
                scopes[-1][name] = f"input({name})"
                while take() != "]":
                    pass
            elif word in ("let", "var"):
                name = take()
                take("=")
                scopes[-1][name] = self.sum(scopes)
            elif word == "loss":
                self.operations.append("loss " + self.sum(scopes))
            elif word == "repeat":
                self.repeat(scopes)
            else:
                take("=")
                value = self.sum(scopes)
                next(scope for scope in reversed(scopes) if word in scope)[word] = value
        take("}")

    def repeat(self, scopes):
        count = int(self.reader.take())
        self.reader.take("as")
        name = self.reader.take()
        if not self.again:
            self.repeats.append(f"{'> ' * (len(scopes) - 1)}{count} {name}")
        start, again = self.reader.at, self.again
        for copy in range(count):
            self.reader.at, self.again = start, again or copy > 0
            self.block(scopes + [{}])
        self.again = again

    def sum(self, scopes):
        left = self.term(scopes)
        while self.reader.look() in "+-*/":
            sign = self.reader.take()
            left = self.made(sign, left, self.term(scopes), self.count())
        return left

    def term(self, scopes):
        reader = self.reader
        if reader.look() == "[":
            return self.listed("[", "]", scopes)
        if reader.look() == "-":
            return reader.take() + self.term(scopes)
        word = reader.take()
        if reader.look() == "=":
            return f"{word}{reader.take()}{self.term(scopes)}"
        if reader.look() == "(":
            operands = self.listed("(", ")", scopes)
            # Two calls alike are two; a view is the same wherever it is written.
            return self.made(word, operands, "" if word == "reshape" else self.count())
        value = self.find(scopes, word)
        while reader.look() == "[" and value.startswith("%"):
            value += self.listed("[", "]", scopes)
        return value

    def listed(self, begin, end, scopes):
        self.reader.take(begin)
        items = []
        while self.reader.look() != end:
            items.append(self.sum(scopes))
            if self.reader.look() == ",":
                self.reader.take()
        self.reader.take(end)
        return begin + ",".join(items) + end
