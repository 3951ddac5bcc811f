"""The document `accord tune --json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Broken", "Change", "Compared", "Importance", "Incumbent", "Inference", "Origin", "Parameter", "Passed", "Population", "Prices", "Problem", "Progress", "Report", "Scale", "Schedule", "Segment", "Space", "TimeS", "Training", "Trial", "TrialEntry", "Tune", "Value", "Width"]


class Value(Record):
    """An object of the document."""

    high: float = key()
    low: float = key()
    mean: float = key()


class TimeS(Record):
    """Until the target is reached, or the tuning ends."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Change(Record):
    """Of the time of the first against this one's, paired: -0.3 is 30 % shorter."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Progress(Record):
    """An object of the document."""

    value: Value = key()
    time_s: float = key("", "s")


class Compared(Record):
    """An object of the document."""

    name: str = key()
    value: Value = key()
    time_s: TimeS = key("until the target is reached, or the tuning ends")
    busy: float = key()
    change: Change = key("of the time of the first against this one's, paired: -0.3 is 30 % shorter")
    progress: Optional[List[Progress]] = key("the best value so far, from when on all seeds have one")
    reached: int = key()
    trials: float = key()
    units: float = key()


class Parameter(Record):
    """An object of the document."""

    name: str = key()
    high: float = key()
    low: float = key("interval of 95 %; above 0: it is shown to matter")
    share: float = key("of the variance of the ranks of values that it explains alone; below 0 is chance")


class Importance(Record):
    """An object of the document."""

    unit: int = key("whose values are compared, of so many trials")
    parameters: List[Parameter] = key()
    trials: int = key()


class Incumbent(Record):
    """An object of the document."""

    value: float = key()
    unit: int = key()
    time_s: float = key("", "s")
    trial: int = key()


class Broken(Record):
    """An object of the document."""

    block: str = key("the block that states it")
    detail: str = key("with the numbers of both sides")
    limit: str = key("as written, or its label; or the memory of the device")


class Inference(Record):
    """An object of the document."""

    energy_J: float = key("of a batch; 0: the machine does not say", "J")
    memory: float = key("bytes at the peak")
    broken: Optional[List[Broken]] = key()
    latency_s: float = key("of a batch", "s")


class Training(Record):
    """An object of the document."""

    microbatch: int = key("the largest that fits")
    memory: float = key("bytes of each device at the peak")
    broken: Optional[List[Broken]] = key()
    devices: int = key()
    fits: bool = key("whether no limit is broken")
    step_s: float = key("", "s")
    unit_s: float = key("of a unit", "s")


class Trial(Record):
    """An object of the document."""

    inference: Optional[Inference] = key()
    parameters: int = key("trained scalars")
    training: List[Training] = key("by number of devices")


class Prices(Record):
    """What the cost model says of configurations."""

    bound: List[str] = key("hyper-parameters that change prices")
    capacity: float = key("bytes of a device")
    devices: List[int] = key("on how many devices a trial may run")
    exhaustive: bool = key("whether these are all configurations that there are")
    front: List[int] = key("trials of which no other is as good in value and latency, or in value and time of a unit")
    inference: Optional[str] = key("the `infer` block of what is deployed")
    inference_machine: Optional[str] = key()
    largest: Optional[str] = key()
    largest_memory: Optional[float] = key("of the largest configuration that a device does not hold")
    machine: str = key()
    proposed: int = key("configurations that were looked at before they began")
    rejected: int = key("those that broke a limit")
    rejected_by: Dict[str, int] = key("how many each limit rejected, each configuration once")
    training: str = key("the `train` block whose network is priced")
    trials: List[Trial] = key("of the trials, in their order")


class Population(Record):
    """Members that all run to the end, the worst of which are replaced by children of the best."""

    every: int = key("units of a generation, behind which the worst are replaced")
    factors: List[float] = key("by one of these a number that is not drawn anew is multiplied")
    fixed: List[str] = key("hyper-parameters that a child takes as they are")
    members: int = key()
    redrawn: float = key("how probable it is that a hyper-parameter of a child is drawn anew")
    replaced: float = key("share of the members that are replaced")


class Scale(Record):
    """An object of the document."""

    base: float = key("where the value that a program gets is the one in base terms")
    by: str = key("the hyper-parameter by which it is scaled")
    noise: Optional[float] = key("gradient noise scale of ada-scale, in samples")
    rule: Literal["linear", "square-root", "inverse", "mup", "mup-sgd", "ada-scale", "ada-scale-root", "ema"] = key()
    target: str = key()


class Space(Record):
    """An object of the document."""

    name: str = key()
    kind: Literal["real", "integer", "choice"] = key()
    choices: List[str] = key()
    from_: Optional[int] = key("units behind which it begins to act; absent: it acts from the start", name="from")
    log: bool = key()
    max: float = key()
    min: float = key()


class Width(Record):
    """An object of the document."""

    slots: int = key()
    speed: float = key("1 is that of one whole device")


class Problem(Record):
    """An object of the document."""

    name: str = key()
    objective: str = key("as the program calls it")
    branches: int = key("where hyper-parameters act later: so many trials go on from one state")
    devices: int = key()
    devices_per_node: int = key()
    first: List[List[float]] = key("configurations that were proposed before all others")
    fixed_slots: int = key()
    max_s: float = key("0: no limit", "s")
    max_units: int = key()
    maximizes: bool = key()
    min_units: int = key("before a trial may be stopped, and of a complete one")
    population: Optional[Population] = key("members that all run to the end, the worst of which are replaced by children of the best")
    probes: int = key("so many trials tell whether the lowest rung says anything")
    proposals: Literal["random", "density", "priced"] = key()
    reduction: int = key("of so many trials that reach a rung one goes on")
    restart_s: float = key("", "s")
    scales: Optional[List[Scale]] = key("how programs get values that are searched in base terms")
    seed: int = key()
    sharing: Literal["joint", "fixed"] = key()
    slots_per_device: int = key("so many slots are a device")
    space: List[Space] = key()
    stop_below: float = key("with curves: how improbable it is that a trial that is stopped becomes the best")
    stops: Literal["halving", "curves", "both"] = key("when trials are stopped before their end")
    target: Optional[float] = key()
    trials: int = key()
    unit_s: float = key("", "s")
    widths: List[Width] = key("on how much a trial may run")


class Schedule(Record):
    """An object of the document."""

    configuration: List[float] = key()
    from_: int = key("units, both included", name="from")
    to: int = key()
    trial: int = key()


class Segment(Record):
    """An object of the document."""

    devices: List[int] = key()
    end_s: float = key("", "s")
    from_: int = key("units that it had done, before and behind", name="from")
    slots: int = key()
    start_s: float = key("", "s")
    to: int = key()
    trial: int = key()


class Origin(Record):
    """The trial with whose state it began, and after which unit; absent: it began at unit 0."""

    unit: int = key()
    redrawn: List[str] = key("hyper-parameters that were drawn anew")
    trial: int = key()


class Passed(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()


class Report(Record):
    """An object of the document."""

    value: Optional[float] = key("null: the training has diverged")
    unit: int = key()
    time_s: float = key("seconds of the plan", "s")


class TrialEntry(Record):
    """An object of the document."""

    configuration: List[float] = key("a value of each hyper-parameter: a number, or the index of a choice")
    origin: Optional[Origin] = key("the trial with whose state it began, and after which unit; absent: it began at unit 0")
    passed: Optional[List[Passed]] = key("what the program got instead of values in base terms, and ratios of widths beside them")
    reason: str = key("of one that failed")
    reports: List[Report] = key()
    state: Literal["paused", "complete", "diverged", "failed", "stopped", "replaced"] = key()
    unit_s: float = key("", "s")


class Tune(Answer):
    """A tuning of hyper-parameters: its trials, where they ran, and the best of them."""

    command: Literal["tune"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["ended", "reached", "stopped", "infeasible"] = key()
    time_s: float = key("", "s")
    assumptions: List[str] = key()
    compared: List[Compared] = key("other ways to tune, over the seeds")
    device_s: float = key("", "s")
    ended_by: Literal["ended", "reached", "stopped", "infeasible"] = key("whether all trials ended, the target was reached, somebody stopped the tuning, or no configuration of the space keeps its limits")
    importance: Optional[List[Importance]] = key("at each rung that enough trials came to: what each hyper-parameter explains of the differences of trials")
    incumbents: List[Incumbent] = key("each better than the one before")
    prices: Optional[Prices] = key("what the cost model says of configurations")
    problem: Problem = key()
    schedule: Optional[List[Schedule]] = key("of a population: with which hyper-parameters the best value came about")
    seeds: int = key()
    segments: List[Segment] = key("where trials ran when, by start")
    source: str = key("the table, or the program")
    trials: List[TrialEntry] = key("in the order in which they were proposed")
    units: int = key()
