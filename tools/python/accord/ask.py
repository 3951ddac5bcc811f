"""From the arguments of a Python function to a command line, and from its answer to an object."""

import difflib
import functools
import inspect
import os
from typing import Any, Callable, Dict, List, Mapping, Optional, Sequence, Type, TypeVar, Union, cast

from .answer import Answer, answer_of, refuse, temporary_folder
from .engine import Outcome, execute
from .errors import Error
from .source import Source, locate, shown
from .units import Choice, Quantity

__all__ = ["Options", "Value", "asked", "checked", "run", "told"]

# What an option takes: a text as on the command line, a path, a number, a quantity, a choice, or a source made in Python.
# An answer stands for its folder.
Value = Union[str, "os.PathLike[str]", int, float, Quantity, Choice, Source, Answer]
Options = Mapping[str, Any]

F = TypeVar("F", bound=Callable[..., Any])


def checked(*printing: str) -> Callable[[F], F]:
    """A function of a command refuses options that it has not, and says which one may be meant.

    `printing`: options of the command that make it print text instead of a document.
    """

    def decorate(function: F) -> F:
        signature = inspect.signature(function)
        parameters = signature.parameters
        name = function.__name__.rstrip("_")

        @functools.wraps(function)
        def call(*arguments: Any, **options: Any) -> Any:
            for one in options:
                if one in parameters:
                    continue
                if one in printing:
                    raise TypeError(f"{name}: '{one}' prints text: accord.run({name!r}, …, {one}=…) returns it")
                near = difflib.get_close_matches(one, parameters, 1)
                raise TypeError(f"{name}: no option '{one}'" + (f", did you mean '{near[0]}'?" if near else f": accord.{name}? lists all"))
            try:
                given = signature.bind(*arguments, **options).arguments
            except TypeError as error:
                raise TypeError(f"{name}: {error}") from None
            for one, value in given.items():
                if parameters[one].default is parameters[one].empty and (value is None or isinstance(value, (bool, int, float))):
                    raise TypeError(f"{name}: '{one}' is neither a path nor a source: {value!r}")
            return function(*arguments, **options)

        return cast(F, call)

    return decorate


class Arguments:
    """A command line, with the sources that it names."""

    def __init__(self) -> None:
        self.words: List[str] = []
        self.sources: List[Source] = []

    def word(self, value: Any) -> str:
        if isinstance(value, Source):
            self.sources.append(value)
            return value.file_name()
        if isinstance(value, Answer):
            return value._path()
        if isinstance(value, bytes):
            raise TypeError(f"expected text, found {value!r}")
        text = str(os.fspath(value) if isinstance(value, os.PathLike) else value)
        if "\0" in text:
            raise ValueError(f"expected text without zero characters, found {text!r}")
        return text

    def positional(self, values: Sequence[Any]) -> None:
        for value in values:
            for one in value if isinstance(value, (list, tuple)) else [value]:
                if one is not None:
                    self.words.append(self.word(one))

    def options(self, options: Options) -> None:
        for name, value in options.items():
            if value is None or value is False:
                continue
            if value is True:
                self.words.append(name)
                continue
            for one in value if isinstance(value, (list, tuple)) else [value]:
                self.words.append(f"{name}={self.word(one)}")

    def files(self) -> Dict[str, str]:
        files: Dict[str, str] = {}
        for one in self.sources:
            for name, text in one.files().items():
                if files.setdefault(name, text) != text:
                    raise Error(f"two different sources are called '{name}': give one of them another name")
        return files


def _execute(arguments: Arguments) -> Outcome:
    """Runs it. What it says about texts that were made in Python has the places there."""
    outcome = execute(arguments.words, arguments.files())
    if arguments.sources and outcome.diagnostics:
        locate(outcome.diagnostics, arguments.sources)
        outcome = outcome._replace(messages=shown(outcome.diagnostics, arguments.sources) + "\n")
    elif not outcome.messages and outcome.diagnostics:
        outcome = outcome._replace(messages=shown(outcome.diagnostics, []) + "\n")
    return outcome


def asked(command: str, values: Sequence[Any], options: Options, classes: Sequence[Type[Answer]], writes: bool) -> Answer:
    """The document of a command. `writes`: without `out` it would write a folder beside the program; this is a temporary one."""
    arguments = Arguments()
    arguments.words += [command, "--json"]
    keeps: Any = None
    out = options.get("--output")
    if out is None and writes:
        keeps = temporary_folder()
        options = dict(options, **{"--output": keeps.name})
    arguments.options(options)
    arguments.words.append("--")
    arguments.positional(values)
    folder: Optional[str] = keeps.name if keeps else os.path.abspath(arguments.word(out)) if out is not None else None
    return answer_of(_execute(arguments), classes, folder, keeps)


def told(command: Sequence[str], values: Sequence[Any], options: Options) -> str:
    """What a command prints."""
    arguments = Arguments()
    arguments.words += command
    arguments.options(options)
    arguments.words.append("--")
    arguments.positional(values)
    outcome = _execute(arguments)
    refuse(outcome)
    return outcome.output


def run(command: str, *values: Any, **options: Any) -> str:
    """What any command prints, as text: `accord.run("compile", "job.dnn", until="cost")`.

    Options are those of the command line, with `_` in the place of `-`.
    """
    return told(command.split(), values, {"--" + name.rstrip("_").replace("_", "-"): value for name, value in options.items()})
