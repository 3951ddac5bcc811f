"""The document `accord explain --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["CoreType", "Explain", "Next", "Operation", "Phase", "Timing"]


class Operation(Record):
    """An object of the document."""

    name: str = key()
    phase: Literal["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"] = key()
    core: str = key()
    gain_if_halved_s: float = key("the step is so much shorter if the operation takes half its time", "s")
    gain_if_removed_s: float = key("and if it takes none", "s")
    total_time_s: float = key("all executions, one after the other", "s")


class CoreType(Record):
    """An object of the document."""

    core_type: str = key("tensor, vector, network, or no core")
    critical_s: float = key("of the longest path", "s")
    only_this_core_type_s: float = key("longest chain of dependences if all other core types took no time", "s")


class Next(Record):
    """Of the operations that have slack, the one with the least."""

    name: str = key()
    slack_s: float = key("", "s")


class Phase(Record):
    """An object of the document."""

    phase: Literal["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"] = key()
    critical_s: float = key("of the longest path", "s")


class Timing(Record):
    """Of a plan: what its longest path is made of, and what would shorten the step while every order stays."""

    step_time_s: Optional[float] = key("in the order of the plan, everything as early as possible", "s")
    operations: Optional[List[Operation]] = key("what shortens the step most, at most 10")
    core_types: Optional[List[CoreType]] = key()
    critical: Optional[List[str]] = key("operations of the longest path, a repeat followed by its body; the first 1000")
    error: Optional[str] = key("why there is none: the plan contradicts itself")
    host_s: Optional[float] = key("of it, what the host takes", "s")
    next: Optional[Next] = key("of the operations that have slack, the one with the least")
    phases: Optional[List[Phase]] = key()


class Explain(Answer):
    """The explanation in words, for people: of a plan, of one of its operations, of an error code, or of all codes (--markdown). What it is made of is in plan.json."""

    command: Literal["explain"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    text: str = key("what the command prints without --json, without colours")
    timing: Optional[Timing] = key("of a plan: what its longest path is made of, and what would shorten the step while every order stays")
