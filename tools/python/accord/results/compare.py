"""The document `accord compare --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Class", "Compare", "Extra", "Group", "Operation", "Part", "Repeat"]


class Operation(Record):
    """An object of the document."""

    name: str = key()
    bound: Optional[str] = key("what limits it in the plan")
    flops: float = key("of a step, by the plan", "FLOP")
    bytes: float = key("of a step, by the plan, in the memory of the device", "B")
    operations: List[str] = key("of the plan; several where one call of the trace does the work of all")
    call: Optional[str] = key("the first call")
    calls: int = key("of the trace, in a step")
    class_: str = key(name="class")
    efficiency: Optional[float] = key("share of the peak of its core, while it is measured to run")
    executions: int = key("of the plan, in a step")
    exposed_s: float = key("of measured_s, what belongs to it alone, where several run at a time", "s")
    kernel: Optional[str] = key("its longest kernel")
    kernels: int = key()
    match: Literal["name", "sequence", "shapes", "order", "none"] = key("how it was recognized, of the least sure execution: name (an annotation), sequence (gradient of a recognized call), shapes (same work, in order), order (same class, by place), none (the trace does not have it)")
    measured_s: float = key("sum of its kernels, of a step", "s")
    missing: Optional[int] = key("executions that the trace does not have")
    part: str = key()
    planned_efficiency: Optional[float] = key("the same, as planned")
    planned_s: float = key("of a step", "s")


class Class(Record):
    """An object of the document."""

    name: str = key()
    measured_s: float = key("what belongs to it alone, where several run at a time", "s")
    planned_s: float = key("may be less than 0 outside of operations: they run side by side", "s")


class Extra(Record):
    """An object of the document."""

    name: str = key("as the trace names it")
    calls: int = key()
    class_: str = key(name="class")
    part: str = key()
    scope: Optional[str] = key("annotation or module around the first")
    seconds_s: float = key("", "s")


class Group(Record):
    """An object of the document."""

    name: str = key()
    about: str = key("what it means")
    events: int = key()
    seconds_s: float = key("", "s")


class Part(Record):
    """An object of the document."""

    name: str = key()
    measured_s: float = key("what belongs to it alone, where several run at a time", "s")
    planned_s: float = key("may be less than 0 outside of operations: they run side by side", "s")


class Repeat(Record):
    """An object of the document."""

    name: str = key()
    measured_s: float = key("what belongs to it alone, where several run at a time", "s")
    planned_s: float = key("may be less than 0 outside of operations: they run side by side", "s")


class Compare(Answer):
    """A plan beside a step that PyTorch's profiler measured: which operation is which, what each takes, and what is not explained. Times in _s are seconds of one step."""

    _table = "operations"
    command: Literal["compare"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    job: str = key()
    operations: List[Operation] = key("in the order of the plan")
    classes: List[Class] = key()
    device: Optional[str] = key("as the trace names it")
    explained: float = key("share of the measured step that rows and groups explain")
    extra: List[Extra] = key("calls that no operation of the plan is, longest first")
    groups: List[Group] = key("time of the trace that belongs to no operation of the plan, and has a name")
    has_shapes: bool = key()
    machine: str = key()
    measured_s: float = key("the step", "s")
    model: str = key()
    notes: List[str] = key()
    on_processor: bool = key("the trace has no kernels: calls are timed")
    parts: List[Part] = key("their sums are the planned and the measured step")
    planned_s: float = key("the step", "s")
    repeats: List[Repeat] = key()
    step: Optional[str] = key("mark of the profiler; absent where the trace has none")
    trace: str = key("path of the trace")
    unexplained_s: float = key("", "s")
