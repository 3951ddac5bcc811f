"""The document `accord partition --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bound", "Conflict", "Objective", "Partition", "Stage", "Traffic"]


class Objective(Record):
    """An object of the document."""

    name: Literal["load"] = key()
    value: float = key()
    unit: Literal["s"] = key()


class Bound(Record):
    """No answer is better."""

    value: float = key()
    unit: Literal["s"] = key()
    proof: str = key("what the bound follows from")


class Stage(Record):
    """An object of the document."""

    communication_s: float = key("of results that come in or go out; of a profile the longer of those that come in and the all-reduce", "s")
    compute_s: float = key("of its nodes, on one replica", "s")
    device: str = key("accelerator 1, accelerators 2-5, processor 1")
    load_s: float = key("", "s")
    memory_bytes: int = key("of one accelerator; of a processor what its nodes would take of one", "B")
    nodes: List[str] = key()
    replicas: int = key()


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()
    file: str = key()
    line: int = key("0: the file as a whole")
    detail: Optional[str] = key("of a training: what is needed and what there is")
    min_memory_bytes: Optional[int] = key("of each accelerator, with which there are stages", "B")


class Traffic(Record):
    """An object of the document."""

    time_s: float = key("of all of them, one after another", "s")
    from_stage: int = key()
    results: int = key()
    to_stage: int = key()


class Partition(Answer):
    """Which stage of a pipeline runs which nodes of a profiled graph. Times are seconds of one sample, or of the mini-batch that was profiled."""

    command: Literal["partition"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key("unknown: no answer was found, and none was proven not to exist")
    name: Optional[str] = key("of the project, of the graph, or of the training and its machine")
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key("no answer is better")
    gap: Optional[float] = key("distance to the bound as a share")
    stages: List[Stage] = key("in the order of the pipeline")
    conflict: Optional[List[Conflict]] = key("what cannot hold together")
    accelerator_memory_bytes: Optional[int] = key("of each accelerator, where it has a limit", "B")
    accelerators: int = key()
    certificate_sha256: str = key("of certificate/partitioning.json, from which this follows")
    latency_s: Optional[float] = key("of one sample on its own through these stages, of inference; it is not the objective", "s")
    nodes: int = key("nodes of the graph")
    processors: int = key()
    rule: Literal["sum", "overlap"] = key("what loads a stage: the sum of its computation and its transfers, or, where they overlap, the longest of them")
    stopped: Optional[Literal["work limit", "time limit", "interrupted"]] = key("why there may be better")
    traffic: Optional[List[Traffic]] = key("results that stages send each other, the first stage being 0; backward nodes send them back")
    work: int = key("stages that were looked at")
