"""The document `accord schedule --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bound", "Conflict", "Objective", "Region", "Resource", "Schedule", "Slot", "Use"]


class Objective(Record):
    """An object of the document."""

    name: Literal["makespan"] = key()
    value: float = key()
    unit: Literal["s", "period"] = key()


class Bound(Record):
    """No answer is better."""

    value: float = key()
    unit: Literal["s", "period"] = key()
    proof: str = key("what the bound follows from")


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()
    file: str = key()
    line: int = key("0: the file as a whole")
    detail: Optional[str] = key("of a training: what is needed and what there is")
    min_memory_bytes: Optional[int] = key("of each accelerator, with which there are stages", "B")


class Region(Record):
    """An object of the document."""

    name: str = key()
    count: int = key()
    length_s: float = key("", "s")
    overhang_s: Optional[float] = key("how long one goes on after the next has started, where they overlap", "s")


class Resource(Record):
    """An object of the document."""

    name: str = key()
    capacity: int = key()


class Use(Record):
    """An object of the document."""

    amount: int = key()
    resource: str = key()


class Slot(Record):
    """An object of the document."""

    core: Optional[str] = key("null: a view or a repeat, which needs none of its own; of a job its resources")
    operation: str = key("or the number of a job")
    critical: Optional[Literal[True]] = key("on a chain of slots without a gap that ends with the makespan; of a training: without slack")
    duration: float = key()
    mode: Optional[str] = key("of a job that has several")
    region: Optional[str] = key("not of a job")
    repeats: Optional[str] = key("the region whose operations run then, of a training")
    start: float = key()
    uses: Optional[List[Use]] = key("of the resources of a project, while it runs")


class Schedule(Answer):
    """When each operation runs on which core. Times are seconds from the start of one iteration of the slot's region: the micro-batch, the update or the body of a repeat. Of a PSPLIB project: when each job runs, in periods from the start."""

    _table = "slots"
    command: Literal["schedule"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key("unknown: no answer was found, and none was proven not to exist")
    name: Optional[str] = key("of the project, of the graph, or of the training and its machine")
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key("no answer is better")
    gap: Optional[float] = key("distance to the bound as a share")
    conflict: Optional[List[Conflict]] = key("what cannot hold together")
    regions: Optional[List[Region]] = key("of a training: runs of one step, and the time from the start of one to that of the next")
    resources: Optional[List[Resource]] = key("of a project: how much of each there is at any time")
    slots: List[Slot] = key("region after region, in the order of their starts")
    stopped: Optional[Literal["work limit", "time limit", "interrupted"]] = key("why there may be better")
    work: Optional[int] = key("of the solver; the same on every machine")
