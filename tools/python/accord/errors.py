"""What Accord says about its input, and the exceptions that carry it."""

from typing import TYPE_CHECKING, Any, List, Optional, Sequence

if TYPE_CHECKING:
    from .answer import Answer

__all__ = ["Diagnostic", "Error", "Infeasible", "InputError", "InternalError", "Note", "AccordWarning", "Unknown"]


class Note:
    """Another place that belongs to a diagnostic. `line` and `column` count from 1; 0: no place is known."""

    def __init__(self, message: str, file: str = "", line: int = 0, column: int = 0) -> None:
        self.message, self.file, self.line, self.column = message, file, line, column

    def __repr__(self) -> str:
        return f"{place(self.file, self.line, self.column)}note: {self.message}"


class Diagnostic:
    """An error or a warning at a place of the input. `accord.explain(code)` says more about its code."""

    def __init__(
        self,
        severity: str,
        code: str,
        message: str,
        file: str = "",
        line: int = 0,
        column: int = 0,
        end_column: int = 0,
        help: str = "",
        notes: Sequence[Note] = (),
    ) -> None:
        self.severity, self.code, self.message = severity, code, message
        self.file, self.line, self.column, self.end_column = file, line, column, end_column
        self.help, self.notes = help, list(notes)

    def text(self, source: Optional[str] = None) -> str:
        """As the command prints it; `source` is the text of the file, for the line that is shown."""
        lines = [f"{place(self.file, self.line, self.column)}{self.severity}[{self.code}]: {self.message}"]
        shown = (source or "").splitlines()[self.line - 1 : self.line] if self.line else []
        if shown:
            lines.append(shown[0].replace("\t", " "))
            width = max(1, (self.end_column or self.column + 1) - self.column)
            lines.append(" " * (self.column - 1) + "^" + "~" * (width - 1))
        if self.help:
            lines.append(f"  help: {self.help}")
        lines += [f"  {one!r}" for one in self.notes]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return self.text().splitlines()[0]

    __str__ = text


def place(file: str, line: int, column: int) -> str:
    """`file:line:column: `, as far as it is known."""
    if not file:
        return "accord: "
    return ":".join([file, *(str(one) for one in (line, column) if one)]) + ": "


class AccordWarning(UserWarning):
    """A warning of a command, given to Python's `warnings`."""


class Error(Exception):
    """A command did not do what it was asked for.

    `diagnostics` say why and where, `status` is the exit status of the command, `messages` what it printed for people.
    """

    def __init__(
        self,
        message: str,
        diagnostics: Sequence[Diagnostic] = (),
        status: int = 1,
        messages: str = "",
        answer: "Optional[Answer]" = None,
    ) -> None:
        super().__init__(message)
        self.diagnostics: List[Diagnostic] = list(diagnostics)
        self.status, self.messages, self.answer = status, messages, answer


class InputError(Error):
    """The input is wrong, or the output cannot be written (exit status 1)."""


class Infeasible(Error):
    """There is no answer, and that is proven (exit status 2).

    `conflict` has the constraints that cannot hold together, `answer` the document, with the plan that comes nearest.
    """

    @property
    def conflict(self) -> List[Any]:
        found = getattr(self.answer, "conflict", None)
        return list(found) if found else []


class InternalError(Error):
    """Accord itself is wrong (exit status 3). Please report it with the input."""


class Unknown(Error):
    """The search was stopped before there was an answer (exit status 4). `answer.stopped` says by what."""
