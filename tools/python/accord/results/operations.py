"""The document `accord calibrate --operations --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Group", "Operations", "Parameter", "Table"]


class Parameter(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()
    unit: str = key("empty for a plain number")
    device: Optional[str] = key("absent: of a device that no row is of")


class Group(Record):
    """An object of the document."""

    bias: float = key("mean of computed / measured - 1")
    group: str = key("an operation, a device, a class of measured times, or all")
    mean_error: float = key("mean of |computed / measured - 1|")
    rows: int = key()


class Table(Record):
    """An object of the document."""

    groups: List[Group] = key()
    title: str = key("which rows the predictions had seen")


class Operations(Answer):
    """Parameters of the times of single operations, and how far predicted times are from measured ones. Errors are shares: 0.05 is 5 %."""

    command: Literal["calibrate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    parameters: List[Parameter] = key()
    tables: List[Table] = key()
