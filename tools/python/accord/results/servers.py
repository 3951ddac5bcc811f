"""The document `accord tune --json, of a server`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Compared", "Interval", "ObjectiveScales", "Parameter", "Problem", "Scales", "ScalesEntry", "SeedMean", "Servers", "Window"]


class SeedMean(Record):
    """An object of the document."""

    high: float = key()
    low: float = key()
    mean: float = key()


class Compared(Record):
    """An object of the document."""

    name: str = key()
    below: float = key("intervals below the floor, mean")
    failures: float = key()
    gain: SeedMean = key("of the setting that is taken at the end, less 1")
    progress: SeedMean = key("samples of all intervals over those of the baseline in the same time, less 1")
    runs_below: int = key("seeds with such an interval, and limits of their share")
    runs_below_high: float = key()
    runs_below_low: float = key()


class Scales(Record):
    """Of the posterior by which it was chosen."""

    lengths: List[float] = key("by parameter, in steps")
    noise: float = key()
    signal: float = key("standard deviations of the logarithm of the ratio, and of one measurement of it")


class Window(Record):
    """An object of the document."""

    joules: float = key()
    samples: float = key()
    seconds: float = key()


class Interval(Record):
    """An object of the document."""

    kind: Literal["baseline", "trial", "recovery"] = key("of the baseline, of a setting that is tried, or of the best safe one behind a trial that was rolled back")
    lower: float = key("lower confidence bound of progress over the baseline's when the setting was chosen, and its expectation")
    mean: float = key()
    outcome: Literal["complete", "rolled_back", "failed"] = key()
    reason: str = key("of one that failed")
    reference: float = key("samples per second of the baseline, as known then; 0: not yet")
    scales: Optional[Scales] = key("of the posterior by which it was chosen")
    setting: List[int] = key()
    windows: List[Window] = key("as the training reported them")


class ObjectiveScales(Record):
    """Of that of samples per joule."""

    lengths: List[float] = key("by parameter, in steps")
    noise: float = key()
    signal: float = key("standard deviations of the logarithm of the ratio, and of one measurement of it")


class Parameter(Record):
    """An object of the document."""

    name: str = key()
    unit: str = key("of the values: W, B, s, …; empty: plain numbers")
    values: List[float] = key()
    words: List[str] = key()


class Problem(Record):
    """An object of the document."""

    name: str = key()
    objective: Literal["samples_per_second", "samples_per_joule"] = key()
    baseline: List[int] = key("of each parameter the index of its value")
    confidence: float = key("with which no interval is below the floor, under the model")
    floor: float = key("of the progress of the baseline")
    interval_s: float = key("", "s")
    intervals: int = key()
    parameters: List[Parameter] = key()
    seed: int = key()
    settle_s: float = key("at the start of each interval, not measured", "s")
    silence_s: float = key("a training that reports nothing for longer has failed", "s")
    strategy: Literal["safe", "unsafe", "random"] = key()


class ScalesEntry(Record):
    """Of the posterior behind the last interval."""

    lengths: List[float] = key("by parameter, in steps")
    noise: float = key()
    signal: float = key("standard deviations of the logarithm of the ratio, and of one measurement of it")


class Servers(Answer):
    """A tuning of a server's parameters while a training runs: each interval that was measured, and the setting that stays."""

    command: Literal["tune"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["ended", "complete", "stopped", "failed"] = key()
    assumptions: List[str] = key()
    best: List[int] = key("the setting that stays")
    compared: List[Compared] = key("other strategies, over the seeds; what is below the floor is so by the table")
    ended_by: Literal["ended", "complete", "stopped", "failed"] = key("whether all intervals were run, the training was complete before, somebody stopped it, or it failed")
    failures: int = key()
    gain: float = key("expected objective of it over that of the baseline, less 1, with its interval of 95 %")
    gain_high: float = key()
    gain_low: float = key()
    gained_samples: float = key("by which all other intervals are ahead of it")
    intervals: List[Interval] = key()
    lost_samples: float = key("by which intervals that were rolled back or failed are behind the baseline")
    objective_scales: Optional[ObjectiveScales] = key("of that of samples per joule")
    problem: Problem = key()
    reason: str = key("of one that failed")
    rollbacks: int = key()
    scales: Optional[ScalesEntry] = key("of the posterior behind the last interval")
    seeds: int = key()
    source: str = key("the program, or the table")
    trials: int = key()
