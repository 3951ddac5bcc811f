"""The document `accord diff --json`. Made by scripts/python_package.py; do not edit."""

from typing import Literal

from ..answer import Answer
from ..record import key

__all__ = ["Diff"]


class Diff(Answer):
    """What changed between two plans in words, for people; the numbers are in both plan.json."""

    command: Literal["diff"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    text: str = key("what the command prints without --json, without colours")
