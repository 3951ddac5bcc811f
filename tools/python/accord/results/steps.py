"""The document `accord calibrate --curves --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal

from ..answer import Answer
from ..record import Record, key

__all__ = ["Group", "Step", "Steps", "Table"]


class Step(Record):
    """An object of the document."""

    batch: int = key("samples a step")
    high: float = key("95 of 100 such numbers of steps are not above")
    known: bool = key("of this batch the run is known")
    low: float = key("95 of 100 such numbers of steps are not below")
    steps: float = key("until the same progress or metric")


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


class Steps(Answer):
    """How far predicted steps of trainings with other batches are from measured ones, or the steps of one application. Errors are shares: 0.05 is 5 %."""

    command: Literal["calibrate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    application: str = key()
    growth: float = key("noise is taken times (batch / known batch) to the power of this")
    initial_batch: int = key("in whose steps progress counts; without an application 0")
    noise_samples: List[float] = key("variance over squared norm of the gradient, in samples: medians of the quarters of the progress")
    steps: List[Step] = key("of the application")
    tables: List[Table] = key("without an application")
