"""The document `accord diff --json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["After", "AfterEntry", "Before", "BeforeEntry", "Diff", "Energy", "Figure", "Operation", "Stage", "Step", "Word"]


class After(Record):
    """An object of the document."""

    backward_s: float = key("of a micro-batch", "s")
    bubble: float = key("of the step")
    devices: str = key()
    forward_s: float = key("of a micro-batch", "s")
    layers: str = key()
    memory_bytes: float = key("at the peak of a device", "B")


class Before(Record):
    """An object of the document."""

    backward_s: float = key("of a micro-batch", "s")
    bubble: float = key("of the step")
    devices: str = key()
    forward_s: float = key("of a micro-batch", "s")
    layers: str = key()
    memory_bytes: float = key("at the peak of a device", "B")


class Stage(Record):
    """An object of the document."""

    after: Optional[After] = key()
    before: Optional[Before] = key()
    stage: int = key()


class Operation(Record):
    """An object of the document."""

    name: str = key()
    after_s: Optional[float] = key("", "s")
    before_s: Optional[float] = key("", "s")
    bound_after: str = key()
    bound_before: str = key()


class AfterEntry(Record):
    """An object of the document."""

    status: str = key()
    machine: str = key("machine or cluster")
    model: str = key()
    plan: str = key("folder or plan.json, as on the command line")


class BeforeEntry(Record):
    """An object of the document."""

    status: str = key()
    machine: str = key("machine or cluster")
    model: str = key()
    plan: str = key("folder or plan.json, as on the command line")


class Energy(Record):
    """An object of the document."""

    after: float = key()
    before: float = key()
    part: str = key()


class Figure(Record):
    """An object of the document."""

    unit: str = key("s, B, J, USD, samples/s; 1: a share; empty: a number of something")
    after: float = key()
    before: float = key()
    change: Optional[float] = key("after / before - 1; null where before is 0")
    label: str = key("in words")


class Step(Record):
    """An object of the document."""

    after: float = key()
    before: float = key()
    part: str = key()


class Word(Record):
    """An object of the document."""

    after: str = key()
    before: str = key()
    label: str = key()


class Diff(Answer):
    """What changed between two plans: figures by name, parts of the step, operations or stages, and why."""

    _table = "operations"
    command: Literal["diff"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    stages: Optional[List[Stage]] = key("of a cluster; null where a plan has fewer")
    operations: Optional[List[Operation]] = key("of one device: whose time or bound differs, the largest change first; null where a plan has it not")
    after: AfterEntry = key()
    before: BeforeEntry = key()
    causes: List[str] = key("why: sentences, first about the step")
    cluster: bool = key("of plans for clusters, not for one device")
    energy: Optional[List[Energy]] = key("joules that add up to the energy of a step, where it is known by parts")
    figures: Dict[str, Figure] = key("by name: step_time_s, throughput, memory_bytes, energy_J, price, …")
    step: List[Step] = key("seconds that add up to the step: of the longest path by phase; on a cluster of the mean over all devices")
    text: str = key("what the command prints without --json, without colours")
    words: Dict[str, Word] = key("by name: schedule, degrees, …")
