"""The document `accord jobs --simulate TRACE --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Change", "Cluster", "Job", "Jobs", "MeanCompletionOverSeedsS", "Parity", "Point", "PointChange", "Policy", "Regret", "RegretS", "Seed", "Type"]


class Type(Record):
    """An object of the document."""

    name: str = key()
    devices: int = key()
    servers: int = key()


class Cluster(Record):
    """An object of the document."""

    types: List[Type] = key("device types of the cluster")


class Change(Record):
    """Mean completion over that of `reference`, less 1: the mean over seeds, and the percentile bootstrap of 95 %."""

    high: float = key()
    low: float = key()
    mean: float = key()
    shown: str = key("shorter, longer, or no gain: the interval holds 0")


class Job(Record):
    """An object of the document."""

    name: str = key()
    arrival_s: float = key("", "s")
    completion_s: float = key("", "s")
    deadline_s: Optional[float] = key("", "s")
    device_s: float = key("device-seconds that it held", "s")
    failures: Optional[int] = key("of a server while it ran there")
    restarts: int = key("changes of its devices, without the first start")
    start_s: float = key("when it first held devices", "s")
    undone_s: Optional[float] = key("seconds in which it ran, and which failures undid", "s")


class MeanCompletionOverSeedsS(Record):
    """Of the means of all seeds: their mean, and Student's interval of 90 %."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Seed(Record):
    """An object of the document."""

    failures: Optional[float] = key("of servers under jobs, of all jobs")
    makespan_s: float = key("", "s")
    mean_completion_s: float = key("", "s")
    p99_completion_s: float = key("", "s")
    restarts_per_job: float = key()
    seed: int = key()
    undone_s: Optional[float] = key("seconds in which jobs ran, and which failures undid, of all jobs", "s")


class Policy(Record):
    """An object of the document."""

    change: Optional[Change] = key("mean completion over that of `reference`, less 1: the mean over seeds, and the percentile bootstrap of 95 %")
    deadlines_met: Optional[float] = key("share of the jobs with a deadline that are complete then")
    jobs: List[Job] = key()
    knows: str = key("what it knows of the jobs")
    makespan_s: float = key("", "s")
    max_allocation_gap: Optional[float] = key("of a policy that maximizes with a proved bound: the largest (bound - value) / bound of its rounds")
    mean_completion_over_seeds_s: Optional[MeanCompletionOverSeedsS] = key("of the means of all seeds: their mean, and Student's interval of 90 %")
    mean_completion_s: float = key("of completion - arrival, over all jobs", "s")
    median_completion_s: float = key("", "s")
    p99_completion_s: float = key("", "s")
    policy: str = key()
    restarts_per_job: float = key()
    rounds: int = key()
    seeds: Optional[List[Seed]] = key("each seed; everything else is of the first")
    shielded_rounds: Optional[int] = key("of them, rounds in which the planner's allocation was taken, because the weighed one lost too much")
    utilization: float = key("device-seconds held / device-seconds there until the makespan")
    weighed_rounds: Optional[int] = key("rounds of all seeds in which an actor weighed the jobs")


class Parity(Record):
    """The smallest number of jobs from which on the mean change is at most 2 %."""

    high: Optional[int] = key()
    jobs: Optional[int] = key("missing: never")
    low: Optional[int] = key("the percentile bootstrap of 95 % over seeds; missing: never")


class PointChange(Record):
    """The first sum over the second, less 1: likewise."""

    high: float = key()
    low: float = key()
    mean: float = key()


class RegretS(Record):
    """Sum of completion - arrival of these jobs, less that under the reference: mean over seeds, bootstrap of 95 %."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Point(Record):
    """An object of the document."""

    change: PointChange = key("the first sum over the second, less 1: likewise")
    jobs: int = key("that arrived first")
    regret_s: RegretS = key("sum of completion - arrival of these jobs, less that under the reference: mean over seeds, bootstrap of 95 %")


class Regret(Record):
    """An object of the document."""

    is_best_fixed: bool = key("of the policies that know no work and learn nothing, the reference has the shortest mean over all seeds")
    parity: Parity = key("the smallest number of jobs from which on the mean change is at most 2 %")
    points: List[Point] = key()
    policy: str = key()
    reference: str = key()


class Jobs(Answer):
    """What policies did to the jobs of a trace that share a cluster, in a simulation. Times in _s are seconds from the start of the trace."""

    _table = "policies"
    command: Literal["jobs"] = key()
    version: str = key()
    cluster: Cluster = key()
    makespan_floor_s: Optional[float] = key("the same of the makespan", "s")
    mean_completion_floor_s: Optional[float] = key("no schedule of these jobs has less, whatever its policy: proved by prices of devices", "s")
    policies: List[Policy] = key()
    reference: Optional[str] = key("the policy that the others are compared with")
    regrets: Optional[List[Regret]] = key("by how much policies were behind others, job by job in the order of arrival")
    restart_s: float = key("seconds without progress each time that a job starts or its devices change", "s")
    round_s: float = key("seconds between two decisions of a policy", "s")
    trace: str = key()
