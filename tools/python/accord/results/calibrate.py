"""The document `accord calibrate --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Calibrate", "Correlated", "ExcludedRow", "Parameter", "Row", "Strata", "Total"]


class Correlated(Record):
    """An object of the document."""

    correlation: float = key()
    first: str = key()
    second: str = key()


class ExcludedRow(Record):
    """An object of the document."""

    file: str = key()
    line: int = key()
    column: int = key()
    code: str = key()
    message: str = key()


class Parameter(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()
    unit: str = key("empty for a plain number")
    high: float = key()
    informed: bool = key("false: the rows say nothing of it, the value is the default")
    low: float = key("lower end of the 95 % interval")


class Row(Record):
    """An object of the document."""

    id: str = key()
    computed_s: float = key("", "s")
    error: float = key("computed / measured - 1")
    measured_s: float = key("", "s")
    stratum: str = key()


class Strata(Record):
    """An object of the document."""

    name: str = key()
    bias: float = key("mean of error")
    mean_error: float = key("mean of |error|")
    median_error: float = key()
    rows: int = key()
    worst_error: float = key()


class Total(Record):
    """An object of the document."""

    name: str = key()
    bias: float = key("mean of error")
    mean_error: float = key("mean of |error|")
    median_error: float = key()
    rows: int = key()
    worst_error: float = key()


class Calibrate(Answer):
    """Parameters of a machine fitted to measured steps (or, with --check, read from a file) and how far computed steps are from measured ones. Errors are shares: 0.05 is 5 %."""

    _table = "parameters"
    command: Literal["calibrate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    assumptions: List[str] = key()
    at_bound: Optional[List[str]] = key("parameters at their largest value; absent with --check")
    correlated: Optional[List[Correlated]] = key("pairs of parameters that the rows do not tell apart; absent with --check")
    excluded_rows: List[ExcludedRow] = key("rows that are not fitted, and why")
    machine: str = key("the machine whose values these are")
    parameters: List[Parameter] = key()
    prior_weight: float = key()
    rows: List[Row] = key()
    strata: List[Strata] = key()
    total: Total = key()
