"""The document `accord time --json, time.json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["CycleStack", "Memory", "Recurrence", "Time", "Unit"]


class CycleStack(Record):
    """An object of the document."""

    all_cycles: float = key("the same, summed over all instructions from fetch to completion", "cycles")
    oldest_cycles: float = key("cycles in which the oldest instruction under way waits for it; those of all waits are all cycles", "cycles")
    text: str = key("in words")
    wait: Literal["fetch_width", "fetch_buffer", "redirect", "fence", "fetch_latency", "stage_width", "stage_full", "stage_latency", "stage_order", "unit_full", "window", "unit_busy", "operand", "output_order", "anti_order", "read_ports", "execution", "memory", "write_ports"] = key()


class Memory(Record):
    """An object of the document."""

    name: str = key()
    beats: float = key("accesses of at most the width of a port")
    hits: Optional[float] = key("of a cache, as all that follow")
    misses: Optional[float] = key()
    utilization: float = key("beats over cycles times those that one cycle may have")
    write_backs: Optional[float] = key()


class Recurrence(Record):
    """An object of the document."""

    around: List[int] = key("iterations of the loops around it, outermost first")
    first: int = key("iteration before which the state of the machine recurs")
    growth: int = key("cycles of a period")
    loop: str = key()
    period: int = key("iterations until it recurs")
    repeats: int = key("periods that were not evaluated")


class Unit(Record):
    """An object of the document."""

    name: str = key()
    count: int = key("instances")
    busy_cycles: float = key("of all instances", "cycles")
    instructions: float = key()
    utilization: float = key("busy cycles over cycles times instances")


class Time(Answer):
    """How long a program of instructions takes on a machine, and what its cycles wait for."""

    command: Literal["time"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    cycles: int = key("at the end of the last instruction", "cycles")
    time_s: Optional[float] = key("absent where the clock is not known", "s")
    certificate_sha256: str = key("of certificate/time.json, from which this follows")
    clock_Hz: Optional[float] = key("", "Hz")
    cycle_stack: List[CycleStack] = key()
    cycles_per_instruction: float = key()
    evaluated: int = key("of these, those whose times were computed; the others follow from recurrences")
    instructions: float = key("that the program executes")
    machine: str = key()
    memories: List[Memory] = key()
    program: str = key()
    recurrences: List[Recurrence] = key("in the order in which they were found")
    units: List[Unit] = key()
