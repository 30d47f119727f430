"""What a random function may mention: sizes, arrays, scalars, and loops around a statement."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias, TypeVar

import numpy as np

T = TypeVar("T")
Shape: TypeAlias = tuple[str, ...]
"""A length for each axis, as text of Python: ``"n"``, ``"n - 1"``, ``"i"``; ``"1"`` broadcasts."""

DTYPES = ("bool", "int8", "uint8", "int16", "int32", "int64", "uint32", "float32", "float64")
COMPLEX = ("complex64", "complex128")


@dataclass(frozen=True)
class Value:
    """A piece of text, and what it stands for.

    Attributes:
        text: an expression of Python's.
        sample: a one, or an array of a single one: of this type the value is.
        shape: its axes; none, if it is a scalar.
        exact: whether each way to round gives the same bits.  Only such values decide anything.
    """

    text: str
    sample: Any
    shape: Shape = ()
    exact: bool = True

    def __post_init__(self) -> None:
        array = isinstance(self.sample, np.ndarray)
        one = np.ones_like(self.sample) if array else type(self.sample)(1)
        object.__setattr__(self, "sample", one)

    @property
    def kind(self) -> str:
        return np.asarray(self.sample).dtype.kind

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.asarray(self.sample).dtype

    @property
    def is_python(self) -> bool:
        return not isinstance(self.sample, np.ndarray | np.generic)


@dataclass(frozen=True)
class Loop:
    """A loop around a statement: its name is at least `low`, and less than `size` minus `room`."""

    name: str
    size: str
    low: int = 0
    room: int = 0


@dataclass
class Scope:
    """What has a name where a statement is to stand.

    Attributes:
        random: where all choices come from.
        arrays: these may be written in place.
        scalars: these may be bound again, to a value of the same type.
        loops: those around the statement, from outside.
        indices: arrays whose elements are valid subscripts of axes as long as the size is.
        helpers: functions of one or two scalars, or of an array.
        fixed: names that are not to be bound again here.
    """

    random: random.Random
    arrays: list[Value] = field(default_factory=list)
    scalars: list[Value] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    indices: dict[str, str] = field(default_factory=dict)
    helpers: dict[str, Callable[..., Any]] = field(default_factory=dict)
    fixed: set[str] = field(default_factory=set)
    counter: list[int] = field(default_factory=lambda: [0])

    def inside(self, *loops: Loop) -> Scope:
        """Return a scope for a block: what is named there is not known behind it."""
        return replace(
            self,
            arrays=list(self.arrays),
            scalars=list(self.scalars),
            loops=[*self.loops, *loops],
            fixed=set(self.fixed),
        )

    def new_name(self, letter: str) -> str:
        self.counter[0] += 1
        return f"{letter}{self.counter[0]}"

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    def choice(self, some: Sequence[T]) -> T:
        return self.random.choice(some)

    def one_of(self, table: dict[T, float]) -> T:
        """Return a key, each as often as its weight says."""
        return self.random.choices(list(table), list(table.values()))[0]


def array_of(name: str, dtype: str, shape: Shape, *, exact: bool = True) -> Value:
    """Return an array with a name."""
    return Value(name, np.ones((1,) * len(shape), dtype), shape, exact)


def same_class(one: Any, other: Any) -> bool:
    """Whether two scalars are of one type, where Python's and NumPy's are not told apart."""
    return np.asarray(one).dtype == np.asarray(other).dtype
