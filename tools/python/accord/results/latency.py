"""The document `accord latency --json`. Made by scripts/python_package.py; do not edit."""

from typing import Dict, List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Argument", "Configuration", "Latency"]


class Argument(Record):
    """An object of the document."""

    name: str = key()
    unit: str = key()
    allowed: Optional[List[int]] = key("of a parallel degree, and of a size that a table has: no other value than these")
    default: float = key()
    description: str = key()
    fixed_reason: Optional[str] = key("why no other value than the default is allowed")
    max: float = key()
    min: float = key()
    multiple: int = key()


class Configuration(Record):
    """An object of the document."""

    status: int = key("0: the model holds there")
    step_time_s: Optional[float] = key("", "s")
    flops: Optional[float] = key("", "FLOP")
    arguments: Dict[str, float] = key()
    memory_bytes: Optional[float] = key("", "B")
    refused: Optional[str] = key("why it does not")


class Latency(Answer):
    """Arguments of the latency model with their ranges, and the configurations that were asked for."""

    _table = "configurations"
    command: Literal["latency"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    arguments: List[Argument] = key()
    configurations: List[Configuration] = key()
    exact: bool = key("the model gives plan_step_s there, else less")
    machine: str = key()
    model: str = key()
    notes: List[str] = key("what was assumed, held or left out, and why")
    plan_step_s: float = key("what the schedule says at the defaults", "s")
