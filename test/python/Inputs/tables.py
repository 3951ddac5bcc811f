"""tables.py EXAMPLES: every kind of answer as a DataFrame of pandas, and in a notebook.

An answer of each kind is made from the keys that it may have, and some come from commands. Without pandas, something that has the
shape of a DataFrame stands for it.
"""
import html.parser
import os
import sys
import types
import typing
import warnings

import accord
from accord import results
from accord.answer import Answer
from accord.record import Record, _kinds

try:
    import pandas
except ImportError:
    pandas = types.ModuleType("pandas")

    class DataFrame:
        """As much of it as is looked at here."""

        def __init__(self, rows):
            self.rows, self.columns = rows, list(dict.fromkeys(name for row in rows for name in row))

        from_records = classmethod(lambda cls, rows: cls(rows))

        def __len__(self):
            return len(self.rows)

    pandas.DataFrame = DataFrame
    sys.modules["pandas"] = pandas

VOID = {"br", "hr", "img", "meta", "link", "input"}


class Tags(html.parser.HTMLParser):
    """Whether every tag is closed, in order."""

    def __init__(self):
        super().__init__()
        self.open = []

    def handle_starttag(self, tag, attrs):
        self.open += [] if tag in VOID else [tag]

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}"
        self.open.pop()


def sample(kind, full, depth=0):
    """A value of a declared type. `full`: with what is optional, and two elements in each list."""
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Union:
        some = [one for one in inner if one is not type(None)]
        return sample(some[0], full, depth) if full or len(some) == len(inner) else None
    origin = typing.get_origin(kind) or kind
    if origin is tuple:
        return [sample(one, full, depth) for one in inner if one is not Ellipsis]
    if origin is list:
        return [sample(inner[0], full, depth + 1) for _ in range(2 if full else 0)]
    if origin is dict:
        return {"a<b": sample(inner[1], full, depth + 1)} if full else {}
    if origin is typing.Literal:
        return inner[0]
    if isinstance(kind, type) and issubclass(kind, Record):
        return document(kind, full, depth + 1)
    return {str: "x & <y>", int: 3, float: 0.25, bool: True}.get(kind)


def document(cls, full, depth=0):
    hints = _kinds(cls)
    if depth > 6:
        return {}
    made = {one.name: sample(hints[one.attribute], full, depth) for one in cls.keys()}
    return {name: value for name, value in made.items() if value is not None}


def check(answer):
    for name in [None, *answer.table_names()]:
        rows = answer.table(name)
        frame = answer.to_pandas(name)
        assert len(frame) == len(rows), name
        columns = list(dict.fromkeys(column for row in rows for column in row))
        assert list(frame.columns) == columns, (name, list(frame.columns), columns)
        assert not any(isinstance(value, dict) for row in rows for value in row.values()), name
    page = Tags()
    page.feed(answer._repr_html_())
    page.close()
    assert not page.open, page.open
    assert repr(answer).isprintable(), repr(answer)


def main():
    warnings.simplefilter("ignore")
    examples = sys.argv[1]
    classes = sorted({one for one in vars(results).values() if isinstance(one, type) and issubclass(one, Answer)}, key=lambda one: one.__name__)
    for cls in classes:
        for full in (False, True):
            check(cls(document(cls, full)))
    print(f"{len(classes)} kinds of answers: {', '.join(one.__name__ for one in classes)}")
    plan = accord.compile(os.path.join(examples, "03-own-model", "own_cell.dnn"))
    made = [plan, plan.verify(), plan.explain(), plan.emit("torchrun"), accord.list("machines"), accord.explain("A0104")]
    made.append(accord.estimate(os.path.join(examples, "03-own-model", "own_cell.dnn")))
    for one in made:
        check(one)
        print(f"{type(one).__name__}: {one.table_names()[:1]} {len(one.to_pandas())} rows")
    print("text:", "<pre>" in plan.explain()._repr_html_(), "page:", "<iframe" in plan._repr_html_())


main()
