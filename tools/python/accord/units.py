"""Quantities with units, and choices: values of the languages that are no plain Python numbers.

    from accord.units import GB, TB, s

    80 * GB                 # prints 80 GB
    2 * TB / s              # prints 2 TB/s
    pow2(1, 64)             # a choice: prints pow2 1..64
"""

import re
from decimal import Decimal
from fractions import Fraction
from typing import Any, Dict, Iterable, List, Sequence, Tuple, Union

__all__ = ["Choice", "Quantity", "Unit", "one_of", "pow2", "quantity", "span"]

Number = Union[int, float, Fraction, Decimal]


def number(value: Number) -> str:
    """A number as the languages write it: 0.1, 1536, 3e12."""
    if isinstance(value, bool) or not isinstance(value, (int, float, Fraction, Decimal)):
        raise TypeError(f"expected a number, found {value!r}")
    if isinstance(value, Fraction):
        if value.denominator == 1:
            return str(value.numerator)
        value = float(value)
    if value != value or value in (float("inf"), float("-inf")):
        raise ValueError(f"{value} is no number of .accel or .dnn")
    text = str(value) if isinstance(value, int) else repr(float(value)) if isinstance(value, float) else str(value)
    text = re.sub(r"\.0(?=$|e)", "", text.lower()).replace("e+", "e")
    return re.sub(r"e(-?)0*(\d)", r"e\1\2", text)


class Unit:
    """A unit such as GB, s or FLOP. A number times a unit is a quantity; units are divided: `GB / s`."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __rmul__(self, value: Number) -> "Quantity":
        return Quantity(value, self.name)

    def __truediv__(self, other: "Unit") -> "Unit":
        if not isinstance(other, Unit):
            return NotImplemented
        return Unit(f"{self.name}/{other.name}")

    def __repr__(self) -> str:
        return self.name


class Quantity:
    """A number with its unit, which is written to `.accel` and `.dnn` as it is: the compiler knows the units."""

    def __init__(self, value: Number, unit: str) -> None:
        self.value, self.unit = value, unit

    def __rmul__(self, factor: Number) -> "Quantity":
        return Quantity(factor * self.value, self.unit)  # type: ignore[operator]

    def __mul__(self, factor: Union[Number, Unit]) -> "Quantity":
        if isinstance(factor, Unit):
            raise TypeError(f"'{self}' times '{factor}' is no quantity: units are divided only, as in GB/s")
        return Quantity(self.value * factor, self.unit)  # type: ignore[operator]

    def __truediv__(self, other: Union[Number, Unit]) -> "Quantity":
        if isinstance(other, Unit):
            return Quantity(self.value, f"{self.unit}/{other.name}")
        return Quantity(self.value / other, self.unit)  # type: ignore[operator]

    def __neg__(self) -> "Quantity":
        return Quantity(-self.value, self.unit)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Quantity) and (self.value, self.unit) == (other.value, other.unit)

    def __hash__(self) -> int:
        return hash((self.value, self.unit))

    def __str__(self) -> str:
        return f"{number(self.value)} {self.unit}"

    __repr__ = __str__


def quantity(text: str) -> Quantity:
    """'80 GB' as a quantity. The compiler checks the unit, this only divides number and unit."""
    found = re.fullmatch(r"\s*([-+]?[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?)\s*([A-Za-z][\w/]*)\s*", text)
    if not found:
        raise ValueError(f"expected a number and a unit, as in '80 GB', found '{text}'")
    digits = found[1].replace("_", "")
    return Quantity(int(digits) if re.fullmatch(r"[-+]?\d+", digits) else Decimal(digits), found[2])


class Choice:
    """A value that is left to the compiler: one of several. Made by `pow2`, `span` and `one_of`."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return f"<Choice {self.text}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Choice) and self.text == other.text

    def __hash__(self) -> int:
        return hash(self.text)


Bound = Union[Number, Quantity]


def _bounds(low: Bound, high: Bound) -> str:
    """`1..64`; a unit stands at the upper end once, if both ends have it."""
    if isinstance(low, Quantity) and isinstance(high, Quantity) and low.unit == high.unit:
        return f"{number(low.value)}..{high}"
    return f"{_one(low)}..{_one(high)}"


def _one(value: Any) -> str:
    return str(value) if isinstance(value, (Quantity, Choice, str)) else number(value)


def pow2(low: Bound, high: Bound) -> Choice:
    """Powers of two from `low` to `high`: `pow2(1, 64)`, `pow2(4 * MiB, 64 * MiB)`."""
    return Choice(f"pow2 {_bounds(low, high)}")


def span(low: Bound, high: Bound, step: Union[Bound, None] = None) -> Choice:
    """Numbers from `low` to `high`, both included: `span(1, 64)`, `span(8, 64, step=8)`."""
    return Choice(_bounds(low, high) + (f" step {_one(step)}" if step is not None else ""))


def one_of(*values: Any) -> Choice:
    """One of these numbers, quantities or words: `one_of(8, 16, 32)`, `one_of("none", "full")`."""
    if not values:
        raise ValueError("a choice needs a value")
    return Choice(braces([_one(one) for one in values]))


def braces(inner: Sequence[str]) -> str:
    """`{8, 16}`, with the blank that `accord fmt` puts between two opening brackets."""
    text = ", ".join(inner)
    return "{" + (" " if text[:1] in ("(", "[") else "") + text + "}"


_NAMES: List[Tuple[str, Iterable[str]]] = [
    ("B", ["", "k", "M", "G", "T", "P", "E", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei"]),
    ("bit", ["", "k", "M", "G", "T", "Ki", "Mi", "Gi", "Ti"]),
    ("FLOP", ["", "k", "M", "G", "T", "P", "E"]),
    ("OP", ["", "k", "M", "G", "T", "P"]),
    ("MAC", ["", "k", "M", "G", "T"]),
    ("Hz", ["", "k", "M", "G"]),
    ("s", ["", "n", "u", "m"]),
    ("J", ["", "p", "n", "u", "m", "k", "M", "G"]),
    ("Wh", ["", "k", "M", "G"]),
    ("W", ["", "m", "k", "M", "G"]),
    ("USD", ["", "k", "M"]),
]
_SINGLE = ["cycle", "cycles", "min", "h", "day", "mm", "mm2", "um", "um2", "nm", "m", "g", "sample", "samples"]


def _units() -> Dict[str, Unit]:
    names = [prefix + unit for unit, prefixes in _NAMES for prefix in prefixes] + _SINGLE
    return {name: Unit(name) for name in names}


globals().update(_units())


def __getattr__(name: str) -> Unit:  # for type checkers, which do not see the units above
    raise AttributeError(f"no unit is called '{name}'")
