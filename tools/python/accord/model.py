"""Models and modules: statements of `.dnn`, made by calling operations.

    m = accord.Model("small", layers=4, hidden=256, vocab=8192, seq=128)
    tokens, labels = m.input("tokens", "int32", [m.seq]), m.input("labels", "int32", [m.seq])
    x = m.var(m.embedding(tokens, rows=m.vocab, dim=m.hidden), name="x")
    with m.repeat(m.layers, name="block"):
        x.assign(x + m.linear(m.gelu(m.linear(m.layer_norm(x), out=4 * m.hidden)), out=m.hidden))
    m.loss(m.cross_entropy(m.linear(x, out=m.vocab, bias=False), labels))
"""

import contextlib
import difflib
from typing import Any, Dict, Iterator, List, Optional, Sequence, Tuple, Union

from .layout import Block, Item, name as checked_name, value
from .operations import NAMES, Operations
from .source import Line, Place, Source, caller
from .tensors import ATOM, SIGN, Element, Operand, Parameter, Size, Tensor, Variable, named

__all__ = ["Model", "ModelCall", "Module"]


RESERVED = {"body", "name", "operands", "results", "sizes"}  # attributes of what has sizes


class Statement(Item):
    """`let name = expression` and its like. An expression that only the next statement of the same line of Python uses is
    written inside of that one, as a person would."""

    def __init__(self, head: str, place: Optional[Place], block: Optional[Block] = None) -> None:
        super().__init__("", block, place)
        self.head = head
        self.expression: List[Any] = []  # texts, and tensors with the level that they must have
        self.level = ATOM
        self.result: Optional[Tensor] = None  # of a name that nobody chose
        self.inside: Dict[int, "Statement"] = {}  # by the tensor's id: written here
        self.hidden = False

    def tensors(self) -> List[Tensor]:
        return [one for part in self.expression if isinstance(part, tuple) for one in named(part[0])]

    def text_of_expression(self) -> str:
        return "".join(part if isinstance(part, str) else self._operand(*part) for part in self.expression)

    def _operand(self, held: Tensor, level: int) -> str:
        inner = self.inside.get(id(held))
        if inner is None and isinstance(held, Element) and id(held.whole) in self.inside:
            inner = self.inside[id(held.whole)]
            return f"{inner.text_of_expression()}{held.text[len(held.whole.text):]}"
        if inner is None:
            return held.text
        return inner.text_of_expression() if inner.level >= level else f"({inner.text_of_expression()})"


class Body(Block):
    """The statements between two braces."""

    def __init__(self, root: "Builder") -> None:
        super().__init__()
        self.root = root

    def fold(self, uses: Dict[int, int]) -> None:
        """Writes expressions that are used once inside of what uses them."""
        statements = [one for one in self.items if isinstance(one, Statement)]
        for one in statements:
            one.hidden, one.inside = False, {}
        for i, outer in enumerate(statements):
            wanted = {id(tensor) for tensor in outer.tensors()}
            for inner in reversed(statements[:i]):
                result = inner.result
                if result is None or inner.place != outer.place or id(result) not in wanted or uses.get(id(result)) != 1:
                    break
                outer.inside[id(result)] = inner
                inner.hidden = True
                wanted |= {id(tensor) for tensor in inner.tensors()}
        for one in statements:
            if one.block is not None and isinstance(one.block, Body):
                one.block.fold(uses)

    def uses(self) -> Iterator[int]:
        for one in self.items:
            if isinstance(one, Statement):
                yield from (id(tensor) for tensor in one.tensors())
                if isinstance(one.block, Body):
                    yield from one.block.uses()

    def lines(self, level: int = 0) -> Iterator[Line]:
        shown = Block()
        for one in self.items:
            if isinstance(one, Statement):
                if one.hidden:
                    continue
                text = one.head + one.text_of_expression()
                shown.items.append(Item(text, one.block, one.place))
            else:
                shown.items.append(one)
        yield from shown.lines(level)


class Builder(Operations, Source):
    """What models and modules have in common. Sizes are attributes: `m.hidden`."""

    def __init__(self, name: str, sizes: Dict[str, Any]) -> None:
        Source.__init__(self, checked_name(name))
        self.sizes = {checked_name(key): held for key, held in sizes.items()}
        for key in self.sizes:
            if hasattr(type(self), key) or key in RESERVED:
                raise ValueError(f"the size '{key}' has the name of an operation or a method: call it by another name")
        self.body = Body(self)
        self._bodies: List[Body] = [self.body]
        self._taken = set(self.sizes)
        self._imports: List[Union[str, Source]] = []
        self._modules: List[Module] = []
        self._place = caller()

    def __getattr__(self, name: str) -> Parameter:
        sizes = self.__dict__.get("sizes", {})
        if name in sizes:
            return Parameter(name)
        near = difflib.get_close_matches(name, [*sizes, *NAMES, *(one for one in dir(type(self)) if one[0] != "_")], 1)
        raise AttributeError(
            f"'{self.__dict__.get('name', '')}' has no size and no operation '{name}'" + (f", did you mean '{near[0]}'?" if near else "")
        )

    # Statements.

    @property
    def root(self) -> "Builder":
        return self

    def _unique(self, wanted: str) -> str:
        """`linear1`, `linear2`, …: the compiler itself numbers what has no name as `linear`, `linear_2`."""
        number = 1
        while f"{wanted}{number}" in self._taken:
            number += 1
        self._taken.add(f"{wanted}{number}")
        return f"{wanted}{number}"

    def _named(self, name: str) -> str:
        if checked_name(name) in self._taken:
            raise ValueError(f"'{name}' is declared already in '{self.name}': names are unique in a model")
        self._taken.add(name)
        return name

    def _state(self, head: str, expression: List[Any], level: int = ATOM) -> Statement:
        statement = Statement(head, caller())
        statement.expression, statement.level = expression, level
        for tensor in statement.tensors():
            if tensor.body.root is not self:
                raise ValueError(f"'{tensor.text}' is a tensor of '{tensor.body.root.name}', not of '{self.name}'")
        self._bodies[-1].items.append(statement)
        return statement

    def _let(self, wanted: str, name: Optional[str], expression: List[Any], level: int = ATOM) -> Tensor:
        chosen = self._named(name) if name else self._unique(wanted)
        result = Tensor(self._bodies[-1], chosen)
        statement = self._state(f"let {chosen} = ", expression, level)
        statement.result = None if name else result
        return result

    def operator(self, name: str, operator: str, level: int, pair: Sequence[Any]) -> Tensor:
        one, two = (self._part(held, level + i) for i, held in enumerate(pair))
        return self._let(name, None, [one, f" {operator} ", two], level)

    @staticmethod
    def _part(held: Any, level: int) -> Any:
        if isinstance(held, Tensor):
            return (held, level)
        if isinstance(held, Parameter):
            return held.at(level)
        text = value(held, "[]")
        return f"({text})" if text.startswith("-") and level > SIGN else text

    def _call(self, operation: Any, operands: Sequence[Any], attributes: Dict[str, Any]) -> List[Any]:
        if isinstance(operation, Module):
            if operation not in self._modules:
                self._modules.append(operation)
            operation = operation.name
        elif operation not in NAMES and not self._imports:
            near = difflib.get_close_matches(operation, [*NAMES, *(one.name for one in self._modules)], 1)
            raise ValueError(
                f"unknown operation '{operation}'"
                + (f", did you mean '{near[0]}'?" if near else "; a module of a file needs use('the file')")
            )
        parts: List[Any] = [f"{checked_name(operation)}("]
        for held in operands:
            parts += [", "] * (len(parts) > 1) + [self._part(held, 0)]
        for key, held in attributes.items():
            if held is not None:
                parts += [", "] * (len(parts) > 1) + [f"{key.rstrip('_')} = ", self._part(held, 0)]
        return [*parts, ")"]

    def call(self, operation: "Union[str, Module]", *operands: Any, name: Optional[str] = None, **attributes: Any) -> Tensor:
        """Applies an operation, a module, or a module of a file that `use` named."""
        wanted = operation.name if isinstance(operation, Module) else operation
        return self._let(wanted, name, self._call(operation, operands, attributes))

    def several(
        self, names: Sequence[str], operation: "Union[str, Module]", *operands: Any, **attributes: Any
    ) -> Tuple[Tensor, ...]:
        """Applies what gives several tensors, each with its name."""
        chosen = [self._unique(one) if checked_name(one) in self._taken else self._named(one) for one in names]
        self._state(f"let {', '.join(chosen)} = ", self._call(operation, operands, attributes))
        return tuple(Tensor(self._bodies[-1], one) for one in chosen)

    def var(self, first: Operand, name: Optional[str] = None) -> Variable:
        """A variable: what an iteration of a `repeat` or a step of a `scan` hands on to the next."""
        chosen = self._named(name) if name else self._unique("var")
        self._state(f"var {chosen} = ", [self._part(first, 0)])
        return Variable(self._bodies[-1], chosen)

    def let(self, tensor: Operand, name: str) -> Tensor:
        """Names an expression; what the answers say of it has this name: `m.let(x + y, "sum")`."""
        return self._let(name, name, [self._part(tensor, 0)])

    def assign(self, variable: Tensor, new: Operand) -> None:
        self._state(f"{variable.text} = ", [self._part(new, 0)])

    def recomputed(self, tensor: Tensor, name: Optional[str] = None) -> Tensor:
        """`recompute(…)`: the tensor is not saved for the backward pass, which computes it again."""
        return self._let("recompute", name, ["recompute(", (tensor, 0), ")"])

    @contextlib.contextmanager
    def repeat(self, count: Size, name: Optional[str] = None) -> Iterator[None]:
        """Layers that repeat: one region, however often it runs. Statements inside of `with` are its body."""
        head = f"repeat {value(count)}" + (f" as {self._named(name)}" if name else "")
        with self._inside(head, []):
            yield

    @contextlib.contextmanager
    def scan(
        self, *sequences: Tensor, collect: Optional[str] = "y", reverse: bool = False
    ) -> Iterator[Tuple[Tensor, ...]]:
        """The steps of sequences, one after the other. Gives a tensor of each step, and what collects them if `collect`
        names it: `with m.scan(x) as (step, y): … y.assign(h)`."""
        steps = [self._unique("step") for _ in sequences]
        parts: List[Any] = []
        for one in sequences:
            parts += [", "] * bool(parts) + [(one, 0)]
        parts.append(f" as {', '.join(steps)}" + (f" -> {self._named(collect)}" if collect else ""))
        outer = self._bodies[-1]
        with self._inside("scan reverse " if reverse else "scan ", parts):
            given: List[Tensor] = [Tensor(self._bodies[-1], one) for one in steps]
            if collect:
                given.append(Variable(outer, collect))
            yield tuple(given)

    @contextlib.contextmanager
    def _inside(self, head: str, expression: List[Any]) -> Iterator[None]:
        statement = self._state(head, expression)
        statement.block = Body(self)
        self._bodies.append(statement.block)
        try:
            yield
        finally:
            self._bodies.pop()

    def use(self, file: Union[str, Source]) -> None:
        """Imports modules and operations of a file of the catalogue, of one beside the program, or of a source."""
        if file not in self._imports:
            self._imports.append(file)

    # Text.

    def _head(self) -> str:
        raise NotImplementedError

    def imports(self) -> List[Union[str, Source]]:
        found = list(self._imports)
        for module in self._modules:
            found += [one for one in module.imports() if one not in found]
        return found

    def modules(self) -> "List[Module]":
        """Its modules, those that others need first."""
        found: List[Module] = []
        for one in self._modules:
            found += [inner for inner in [*one.modules(), one] if inner not in found]
        return found

    def own_lines(self) -> List[Line]:
        uses: Dict[int, int] = {}
        for one in self.body.uses():
            uses[one] = uses.get(one, 0) + 1
        self.body.fold(uses)
        outer = Block()
        outer.items.append(Item(self._head(), self.body, self._place))
        return list(outer.lines())

    def lines(self) -> List[Line]:
        found: List[Line] = []
        for one in [*self.modules(), self]:
            found += [Line("")] * bool(found) + one.own_lines()
        return found

    def _sizes(self) -> List[str]:
        return [key if held is None else f"{key} = {value(held, '[]')}" for key, held in self.sizes.items()]


class Module(Builder):
    """A function on tensors: `mlp = Module("mlp", "x", inner=None)`; `mlp.result(…)`; then `m.call(mlp, x, inner=256)`.

    Names without a value are its tensors, keyword arguments its sizes; None is one without a default.
    """

    def __init__(self, name: str, *tensors: str, results: Sequence[str] = ("y",), **sizes: Any) -> None:
        super().__init__(name, sizes)
        self.results = [checked_name(one) for one in results]
        self.operands: Tuple[Tensor, ...] = tuple(Tensor(self.body, self._named(one)) for one in tensors)
        self._open = list(self.results)
        self._taken |= set(self.results)

    def result(self, tensor: Operand, name: Optional[str] = None) -> None:
        """What the module gives: its results in their order, or by name."""
        chosen = name or (self._open[0] if self._open else "")
        if chosen not in self._open:
            raise ValueError(f"module '{self.name}' has no result '{chosen}' left: results are {', '.join(self.results)}")
        self._open.remove(chosen)
        self._state(f"let {chosen} = ", [self._part(tensor, 0)])

    def _head(self) -> str:
        parameters = [*(one.text for one in self.operands), *self._sizes()]
        return f"module {self.name}({', '.join(parameters)}) -> {', '.join(self.results)}"


class ModelCall:
    """A model with values of its sizes: `m(layers=12)`."""

    def __init__(self, model: "Model", sizes: Dict[str, Any]) -> None:
        for key in sizes:
            if key not in model.sizes:
                near = difflib.get_close_matches(key, model.sizes, 1)
                raise TypeError(f"model '{model.name}' has no size '{key}'" + (f", did you mean '{near[0]}'?" if near else ""))
        self.model, self.sizes = model, sizes

    @property
    def text(self) -> str:
        return f"{self.model.name}({', '.join(f'{key} = {value(held)}' for key, held in self.sizes.items())})"


class Model(Builder):
    """A model: inputs, statements and a loss. Keyword arguments are its sizes with their defaults."""

    def __init__(self, name: str, **sizes: Any) -> None:
        super().__init__(name, sizes)

    def input(self, name: str, type: str, dims: Sequence[Union[int, Parameter]] = ()) -> Tensor:
        """An input; its shape is of one sample."""
        extents = ", ".join(value(one) for one in dims)
        self._state(f"input {self._named(name)} : {type}" + (f"[{extents}]" if extents else ""), [])
        return Tensor(self.body, name)

    def loss(self, tensor: Tensor) -> None:
        """What the training minimizes."""
        self._state("loss ", [(tensor, 0)])

    def __call__(self, **sizes: Any) -> ModelCall:
        return ModelCall(self, sizes)

    def _head(self) -> str:
        return f"model {self.name}({', '.join(self._sizes())})"

