"""What answers are made of: objects of a JSON document with an attribute for each key.

The classes themselves are in `accord.results`, one module for each document; a script makes them from the JSON Schemas.
"""

import difflib
import typing
from typing import TYPE_CHECKING, Any, Dict, Iterator, List, Mapping, Optional, Tuple, Type, TypeVar

__all__ = ["Key", "Record", "key", "rows_of"]

R = TypeVar("R", bound="Record")


class Key:
    """One key of a document. `name` is what the document calls it, `unit` the unit of its numbers, or ""."""

    def __init__(self, about: str, unit: str, name: str) -> None:
        self.about, self.unit, self.name = about, unit, name
        self.attribute = name
        self.__doc__ = " ".join(part for part in (about, f"[{unit}]" if unit else "") if part) or None

    def __set_name__(self, owner: type, attribute: str) -> None:
        self.attribute, self.name = attribute, self.name or attribute

    def __get__(self, record: Optional["Record"], owner: Optional[type] = None) -> Any:
        if record is None:
            return self
        if self.attribute not in record._made:
            value = record._values.get(self.name)
            record._made[self.attribute] = _wrap(_kinds(type(record))[self.attribute], value)
        return record._made[self.attribute]

    def __set__(self, record: "Record", value: object) -> None:
        raise AttributeError(f"'{self.attribute}' of an answer cannot be changed")


def key(about: str = "", unit: str = "", name: str = "") -> Any:
    """Declares a key in a class. An optional key that is absent is None."""
    return Key(about, unit, name)


class Record:
    """An object of a document. Its keys are attributes; `as_dict()` is the plain dictionary."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values: Dict[str, Any] = dict(values)
        self._made: Dict[str, Any] = {}

    def as_dict(self) -> Dict[str, Any]:
        """The object as `json.loads` gives it."""
        return self._values

    def __getitem__(self, name: str) -> Any:
        """The value of a key as JSON has it, under the name that it has there."""
        return self._values[name]

    def __contains__(self, name: object) -> bool:
        return name in self._values

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and isinstance(other, Record) and self._values == other._values

    __hash__ = None  # type: ignore[assignment]

    @classmethod
    def keys(cls) -> List[Key]:
        """All keys that the document may have, with their units and what they mean."""
        return [one for part in reversed(cls.__mro__) for one in vars(part).values() if isinstance(one, Key)]

    if not TYPE_CHECKING:  # which would take every attribute for one that is there

        def __getattr__(self, name: str) -> Any:
            near = [] if name.startswith("_") else difflib.get_close_matches(name, dir(type(self)), 1)
            raise AttributeError(f"'{type(self).__name__}' has no '{name}'" + (f", did you mean '{near[0]}'?" if near else ""))

    def __dir__(self) -> List[str]:
        return sorted(set(super().__dir__()))

    def __repr__(self) -> str:
        shown = []
        for one in self.keys():
            value = self._values.get(one.name)
            if isinstance(value, (str, int, float)) and value != "":
                shown.append(f"{one.attribute}={value!r}")
        more = "" if len(shown) <= 6 else ", …"
        return f"<{type(self).__name__} {', '.join(shown[:6])}{more}>"


_KINDS: Dict[type, Dict[str, Any]] = {}


def _kinds(cls: type) -> Dict[str, Any]:
    """The declared type of each attribute."""
    if cls not in _KINDS:
        _KINDS[cls] = typing.get_type_hints(cls)
    return _KINDS[cls]


def _wrap(kind: Any, value: Any) -> Any:
    """A value of JSON as the declared type: objects become records, also in lists and in dictionaries."""
    if value is None:
        return None
    inner = typing.get_args(kind)
    if typing.get_origin(kind) is typing.Union:
        return next((_wrap(one, value) for one in inner if _fits(one, value)), value)
    if isinstance(value, list) and inner:
        if typing.get_origin(kind) is tuple:
            return tuple(_wrap(one, part) for one, part in zip(inner, value))
        return [_wrap(inner[0], one) for one in value]
    if isinstance(value, dict):
        if isinstance(kind, type) and issubclass(kind, Record):
            return kind(value)
        if len(inner) == 2:
            return {name: _wrap(inner[1], one) for name, one in value.items()}
    return value


def _fits(kind: Any, value: Any) -> bool:
    if isinstance(value, dict):
        return typing.get_origin(kind) is dict or isinstance(kind, type) and issubclass(kind, Record)
    return not isinstance(value, list) or typing.get_origin(kind) in (list, tuple)


def fits(cls: Type[Record], document: Mapping[str, Any]) -> bool:
    """Whether a document has all keys that the class must have, and none that it does not know."""
    hints = _kinds(cls)
    known = {one.name: type(None) not in typing.get_args(hints[one.attribute]) for one in cls.keys()}
    return all(name in known for name in document) and all(name in document for name, must in known.items() if must)


def flat(values: Mapping[str, Any], before: str = "") -> Iterator[Tuple[str, Any]]:
    """The columns of a row: objects inside of it become `outer.inner`."""
    for name, value in values.items():
        if isinstance(value, dict):
            yield from flat(value, f"{before}{name}.")
        else:
            yield before + name, value


def tables_of(values: Any, path: str = "") -> Iterator[str]:
    """Paths of all lists of objects that are not inside of such a list."""
    return _lists_of(values, path, dict)


def texts_of(values: Any, path: str = "") -> Iterator[str]:
    """Paths of all lists of texts that are not inside of a list."""
    return _lists_of(values, path, str)


def _lists_of(values: Any, path: str, kind: type) -> Iterator[str]:
    if isinstance(values, dict):
        for name, one in values.items():
            yield from _lists_of(one, f"{path}.{name}" if path else name, kind)
    elif isinstance(values, list) and values and all(isinstance(one, kind) for one in values):
        yield path


def rows_of(values: Any, path: str) -> List[Dict[str, Any]]:
    """The rows of a table as flat dictionaries; a list of texts has one column, which is called as the list is."""
    name = ""
    for name in path.split("."):
        values = values[name]
    return [dict(flat(one)) if isinstance(one, dict) else {name: one} for one in values]
