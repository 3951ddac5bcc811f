"""Cores at the level of instructions: `microarchitecture` declarations of `.accel`, made part by part.

    core = accord.Microarchitecture("tiny", {"units": 2}, window=8)
    r = core.registers("r", 16, width="32 bit")
    m = core.memory("m", begin=4 * KiB, size=64 * KiB, port_width=4 * B, requests=2)
    core.opcode("load", writes=1, loads=1, does="load")
    core.opcode("mac", reads=3, writes=1, does="multiply_add")
    fma = core.unit("fma", core["units"], entries=2, reads=r, writes=r, operations={"mac": 4 * cycles})
    port = core.unit("port", entries=2, writes=r, loads=m, operations={"load": 1 * cycle})
    issue = core.execute("issue", capacity=4, width=2, units=[fma, port])
    core.fetch("front", width=2, buffer=4, to=issue)
    chip.core("c", "vector", types=["fp32"], microarchitecture=core(units=4))
"""

import difflib
from typing import Any, Dict, Mapping, Optional, Sequence, Union

from .layout import Block, Item, name as checked_name, shape, value
from .machine import Description, Part, counted
from .source import caller
from .tensors import Parameter

__all__ = ["Microarchitecture", "MicroarchitectureCall", "Template", "Unit"]


class Named:
    """A part by its name: other parts refer to it, or to a part of all copies of a template (`mesh["mac"]`)."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __getitem__(self, part: str) -> "Named":
        return Named(f"{self.text}.{checked_name(part)}")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class Unit(Named):
    """A functional unit, to which operations are added."""

    def __init__(self, text: str, block: Block) -> None:
        super().__init__(text)
        self.block = block

    def operation(self, opcode: Union[str, Named], latency: Any, interval: Any = None) -> None:
        """What the unit does with one opcode, in cycles: a number, a quantity, or an expression such as `1 + bytes / 4`."""
        part = Part()
        self.block.items.append(Item(f"operation {checked_name(value(opcode))}", part, caller(), short=True))
        part.entry("latency", latency)
        part.entry("interval", interval)


class Structure:
    """What a microarchitecture and a template have in common: parts, each of which later ones may name."""

    block: Part

    def _part(self, head: str, entries: Dict[str, Any], short: bool = True) -> Part:
        part = Part()
        self.block.items.append(Item(head, part, caller(), short))
        for key, held in entries.items():
            part.entry(key, held)
        return part

    def _named(self, kind: str, name: str, entries: Dict[str, Any], count: Any = None) -> Named:
        self._part(f"{kind} {counted(name, count)}", entries)
        return Named(name)

    def opcode(self, name: str, **entries: Any) -> Named:
        """What an instruction word has (`reads`, `writes`, `loads`, …), and what it `does` for how many `lanes`, or which `tile`."""
        return self._named("opcode", name, entries)

    def fetch(self, name: str, **entries: Any) -> Named:
        """`width` and `buffer` are mandatory, and `to`: the first stage."""
        return self._named("fetch", name, entries)

    def stage(self, name: str, **entries: Any) -> Named:
        """`capacity` and `to` are mandatory."""
        return self._named("stage", name, entries)

    def execute(self, name: str, **entries: Any) -> Named:
        """A stage that hands instructions to functional units: `capacity` and `units` are mandatory."""
        return self._named("execute", name, entries)

    def unit(self, name: str, count: Any = None, *, operations: Optional[Mapping[str, Any]] = None, **entries: Any) -> Unit:
        """A functional unit, or several equal ones. `operations` maps opcodes to latencies, or to (latency, interval)."""
        made = Unit(name, self._part(f"unit {counted(name, count)}", entries, short=False))
        for opcode, cycles in (operations or {}).items():
            made.operation(opcode, *(cycles if isinstance(cycles, tuple) else (cycles,)))
        return made

    def registers(self, name: str, count: Any = 1, **entries: Any) -> Named:
        """A register file: `width` is mandatory."""
        return self._named("registers", name, entries, count)

    def memory(self, name: str, **entries: Any) -> Named:
        """A store of bytes: `size`, `port_width` and `requests` are mandatory."""
        return self._named("memory", name, entries)

    def cache(self, name: str, **entries: Any) -> Named:
        """A cache in front of the memory `behind`: `sets`, `ways`, `line`, `port_width` and `requests` are mandatory, too."""
        return self._named("cache", name, entries)

    def template(self, name: str, parameters: Optional[Mapping[str, Any]] = None) -> "Template":
        """A part of which an `array` has many copies. A parameter without a default is None."""
        made = Template(name, parameters)
        head = f"template {checked_name(name)}" + (f"({listed(parameters)})" if parameters else "")
        self.block.items.append(Item(head, made.block, caller()))
        return made

    def array(self, name: str, extents: Sequence[Any], template: "Union[str, Template, TemplateCall]", **sides: Any) -> Named:
        """Copies of a template: `array("mesh", (4, 4), pe, west={"a": rows["v"]})` joins sides to other parts."""
        head = f"array {checked_name(name)}[{shape(*extents)}] : {value(template)}"
        if sides:
            self._part(head, sides)
        else:
            self.block.add(head)
        return Named(name)


def listed(parameters: Mapping[str, Any]) -> str:
    return ", ".join(checked_name(key) if held is None else f"{checked_name(key)} = {value(held)}" for key, held in parameters.items())


def check_names(what: str, given: Mapping[str, Any], known: Mapping[str, Any]) -> None:
    for key in given:
        if key not in known:
            near = difflib.get_close_matches(key, known, 1)
            raise TypeError(f"{what} has no parameter '{key}'" + (f", did you mean '{near[0]}'?" if near else ""))


class Template(Structure, Named):
    """The parts of one copy. `west.acc` is the part of the copy beside it: `pe.west("acc")`."""

    def __init__(self, name: str, parameters: Optional[Mapping[str, Any]] = None) -> None:
        Named.__init__(self, checked_name(name))
        self.parameters, self.block = dict(parameters or {}), Part()

    def __getitem__(self, parameter: str) -> Any:
        check_names(f"template '{self.text}'", {parameter: None}, self.parameters)
        return Parameter(parameter)

    def north(self, part: str) -> Named:
        return Named("north")[part]

    def south(self, part: str) -> Named:
        return Named("south")[part]

    def east(self, part: str) -> Named:
        return Named("east")[part]

    def west(self, part: str) -> Named:
        return Named("west")[part]

    def __call__(self, **values: Any) -> "TemplateCall":
        check_names(f"template '{self.text}'", values, self.parameters)
        return TemplateCall(self, values)


class TemplateCall(Named):
    """A template with values of its parameters."""

    def __init__(self, template: Template, values: Mapping[str, Any]) -> None:
        super().__init__(f"{template.text}({listed(values)})")


class MicroarchitectureCall:
    """A microarchitecture with values of its parameters, which may be choices: `core(units=accord.pow2(1, 8))`."""

    def __init__(self, microarchitecture: "Microarchitecture", values: Mapping[str, Any]) -> None:
        check_names(f"microarchitecture '{microarchitecture.name}'", values, microarchitecture.parameters)
        self.microarchitecture = microarchitecture
        self.text = f"{microarchitecture.name}({listed(values)})"


class Microarchitecture(Structure, Description):
    """The opcodes, stages, units, registers and memories of a core. `core["units"]` is a parameter, for expressions;
    `core(units=4)` is what a core of a `Machine` takes. docs/microarchitecture.md says what parts do to time."""

    word = "microarchitecture"

    def __getitem__(self, parameter: str) -> Parameter:
        check_names(f"microarchitecture '{self.name}'", {parameter: None}, self.parameters)
        return Parameter(parameter)

    def __call__(self, **values: Any) -> MicroarchitectureCall:
        return MicroarchitectureCall(self, values)
