"""The native module: the commands of Accord in the process of Python."""

from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple

class Note(NamedTuple):
    message: str
    file: str
    line: int
    column: int
    endLine: int
    endColumn: int

class Diagnostic(NamedTuple):
    severity: str
    code: str
    message: str
    file: str
    line: int
    column: int
    endLine: int
    endColumn: int
    help: str
    notes: List[Note]

class Answer(NamedTuple):
    status: int
    output: str
    messages: str
    diagnostics: List[Diagnostic]
    stopped: bool

def run(
    arguments: Sequence[str],
    files: Optional[Mapping[str, str]] = None,
    stop: Optional[Callable[[], object]] = None,
) -> Answer: ...
def version() -> str: ...
def catalog() -> str: ...
def environment(
    trace: str, profiles: str, servers: str, speeds: str, draw: int, load: float, round: float, restart: float, jobs: int, shield: float
) -> Any: ...
def reset(environment: Any, seed: int) -> Tuple[bytes, bytes, int, float, float, int, int]: ...
def step(environment: Any, action: bytes) -> Tuple[bytes, bytes, int, float, float, int, int]: ...
def actor(path: str) -> Any: ...
def weigh(actor: Any, jobs: bytes, cluster: bytes, count: int) -> List[float]: ...
def environment_features() -> Tuple[List[str], List[str]]: ...
