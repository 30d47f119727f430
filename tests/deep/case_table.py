"""What a case is, and the table of what makes one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import polygen as pg

LOCAL = pg.AddressSpace.LOCAL
GLOBAL = pg.AddressSpace.GLOBAL


@dataclass(frozen=True)
class Case:
    """A kernel and the arguments of a call.

    Attributes:
        kernel: array arguments without a type get float64.
        sizes: the scalar arguments.
        given: arrays that cannot be any; all others are random.
    """

    name: str
    kernel: pg.Kernel
    sizes: Mapping[str, Any] = field(default_factory=dict)
    given: Mapping[str, Any] = field(default_factory=dict)


Made: TypeAlias = "pg.Kernel | tuple[pg.Kernel, Mapping[str, Any]]"
# By name: pytest may import a module once more, to look for doctests in it.
MAKERS: dict[str, tuple[Callable[[], Made], tuple[Mapping[str, Any], ...]]] = {}


def sizes(*several: Mapping[str, Any]) -> Callable[[Callable[[], Made]], Callable[[], Made]]:
    """Register what makes a kernel, and the sizes to run it with."""

    def register(make: Callable[[], Made]) -> Callable[[], Made]:
        MAKERS[make.__name__] = make, several
        return make

    return register


def only_n(*values: int) -> tuple[Mapping[str, int], ...]:
    """Return sizes for kernels that need an `n`."""
    return tuple({"n": value} for value in values)


def local(name: str, *shape: int) -> pg.TemporaryVariable:
    """Return a temporary that a group shares."""
    return pg.TemporaryVariable(name, shape=shape, address_space=LOCAL)
