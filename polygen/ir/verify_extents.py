"""Checks extents, strides and offsets of arrays."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from operator import is_

from polygen.errors import MalformedKernel, UnknownName, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array, ImageArg, TemporaryVariable, ValueArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression


def check_extents(kernel: Kernel) -> None:
    """Check that shapes, strides and offsets are integers that follow from scalar arguments.

    Raises:
        MalformedKernel: if one is something else.
    """
    arrays = kernel.arguments, kernel.temporaries, kernel.derived_sizes
    # By identity: most steps keep all of them, and to compare them takes as long as to check them.
    known = kernel.facts.get(check_extents, (None, None, None))
    if not all(map(is_, arrays, known)):
        for variable in (*kernel.arguments, *kernel.temporaries):
            if not isinstance(variable, ValueArg):
                _check_extents_of(kernel, variable)
        kernel.facts[check_extents] = arrays


def _check_extents_of(kernel: Kernel, array: Array) -> None:
    if isinstance(array, ImageArg):
        _check_image(kernel, array)
    for extent in (*(array.shape or ()), *layout_expressions(array)):
        _check_integer(kernel, array.name, extent)
        for name in sorted(walk.free_variables(extent)):
            if not isinstance(kernel.variables.get(name), ValueArg):
                raise MalformedKernel(
                    f"the shape or the layout of '{array.name}' mentions '{name}', which is no "
                    "scalar argument",
                    where=array.location or kernel.location,
                    remedy=did_you_mean(name, kernel.parameters),
                )


def check_derived_sizes(kernel: Kernel) -> None:
    """Check that derived sizes follow from scalar arguments and from those before them.

    Raises:
        UnknownName: if one mentions something else.
        MalformedKernel: if a factor of one is no integer.
    """
    known = {a.name for a in kernel.arguments if isinstance(a, ValueArg)}
    for size in kernel.derived_sizes:
        for factor in size.factors:
            _check_integer(kernel, size.name, factor)
        for name in sorted(size.names - known):
            raise UnknownName(
                f"the size '{size}' mentions '{name}', which is no scalar argument, nor a size "
                "before it",
                where=kernel.location,
                remedy=did_you_mean(name, known),
            )
        known.add(size.name)


_PLAIN = (int, ex.Variable)
_LOGIC = (ex.LogicalAnd, ex.LogicalOr, ex.LogicalNot)
# What may be no integer, or needs more than a call knows.
_OTHERS = (
    *(ex.Call, ex.Reduction, ex.Quotient, ex.Several, ex.Component, ex.SubArrayRef, ex.Subscript),
    *(bool, float, complex),
)


def _check_integer(kernel: Kernel, name: str, node: Expression, *, asked: bool = False) -> None:
    """Check that an extent is an integer; conditions may be `asked` in it."""
    if type(node) in _PLAIN:
        return
    is_truth = isinstance(node, (ex.Comparison, *_LOGIC))
    if isinstance(node, _OTHERS) or (is_truth and not asked):
        raise MalformedKernel(
            f"the shape or the layout of '{name}' mentions '{show_expression(node)}', which is no "
            "integer that follows from scalar arguments by operators",
            where=kernel.location,
            remedy="write it with + - * // %, min, max and if; // divides and rounds down",
        )
    for position, part in enumerate(walk.parts(node)):
        is_condition = isinstance(node, _LOGIC) or (isinstance(node, ex.If) and position == 0)
        _check_integer(kernel, name, part, asked=is_condition)


@contextmanager
def settled_later() -> Generator[None]:
    """Let extents of temporaries be open in kernels that are made: Loo.py's users fix them."""
    token = _LATER.set(True)
    try:
        yield
    finally:
        _LATER.reset(token)


def may_be_settled_later() -> bool:
    """Tell whether extents may be open in a kernel that is made."""
    return _LATER.get()


_LATER: ContextVar[bool] = ContextVar("_LATER", default=False)


def check_room(kernel: Kernel, before: Kernel | None = None) -> None:
    """Check that the runtime allocates each temporary whose size a call decides.

    Parameters:
        kernel: the kernel.
        before: the kernel that a step made it of: what was open there may be settled by later
            steps.

    Raises:
        MalformedKernel: if one is private or local.
    """
    open_before = () if before is None else [t.name for t in before.temporaries if _sizes_of(t)]
    for temporary in kernel.temporaries:
        if temporary.name not in open_before:
            _check_room_of(kernel, temporary)


def _sizes_of(temporary: TemporaryVariable) -> frozenset[str]:
    return NO_NAMES.union(*map(walk.free_variables, temporary.shape))


def _check_room_of(kernel: Kernel, temporary: TemporaryVariable) -> None:
    space = temporary.address_space
    names = _sizes_of(temporary)
    if not names or space in (AddressSpace.GLOBAL, AddressSpace.AUTO):
        return
    values = ", ".join(f"{name}=..." for name in sorted(names))
    raise MalformedKernel(
        f"the shape of the temporary '{temporary.name}', {show_tuple(temporary.shape)}, is not "
        f"constant, and it is {space.value}: only a global one may be as large as a call says",
        where=temporary.location or kernel.location,
        remedy=f"declare TemporaryVariable('{temporary.name}', ..., "
        f"address_space=pg.AddressSpace.GLOBAL), or fix_parameters(kernel, {values})",
    )


def _check_image(kernel: Kernel, image: ImageArg) -> None:
    rank = 2 if image.shape is None else len(image.shape)
    if rank not in (2, 3):
        raise MalformedKernel(
            f"the image '{image.name}' has {rank} {'axis' if rank == 1 else 'axes'}: images have "
            "two or three",
            where=image.location or kernel.location,
            remedy=f"declare '{image.name}' a GlobalArg",
        )
