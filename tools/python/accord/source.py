"""Texts of `.accel` and `.dnn` that were made in Python, and the places in Python where their lines were made."""

import os
import sys
from typing import Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple, Union

from .errors import Diagnostic, Error, Note

__all__ = ["Line", "Place", "Source", "Text"]

_HERE = os.path.dirname(os.path.abspath(__file__))


class Place(NamedTuple):
    """A line of a Python program (of a notebook: of a cell)."""

    file: str
    line: int


def caller() -> Optional[Place]:
    """The innermost line of Python outside of this package."""
    frame = sys._getframe(1) if hasattr(sys, "_getframe") else None
    while frame is not None and os.path.dirname(os.path.abspath(frame.f_code.co_filename)) == _HERE:
        frame = frame.f_back
    return Place(frame.f_code.co_filename, frame.f_lineno) if frame is not None else None


class Line(NamedTuple):
    """A line of text, and where it was made."""

    text: str
    place: Optional[Place] = None


class Source:
    """What the commands take in the place of a file: a name, lines, and the files that it imports."""

    extension = ".dnn"

    def __init__(self, name: str) -> None:
        self.name = name

    def lines(self) -> List[Line]:
        """The declarations of this source, without its imports."""
        raise NotImplementedError

    def imports(self) -> List[Union[str, "Source"]]:
        """What it imports: names of files, or other sources."""
        return []

    def file_name(self) -> str:
        return self.name + self.extension

    def all_lines(self) -> List[Line]:
        """The whole file: imports, and the declarations."""
        names = [one.file_name() if isinstance(one, Source) else one for one in self.imports()]
        head = [Line(f'import "{name}"') for name in dict.fromkeys(names)]
        return [*head, *([Line("")] if head else []), *self.lines()]

    def text(self) -> str:
        """The file as `accord fmt` writes it."""
        return "".join(one.text + "\n" for one in self.all_lines())

    def sources(self) -> Iterator["Source"]:
        """This source and everything that it imports."""
        yield self
        for one in self.imports():
            if isinstance(one, Source):
                yield from one.sources()

    def files(self) -> Dict[str, str]:
        """The texts of this source and of what it imports, by name."""
        found: Dict[str, str] = {}
        for one in self.sources():
            text = one.text()
            if found.setdefault(one.file_name(), text) != text:
                raise Error(f"two different sources are called '{one.file_name()}': give one of them another name")
        return found

    def place(self, line: int) -> Optional[Place]:
        """Where in Python a line of the text was made."""
        lines = self.all_lines()
        return lines[line - 1].place if 0 < line <= len(lines) else None

    def save(self, folder: Union[str, "os.PathLike[str]"] = ".") -> str:
        """Writes the source and what it imports into a folder; returns the path of its file."""
        os.makedirs(folder, exist_ok=True)
        for name, text in self.files().items():
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        return os.path.join(os.fspath(folder), self.file_name())

    def __str__(self) -> str:
        return self.text()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.name}: {len(self.all_lines())} lines of {self.extension}>"


class Text(Source):
    """A source that is text already: `accord.Text("chip.accel", "accelerator chip { … }")`, or a program of instructions,
    `accord.Text("dot.txt", "program dot on oma { … }")` (assembly: `"dot.s"`)."""

    def __init__(self, name: str, text: str, imports: Sequence[Source] = ()) -> None:
        stem, extension = os.path.splitext(name)
        if extension not in (".dnn", ".accel", ".txt", ".s"):
            raise ValueError(f"expected a name that ends in .dnn, .accel, .txt or .s, found '{name}'")
        if os.path.isabs(name) or ".." in name.split("/"):
            raise ValueError(f"expected the name of a file of this program, found the path '{name}'")
        super().__init__(stem)
        self.extension, self._text, self._imports = extension, text, list(imports)

    def lines(self) -> List[Line]:
        return [Line(one) for one in self._text.splitlines()]

    def imports(self) -> List[Union[str, Source]]:
        return list(self._imports)

    def all_lines(self) -> List[Line]:
        return self.lines()  # it says itself what it imports

    def text(self) -> str:
        return self._text


def locate(diagnostics: Sequence[Diagnostic], sources: Sequence[Source]) -> None:
    """Adds to each diagnostic of a text that was made in Python the place where its line was made."""
    by_name: Dict[str, Source] = {one.file_name(): one for outer in sources for one in outer.sources()}
    for one in diagnostics:
        places: List[Tuple[str, int]] = [(one.file, one.line), *((note.file, note.line) for note in one.notes)]
        for file, line in places:
            source = by_name.get(file)
            place = source.place(line) if source else None
            if place:
                one.notes.append(Note("made here in Python", place.file, place.line))


def shown(diagnostics: Sequence[Diagnostic], sources: Sequence[Source]) -> str:
    """Diagnostics as the command prints them, each with its line."""
    texts: Dict[str, str] = {}
    for source in sources:
        texts.update(source.files())
    return "\n".join(one.text(_text_of(one.file, texts)) for one in diagnostics)


def _text_of(file: str, texts: Dict[str, str]) -> Optional[str]:
    if file in texts or not file:
        return texts.get(file)
    try:
        with open(file, encoding="utf-8") as opened:
            return opened.read()
    except (OSError, ValueError):
        return None
