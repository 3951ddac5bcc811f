"""The document `accord vote --json, vote.json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Alternative", "AnswerEntry", "Attained", "Bound", "Certificate", "Class", "Conflict", "Delivery", "Device", "ErrorStatistics", "ErrorStatisticsEntry", "ErrorStatisticsJoint", "ErrorStatisticsVote", "Failure", "Guarantee", "GuaranteeBound", "Individual", "Joint", "Limit", "Member", "Multiplier", "Objective", "On", "Placement", "Rejected", "Size", "Vote", "VoteCertificate", "Votes", "VotesClass"]


class Objective(Record):
    """An object of the document."""

    name: str = key()
    value: float = key()
    unit: Literal["s", "J", "B", "$"] = key()


class Bound(Record):
    """An object of the document."""

    value: Optional[float] = key()
    unit: Literal["s", "J", "B", "$"] = key()
    proof: str = key()


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()


class Attained(Record):
    """An object of the document."""

    value: str = key()
    counts: List[int] = key()


class Delivery(Record):
    """An object of the document."""

    corrupted: List[str] = key("by member: probability that its vote is wrong on its way")
    devices: List[int] = key("by member")
    min_undelivered: Optional[List[str]] = key("by device: the same, at least; where it is missing, the other is exact")
    quorum: int = key("weight of votes without which there is no answer")
    undecided: Optional[Literal[True]] = key("the claim is that votes do not decide, not that an answer is wrong")
    undelivered: List[str] = key("by device: probability that none of its votes arrives in time")
    weights: List[int] = key()


class Individual(Record):
    """An object of the document."""

    rate: str = key()
    samples: int = key()


class Joint(Record):
    """An object of the document."""

    members: List[int] = key()
    rate: str = key()
    samples: int = key()


class ErrorStatisticsVote(Record):
    """An object of the document."""

    count: int = key()
    wrong: int = key()


class ErrorStatistics(Record):
    """An object of the document."""

    independent: bool = key()
    individual: List[Individual] = key()
    joint: List[Joint] = key()
    votes: List[ErrorStatisticsVote] = key()


class Limit(Record):
    """An object of the document."""

    limit: str = key()
    samples: int = key()
    wrong: int = key()


class Multiplier(Record):
    """An object of the document."""

    value: str = key()
    counts: List[int] = key()


class VoteCertificate(Record):
    """An object of the document."""

    value: str = key()
    proof: Literal["multipliers", "independence", "table", "contradiction"] = key()
    attained: List[Attained] = key()
    confidence: str = key()
    constant: str = key()
    delivery: Optional[Delivery] = key()
    error_statistics: ErrorStatistics = key()
    groups: List[List[int]] = key()
    limits: List[Limit] = key()
    member_types: List[int] = key()
    multipliers: List[Multiplier] = key()
    tests: int = key()


class AnswerEntry(Record):
    """An object of the document."""

    certificate: Optional[VoteCertificate] = key()
    corrupted: List[str] = key("by kind of device: share of votes that are wrong on their way")
    none: str = key("share of questions without an answer")
    quorum: int = key("weight of votes without which there is no answer")
    undelivered: List[str] = key("by kind of device: share of answers for which no vote arrives in time")
    weights: List[int] = key("by kind of member")
    wrong: str = key("share of wrong answers, at most")


class Certificate(Record):
    """An object of the document."""

    certificate: VoteCertificate = key("what proves a guarantee")
    members: List[int] = key("by kind of member")


class Class(Record):
    """An object of the document."""

    class_: str = key(name="class")
    error: str = key()
    samples: int = key()
    wrong: int = key()


class Device(Record):
    """An object of the document."""

    name: str = key()
    count: int = key()
    memory_bytes: int = key("", "B")
    price_per_hour: float = key("", "USD/h")


class ErrorStatisticsJoint(Record):
    """An object of the document."""

    members: List[int] = key()
    rate: Optional[str] = key()
    samples: Optional[int] = key()


class VotesClass(Record):
    """An object of the document."""

    class_: str = key(name="class")
    patterns: List[List[int]] = key()


class Votes(Record):
    """An object of the document."""

    classes: Optional[List[VotesClass]] = key("the same by true class")
    members: List[int] = key()
    patterns: List[List[int]] = key()
    samples: int = key()
    soft_wrong: Optional[int] = key("samples that a soft vote of all members gets wrong; where it is missing, votes are counted")


class ErrorStatisticsEntry(Record):
    """An object of the document."""

    independent: bool = key()
    joint: List[ErrorStatisticsJoint] = key()
    votes: Optional[Votes] = key()


class Failure(Record):
    """An object of the document."""

    devices: List[str] = key()
    error: str = key()
    quorum: List[int] = key("by kind of member")


class Alternative(Record):
    """An object of the document."""

    energy_J: float = key("", "J")
    activation_bytes: int = key("", "B")
    alternative: str = key()
    devices: int = key()
    state_bytes: int = key("", "B")
    step_time_ps: int = key("", "ps")


class On(Record):
    """An object of the document."""

    alternatives: List[Alternative] = key()
    device: str = key()
    reason: Optional[str] = key("why it does not run there")


class Member(Record):
    """An object of the document."""

    name: str = key()
    call: str = key()
    on: List[On] = key()
    rate: Optional[str] = key()
    samples: Optional[int] = key()


class Rejected(Record):
    """An object of the document."""

    error: str = key()
    members: List[int] = key("by kind of member")


class GuaranteeBound(Record):
    """An object of the document."""

    value: str = key()
    bound: str = key()


class Guarantee(Record):
    """An object of the document."""

    value: str = key()
    bound: str = key()
    assumptions: List[str] = key()
    basis: str = key()
    bounds: List[GuaranteeBound] = key()
    formula: str = key()
    inputs: List[str] = key()
    single: str = key()


class Placement(Record):
    """An object of the document."""

    alternative: int = key()
    device: int = key()
    member: int = key()
    number: int = key()


class Size(Record):
    """An object of the document."""

    bound: Optional[float] = key("ps, bytes, J or $; null: no ensemble keeps the requirement")
    energy_J: Optional[float] = key("", "J")
    ensembles: int = key()
    error: Optional[str] = key()
    error_after_failures: Optional[str] = key()
    feasible: bool = key("the requirement")
    guarantee: Optional[Guarantee] = key()
    members: Optional[List[int]] = key("by kind of member")
    memory_bytes: Optional[int] = key("", "B")
    placement: Optional[List[Placement]] = key()
    price: Optional[float] = key()
    proven: bool = key()
    size: int = key()
    step_time_ps: Optional[int] = key("", "ps")
    text: Optional[str] = key()


class Vote(Answer):
    """An ensemble: members, devices and what is known; the best of each size; what is chosen, what guarantees its error and proves the choice. Members and devices are named by index elsewhere."""

    command: Literal["vote"] = key()
    version: str = key()
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    objective: Optional[Objective] = key()
    bound: Optional[Bound] = key()
    gap: Optional[float] = key()
    conflict: Optional[List[Conflict]] = key()
    assumptions: List[str] = key()
    answer: Optional[AnswerEntry] = key()
    best: Optional[int] = key("index into sizes")
    certificates: List[Certificate] = key()
    classes: List[Class] = key("of inputs of one true class, how often the chosen vote is wrong at most")
    confidence: str = key("an exact fraction: 0.25, 1/3")
    device_failures: int = key("devices that may fail")
    devices: List[Device] = key()
    ensemble: str = key()
    error_statistics: ErrorStatisticsEntry = key()
    failures: List[Failure] = key()
    lower_bound: Optional[float] = key("bound of all sizes")
    members: List[Member] = key()
    metric: Literal["step_time", "energy", "memory", "price"] = key()
    more_data: List[str] = key()
    rejected: List[Rejected] = key()
    requirement: Optional[str] = key()
    sizes: List[Size] = key()
    tests: int = key("limits of samples that hold together")
    training: str = key()
