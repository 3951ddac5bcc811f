"""The document `accord choose --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Bound", "Choice", "Choose", "Chosen", "Conflict", "Front", "Limits", "Objective", "Price", "Rejected", "Repair", "RunnersUp", "TimeS", "Training"]


class Objective(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()
    unit: str = key()


class Bound(Record):
    """An object of the document."""

    value: float = key()
    unit: str = key()
    proof: str = key("what the bound follows from")


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()


class Choice(Record):
    """An object of the document."""

    instances: int = key()
    offer: str = key()
    spot: bool = key()
    training: str = key()


class Front(Record):
    """An object of the document."""

    time_s: float = key("the largest", "s")
    choice: List[Choice] = key()
    price: float = key("in dollars")


class Limits(Record):
    """An object of the document."""

    budget: Optional[float] = key("in dollars, of all trainings")
    deadline_s: Optional[float] = key("", "s")
    power_W: Optional[float] = key("of all that run together", "W")
    sure: Optional[Literal[True]] = key("the upper end of each interval of time keeps the deadline")


class Rejected(Record):
    """An object of the document."""

    file: Optional[str] = key()
    line: Optional[int] = key()
    column: Optional[int] = key()
    accelerator: str = key()
    offers: int = key()
    reason: str = key()
    training: Optional[str] = key()


class Repair(Record):
    """An object of the document."""

    limits: Limits = key()
    text: str = key()


class TimeS(Record):
    """Of the whole training, with failures: mean, 5 % and 95 % quantile."""

    value: float = key()
    high: float = key()
    low: float = key()


class Price(Record):
    """In dollars, of all instances."""

    value: float = key()
    high: float = key()
    low: float = key()


class Chosen(Record):
    """An object of the document."""

    instance: str = key()
    step_time_s: float = key("of one step without failures", "s")
    time_s: TimeS = key("of the whole training, with failures: mean, 5 % and 95 % quantile")
    energy_J: float = key("", "J")
    accelerator: str = key("as the list names it")
    carbon_g: float = key("0: no intensity is stated")
    checkpoint_interval_s: float = key("of training between two checkpoints", "s")
    cluster: str = key("of the catalogue or the inventory, which describes it")
    devices: int = key("of all instances")
    instances: int = key()
    may_be_late: bool = key("the upper end of the interval of time is after the deadline")
    plan: str = key()
    power_W: float = key("average of devices and hosts", "W")
    price: Price = key("in dollars, of all instances")
    price_per_hour: float = key("of one instance", "USD/h")
    provider: str = key()
    region: str = key()
    spot: bool = key()
    steps: float = key()
    stops: float = key("mean number of failures and interruptions")


class RunnersUp(Record):
    """An object of the document."""

    instance: str = key()
    step_time_s: float = key("of one step without failures", "s")
    time_s: TimeS = key("of the whole training, with failures: mean, 5 % and 95 % quantile")
    energy_J: float = key("", "J")
    accelerator: str = key("as the list names it")
    carbon_g: float = key("0: no intensity is stated")
    checkpoint_interval_s: float = key("of training between two checkpoints", "s")
    cluster: str = key("of the catalogue or the inventory, which describes it")
    devices: int = key("of all instances")
    instances: int = key()
    loss: float = key("what is added to the objective, in its unit")
    may_be_late: bool = key("the upper end of the interval of time is after the deadline")
    plan: str = key()
    power_W: float = key("average of devices and hosts", "W")
    price: Price = key("in dollars, of all instances")
    price_per_hour: float = key("of one instance", "USD/h")
    provider: str = key()
    region: str = key()
    spot: bool = key()
    steps: float = key()
    stops: float = key("mean number of failures and interruptions")


class Training(Record):
    """An object of the document."""

    name: str = key()
    chosen: Chosen = key()
    runners_up: List[RunnersUp] = key("the best options on other offers, all other trainings as they are")


class Choose(Answer):
    """Which offers of price lists and inventories train something, under a deadline, a budget and a power: the proven best choice, the next ones, and the front of price and time."""

    _table = "trainings"
    command: Literal["choose"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key()
    gap: Optional[float] = key("distance to the bound as a share")
    conflict: Optional[List[Conflict]] = key("why there is no choice")
    assumptions: List[str] = key()
    certificate_sha256: Optional[str] = key("of certificate/choose.json, from which this follows; in an answer's folder")
    checked: List[str] = key("what was proved again")
    front: List[Front] = key("where nothing is both cheaper and faster, by price")
    front_is_whole: bool = key("false: there may be more points")
    limits: Limits = key()
    offers: int = key("of lists and inventory")
    offers_compared: int = key("of them in options; the rest is dominated by them, or left out")
    plan_assumptions: List[str] = key("of the plans of the trainings")
    rejected: List[Rejected] = key("offers of which nothing can be said, or on which a training does not fit")
    repairs: Optional[List[Repair]] = key("limits with which there is a choice, each by itself")
    search_alone: Optional[List[str]] = key("what follows from the search alone, because proving it again takes too long")
    trainings: List[Training] = key()
