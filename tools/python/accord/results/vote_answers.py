"""The document `accord vote --json of required answers, answer.json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Attained", "Best", "Certificate", "Class", "Conflict", "Delivery", "Device", "ErrorStatistics", "ErrorStatisticsEntry", "ErrorStatisticsJoint", "Idle", "Individual", "Joint", "Latency", "LatencyRequired", "Limit", "Member", "MemberError", "Multiplier", "Network", "Placement", "Rejected", "Run", "Time", "Vote", "VoteAnswers", "VoteCertificate", "Votes"]


class Conflict(Record):
    """An object of the document."""

    constraint: str = key()


class Placement(Record):
    """An object of the document."""

    device: int = key()
    level: int = key()
    members: List[int] = key("kinds of its members")
    number: int = key()


class Time(Record):
    """An object of the document."""

    decided_ps: int = key("", "ps")
    quorum_estimate_s: float = key("by lognormal latencies: no bound", "s")
    quorum_ps: int = key("", "ps")
    share: str = key()


class Best(Record):
    """An object of the document."""

    energy_J: float = key("of all members, for one input", "J")
    none: str = key("share of questions without an answer, at most")
    none_after_failures: str = key()
    none_estimate: float = key()
    placement: List[Placement] = key()
    quorum: int = key("weight of votes without which there is no answer")
    times: List[Time] = key("until so many questions are answered, or known to have no answer: at most, for `quorum_ps` until the quorum is there")
    wrong: str = key("share of wrong answers, at most")
    wrong_after_failures: str = key("after the worst failure of devices that is asked for")
    wrong_estimate: float = key("by lognormal latencies: no bound")


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


class Vote(Record):
    """An object of the document."""

    count: int = key()
    wrong: int = key()


class ErrorStatistics(Record):
    """An object of the document."""

    independent: bool = key()
    individual: List[Individual] = key()
    joint: List[Joint] = key()
    votes: List[Vote] = key()


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


class Certificate(Record):
    """An object of the document."""

    certificate: VoteCertificate = key()
    failed: List[int] = key("of the devices that answer, those that failed")
    time_ps: int = key("votes that are there by then count", "ps")


class Network(Record):
    """An object of the document."""

    share: str = key()
    time_ps: int = key("", "ps")


class Device(Record):
    """An object of the document."""

    name: str = key()
    count: int = key()
    corrupted: str = key("share of votes that are wrong on their way")
    levels: List[str] = key("at which it may run, such as voltages")
    memory_bytes: int = key("of one; 0: enough", "B")
    network: List[Network] = key("how long its votes are on their way: quantiles")
    undelivered: str = key("share of questions that a device does not answer at all")


class ErrorStatisticsJoint(Record):
    """An object of the document."""

    members: List[int] = key()
    rate: Optional[str] = key()
    samples: Optional[int] = key()


class Class(Record):
    """An object of the document."""

    class_: str = key(name="class")
    patterns: List[List[int]] = key()


class Votes(Record):
    """An object of the document."""

    classes: Optional[List[Class]] = key("the same by true class")
    members: List[int] = key()
    patterns: List[List[int]] = key()
    samples: int = key()
    soft_wrong: Optional[int] = key("samples that a soft vote of all members gets wrong; where it is missing, votes are counted")


class ErrorStatisticsEntry(Record):
    """An object of the document."""

    independent: bool = key()
    joint: List[ErrorStatisticsJoint] = key()
    votes: Optional[Votes] = key()


class Idle(Record):
    """An object of the document."""

    count: int = key()
    device: int = key()
    reason: str = key()


class LatencyRequired(Record):
    """An object of the document."""

    share: str = key()
    time_ps: int = key("", "ps")


class MemberError(Record):
    """An object of the document."""

    rate: Optional[str] = key()
    samples: Optional[int] = key()


class Member(Record):
    """An object of the document."""

    name: str = key()
    weight: int = key("of its vote")


class Rejected(Record):
    """An object of the document."""

    certificate: Certificate = key()
    placement: List[Placement] = key()


class Latency(Record):
    """An object of the document."""

    share: str = key()
    time_ps: int = key("", "ps")


class Run(Record):
    """An object of the document."""

    energy_J: float = key("for one input", "J")
    corrupted: str = key("share of votes that bit errors make wrong")
    latency: List[Latency] = key("quantiles; none: it takes no time")
    memory_bytes: int = key("", "B")
    possible: bool = key()


class VoteAnswers(Answer):
    """Members that answer on devices: what each takes there, who was chosen with which quorum, what is guaranteed of wrong, missing and late answers, what proves it, and why devices are idle. Members and devices are named by index."""

    command: Literal["vote"] = key()
    version: str = key()
    status: Literal["optimal", "feasible", "infeasible", "unknown"] = key()
    bound: Optional[float] = key("no placement that keeps what is required is below: J, ps or a share; null: there is none")
    conflict: Optional[List[Conflict]] = key()
    assumptions: List[str] = key()
    answer_error_required: Optional[str] = key("share of wrong answers, at most")
    best: Optional[Best] = key()
    certificates: List[Certificate] = key("what proves that answers are as is said")
    complete: bool = key("nothing is left that could be better")
    confidence: str = key("an exact fraction: 0.25, 1/3")
    device_failures: int = key("devices that may fail")
    devices: List[Device] = key()
    ensemble: str = key()
    error_statistics: ErrorStatisticsEntry = key()
    evaluated: int = key("bounds on answers that were computed")
    idle: List[Idle] = key("devices that do nothing, and why")
    latency_required: List[LatencyRequired] = key("so many questions are answered, or known to have no answer, within a time")
    member_errors: List[MemberError] = key("of each kind of member alone")
    members: List[Member] = key()
    members_per_device: int = key()
    metric: Literal["answer_energy", "answer_latency", "answer_error"] = key()
    no_answer_required: Optional[str] = key("share of questions without an answer, at most")
    placements: int = key("of all sizes, equal devices taken for one")
    quorum_required: Optional[int] = key("what is required of it; where it is missing, any may be chosen")
    rejected: List[Rejected] = key("the first of them")
    rejections: int = key("placements with a smaller objective whose answers are not as required")
    runs: List[List[List[Run]]] = key("what a member takes, by kind of member, kind of device and level")
    size_max: int = key()
    size_min: int = key()
    tests: int = key("limits of samples that hold together")
    timeout_ps: int = key("from a question on; 0: no vote takes any time", "ps")
    training: str = key()
