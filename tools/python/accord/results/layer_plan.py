"""The document `accord partition --json of layers with configurations`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bound", "Conflict", "Layer", "LayerPlan", "Objective", "Stage"]


class Objective(Record):
    """An object of the document."""

    name: Literal["load", "latency", "makespan"] = key()
    value: float = key()
    unit: Literal["s"] = key()


class Bound(Record):
    """No answer is better."""

    value: float = key()
    unit: Literal["s"] = key()
    proof: str = key("what the bound follows from")


class Layer(Record):
    """An object of the document."""

    configuration: str = key()
    layer: str = key()


class Stage(Record):
    """An object of the document."""

    data: int = key()
    latency_s: float = key("of one micro-batch on its own", "s")
    layers: List[Layer] = key()
    load_s: float = key("of one micro-batch", "s")
    memory_bytes: float = key("of one device", "B")
    tensor: int = key()


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()
    file: str = key()
    line: int = key("0: the file as a whole")
    detail: Optional[str] = key("of a training: what is needed and what there is")
    min_memory_bytes: Optional[int] = key("of each accelerator, with which there are stages", "B")


class LayerPlan(Answer):
    """Which stage of a pipeline runs which layers, with which tensor and data degree, each layer in which configuration. Times are seconds of one micro-batch."""

    command: Literal["partition"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key("unknown: no answer was found, and none was proven not to exist")
    name: Optional[str] = key("of the project, of the graph, or of the training and its machine")
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key("no answer is better")
    gap: Optional[float] = key("distance to the bound as a share")
    microbatches: int = key("of a batch")
    stages: List[Stage] = key("in the order of the pipeline, each on tensor x data devices")
    conflict: Optional[List[Conflict]] = key("what cannot hold together")
    device_memory_bytes: float = key("of a device", "B")
    devices: int = key()
    latency_s: Optional[float] = key("of one micro-batch on its own through all stages", "s")
    load_s: Optional[float] = key("of the stage that the pipeline waits for with every micro-batch", "s")
    makespan_s: Optional[float] = key("of a step of all micro-batches, in which the pipeline fills and drains", "s")
    stopped: Optional[Literal["work limit", "time limit", "interrupted"]] = key("why there may be better")
    work: int = key("stages that were looked at")
