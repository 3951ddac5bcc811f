"""Several trained in the place of one: declarations of `.dnn` for `accord.prune` and `accord.vote`.

    pruned = accord.Sparsity(job, {"block.*": "{nm(2, 4), nm(2, 4, along = output)}"}, minimize="step_time")
    accord.prune(pruned)
    voters = accord.Ensemble(job, {"full": "resnet50()", "thin": thin(width=24)}, votes="votes.csv", size=accord.span(1, 5))
    accord.vote(voters)
"""

import os
from typing import Any, List, Mapping, Optional, Sequence, Union

from .layout import Block, Item, name as checked_name, parts_of, value
from .model import Model, ModelCall
from .source import Line, Source, caller
from .training import Training

__all__ = ["Ensemble", "Sparsity"]

Require = Union[str, Sequence[str], Mapping[str, str], None]


class Variant(Source):
    """A training, and behind it a block about it."""

    def __init__(self, name: str, training: Training) -> None:
        super().__init__(checked_name(name))
        self.training, self.block, self._place = training, Block(), caller()

    def goals(self, maximize: Optional[str], minimize: Optional[str], require: Require) -> None:
        for label, expression in parts_of(require):
            self.block.require(expression, label)
        for word, objective in (("maximize", maximize), ("minimize", minimize)):
            if objective is not None:
                self.block.add(f"{word} {objective}")

    def models(self) -> List[Model]:
        return [self.training.model] if self.training.model else []

    def head(self) -> str:
        raise NotImplementedError

    def imports(self) -> List[Union[str, Source]]:
        inner = [one for model in self.models() for one in model.imports()]
        return list({str(id(one)) if isinstance(one, Source) else one: one for one in [*self.training.imports(), *inner]}.values())

    def lines(self) -> List[Line]:
        found: List[Line] = []
        for model in self.models():
            found += [*model.lines(), Line("")]
        outer = Block()
        outer.items.append(Item(self.head(), self.block, self._place))
        return [*found, *self.training.train_lines(), Line(""), *outer.lines()]


class Sparsity(Variant):
    """A `sparsity` block. `weights` maps patterns of operations to masks as the language writes them, or lists of masks; a
    text may end with `transposable`. Other entries are keywords; `require` is as in `Training`."""

    def __init__(
        self,
        training: Training,
        weights: Mapping[str, Union[str, Sequence[str]]],
        *,
        maximize: Optional[str] = None,
        minimize: Optional[str] = None,
        require: Require = None,
        **entries: Any,
    ) -> None:
        super().__init__(f"{training.name}_sparsity", training)
        for pattern, masks in weights.items():
            text = masks if isinstance(masks, str) else "{" + ", ".join(masks) + "}"
            self.block.add(f"weights of {pattern} = {text}")
        for key, held in entries.items():
            self.block.entry(key, held)
        self.goals(maximize, minimize, require)

    def head(self) -> str:
        return f"sparsity for {self.training.name}"


class Ensemble(Variant):
    """An `ensemble` block. `members` maps names to a `Model`, one with sizes, or an expression; `votes` is the path of the table
    that was measured."""

    def __init__(
        self,
        training: Training,
        members: Mapping[str, Union[Model, ModelCall, str]],
        *,
        name: str = "voters",
        votes: "Union[str, os.PathLike[str], None]" = None,
        maximize: Optional[str] = None,
        minimize: Optional[str] = None,
        require: Require = None,
        **entries: Any,
    ) -> None:
        super().__init__(name, training)
        self.calls = {checked_name(one): call() if isinstance(call, Model) else call for one, call in members.items()}
        for one, call in self.calls.items():
            self.block.add(f"member {one} = {call.text if isinstance(call, ModelCall) else value(call)}")
        if votes is not None:
            self.block.add(f'votes from "{os.path.abspath(votes)}"')
        for key, held in entries.items():
            self.block.entry(key, held)
        self.goals(maximize, minimize, require)

    def models(self) -> List[Model]:
        calls = [call.model for call in self.calls.values() if isinstance(call, ModelCall)]
        return list({id(one): one for one in [*super().models(), *calls]}.values())

    def head(self) -> str:
        return f"ensemble {self.name} of {self.training.name}"
