"""Trainings and jobs: declarations of `.dnn` that say what is trained on what, and what is wanted.

    job = accord.Training(m, on=chip, batch=128, precision="mixed(bf16)", optimizer="adam",
                          search={"microbatch": accord.pow2(1, 128)}, maximize="throughput",
                          require=["device.memory <= 0.95 * hbm.capacity"])
    plan = accord.compile(job)
"""

from typing import Any, Dict, List, Mapping, Optional, Sequence, Union

from .layout import Block, Item, name as checked_name, parts_of, value
from .machine import Description
from .model import Model, ModelCall
from .source import Line, Source, caller

__all__ = ["Job", "Jobs", "Training"]

Imports = Sequence[Union[str, Source]]


class Training(Source):
    """One `train` block. `model` is a `Model`, one with sizes (`m(layers=12)`), or an expression as in `"gpt2_xl()"` with
    `imports=["catalog/gpt2.dnn"]`. `search` and `data` are dictionaries, `require` a list or a dictionary by label."""

    def __init__(
        self,
        model: Union[Model, ModelCall, str],
        on: Union[str, Description],
        *,
        name: Optional[str] = None,
        imports: Imports = (),
        search: Optional[Mapping[str, Any]] = None,
        data: Optional[Mapping[str, Any]] = None,
        checkpoint: Optional[Mapping[str, Any]] = None,
        maximize: Optional[str] = None,
        minimize: Optional[str] = None,
        require: Union[str, Sequence[str], Mapping[str, str], None] = None,
        **entries: Any,
    ) -> None:
        self.call = model() if isinstance(model, Model) else model
        base = self.call.model.name if isinstance(self.call, ModelCall) else str(model).partition("(")[0]
        super().__init__(checked_name(name or f"{base}_training"))
        self.on = on
        self._imports, self._place = list(imports), caller()
        self.block = Block()
        for key, held in entries.items():
            self.block.entry(key, held)
        for key, inner in (("data", data), ("checkpoint", checkpoint), ("search", search)):
            if inner is not None:
                self.block.part(key, **inner)
        for word, objective in (("maximize", maximize), ("minimize", minimize)):
            if objective is not None:
                self.block.add(f"{word} {objective}")
        for label, expression in parts_of(require):
            self.block.require(expression, label)

    @property
    def model(self) -> Optional[Model]:
        return self.call.model if isinstance(self.call, ModelCall) else None

    def imports(self) -> List[Union[str, Source]]:
        inner = self.model.imports() if self.model else []
        return [*([self.on] if isinstance(self.on, Source) else []), *inner, *self._imports]

    def train_lines(self) -> List[Line]:
        text = self.call.text if isinstance(self.call, ModelCall) else value(self.call)
        outer = Block()
        outer.items.append(Item(f"train {self.name} = {text} on {value(self.on)}", self.block, self._place))
        return list(outer.lines())

    def lines(self) -> List[Line]:
        inner = [*self.model.lines(), Line("")] if self.model else []
        return [*inner, *self.train_lines()]


class Job:
    """One job of a `Jobs`: a training, and when it arrives, how much of the cluster it may take, what it is worth."""

    def __init__(self, training: Training, name: Optional[str] = None, count: Optional[int] = None, **entries: Any) -> None:
        self.training, self.count = training, count
        self.name, self.entries = checked_name(name or training.name), entries
        self.place = caller()


class Jobs(Source):
    """A `jobs` block: jobs that share a cluster. `tenants` and `capacity` are dictionaries by name."""

    def __init__(
        self,
        name: str,
        jobs: Sequence[Job],
        on: Union[str, Description, None] = None,
        *,
        imports: Imports = (),
        tenants: Optional[Mapping[str, Mapping[str, Any]]] = None,
        capacity: Optional[Mapping[str, Any]] = None,
        maximize: Union[str, Sequence[str], None] = None,
        minimize: Union[str, Sequence[str], None] = None,
        require: Union[str, Sequence[str], Mapping[str, str], None] = None,
        **entries: Any,
    ) -> None:
        super().__init__(checked_name(name))
        self.jobs, self.on = list(jobs), on
        self._imports, self._place = list(imports), caller()
        self.block = Block()
        for key, held in entries.items():
            self.block.entry(key, held)
        for tenant, settings in (tenants or {}).items():
            self.block.part(f"tenant {checked_name(tenant)}", **settings)
        for what, limit in (capacity or {}).items():
            self.block.add(f"capacity {checked_name(what)} = {value(limit)}")
        for one in self.jobs:
            count = f"[{one.count}]" if one.count is not None else ""
            part = Block()
            for key, held in one.entries.items():
                part.entry(key, held)
            self.block.items.append(Item(f"job {one.name}{count} = {one.training.name}", part, one.place))
        for word, objectives in (("maximize", maximize), ("minimize", minimize)):
            for _, objective in parts_of(objectives):
                self.block.add(f"{word} {objective}")
        for label, expression in parts_of(require):
            self.block.require(expression, label)

    def trainings(self) -> List[Training]:
        return list({id(one.training): one.training for one in self.jobs}.values())

    def imports(self) -> List[Union[str, Source]]:
        found: List[Union[str, Source]] = [self.on] if isinstance(self.on, Source) else []
        for one in self.trainings():
            found += [inner for inner in one.imports() if inner not in found]
        return [*found, *self._imports]

    def lines(self) -> List[Line]:
        found: List[Line] = []
        models: Dict[int, Model] = {id(one.model): one.model for one in self.trainings() if one.model}
        for model in models.values():
            found += [*model.lines(), Line("")]
        for training in self.trainings():
            found += [*training.train_lines(), Line("")]
        outer = Block()
        where = f" on {value(self.on)}" if self.on is not None else ""
        outer.items.append(Item(f"jobs {self.name}{where}", self.block, self._place))
        return [*found, *outer.lines()]
