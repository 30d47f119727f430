"""Loo.py's operations of reductions as objects: polygen names them by texts."""

from __future__ import annotations

from typing import Any, ClassVar


class ReductionOperation(str):
    """An operation of reductions: the text that polygen calls it by."""

    __slots__ = ()
    called: ClassVar[str] = ""

    def __new__(cls, *_types: Any) -> ReductionOperation:
        """Return the operation; the types of what is reduced are found."""
        return super().__new__(cls, cls.called)


class SumReductionOperation(ReductionOperation):
    """Sums."""

    __slots__ = ()
    called = "sum"


class ProductReductionOperation(ReductionOperation):
    """Products."""

    __slots__ = ()
    called = "product"


class MaxReductionOperation(ReductionOperation):
    """The greatest value."""

    __slots__ = ()
    called = "max"


class MinReductionOperation(ReductionOperation):
    """The least value."""

    __slots__ = ()
    called = "min"


class AllReductionOperation(ReductionOperation):
    """Whether all hold."""

    __slots__ = ()
    called = "all"


class AnyReductionOperation(ReductionOperation):
    """Whether any holds."""

    __slots__ = ()
    called = "any"


class ArgMaxReductionOperation(ReductionOperation):
    """The greatest value, and where it is."""

    __slots__ = ()
    called = "argmax"


class ArgMinReductionOperation(ReductionOperation):
    """The least value, and where it is."""

    __slots__ = ()
    called = "argmin"
