"""The document `accord calibrate --rates --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal

from ..answer import Answer
from ..record import Record, key

__all__ = ["Group", "Rate", "Rates", "Table"]


class Rate(Record):
    """An object of the document."""

    devices: int = key()
    high: float = key("95 of 100 such rates are not above")
    known: bool = key("measured")
    low: float = key("95 of 100 such rates are not below")
    rate: float = key("work a second: the measured rate, or the median")
    type: str = key()


class Group(Record):
    """An object of the document."""

    name: str = key("all rows, or those of a part: a family, an application, from one type to another")
    coverage: float = key("share of rows in their interval of 90 %")
    interval_ratio: float = key("median of the upper over the lower end")
    mean_error: float = key("mean of |predicted / measured - 1|")
    median_error: float = key("median of the same")
    rows: int = key("predictions of left-out values")
    worst_error: float = key("largest of the same")


class Table(Record):
    """An object of the document."""

    groups: List[Group] = key()
    title: str = key("what was left out, and what is known of it")


class Rates(Answer):
    """How far rates of jobs on devices where they never ran are from measured ones, or the rates of one application. Errors are shares: 0.05 is 5 %."""

    command: Literal["calibrate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    rates: List[Rate] = key("of the application")
    tables: List[Table] = key("without an application")
