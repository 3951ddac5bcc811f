"""The document `accord jobs --train FILE.onnx --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal

from ..answer import Answer
from ..record import Record, key

__all__ = ["Actor", "Step", "Validation"]


class Step(Record):
    """An object of the document."""

    change: float = key("mean completion over that of `learned`, less 1, in the mean over the simulations of validation")
    generation: int = key()
    simulations: int = key("that were spent so far")


class Validation(Record):
    """Its mean completion over that of `learned`, less 1, over the simulations by which it was chosen; with the bootstrap interval of 95 %."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Actor(Answer):
    """How the training of an actor went, which weighs jobs in simulations."""

    command: Literal["jobs --train"] = key()
    version: str = key()
    file: str = key("the file that was written")
    generation: int = key("of which the actor is; 0: the initial one, which weighs all jobs alike")
    generations: int = key()
    simulations: int = key()
    steps: List[Step] = key("each validation")
    trained_on: str = key()
    validation: Validation = key("its mean completion over that of `learned`, less 1, over the simulations by which it was chosen; with the bootstrap interval of 95 %")
