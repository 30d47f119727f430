"""Arguments and temporaries with Loo.py's parameters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polygen as pg
from polygen.compat._ours import Ours, making
from polygen.compat._table import HERE, warn_otherwise


@dataclass(frozen=True)
class GuessedTemporary:
    """A temporary whose shape is guessed from its accesses when the kernel is made.

    Attributes:
        name: its name.
        dtype: the type of its elements, or None.
        others: what else is said of it.
    """

    name: str
    dtype: Any
    others: tuple[tuple[str, Any], ...]

    def of_shape(self, shape: tuple[Any, ...]) -> pg.TemporaryVariable:
        """Return the temporary with a shape."""
        return pg.TemporaryVariable(self.name, self.dtype, shape, **dict(self.others))


@dataclass(frozen=True)
class DisplacedArray:
    """An array argument of one axis, ``a[i]`` of which is the element `offset` + i that is passed.

    Attributes:
        kind: the class of the argument.
        name: its name.
        dtype: the type of its elements, or None.
        offset: how many elements come before ``a[0]``: a number, or a text.
        others: what else is said of it.
    """

    kind: type[pg.GlobalArg]
    name: str
    dtype: Any
    offset: Any
    others: tuple[tuple[str, Any], ...]

    def plain(self) -> pg.GlobalArg:
        """Return the array as if it began at ``a[0]``."""
        return self.kind(self.name, self.dtype, None, **dict(self.others))


@making(pg.GlobalArg)
def GlobalArg(  # noqa: N802
    name: str, dtype: Any = None, shape: Any = None, **others: Any
) -> pg.GlobalArg | DisplacedArray:
    """Return an array argument; see `polygen.GlobalArg`.

    Parameters:
        name: its name, or names with commas.
        dtype: the type of its elements; found out if it is None or `auto`.
        shape: its extents; guessed from the accesses if it is None or `auto`.
        others: further arguments of `polygen.GlobalArg`.  What Loo.py is told besides, and polygen
            finds out, is left out: ``is_input``, ``is_output``, ``for_atomic``,
            ``address_space``, ``tags``, ``target``.

    Raises:
        InvalidArgument: if there is no such argument.
    """
    return _array(pg.GlobalArg, name, dtype, shape, others)


@making(pg.GlobalArg)
def ArrayArg(  # noqa: N802
    name: str, dtype: Any = None, shape: Any = None, **others: Any
) -> pg.GlobalArg | DisplacedArray:
    """Return an array argument; parameters are those of `GlobalArg`."""
    return _array(pg.GlobalArg, name, dtype, shape, others)


class KernelArgument(metaclass=Ours):
    """Base class of arguments."""

    kind = (pg.GlobalArg, pg.ValueArg)


@making(pg.ConstantArg)
def ConstantArg(  # noqa: N802
    name: str, dtype: Any = None, shape: Any = None, **others: Any
) -> pg.GlobalArg | DisplacedArray:
    """Return an array argument that is not written; parameters are those of `GlobalArg`."""
    return _array(pg.ConstantArg, name, dtype, shape, others)


@making(pg.ImageArg)
def ImageArg(  # noqa: N802
    name: str, dtype: Any = None, shape: Any = None, **others: Any
) -> pg.ImageArg:
    """Return an image; parameters are those of `GlobalArg`."""
    return pg.ImageArg(name, _known(dtype), _known(shape), **_others(others))


@making(pg.ValueArg)
def ValueArg(  # noqa: N802
    name: str,
    dtype: Any = None,
    approximately: int = 1000,  # noqa: ARG001
    **others: Any,
) -> pg.ValueArg:
    """Return a scalar argument.

    Parameters:
        name: its name, or names with commas.
        dtype: its type; found out if it is None or `auto`.
        approximately: nothing depends on it here.
        others: as those of `GlobalArg`.
    """
    return pg.ValueArg(name, _known(dtype), **_others(others))


@making(pg.TemporaryVariable)
def TemporaryVariable(  # noqa: N802
    name: str, dtype: Any = None, shape: Any = pg.auto, address_space: Any = None, **others: Any
) -> pg.TemporaryVariable | GuessedTemporary:
    """Return a temporary.

    Parameters:
        name: its name.
        dtype: the type of its elements; found out if it is None or `auto`.
        shape: its extents; guessed from the accesses if it is `auto`.
        address_space: where it lives; found out if it is None or `auto`.
        others: further arguments of `polygen.TemporaryVariable`, such as ``base_storage``, for
            `allocate_temporaries_for_base_storage`; and ``scope``, an old name of
            ``address_space``.  Nothing depends on ``_base_storage_access_may_be_aliasing``.

    Raises:
        InvalidArgument: if there is no such argument.
    """
    others.pop("_base_storage_access_may_be_aliasing", None)
    space = others.pop("scope", address_space)
    space = pg.AddressSpace.AUTO if space is None or space is pg.auto else space
    given: dict[str, Any] = {**_others(others), "address_space": space}
    if shape is pg.auto and given.get("initializer") is not None:
        shape = ()  # that of the initializer
    if shape is pg.auto:
        return GuessedTemporary(name, _known(dtype), tuple(given.items()))
    return pg.TemporaryVariable(name, _known(dtype), shape, **given)


def _array(
    kind: type[pg.GlobalArg], name: str, dtype: Any, shape: Any, others: dict[str, Any]
) -> pg.GlobalArg | DisplacedArray:
    """Return an array argument of a class."""
    given = _others(others)
    offset = given.pop("offset", None) or 0
    if offset is not pg.auto and offset != 0 and _known(shape) is not None:
        warn_otherwise("GlobalArg.offset")
    elif offset is not pg.auto and offset != 0:
        return DisplacedArray(kind, name, _known(dtype), offset, tuple(given.items()))
    return kind(name, _known(dtype), _known(shape), offset=offset, **given)


def _known(value: Any) -> Any:
    return None if value is pg.auto else value


def _others(given: dict[str, Any]) -> dict[str, Any]:
    """Return arguments without those that polygen does without."""
    return {n: v for n, v in given.items() if n not in HERE["GlobalArg"].ignored}
