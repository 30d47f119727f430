"""Reads ``kernel_data``: declarations of arguments and temporaries."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from polygen.errors import InvalidArgument, NameTaken
from polygen.ir.array import (
    AddressSpace,
    Argument,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.dtype import DType, of_scalar, to_dtype
from polygen.ir.layout import auto
from polygen.ir.names import check_name
from polygen.language.extents import to_extents
from polygen.language.layouts import with_layout
from polygen.language.tables import with_table
from polygen.source import caller_location

_Variable: TypeAlias = Argument | TemporaryVariable


@dataclass(frozen=True, slots=True)
class Declared:
    """The declarations in ``kernel_data``.

    Attributes:
        variables: those that are described, and those that are only named: None.
        complete: whether there are no others.
    """

    variables: dict[str, _Variable | None]
    complete: bool

    def with_temporaries(self, temporaries: Iterable[TemporaryVariable]) -> Declared:
        """Return this with more temporaries, whose names nothing else has."""
        more = {t.name: t for t in temporaries}
        return replace(self, variables={**self.variables, **more})


def read_kernel_data(kernel_data: Iterable[object] | None) -> Declared:
    """Return what ``kernel_data`` declares.

    Raises:
        InvalidArgument: if something in it is no variable, or has no shape or type.
        NameTaken: if it declares a name twice.
    """
    if kernel_data is None:
        return Declared({}, complete=False)
    entries = [kernel_data] if isinstance(kernel_data, str) else list(kernel_data)
    variables: dict[str, _Variable | None] = {}
    complete = True
    for entry in entries:
        if isinstance(entry, str):
            names = [name.strip() for name in entry.split(",")]
            complete = complete and "..." not in names
            found: list[tuple[str, _Variable | None]] = [(n, None) for n in names if n != "..."]
        elif isinstance(entry, GlobalArg | ValueArg | TemporaryVariable):
            given = normalised(entry)
            _check_extents(given)
            found = [(n, replace(given, name=n)) for n in map(str.strip, given.name.split(","))]
        else:
            raise InvalidArgument(
                f"kernel_data has {entry!r}, which is no argument",
                where=caller_location(),
                remedy="pass GlobalArg, ConstantArg, ImageArg, ValueArg or TemporaryVariable, "
                "names, or '...' to have the others guessed",
            )
        for name, variable in found:
            check_name(name)
            if name in variables:
                raise NameTaken(f"kernel_data has '{name}' twice", where=caller_location())
            variables[name] = variable
    return Declared(variables, complete)


def normalised(variable: _Variable) -> _Variable:
    """Return `variable` with its type and shape in the form that kernels have.

    A type may have been given as anything that NumPy takes for one, a shape as a text such as
    ``"n, 2*m"``, as a number, or as a tuple of numbers, texts and expressions.

    Raises:
        InvalidArgument: if NumPy has no such type, or if shape and layout are something else.
        MalformedTag: if a text is no tag of an axis.
        MalformedExpression: if a text in them is no expression.
    """
    name: Any = variable.name
    if not isinstance(name, str):
        raise InvalidArgument(
            f"{name!r} is no name of a variable",
            where=caller_location(),
            remedy="pass a text, as in GlobalArg('a')",
        )
    dtype = _element_type(name, variable.dtype)
    if isinstance(variable, ValueArg):
        return replace(variable, dtype=of_scalar(variable.name, dtype))
    shape = variable.shape
    if isinstance(variable, TemporaryVariable):
        variable = variable.in_space(_space(variable.name, variable.address_space))
        shape = to_extents(shape, variable.name)
        return with_layout(with_table(replace(variable, dtype=dtype, shape=shape)))
    if isinstance(variable, ImageArg) and variable != ImageArg(
        variable.name, variable.dtype, variable.shape
    ):
        raise InvalidArgument(
            f"the image '{variable.name}' is declared with a layout, or may_alias=True",
            where=caller_location(),
            remedy="of an image, give the type and the shape",
        )
    if isinstance(variable, ConstantArg) and variable.may_alias:
        raise InvalidArgument(
            f"'{variable.name}' is a ConstantArg, and may_alias=True says that it may be changed",
            where=caller_location(),
            remedy="declare it a GlobalArg",
        )
    extents = None if shape is None else to_extents(shape, variable.name)
    return with_layout(replace(variable, dtype=dtype, shape=extents))


def _check_extents(variable: _Variable) -> None:
    """Raise InvalidArgument if a variable is declared with less than no elements."""
    shape = () if isinstance(variable, ValueArg) else variable.shape or ()
    negative = [extent for extent in shape if isinstance(extent, int) and extent < 0]
    if negative:
        raise InvalidArgument(
            f"the shape of '{variable.name}' has a negative extent, {negative[0]}",
            where=caller_location(),
            remedy="write how many elements the axis has; or leave the shape out, and it is "
            "guessed from the subscripts",
        )


def _element_type(name: str, given: object) -> DType | None:
    """Return the type that a variable is declared with, if it is."""
    if given is None:
        return None
    try:
        return to_dtype(given)
    except InvalidArgument as error:
        error.what = f"the type of '{name}': {error.what}"
        raise


def _space(name: str, given: object) -> AddressSpace:
    """Return the address space that a temporary is declared in; ``auto`` is another name of one."""
    if given is auto:
        return AddressSpace.AUTO
    if not isinstance(given, AddressSpace):
        raise InvalidArgument(
            f"the temporary '{name}' is declared in {given!r}, which is no address space",
            where=caller_location(),
            remedy="pass polygen.AddressSpace.PRIVATE, LOCAL, GLOBAL or AUTO",
        )
    return given
