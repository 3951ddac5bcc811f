"""The document `accord estimate --json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bottleneck", "Cluster", "Communication", "Depth", "Estimate", "Instructions", "Kind", "Loading", "Operation", "StepEnergy", "StepTimeEstimate", "Totals"]


class Communication(Record):
    """Of an exchange of data with other devices of a cluster."""

    kind: str = key()
    algorithm: str = key()
    axis: str = key()
    devices: int = key()
    formula: str = key()
    payload: int = key("bytes of the whole tensor")
    ring: Optional[Literal[True]] = key("its time is what the attention beside it does not hide")


class Operation(Record):
    """An object of the document."""

    name: str = key()
    kind: str = key()
    phase: Literal["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"] = key()
    core: Optional[str] = key("null: a view that needs none, or an exchange with other devices")
    count: float = key("executions per step")
    bound: str = key()
    cycles: float = key("", "cycles")
    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    flops: int = key("", "FLOP")
    bytes: Dict[str, float] = key("by memory level", "B")
    communication: Optional[Communication] = key("of an exchange of data with other devices of a cluster")


class Instructions(Record):
    """Of a step on cores at the level of instructions."""

    estimated: int = key("of these, those that go on as what was evaluated of them; then `time_s` is an estimate")
    evaluated: int = key("of these, those whose times were computed: the others follow from them exactly")
    executed: float = key()
    programs: int = key("that operations are mapped to; operations of one shape share theirs")
    time_high_s: float = key("", "s")
    time_low_s: float = key("between these `time_s` is proven to be", "s")


class Depth(Record):
    """An object of the document."""

    prefetch: int = key()
    queue_bytes: float = key("", "B")
    step_s: float = key("", "s")


class Loading(Record):
    """Input data of one step beside its computation, where the training says how it is loaded."""

    bound: Literal["load", "copy", "load and copy", "compute", "variation", "serial"] = key()
    batch_bytes: float = key("", "B")
    compute_s: float = key("", "s")
    copy_s: float = key("", "s")
    depths: List[Depth] = key("the step at other depths, and the host memory that their batches take")
    error: Optional[float] = key("of step_s, relative, where times of loading vary: two standard errors")
    gain: float = key("load_s + copy_s + compute_s over step_s")
    hidden: bool = key("loading adds nothing to the step, or at most 1 % where its times vary")
    load_s: float = key("", "s")
    prefetch: int = key("batches loaded ahead")
    step_s: float = key("in steady state, loading included", "s")
    workers: int = key()


class StepEnergy(Record):
    """Of one step as scheduled, by what uses it; where the machine states energy or power, or a technology."""

    arithmetic_J: float = key("where the machine states its design power and no energy of its parts: all above idle", "J")
    average_power_W: float = key("", "W")
    design_power_W: Optional[float] = key("of the device, where the machine states it", "W")
    high_power_W: Optional[float] = key("", "W")
    idle_J: float = key("idle power over step_s", "J")
    low_power_W: Optional[float] = key("of 100 such boards 90 draw between these", "W")
    memories_J: Dict[str, float] = key("by memory level", "J")
    step_s: float = key("", "s")
    total_J: float = key("", "J")


class StepTimeEstimate(Record):
    """90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet."""

    high_s: float = key("", "s")
    ideal_s: float = key("", "s")
    low_s: float = key("", "s")
    source: str = key("the calibration")


class Totals(Record):
    """An object of the document."""

    step_time_s: Optional[float] = key("as scheduled: operations on several cores overlap", "s")
    time_s: float = key("", "s")
    energy_J: float = key("", "J")
    flops: float = key("", "FLOP")
    area_mm2: Optional[float] = key("of the chip, where the machine states it or its parts", "mm²")
    instructions: Optional[Instructions] = key("of a step on cores at the level of instructions")
    loading: Optional[Loading] = key("input data of one step beside its computation, where the training says how it is loaded")
    memory_bytes: float = key("", "B")
    memory_capacity_bytes: Optional[float] = key("of the device memory", "B")
    parameters: int = key()
    step_energy: Optional[StepEnergy] = key("of one step as scheduled, by what uses it; where the machine states energy or power, or a technology")
    step_time_estimate: Optional[StepTimeEstimate] = key("90 of 100 measured steps lie between `low_s` and `high_s`; `ideal_s`: at the rates of the data sheet")


class Bottleneck(Record):
    """An object of the document."""

    fraction: float = key("of the time: where it binds")
    resource: str = key()
    speedup_if_twice: float = key()
    speedup_if_unlimited: Optional[float] = key("absent when nothing else takes time")


class Cluster(Record):
    """Where the target is a cluster: all numbers are of one of its devices."""

    name: str = key()
    tensor_parallel: int = key()
    data_parallel: int = key()
    context_parallel: Optional[int] = key("devices that share each sample along its sequence; 1 unless stated")
    devices: int = key()
    expert_parallel: int = key()
    sequence_parallel: int = key()


class Kind(Record):
    """An object of the document."""

    kind: str = key()
    phase: Literal["forward", "data_gradient", "weight_gradient", "update", "communication", "recompute"] = key()
    time_s: float = key("of all their executions in a step, one after the other", "s")
    energy_J: float = key("with the idle power while they run; the device's alone, without its host", "J")
    flops: float = key("", "FLOP")
    bytes: float = key("of the device memory", "B")
    operations: int = key()
    power_W: float = key("", "W")


class Estimate(Answer):
    """Work, time, energy and bytes of a training step. flops, time_s, cycles, energy_J and bytes of an operation are of ONE execution; count is how often it runs in one step (micro-batches times the repeats around it). totals.flops is the sum of flops * count, and so are time_s (one after the other) and energy_J."""

    command: Literal["estimate"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    microbatch: int = key()
    microbatches: int = key()
    assumptions: List[str] = key()
    operations: List[Operation] = key()
    totals: Totals = key()
    bottlenecks: List[Bottleneck] = key("resources that bind somewhere, the one with the most to gain first; of all operations one after the other")
    cluster: Optional[Cluster] = key("where the target is a cluster: all numbers are of one of its devices")
    kinds: List[Kind] = key("where time, bandwidth and energy go: operations of one kind and phase, the one with the most time first")
    machine: str = key()
    model: str = key()
    optimizer: str = key()
    precision: str = key()
