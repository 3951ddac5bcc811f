"""The document `accord compare --json (a cluster)`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["CompareCluster", "Exchange", "Finding", "Link", "Operation", "Part", "PlannedExchange", "Rank", "Unplanned", "Work"]


class Finding(Record):
    """An object of the document."""

    kind: Literal["straggler", "late rank", "slow link", "lost overlap", "extra work", "other bytes", "slower", "bubble", "host"] = key()
    ranks: List[int] = key()
    seconds_s: float = key("of a step of its ranks", "s")
    text: str = key()


class Link(Record):
    """An object of the document."""

    kind: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "message", "other"] = key()
    bytes: int = key("of a call, of the whole tensor", "B")
    bus_bandwidth: float = key("bytes a second over the link of each device, as nccl-tests defines it")
    calls: int = key()
    devices: int = key("that take part")
    level: Literal["intra-node", "inter-node"] = key("whether all ranks are in one node")
    seconds_s: float = key("mean transfer of a call", "s")


class Part(Record):
    """An object of the document."""

    name: str = key()
    measured_s: float = key("", "s")
    planned_s: float = key("with the collectives inside of layers", "s")


class Operation(Record):
    """An object of the document."""

    name: str = key("of the plan")
    call: Optional[str] = key("the first call")
    calls: int = key("of the trace, in a step")
    class_: str = key(name="class")
    executions: int = key("of the plan, in a step")
    match: Literal["name", "sequence", "shapes", "order", "none"] = key("how it was recognized, as in compare")
    measured_s: float = key("of a step, what belongs to it alone", "s")
    missing: Optional[int] = key("executions that the trace does not have")
    part: str = key()
    planned_s: float = key("of a step", "s")


class Exchange(Record):
    """An object of the document."""

    kind: Literal["all-reduce", "reduce-scatter", "all-gather", "all-to-all", "broadcast", "reduce", "message", "other"] = key()
    bytes: Optional[int] = key("of a step, of whole tensors; absent: the trace does not say", "B")
    aligned: int = key("calls that were seen on another rank, too: only of these waiting is known")
    calls: int = key()
    exposed_s: float = key("of both, what nothing hides", "s")
    exposed_waiting_s: float = key("of exposed_s, waiting", "s")
    kernel: str = key("of the first call")
    purpose: Literal["tensor parallelism", "context parallelism", "experts", "messages between stages", "gradients and weights", "not in the plan"] = key()
    ranks: List[int] = key("that take part; of messages the one that sends, then the one that receives")
    transfer_s: float = key("of its kernels, from when the last rank came", "s")
    waiting_s: float = key("of its kernels, until the last rank came", "s")


class PlannedExchange(Record):
    """An object of the document."""

    bytes: Optional[int] = key("of a step, of whole tensors; absent: the plan does not say", "B")
    exposed_s: Optional[float] = key("what nothing hides", "s")
    purpose: Literal["tensor parallelism", "context parallelism", "experts", "messages between stages", "gradients and weights", "not in the plan"] = key()
    ranks: List[int] = key("that take part")
    seconds_s: Optional[float] = key("of a step, hidden or not; absent: it is in the passes", "s")


class Unplanned(Record):
    """An object of the document."""

    name: str = key("as the trace names it")
    calls: int = key()
    class_: str = key(name="class")
    part: str = key()
    seconds_s: float = key("", "s")


class Work(Record):
    """An object of the document."""

    name: str = key("as the trace names it")
    calls: int = key()
    class_: str = key(name="class")
    kernel: Optional[str] = key("the first")
    part: str = key()
    seconds_s: float = key("what belongs to it alone", "s")


class Rank(Record):
    """An object of the document."""

    operations: Optional[List[Operation]] = key("with --from: in the order of the plan; without the update and collectives")
    computation_s: float = key("", "s")
    device: Optional[str] = key("as the trace names it")
    exchanges: List[Exchange] = key()
    layer_exchanges_s: float = key("exposed collectives inside of layers, which the parts have within the passes", "s")
    layers: List[str] = key("of the stage")
    measured_s: float = key("the step", "s")
    parts: List[Part] = key("their sums are the planned and the measured step")
    planned_exchanges: List[PlannedExchange] = key()
    rank: int = key()
    replica: int = key()
    stage: int = key("of the pipeline")
    step: Optional[str] = key("mark of the profiler; absent where the trace has none")
    tensor: int = key("within the devices that share operations")
    trace: str = key("path")
    unplanned: Optional[List[Unplanned]] = key("with --from: calls that no operation of the plan is, longest first")
    waited_for_s: float = key("the most that another rank waited, beside no computation, until this one came to collectives", "s")
    work: List[Work] = key("longest first")


class CompareCluster(Answer):
    """A plan of a cluster beside the steps that PyTorch's profiler measured on its ranks: where the time of each goes, what it exchanges and waits for, and what explains the difference. Times in _s are seconds of one step."""

    _table = "ranks"
    command: Literal["compare"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    job: str = key()
    kind: Literal["cluster"] = key()
    tensor_parallel: int = key()
    data_parallel: int = key()
    microbatches: int = key()
    stages: int = key("of the pipeline")
    cluster: str = key()
    devices: int = key("of the plan")
    explained: float = key("share of the measured steps that has a name")
    findings: List[Finding] = key("what explains the difference, by size")
    links: List[Link] = key("what exchanges achieved, where several of their ranks are given")
    measured_s: float = key("the step, mean of the ranks", "s")
    model: str = key()
    notes: List[str] = key()
    parts: List[Part] = key("means over the ranks that are given")
    planned_s: float = key("the step", "s")
    ranks: List[Rank] = key("those that are given")
