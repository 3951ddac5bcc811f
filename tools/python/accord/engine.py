"""How a command is run: by the native module `accord._native`, or by the program `accord` as a process.

The native module comes with the wheel. Where only Accord itself is installed, the program does the same work: it is
$ACCORD, or the one beside this package, or the one on the PATH. $ACCORD is used even where the native module is.
"""

import importlib
import json
import os
import re
import shutil
import signal
import subprocess
import tempfile
from typing import Any, Dict, List, Mapping, NamedTuple, Optional, Sequence

from .errors import Diagnostic, Error, Note

__all__ = ["Outcome", "execute", "version"]


class Outcome(NamedTuple):
    """What a command answered: exit status, standard output, standard error, the diagnostics in it, and whether Ctrl-C
    ended its search."""

    status: int
    output: str
    messages: str
    diagnostics: List[Diagnostic]
    is_stopped: bool = False


def native() -> Any:
    """The native module, or None."""
    if os.environ.get("ACCORD"):
        return None
    try:
        return importlib.import_module("accord._native")
    except ImportError:
        return None


def program() -> str:
    """The path of the program `accord`."""
    here = os.path.dirname(os.path.realpath(__file__))
    beside = [os.path.join(here, path) for path in ("bin/accord", "../../../../bin/accord")]  # of a wheel, of an installed Accord
    tried = [os.environ.get("ACCORD"), *beside, shutil.which("accord")]
    for path in tried:
        if path and os.access(path, os.X_OK):
            return os.path.realpath(path)
    raise Error(
        "Accord is not installed: there is neither the module accord._native nor a program 'accord' "
        "on the PATH or in $ACCORD",
        status=3,
    )


def execute(arguments: Sequence[str], files: Optional[Mapping[str, str]] = None) -> Outcome:
    """Runs `accord ARGUMENTS`. `files` are texts by name, which the arguments may name like files.

    Ctrl-C stops the search of the command, which then answers with the best so far; KeyboardInterrupt is raised where it
    has no answer.
    """
    module = native()
    return _in_module(module, arguments, files or {}) if module else _in_process(arguments, files or {})


def version() -> str:
    """The version of Accord, as `accord --version` says it."""
    module = native()
    if module:
        return str(module.version())
    return execute(["--version"]).output.split()[-1]


# The native module.


def _in_module(module: Any, arguments: Sequence[str], files: Mapping[str, str]) -> Outcome:
    answer = module.run(list(arguments), dict(files))
    found = [_diagnostic(one) for one in answer.diagnostics]
    return Outcome(answer.status, answer.output, answer.messages, found, bool(answer.stopped))


def _diagnostic(one: Any) -> Diagnostic:
    notes = [Note(note.message, note.file or "", note.line or 0, note.column or 0) for note in one.notes]
    return Diagnostic(
        str(one.severity),
        one.code,
        one.message,
        one.file or "",
        one.line or 0,
        one.column or 0,
        one.endColumn or 0,
        one.help or "",
        notes,
    )


# The program.


def _in_process(arguments: Sequence[str], files: Mapping[str, str]) -> Outcome:
    command = [program(), *arguments]
    if not files:
        return _outcome(*_communicate(command))
    with tempfile.TemporaryDirectory(prefix="accord-") as folder:
        folder = os.path.realpath(folder)
        for name, text in files.items():
            path = os.path.join(folder, name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text)
        status, output, messages, is_stopped = _communicate([_moved(one, folder, files) for one in command])
        before = folder + os.sep
        return _outcome(status, output.replace(before, ""), messages.replace(before, ""), is_stopped)


def _moved(word: str, folder: str, files: Mapping[str, str]) -> str:
    """A word of the command line; of `files` (NAME, NAME:DECLARATION, --option=NAME) with their folder."""
    option, equals, name = word.partition("=") if word.startswith("--") else ("", "", word)
    is_file = name in files or name.rpartition(":")[0] in files
    return option + equals + os.path.join(folder, name) if is_file else word


def _communicate(command: Sequence[str]) -> "tuple[int, str, str, bool]":
    """Exit status, output, messages, and whether Ctrl-C came. The process has a session of its own: a Ctrl-C of the terminal reaches it once, from here."""
    environment = dict(os.environ, NO_COLOR="1", TERM="dumb")
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    ) as process:
        is_stopped = False
        try:
            output, messages = process.communicate()
        except KeyboardInterrupt:
            is_stopped = True
            process.send_signal(signal.SIGINT)
            try:
                output, messages = process.communicate()
            except BaseException:  # a second one does not wait
                process.kill()
                raise
            if process.returncode not in (0, 2):
                raise
        except BaseException:
            process.kill()
            raise
    if process.returncode < 0:
        name = signal.Signals(-process.returncode).name
        raise Error(f"'{' '.join(command)}' ended by {name}", status=3, messages=messages.decode("utf-8", "replace"))
    return process.returncode, output.decode("utf-8", "replace"), messages.decode("utf-8", "replace"), is_stopped


def _outcome(status: int, output: str, messages: str, is_stopped: bool) -> Outcome:
    found = _of_text(messages)
    if status == 1 and output.startswith("{"):
        document = json.loads(output)
        if document.get("status") == "error":
            found = [_of_json(one) for one in document["diagnostics"]]
    return Outcome(status, output, messages, found, is_stopped)


def _of_json(one: Dict[str, Any]) -> Diagnostic:
    notes = [Note(n["message"], n.get("file", ""), n.get("line", 0), n.get("column", 0)) for n in one["notes"]]
    return Diagnostic(
        one["severity"],
        one["code"],
        one["message"],
        one.get("file", ""),
        one.get("line", 0),
        one.get("column", 0),
        one.get("end_column", 0),
        one.get("help", ""),
        notes,
    )


_HEAD = re.compile(r"(?P<file>.*?)(?::(?P<line>\d+))?(?::(?P<column>\d+))?: (?P<kind>error|warning)\[(?P<code>A\d{4})\]: (?P<text>.*)")
_NOTE = re.compile(r"(?:(?P<file>.+?):(?P<line>\d+):(?P<column>\d+): )?note: (?P<text>.*)")


def _of_text(messages: str) -> List[Diagnostic]:
    """The diagnostics in what was printed for people."""
    found: List[Diagnostic] = []
    for line in messages.splitlines():
        head = _HEAD.fullmatch(line)
        note = _NOTE.fullmatch(line.strip())
        if head:
            file = "" if head["file"] == "accord" else head["file"]
            where = int(head["line"] or 0), int(head["column"] or 0)
            found.append(Diagnostic(head["kind"], head["code"], head["text"], file, *where))
        elif found and line.startswith("  help: "):
            found[-1].help = line[8:]
        elif found and note:
            where = int(note["line"] or 0), int(note["column"] or 0)
            found[-1].notes.append(Note(note["text"], note["file"] or "", *where))
        elif found and re.fullmatch(r" *\^~*", line) and not found[-1].end_column:
            found[-1].end_column = found[-1].column + len(line.strip())
    return found
