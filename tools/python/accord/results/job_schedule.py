"""The document `accord jobs FILE --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Carbon", "Change", "Job", "JobSchedule", "Objective", "Pending", "Previous", "Replan", "Requirement", "Resource", "Run", "Server", "ServerEntry", "Step"]


class Carbon(Record):
    """An object of the document."""

    from_s: int = key("", "s")
    g_per_kWh: float = key()


class Pending(Record):
    """An object of the document."""

    cause: Literal["dependence", "resource", "duration", "completion", "objective", "limit", "other"] = key()
    from_s: int = key("", "s")
    reason: str = key()
    until_s: int = key("", "s")


class Server(Record):
    """An object of the document."""

    devices: int = key()
    server: int = key()


class Run(Record):
    """An object of the document."""

    step_time_s: Optional[float] = key("", "s")
    batch: Optional[int] = key("samples of a step, where the training has another batch; so are the next four")
    accumulation: Optional[int] = key("micro-batches whose gradients a step adds up")
    begin_s: int = key("", "s")
    choice: Optional[str] = key("the train block that it runs instead of the job's own")
    configuration: str = key()
    devices: Optional[int] = key()
    efficiency: Optional[float] = key("samples at the batch of the training that one at this batch replaces")
    end_s: int = key("", "s")
    learning_rate_factor: Optional[float] = key("that of the training is multiplied by it")
    memory_bytes: Optional[int] = key("of the device that needs the most", "B")
    not_started: Optional[str] = key("why launch/ has nothing that starts it")
    plan: Optional[str] = key("the parallel plan; absent where the configuration was profiled")
    power_W: Optional[int] = key("", "W")
    power_level: Optional[str] = key("of the devices' power; absent: the full one")
    price_per_hour: Optional[float] = key("", "USD/h")
    servers: Optional[List[Server]] = key("devices of each server, from the start of the run to its end")
    type: Optional[str] = key()
    warmup_factor: Optional[float] = key("that of the training is multiplied by it")
    without_megatron: Optional[str] = key("why Megatron-LM cannot run its plan")


class Job(Record):
    """An object of the document."""

    name: str = key()
    energy_J: float = key("", "J")
    after: Optional[List[str]] = key()
    arrival_s: int = key("", "s")
    carbon_g: Optional[float] = key()
    completion_s: Optional[int] = key("", "s")
    continues: Optional[Literal[True]] = key("whether work is left at the end of the schedule, and how much of it is done then")
    cost: float = key("dollars")
    deadline_s: Optional[int] = key("", "s")
    due_s: Optional[int] = key("", "s")
    elasticity: Literal["rigid", "moldable", "malleable"] = key()
    pending: Optional[List[Pending]] = key("why it does not run between its arrival and its completion")
    rejected: Optional[Literal[True]] = key("whether the schedule leaves it out")
    runs: List[Run] = key()
    share_done: Optional[float] = key()
    start_s: Optional[int] = key("", "s")
    tenant: Optional[str] = key()
    train: Optional[str] = key("the train block that it runs; absent where it is profiled")
    weight: int = key()


class Objective(Record):
    """An object of the document."""

    name: str = key()
    value: Optional[int] = key("in the unit of the problem: seconds, micro-dollars, joules, micrograms, thousandths, or of goodput millionths that are left")
    bound: Optional[int] = key("no schedule is below, while the objectives before have their values")
    gap: Optional[float] = key("(value - bound) / value")
    bound_text: Optional[str] = key()
    text: Optional[str] = key()
    words: str = key()


class Change(Record):
    """An object of the document."""

    job: str = key()
    kind: Literal["complete", "goes_on", "moves", "stops", "starts", "pending", "rejected", "cancelled"] = key()
    completion_s: Optional[int] = key("", "s")
    from_: Optional[str] = key(name="from")
    planned_completion_s: Optional[int] = key("", "s")
    restart_device_hours: Optional[float] = key()
    to: Optional[str] = key()
    why: Optional[str] = key("events")


class Previous(Record):
    """An object of the document."""

    name: str = key()
    value: int = key()
    text: str = key()


class Replan(Record):
    """Of a plan that goes on from a moment: what it changes."""

    at_s: int = key("when it begins, on the clock of the block: all other times of the document count from there", "s")
    changes: List[Change] = key("of each job against the plan before; completions are on the clock of the block")
    previous: Optional[List[Previous]] = key("the objectives, if the plan before were kept")
    restart_device_hours: float = key("of all restarts that are paid")
    why_not_previous: Optional[str] = key()


class Requirement(Record):
    """An object of the document."""

    name: str = key()
    value: Optional[int] = key()
    max: int = key()
    text: Optional[str] = key()
    words: str = key()


class Step(Record):
    """An object of the document."""

    capacity: int = key()
    from_s: int = key("", "s")
    used: int = key()


class Resource(Record):
    """An object of the document."""

    name: str = key()
    unit: Literal["devices", "W", "units"] = key()
    steps: List[Step] = key("capacity and amount in use from a time on")


class ServerEntry(Record):
    """An object of the document."""

    devices: int = key()
    type: str = key()


class JobSchedule(Answer):
    """When each job of a `jobs` block runs, on which servers, in which configuration: objectives with their bounds, use of resources, why jobs wait, conflict and repairs."""

    _table = "jobs"
    command: Literal["jobs"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    name: str = key()
    conflict: Optional[List[str]] = key("constraints that exclude each other")
    assumptions: Optional[List[str]] = key()
    carbon: Optional[List[Carbon]] = key("of electricity, from a time on")
    cluster: Optional[str] = key()
    jobs: List[Job] = key()
    objectives: List[Objective] = key()
    repairs: Optional[List[str]] = key("changes of which each removes the conflict")
    replan: Optional[Replan] = key("of a plan that goes on from a moment: what it changes")
    requirements: Optional[List[Requirement]] = key()
    resources: List[Resource] = key()
    servers: List[ServerEntry] = key()
    slot_s: int = key("", "s")
    slots: int = key()
    types: List[str] = key()
