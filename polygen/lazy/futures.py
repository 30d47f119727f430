"""Futures: numbers that traced calls will compute, and what functions will return."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, cast

_UNKNOWN: Any = object()


class Computing(Protocol):
    """A call that computes numbers."""

    @property
    def results(self) -> Sequence[Any]:
        """References to its futures."""
        ...

    def compute(self) -> None:
        """Run it, with what it needs."""


class Future:
    """A number that a traced call computes, as a rule, or that arithmetic makes of such numbers.

    It is passed to later calls as it is.  Whoever looks at the number runs what it needs: `float`,
    `int`, a comparison, a print.

    Parameters:
        call: the call that computes it; None for arithmetic.
        sign: the operator, for arithmetic.
        operands: numbers and futures, for arithmetic.
    """

    __slots__ = ("__weakref__", "_known", "call", "operands", "sign")

    def __init__(
        self, call: Computing | None, sign: str = "", operands: tuple[Any, ...] = ()
    ) -> None:
        self.call, self.sign, self.operands = call, sign, operands
        self._known: Any = _UNKNOWN

    @property
    def is_known(self) -> bool:
        """Whether it is computed."""
        if self._known is not _UNKNOWN:
            return True
        return not any(one.call is not None for one in _unknown(self))

    def settle(self, value: Any) -> None:
        """Set the value; an array becomes a view, whose reads are seen."""
        self._known = seen(value)
        self.call, self.operands = None, ()  # whose arrays it would keep

    @property
    def is_settled(self) -> bool:
        """Whether it was computed itself, and not what it is made of alone."""
        return self._known is not _UNKNOWN

    @property
    def value(self) -> Any:
        """The number; what it needs is run."""
        if self._known is _UNKNOWN:
            for one in _unknown(self):  # operands come first
                one._compute()
        return self._known

    def _compute(self) -> None:
        if self._known is not _UNKNOWN:
            return
        if self.call is not None:
            self.call.compute()
            return
        values = [_value(one) for one in self.operands]
        self._known = OPERATORS[self.sign](*values)
        self.operands = ()

    def calls(self) -> set[Any]:
        """Return the traced calls that it needs and that did not run yet."""
        return {one.call for one in _unknown(self) if one.call is not None}

    def __float__(self) -> float:
        return float(self.value)

    def __int__(self) -> int:
        return int(self.value)

    def __complex__(self) -> complex:
        return complex(self.value)

    def __index__(self) -> int:
        return operator.index(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __abs__(self) -> Any:
        return abs(self.value)

    def __pos__(self) -> Future:
        return self

    def __divmod__(self, other: Any) -> Any:
        return divmod(self.value, _value(other))

    def __rdivmod__(self, other: Any) -> Any:
        return divmod(other, self.value)

    def __trunc__(self) -> Any:
        return math.trunc(self.value)

    def __floor__(self) -> Any:
        return math.floor(self.value)

    def __ceil__(self) -> Any:
        return math.ceil(self.value)

    def __round__(self, digits: int | None = None) -> Any:
        return round(self.value, digits)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        import numpy as np  # noqa: PLC0415

        return np.array(self.value, dtype=dtype)

    def __repr__(self) -> str:
        return repr(self.value)

    def __str__(self) -> str:
        return str(self.value)

    def __format__(self, form: str) -> str:
        return format(self.value, form)

    def __len__(self) -> int:
        return len(self.value)

    def __iter__(self) -> Iterator[Any]:
        return iter(self.value)

    def __getitem__(self, key: Any) -> Any:
        return self.value[key]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.value[key] = value

    def __hash__(self) -> int:
        return hash(self.value)

    def __eq__(self, other: object) -> bool:
        return bool(self.value == _value(other))

    def __ne__(self, other: object) -> bool:
        return bool(self.value != _value(other))

    def __lt__(self, other: Any) -> bool:
        return bool(self.value < _value(other))

    def __le__(self, other: Any) -> bool:
        return bool(self.value <= _value(other))

    def __gt__(self, other: Any) -> bool:
        return bool(self.value > _value(other))

    def __ge__(self, other: Any) -> bool:
        return bool(self.value >= _value(other))

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self.value, name)


def _unknown(future: Future) -> list[Future]:
    """Return what a future is computed of and is not known, operands first; without recursion."""
    found: dict[int, Future] = {}
    waiting = [future]
    while waiting:
        one = waiting[-1]
        operands = [o for o in one.operands if isinstance(o, Future) and not o.is_settled]
        missing = [o for o in operands if id(o) not in found]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if not one.is_settled:
            found[id(one)] = one
    return list(found.values())


# What makes views of arrays, so that their reads are seen.
VIEWS: list[Callable[[Any], Any]] = []


def seen(value: Any) -> Any:
    """Return a result with views for its arrays."""
    if isinstance(value, tuple | list):
        parts = [seen(part) for part in cast("Sequence[Any]", value)]
        several = cast("Any", value)
        return several._make(parts) if hasattr(several, "_make") else type(several)(parts)
    if getattr(value, "shape", ()) and VIEWS:
        return VIEWS[0](value)
    return value


def _value(other: Any) -> Any:
    return other.value if isinstance(other, Future) else other


_NAMES = {
    "+": "add", "-": "sub", "*": "mul", "/": "truediv", "//": "floordiv", "%": "mod", "**": "pow",
    "neg": "neg",
}  # fmt: skip
OPERATORS: dict[str, Callable[..., Any]] = {
    sign: getattr(operator, name) for sign, name in _NAMES.items()
}


def _is_number(value: Any) -> bool:
    return isinstance(value, Future | int | float | complex) or not getattr(value, "shape", True)


def _binary(sign: str) -> Callable[[Future, Any], Any]:
    def method(self: Future, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return Future(None, sign, (self, other))

    return method


def _reflected(sign: str) -> Callable[[Future, Any], Any]:
    def method(self: Future, other: Any) -> Any:
        if not _is_number(other):
            return NotImplemented
        return Future(None, sign, (other, self))

    return method


def _negative(self: Future) -> Future:
    return Future(None, "neg", (self,))


for _sign, _name in _NAMES.items():
    if _sign != "neg":
        setattr(Future, f"__{_name}__", _binary(_sign))
        setattr(Future, f"__r{_name}__", _reflected(_sign))
setattr(Future, "__neg__", _negative)  # noqa: B010
