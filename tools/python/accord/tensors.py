"""Tensors and sizes while a model is built: values that print as expressions of `.dnn`."""

from typing import TYPE_CHECKING, Any, List, Optional, Sequence, Tuple, Union

from .layout import ATOM, value
from .units import Quantity

if TYPE_CHECKING:
    from .model import Body

__all__ = ["Operand", "Setting", "Size", "Tensor"]

POWER, SIGN, PRODUCT, SUM = 4, 3, 2, 1  # how tightly an expression binds


class Parameter:
    """A size or a setting of a model, or an expression of such: prints as `4 * hidden`."""

    def __init__(self, text: str, level: int = ATOM) -> None:
        self.text, self.level = text, level

    def at(self, level: int) -> str:
        return self.text if self.level >= level else f"({self.text})"

    def _with(self, operator: str, other: Any, level: int, turned: bool = False) -> "Parameter":
        if not isinstance(other, (int, float, Quantity, Parameter)) or isinstance(other, bool):
            raise TypeError(f"'{self.text}' is a size: '{operator}' takes a number or another size, found {other!r}")
        one, two = (_parameter(other), self) if turned else (self, _parameter(other))
        return Parameter(f"{one.at(level)} {operator} {two.at(level + 1)}", level)

    def __add__(self, other: Any) -> "Parameter":
        return self._with("+", other, SUM)

    def __radd__(self, other: Any) -> "Parameter":
        return self._with("+", other, SUM, True)

    def __sub__(self, other: Any) -> "Parameter":
        return self._with("-", other, SUM)

    def __rsub__(self, other: Any) -> "Parameter":
        return self._with("-", other, SUM, True)

    def __mul__(self, other: Any) -> "Parameter":
        return self._with("*", other, PRODUCT)

    def __rmul__(self, other: Any) -> "Parameter":
        return self._with("*", other, PRODUCT, True)

    def __truediv__(self, other: Any) -> "Parameter":
        return self._with("/", other, PRODUCT)

    def __rtruediv__(self, other: Any) -> "Parameter":
        return self._with("/", other, PRODUCT, True)

    def __mod__(self, other: Any) -> "Parameter":
        return self._with("%", other, PRODUCT)

    def __pow__(self, other: Any) -> "Parameter":
        return Parameter(f"{self.at(ATOM)} ^ {_parameter(other).at(ATOM)}", POWER)

    def __floordiv__(self, other: Any) -> "Parameter":
        return Parameter(f"floor_div({self.text}, {_parameter(other).text})")

    def __rfloordiv__(self, other: Any) -> "Parameter":
        return Parameter(f"floor_div({_parameter(other).text}, {self.text})")

    def __neg__(self) -> "Parameter":
        return Parameter(f"-{self.at(SIGN)}", SIGN)

    def __bool__(self) -> bool:
        raise TypeError(f"'{self.text}' has no value until the model is compiled: use a number of Python to decide")

    def __repr__(self) -> str:
        return f"<Parameter {self.text}>"


def _parameter(held: Any) -> Parameter:
    if isinstance(held, Parameter):
        return held
    return Parameter(value(held), SIGN if value(held).startswith("-") else ATOM)


Size = Union[int, Parameter, "Sequence[Union[int, Parameter]]"]
Operand = Union["Tensor", int, float]
Setting = Union[Operand, Size, bool, str, Quantity]  # of an attribute


class Tensor:
    """A value that a statement of a model names. Operators make new ones: `x + y`, `x @ w`, `-x`, `parts[0]`."""

    __array_ufunc__ = None  # numpy leaves operators to this class

    def __init__(self, body: "Body", text: str, level: int = ATOM) -> None:
        self.body, self.text, self.level = body, text, level

    def _with(self, name: str, operator: str, other: Any, level: int, turned: bool = False) -> "Tensor":
        if not isinstance(other, (int, float, Tensor)) or isinstance(other, bool):
            raise TypeError(f"'{self.text}' is a tensor: '{operator}' takes a number or another tensor, found {other!r}")
        pair: List[Any] = [other, self] if turned else [self, other]
        return self.body.root.operator(name, operator, level, pair)

    def __add__(self, other: Any) -> "Tensor":
        return self._with("add", "+", other, SUM)

    def __radd__(self, other: Any) -> "Tensor":
        return self._with("add", "+", other, SUM, True)

    def __sub__(self, other: Any) -> "Tensor":
        return self._with("sub", "-", other, SUM)

    def __rsub__(self, other: Any) -> "Tensor":
        return self._with("sub", "-", other, SUM, True)

    def __mul__(self, other: Any) -> "Tensor":
        return self._with("mul", "*", other, PRODUCT)

    def __rmul__(self, other: Any) -> "Tensor":
        return self._with("mul", "*", other, PRODUCT, True)

    def __truediv__(self, other: Any) -> "Tensor":
        return self._with("div", "/", other, PRODUCT)

    def __rtruediv__(self, other: Any) -> "Tensor":
        return self._with("div", "/", other, PRODUCT, True)

    def __neg__(self) -> "Tensor":
        return self.body.root.call("neg", self)

    def __matmul__(self, other: "Tensor") -> "Tensor":
        return self.body.root.call("matmul", self, other)

    def __getitem__(self, index: int) -> "Tensor":
        """An element of a list of tensors, as `split` gives it."""
        if isinstance(index, bool) or not isinstance(index, int):
            raise TypeError(f"expected a number of a tensor of a list, found {index!r}")
        return Element(self, index)

    def __iter__(self) -> Any:
        raise TypeError(f"'{self.text}' is not divided in Python: write {self.text}[0], {self.text}[1]")

    def __bool__(self) -> bool:
        raise TypeError(f"'{self.text}' has no value: a model only says what is computed")

    def assign(self, new: Operand) -> None:
        """Gives a variable its next value. It must be of `var`, or collect the steps of a `scan`."""
        raise TypeError(f"'{self.text}' is no variable: make one with var()")

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.text}>"


class Variable(Tensor):
    """A tensor that may be assigned again, from one iteration of a `repeat` to the next."""

    def assign(self, new: Operand) -> None:
        self.body.root.assign(self, new)


class Element(Tensor):
    """One tensor of a list."""

    def __init__(self, whole: Tensor, index: int) -> None:
        super().__init__(whole.body, f"{whole.text}[{index}]")
        self.whole = whole


def named(held: "Optional[Any]") -> Tuple[Any, ...]:
    """What an operand or an attribute is printed from: the tensors in it."""
    if isinstance(held, Element):
        return named(held.whole)
    if isinstance(held, Tensor):
        return (held,)
    if isinstance(held, (list, tuple)):
        return tuple(one for part in held for one in named(part))
    return ()
