"""The document `accord calibrate --gradient-noise --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal

from ..answer import Answer
from ..record import Record, key

__all__ = ["Model", "Noise", "Score"]


class Model(Record):
    """An object of the document."""

    family: str = key()
    high: float = key()
    low: float = key("90 of 100 such noise scales lie from here")
    measured: float = key("samples; of language models that predict every token, tokens")
    model: str = key()
    predicted: float = key()


class Score(Record):
    """An object of the document."""

    coverage: float = key("share of measured values in their interval")
    interval_ratio: float = key("median of high / low")
    mean_factor: float = key("the geometric mean of the same")
    median_factor: float = key("of predicted over measured or its inverse, whichever is larger")
    models: List[Model] = key()
    rows: int = key()
    without: str = key("what was left out as a whole")


class Noise(Answer):
    """How far predicted gradient noise scales of trainings that were left out are from measured ones."""

    command: Literal["calibrate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    scores: List[Score] = key()
