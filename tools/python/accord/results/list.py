"""The document `accord list --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["Entry", "ListAnswer"]


class Entry(Record):
    """An object of the document."""

    name: str = key()
    kind: Literal["accelerator", "cluster", "model", "operation", "objective"] = key()
    file: Optional[str] = key("name of the file that declares it; absent where it is built in")
    description: str = key("first line of the comment before the declaration; of an operation how it is called, with ? behind what may be left out")


class ListAnswer(Answer):
    """The machines, models, operations or objectives that have names."""

    command: Literal["list"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    entries: List[Entry] = key("in the order of their files and of their places there; operations by name")
