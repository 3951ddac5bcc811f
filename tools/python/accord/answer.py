"""The answers of commands: the document, the folder that was written, and what a notebook shows of them."""

import html
import json
import os
import tempfile
import warnings
import webbrowser
from types import ModuleType
from typing import TYPE_CHECKING, Any, ClassVar, Dict, List, Optional, Sequence, Tuple, Type, Union

from . import summaries
from .engine import Outcome
from .errors import AccordWarning, Diagnostic, Error, Infeasible, InputError, InternalError, Unknown
from .record import Record, fits, flat, rows_of, tables_of, texts_of

if TYPE_CHECKING:
    import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]

    from .results.compare import Compare
    from .results.compare_cluster import CompareCluster
    from .results.diff import Diff
    from .results.emit import Emit
    from .results.explain import Explain
    from .results.verify import Verify

__all__ = ["Answer", "Report", "load"]


class Report:
    """The page `report.html` of an answer: a notebook shows it, `open()` opens it in the browser."""

    def __init__(self, path: str) -> None:
        self.path = path

    def html(self) -> str:
        with open(self.path, encoding="utf-8") as file:
            return file.read()

    def open(self) -> bool:
        return webbrowser.open("file://" + os.path.abspath(self.path))

    def _repr_html_(self) -> str:
        page = html.escape(self.html(), quote=True)
        return f'<iframe srcdoc="{page}" style="width: 100%; height: 640px; border: 0"></iframe>'

    def __repr__(self) -> str:
        return f"<Report {self.path}>"


class Answer(Record):
    """A document that a command printed.

    Its keys are attributes. `json` is the text as `accord … --json` prints it, `folder` where the command wrote its
    files (None: it wrote none), `diagnostics` its warnings, `messages` what it said to people.
    """

    _table: ClassVar[str] = ""

    def __init__(
        self,
        values: Dict[str, Any],
        text: str = "",
        folder: Optional[str] = None,
        diagnostics: Sequence[Diagnostic] = (),
        messages: str = "",
    ) -> None:
        super().__init__(values)
        self.json = text or json.dumps(values, ensure_ascii=False, indent=2) + "\n"
        self.folder = folder
        self.diagnostics: List[Diagnostic] = list(diagnostics)
        self.messages = messages
        self.is_stopped = "stopped" in values  # a time limit or Ctrl-C ended the search: this is the best so far
        self._keeps: Any = None  # a temporary folder lives as long as its answer

    # Tables.

    def table_names(self) -> List[str]:
        """Names of the tables of the document: of all its lists of objects, then of all its lists of texts."""
        joined = ["operations"] if self._is_plan() else []
        return [*joined, *tables_of(self._values), *texts_of(self._values)]

    def _is_plan(self) -> bool:
        """What an operation is and what it costs stand in two lists of a plan, one beside the other."""
        return all(isinstance(self._values.get(name), dict) and "operations" in self._values[name] for name in ("graph", "costs"))

    def table(self, name: Optional[str] = None) -> List[Dict[str, Any]]:
        """A table as a list of dictionaries; without a name the one that people look at first. A document without lists is a
        table of one row."""
        names = self.table_names()
        if name is None and not names:
            return [{key: held for key, held in flat(self._values) if not isinstance(held, list)}]
        chosen = name or (self._table if self._table in names else names[0] if names else "")
        if chosen not in names:
            raise KeyError(f"no table is called '{chosen}': there are {', '.join(names) or 'none'}")
        if chosen == "operations" and self._is_plan():
            pairs = zip(self._values["graph"]["operations"], self._values["costs"]["operations"])
            both = [{**one, **{name: value for name, value in cost.items() if name not in one}} for one, cost in pairs]
            return [{name: value for name, value in one.items() if not isinstance(value, (list, dict))} for one in both]
        return rows_of(self._values, chosen)

    def to_pandas(self, name: Optional[str] = None) -> "pandas.DataFrame":
        """A table as a DataFrame of pandas. `table` gives the same without pandas."""
        try:
            import pandas
        except ImportError:
            raise ImportError("to_pandas needs pandas, which is not installed: table() gives the same as dictionaries") from None
        frame: "pandas.DataFrame" = pandas.DataFrame.from_records(self.table(name))
        return frame

    # What other commands say about it.

    def _path(self) -> str:
        if self.folder is None:
            raise Error(f"{type(self).__name__}: there is no folder with the files of this answer: give one with out=…")
        return self.folder

    def path_of(self, name: str) -> str:
        """The path of a file of the folder: `accord.compile(job, target=mined.path_of("best.accel"))`."""
        path = os.path.join(self._path(), name)
        if not os.path.exists(path):
            raise Error(f"'{self._path()}' has no '{name}': it has {', '.join(sorted(os.listdir(self._path())))}")
        return path

    def report(self) -> Report:
        """The page with timeline, memory and bottlenecks."""
        return Report(self.path_of("report.html"))

    def verify(self, **options: Any) -> "Verify":
        """Checks the answer and its certificate again, with code of its own: `accord verify`."""
        from .commands import verify

        return verify(self._path(), **options)

    def explain(self, operation: Optional[str] = None) -> "Explain":
        """Where the numbers come from: of the whole, or of one operation or layer."""
        from .commands import explain

        return explain(self._path(), operation)

    def diff(self, after: "Answer", **options: Any) -> "Diff":
        """What is different in another plan, and why."""
        from .commands import diff

        if not isinstance(after, Answer):
            raise TypeError(f"diff: another answer is wanted, found {after!r}")
        return diff(self._path(), after._path(), **options)

    def compare(self, traces: Union[str, Sequence[str]], **options: Any) -> "Union[Compare, CompareCluster]":
        """The plan beside a step that PyTorch's profiler measured, operation by operation; of a cluster with a trace of each rank."""
        from .commands import compare

        return compare(self._path(), traces, **options)

    def emit(self, backend: str, **options: Any) -> "Emit":
        """The script or manifest that starts the plan: `plan.emit("slurm").text`."""
        from .commands import emit

        return emit(backend, self._path(), **options)  # type: ignore[arg-type, unused-ignore]

    def latency_model(self) -> ModuleType:
        """Step time, memory and FLOPs as functions: `plan.latency_model().step_time_s(batch=64)`."""
        path = self.path_of("latency_model.py")
        module = ModuleType("latency_model")
        with open(path, encoding="utf-8") as file:
            exec(compile(file.read(), path, "exec"), module.__dict__)
        return module

    # What is shown.

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {summaries.line(self._values)}>"

    def _repr_html_(self) -> str:
        head = f"<p><b>{html.escape(type(self).__name__)}</b> {html.escape(summaries.line(self._values))}</p>"
        if self.folder and os.path.exists(os.path.join(self.folder, "report.html")):
            return head + self.report()._repr_html_()
        text = self._values.get("text")
        return head + (summaries.text(text) if isinstance(text, str) else summaries.table(self.table()))


def temporary_folder() -> "tempfile.TemporaryDirectory[str]":
    return tempfile.TemporaryDirectory(prefix="accord-")


def answer_of(
    outcome: Outcome, classes: Sequence[Type[Answer]], folder: Optional[str] = None, keeps: Any = None
) -> Answer:
    """The answer of a command that printed a document; raises the exception of its exit status."""
    document = json.loads(outcome.output) if outcome.output.startswith("{") else None
    answer: Optional[Answer] = None
    if document is not None and document.get("status") != "error":
        from .results.unknown import Unknown as Stopped

        cls = next((one for one in [*classes, Stopped] if fits(one, document)), None)
        if cls is None:
            raise InternalError(f"the document of '{document.get('command')}' is none that this package knows", status=3)
        warned = [one for one in outcome.diagnostics if one.severity == "warning"]
        answer = cls(document, outcome.output, folder, warned, outcome.messages)
        answer._keeps = keeps
        answer.is_stopped |= outcome.is_stopped or was_stopped(folder)
    refuse(outcome, answer)
    if answer is None:
        raise InternalError("the command printed no document", status=3, messages=outcome.messages)
    for one in answer.diagnostics:
        warnings.warn(one.text(), AccordWarning, stacklevel=5)
    return answer


def was_stopped(folder: Optional[str]) -> bool:
    """Whether the manifest of a folder says that a search was stopped."""
    try:
        with open(os.path.join(folder or "", "manifest.json"), encoding="utf-8") as file:
            return bool(folder) and "stopped" in json.load(file)
    except (OSError, ValueError):
        return False


def refuse(outcome: Outcome, answer: Optional[Answer] = None) -> None:
    """Raises the exception of an exit status that is not 0."""
    if outcome.status == 0:
        return
    said = outcome.messages.strip()
    if outcome.status == 2:
        conflict = [conflict_text(one) for one in (answer.as_dict().get("conflict") or [])] if answer else []
        raise Infeasible("\n  ".join(["infeasible", *conflict]), outcome.diagnostics, 2, outcome.messages, answer)
    if outcome.status == 4:
        reason = answer.as_dict().get("stopped") if answer else None
        raise Unknown(f"stopped before there was an answer{f': {reason}' if reason else ''}", (), 4, said, answer)
    kind = InputError if outcome.status == 1 else InternalError
    text = said or "\n".join(one.text() for one in outcome.diagnostics) or f"exit status {outcome.status}"
    raise kind(text, outcome.diagnostics, outcome.status, outcome.messages, answer)


def conflict_text(one: Union[str, Dict[str, Any]]) -> str:
    if isinstance(one, str):
        return one
    where = f" ({one['file']}:{one['line']})" if "file" in one and "line" in one else ""
    return f"{one.get('constraint', '')}{where}" + (f": {one['detail']}" if "detail" in one else "")


_DOCUMENTS: Tuple[str, ...] = ("plan", "mine", "prune", "vote", "answer", "jobs", "schedule", "choose", "stages", "time")


def load(path: "str | os.PathLike[str]") -> Answer:
    """An answer that was written before: its folder, or its document (`plan.json`)."""
    from . import results

    path = os.fspath(path)
    folder: Optional[str] = path
    if os.path.isdir(path):
        names = [os.path.join(path, f"{one}.json") for one in _DOCUMENTS]
        file = next((one for one in names if os.path.exists(one)), None)
        if file is None:
            raise Error(f"'{path}' holds no answer of Accord")
    else:
        file, folder = path, os.path.dirname(os.path.abspath(path))
    with open(file, encoding="utf-8") as opened:
        text = opened.read()
    try:
        document = json.loads(text)
    except ValueError as error:
        raise Error(f"{file}: {error}") from None
    classes: List[Type[Answer]] = [one for one in vars(results).values() if isinstance(one, type) and issubclass(one, Answer)]
    for one in classes:
        if isinstance(document, dict) and fits(one, document):
            answer = one(document, text, folder)
            answer.is_stopped |= was_stopped(folder)
            return answer
    raise Error(f"{file}: no answer of this version of Accord")
