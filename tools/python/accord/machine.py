"""Accelerators and clusters: declarations of `.accel`, made part by part.

    chip = accord.Machine("chip", clock=1 * GHz, area="500 mm2")
    chip.memory("hbm", "dram", capacity=32 * GiB, bandwidth=1.2 * TB / s)
    chip.memory("buffer", "scratchpad", capacity=32 * MiB, bandwidth=4096 * B / cycle)
    chip.core("array", "tensor", count=4, array=accord.shape(128, 128), multiply="bf16", accumulate="fp32", reads="buffer")
    chip.path("hbm", "buffer", "array")
"""

from typing import Any, Dict, List, Optional, Sequence, Union

from .layout import Block, Item, name as checked_name, value
from .source import Line, Source, caller
from .units import Choice

__all__ = ["Cluster", "Machine", "Part"]


class Part(Block):
    """A part of a machine, with its entries and parts of its own."""

    def _part(self, head: str, entries: Dict[str, Any]) -> "Part":
        block = Part()
        self.items.append(Item(value(head), block, caller()))
        for key, held in entries.items():
            block.entry(key, held)
        return block

    def part(self, head: str, **entries: Any) -> "Part":
        return self._part(head, entries)

    def device(self, name: str, type: Union[str, "Machine"], count: Any = None) -> None:
        """`device gpu[8] : a100_80g`"""
        self.items.append(Item(f"device {counted(name, count)} : {value(type)}", None, caller()))

    def host(self, **entries: Any) -> "Part":
        return self._part("host", entries)

    def network(self, name: str, **entries: Any) -> "Part":
        return self._part(f"network {checked_name(name)}", entries)


def counted(name: str, count: Any) -> str:
    return checked_name(name) if count is None else f"{checked_name(name)}[{value(count)}]"


class Description(Source):
    """What accelerators and clusters have in common."""

    extension = ".accel"
    word = ""

    def __init__(self, name: str, parameters: Optional[Dict[str, Any]] = None, **entries: Any) -> None:
        super().__init__(checked_name(name))
        self.parameters = dict(parameters or {})
        self.block = Part()
        self._place = caller()
        self._imports: List[Union[str, Source]] = []
        for key, held in entries.items():
            self.block.entry(key, held)

    def use(self, file: Union[str, Source]) -> None:
        """Imports a file of the catalogue, or another source."""
        if file not in self._imports:
            self._imports.append(file)

    def entry(self, key: str, held: Any) -> None:
        self.block.entry(key, held)

    def part(self, head: str, **entries: Any) -> Part:
        return self.block.part(head, **entries)

    def require(self, expression: str, label: str = "") -> None:
        """What a design of a space has to keep: `require("area <= 50 mm2", label="budget")`."""
        self.block.require(expression, label)

    def add(self, text: str) -> None:
        """An entry as text, for what has no method."""
        self.block.add(text)

    def imports(self) -> List[Union[str, Source]]:
        return list(self._imports)

    def lines(self) -> List[Line]:
        parameters = ", ".join(key if held is None else f"{key} = {value(held)}" for key, held in self.parameters.items())
        outer = Block()
        outer.items.append(Item(f"{self.word} {self.name}" + (f"({parameters})" if parameters else ""), self.block, self._place))
        return list(outer.lines())


class Machine(Description):
    """One accelerator. Counts and sizes may be choices (`pow2`, `span`, `one_of`): then it is a space for `accord.mine`."""

    word = "accelerator"

    def memory(self, name: str, kind: str, **entries: Any) -> Part:
        """A memory: `kind` is dram, scratchpad, cache, …; `capacity` and `bandwidth` are mandatory."""
        return self.block.part(f"memory {checked_name(name)} : {kind}", **entries)

    def core(self, name: str, kind: str, count: Any = None, **entries: Any) -> Part:
        """A core, or several equal ones: `kind` is tensor or vector. `microarchitecture` may be one that is made in Python,
        which the machine then imports."""
        core = entries.get("microarchitecture")
        core = core() if isinstance(core, Source) and callable(core) else core
        if isinstance(getattr(core, "microarchitecture", None), Source):
            entries["microarchitecture"] = core
            self.use(core.microarchitecture)
        return self.block.part(f"core {counted(name, count)} : {kind}", **entries)

    def path(self, *stops: Union[str, Sequence[str]]) -> None:
        """How data comes from memory to memory to cores: `path("hbm", "buffer", ["array", "lane"])`."""
        self.add("path " + " -> ".join(value(one) for one in stops))

    def power(self, **entries: Any) -> Part:
        return self.block.part("power", **entries)


class Cluster(Description):
    """Servers of devices, and the networks between them."""

    word = "cluster"

    def server(self, name: str, count: Any = None, **entries: Any) -> Part:
        """Servers; `device`, `host` and `network` of what this returns say what is in one."""
        part = ClusterPart(self)
        self.block.items.append(Item(f"server {counted(name, count)}", part, caller()))
        for key, held in entries.items():
            part.entry(key, held)
        return part

    def network(self, name: str, **entries: Any) -> Part:
        return self.block.network(name, **entries)


class ClusterPart(Part):
    """A server, whose devices may be machines made in Python: the cluster then imports them."""

    def __init__(self, cluster: Cluster) -> None:
        super().__init__()
        self.cluster = cluster

    def device(self, name: str, type: Union[str, Machine], count: Union[int, Choice, None] = None) -> None:
        if isinstance(type, Machine):
            self.cluster.use(type)
        super().device(name, type, count)
