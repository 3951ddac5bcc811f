"""The document `accord COMMAND --json, stopped before there was an answer`. Made by scripts/python_package.py; do not edit."""

from typing import Literal

from ..answer import Answer
from ..record import key

__all__ = ["Unknown"]


class Unknown(Answer):
    """What a command that searches answers instead of its own document when a time limit or a signal stopped it before it had a first answer (exit status 4)."""

    command: str = key()
    version: str = key("version of accord that wrote this")
    status: Literal["unknown"] = key()
    stopped: Literal["time limit", "interrupted"] = key()
