"""The document `accord verify --json`. Made by scripts/python_package.py; do not edit."""

from typing import List, Literal, Optional

from ..answer import Answer
from ..record import Record, key

__all__ = ["AnswerEntry", "Finding", "Verify"]


class AnswerEntry(Record):
    """An object of the document."""

    name: str = key("the job, or common")
    value: Optional[float] = key("of the design that was found; null: none")
    bound: Optional[float] = key("no design has a smaller value, as is claimed; null: no design can be")
    by_plans: int = key("not below it by the bounds of plans in the certificate")
    by_prices: int = key("not below it with the prices of the cost model")
    by_search: int = key("the search found none below it; that there is none is not proved")
    by_work: int = key("not below the bound by arithmetic, bytes, dependences and device memory")
    designs: int = key()
    not_allowed: int = key("break what is required, or are no machines")
    proved: Optional[float] = key("no design has a smaller value, as is proved here; at most the bound")


class Finding(Record):
    """An object of the document."""

    code: str = key("explained by accord explain")
    message: str = key()


class Verify(Answer):
    """The independent check of an answer. status is 'done' when it holds, else 'error'."""

    _table = "checked"
    command: Literal["verify"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done", "error"] = key()
    answers: Optional[List[AnswerEntry]] = key("of a mining: what proves each bound, as numbers of designs")
    assumed: List[str] = key("what the proof assumes")
    checked: List[str] = key("what was proved")
    findings: List[Finding] = key("what is wrong")
    valid: bool = key()
