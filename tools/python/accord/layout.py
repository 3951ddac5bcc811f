"""How `.accel` and `.dnn` are laid out, as `accord fmt` writes them: two blanks a level, keys aligned, 100 columns."""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Iterator, List, Optional, Sequence, Tuple

from .source import Line, Place, Source, caller
from .units import Choice, Quantity, Unit, braces, number

__all__ = ["Block", "Cited", "cited", "shape", "value"]

COLUMNS = 100
ATOM = 5  # the level of an expression that needs no brackets anywhere
# A long line may be broken before these, or behind a comma in brackets.
BREAKS = (" + ", " - ", " / ", " and ", " or ", " then ", " else ")
KEY = re.compile(r"([A-Za-z_]\w*) = ")
NAME = re.compile(r"[A-Za-z_]\w*")


class Cited:
    """A value with where it is from: `cited(2 * TB / s, "data sheet")` prints `2 TB/s source "data sheet"`."""

    def __init__(self, held: Any, source: str) -> None:
        self.held, self.source = held, source


def cited(held: Any, source: str) -> Cited:
    return Cited(held, source)


def quoted(text: str) -> str:
    if "\n" in text or '"' in text:
        raise ValueError(f"expected a text without quotes on one line, found {text!r}")
    return f'"{text}"'


def shape(*extents: Any) -> Choice:
    """The shape of an array: `shape(128, 128)` prints `128 x 128`; extents may be choices."""
    return Choice(" x ".join(f"({value(one)})" if isinstance(one, Choice) or getattr(one, "level", ATOM) < ATOM else value(one) for one in extents))


def value(held: Any, brackets: str = "{}") -> str:
    """A value of Python as the languages write it. A text is an expression or a word of the language, as it is."""
    if isinstance(held, Cited):
        return f"{value(held.held, brackets)} source {quoted(held.source)}"
    if isinstance(held, bool):
        return "true" if held else "false"
    if isinstance(held, (int, float, Fraction, Decimal)):
        return number(held)
    if isinstance(held, dict):
        return braces([f"{value(key)}: {value(one)}" for key, one in held.items()])
    if isinstance(held, (list, tuple, set, frozenset)):
        ordered = sorted(held, key=str) if isinstance(held, (set, frozenset)) else held
        inner = [value(one, brackets) for one in ordered]
        return braces(inner) if brackets == "{}" else "[" + ", ".join(inner) + "]"
    if isinstance(held, Unit):
        raise TypeError(f"'{held}' is a unit: a quantity is a number times it, as in 1 * {held}")
    if isinstance(held, (str, Choice, Quantity)):
        text = str(held).strip()
        if not text or "\n" in text:
            raise ValueError(f"expected an expression on one line, found {str(held)!r}")
        return text
    if isinstance(held, Source):
        return held.name
    printed = getattr(held, "text", None)
    if isinstance(printed, str):
        return printed
    raise TypeError(f"expected a value of .accel or .dnn, found {held!r}")


def name(text: str) -> str:
    """A name that the languages accept."""
    if not isinstance(text, str) or not NAME.fullmatch(text):
        raise ValueError(f"expected a name of letters, digits and '_', found {text!r}")
    return text


class Item:
    """An entry or a statement: a text, or the head of a block. A `short` block stands on one line if there is room."""

    def __init__(self, text: str, block: "Optional[Block]" = None, place: Optional[Place] = None, short: bool = False) -> None:
        self.text, self.block, self.place, self.short = text, block, place, short

    def one_line(self, level: int) -> Optional[str]:
        if self.block is None or not self.short or any(one.block is not None for one in self.block.items):
            return None
        text = f"{self.text} {{ {', '.join(one.text for one in self.block.items)} }}"
        return text if self.block.items and 2 * level + len(text) <= COLUMNS else None


class Block:
    """Entries between braces, each with the line of Python that made it."""

    def __init__(self) -> None:
        self.items: List[Item] = []

    def add(self, text: str, block: "Optional[Block]" = None) -> "Optional[Block]":
        """An entry as text: `add("path hbm -> {array, lane}")`."""
        self.items.append(Item(value(text), block, caller()))
        return block

    def entry(self, key: str, held: Any) -> None:
        """`key = value`; a dictionary under `search`, `data`, `power`, … is a block: use `part`. None adds nothing."""
        if held is not None:
            self.items.append(Item(f"{name(key.rstrip('_'))} = {value(held)}", None, caller()))

    def part(self, head: str, **entries: Any) -> "Block":
        """A part with a block of its own: `part("power", idle="50 W")`."""
        block = Block()
        self.items.append(Item(value(head), block, caller()))
        for key, held in entries.items():
            block.entry(key, held)
        return block

    def require(self, expression: str, label: str = "") -> None:
        """`require expression`, which an answer has to keep."""
        self.add(f"require {label + ': ' if label else ''}{expression}")

    def lines(self, level: int = 0) -> Iterator[Line]:
        pads = padding(self.rendered(), level)
        for item, text, pad in zip(self.items, self.rendered(), pads):
            one_line = item.one_line(level)
            if one_line is not None:
                yield Line("  " * level + one_line, item.place)
                continue
            if pad:
                key, _, rest = text.partition(" = ")
                text = f"{key}{' ' * pad} = {rest}"
            broken = list(wrapped(text, level))
            if item.block is not None:
                broken[-1] += " {}" if not item.block.items else " {"
            yield from (Line(one, item.place) for one in broken)
            if item.block is not None and item.block.items:
                yield from item.block.lines(level + 1)
                yield Line("  " * level + "}", item.place)

    def rendered(self) -> List[str]:
        return [one.text for one in self.items]


def padding(texts: Sequence[str], level: int) -> List[int]:
    """Blanks behind each key, so that the `=` of neighbours are one below the other where all lines stay short enough."""
    keys = [len(found[1]) if (found := KEY.match(one)) else 0 for one in texts]
    pads = [0] * len(texts)
    first = 0
    while first < len(texts):
        end = first + 1
        while keys[first] and end < len(texts) and keys[end]:
            end += 1
        widest = max(keys[first:end])
        if keys[first] and all(2 * level + len(texts[k]) + widest - keys[k] <= COLUMNS for k in range(first, end)):
            pads[first:end] = [widest - keys[k] for k in range(first, end)]
        first = end
    return pads


def chunks(text: str) -> Iterator[str]:
    """The parts of a line between which it may be broken."""
    start, depth, i = 0, 0, 0
    while i < len(text):
        if text[i] == '"':
            i = text.index('"', i + 1) + 1
            continue
        depth += (text[i] in "([{") - (text[i] in ")]}")
        behind_comma = depth > 0 and text[i] == " " and text[i - 1] == ","
        if i > start and (behind_comma or text.startswith(BREAKS, i)):
            yield text[start:i]
            start = i
        i += 1
    yield text[start:]


def wrapped(text: str, level: int) -> Iterator[str]:
    """A long line as several, the later ones four blanks further in."""
    line, fresh = "  " * level, True
    for part in chunks(text):
        if not fresh and len(line) + len(part) > COLUMNS:
            yield line
            line, fresh = " " * (2 * level + 4), True
        line += part.lstrip() if fresh else part
        fresh = False
    yield line


def parts_of(held: Any) -> List[Tuple[str, Any]]:
    """The labels and expressions of `require=[...]` or `require={label: ...}`."""
    if isinstance(held, dict):
        return list(held.items())
    if held is not None and not isinstance(held, (str, list, tuple)):
        raise TypeError(f"expected an expression, a list of them or a dictionary by label, found {held!r}")
    return [("", one) for one in ([held] if isinstance(held, str) else held or [])]
