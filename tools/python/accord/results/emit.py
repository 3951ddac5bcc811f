"""The document `accord emit --json`. Made by scripts/python_package.py; do not edit."""

from typing import Literal

from ..answer import Answer
from ..record import key

__all__ = ["Emit"]


class Emit(Answer):
    """The script or manifest that starts a plan."""

    command: Literal["emit"] = key()
    version: str = key("version of accord that wrote this")
    status: Literal["done"] = key()
    backend: Literal["torchrun", "megatron", "accelerate", "deepspeed", "titan", "maxtext", "slurm", "kubernetes"] = key()
    text: str = key("the script or manifest")
