"""The statements that a function of Python becomes: loops, conditions, assignments to elements.

All names are those of the kernel, and each statement has its place in the user's file.
`polygen.python.kernel_of_nodes` makes a kernel of them.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from polygen.ir.expression import Expression
from polygen.python.affine import Affine
from polygen.python.print_formats import Shown

_Bounds: TypeAlias = tuple[Affine, Affine]
_IndexGuard: TypeAlias = tuple[str, Affine]


@dataclass
class Assign:
    """``target = value``, for an element or a scalar."""

    target: Expression
    value: Expression
    node: ast.AST | None


@dataclass
class For:
    """A loop over ``range(lower, upper)``.

    Attributes:
        iname: its name in the kernel, which nothing else has.
        lower, upper: its bounds.
        step: how far values are apart, a positive number.
        body: what is in it.
        node: where it comes from: a ``for``, or the statement on whole arrays that it is part of.
        is_written: whether it is a ``for`` of the user's.
    """

    iname: str
    lower: Affine
    upper: Affine
    step: int
    body: list[Node]
    node: ast.AST | None
    is_written: bool = False


@dataclass
class While:
    """A loop that runs as long as a condition holds; None for one that only a `Break` ends."""

    iname: str
    condition: Expression | None
    body: list[Node]
    node: ast.AST | None


@dataclass
class When:
    """``if condition: body; else: otherwise``.

    Attributes:
        kept: whether the condition is asked once, before the body.
    """

    condition: Expression
    body: list[Node]
    otherwise: list[Node]
    kept: bool
    node: ast.AST | None


@dataclass
class Break:
    """Ends the innermost loop."""

    node: ast.AST | None


@dataclass
class Fault:
    """Counts that something happened that is an error in Python.

    Attributes:
        condition: where it happens.
        site: the place among `Nodes.fault_sites`.
    """

    condition: Expression
    site: int
    node: ast.AST | None


@dataclass
class Fetch:
    """``old, target = target, value``: an update that returns the old value.

    Attributes:
        old: the scalar that gets it.
        target: the element.
        value: its new value, in terms of the element.
        is_atomic: whether it is in a loop that is claimed parallel, and may come in any order.
    """

    old: str
    target: Expression
    value: Expression
    node: ast.AST | None
    is_atomic: bool = False


@dataclass
class InOrder:
    """Comes behind all updates of arrays before it, and before those behind it.

    Attributes:
        names: the arrays.
        scalar: a variable that nobody reads.
    """

    names: tuple[str, ...]
    scalar: str
    node: ast.AST | None


@dataclass
class Print:
    """Prints a line, or a part of one.

    Attributes:
        parts: texts, and scalars with how they are shown, and their types; none for a point in the
            order at which nothing is printed.
        is_free: whether it is in a loop that is claimed parallel; else the order is Python's.
        line: the scalar that keeps the order within an iteration of that; nothing for none.
    """

    parts: tuple[str | tuple[Shown, str, np.dtype], ...]
    node: ast.AST | None
    is_free: bool = False
    line: str = ""


def empty_text(function: Callable[[tuple[()]], object]) -> str:
    """Return what this version of Python says of ``max(())`` or ``min(())``."""
    try:
        function(())
    except ValueError as error:
        return str(error)
    raise AssertionError(function)


# What Python raises; of those at one statement, the first counts.
FAULTS: tuple[tuple[type[Exception], str], ...] = (
    (ZeroDivisionError, "division by zero"),
    (ValueError, empty_text(max)),  # which reads no element: before those outside
    (ValueError, empty_text(min)),
    (IndexError, "a subscript is out of bounds"),
    (ValueError, "math domain error"),
    (OverflowError, "math range error"),
    (ValueError, "the range of bins is not finite"),
    (ValueError, "arrays of two shapes are assigned"),
    (ValueError, "range() arg 3 must not be zero"),
    (ValueError, "zero-size array to reduction operation maximum which has no identity"),
    (ValueError, "zero-size array to reduction operation minimum which has no identity"),
    (OverflowError, "an integer of Python's needs more than 64 bits"),
    (ValueError, "negative shift count"),
    (ValueError, "slice step cannot be zero"),
    (ValueError, "operands could not be broadcast together"),
    (OverflowError, "a Python integer is out of bounds for the type of an array"),
)

Node: TypeAlias = Assign | For | While | When | Break | Fault | Fetch | InOrder | Print


@dataclass(eq=False)
class Storage:
    """An array of the kernel.

    Attributes:
        name: its name in the kernel.
        dtype: the type of its elements.
        shape: its extents.
        role: ``input``: the caller's; ``made``: allocated by the call, empty or filled with zeros;
            ``temporary``: of the kernel.
        zeros: whether a made one begins with zeros.
        source: the name of the user's variable that it is the value of, for an input.
        is_written: whether the kernel writes it.
        is_contiguous: whether an input's elements follow each other in memory, as C has them.
        layout_matters: whether that has to be so in all calls of this variant.
        table: the elements of a temporary that is a table of constants.
    """

    name: str
    dtype: np.dtype
    shape: tuple[Affine, ...]
    role: str
    zeros: bool = False
    source: str = ""
    is_written: bool = False
    is_contiguous: bool = True
    layout_matters: bool = False
    table: np.ndarray[Any, Any] | None = None


@dataclass
class Scalar:
    """A temporary without axes.

    Attributes:
        name: its name in the kernel.
        dtype: its type.
        is_own: whether each work item has its own: it is read where it is written.
    """

    name: str
    dtype: np.dtype
    is_own: bool = False


@dataclass
class Nodes:
    """A traced block of a function.

    Attributes:
        body: the statements.
        storages: arrays by name.
        scalars: temporaries without axes by name.
        parameters: scalars that the call passes, by name: their types; None for sizes.
        reduced: the loops of reductions: bounds.
        guards: forms that are at least 0.
        ends: integers that ends of loops may be, with what sizes and loops around make of them.
        fault: the array that counts faults; None if there can be none.
        fault_sites: of each element of that: the line of the outermost statement, the place in
            `FAULTS`, and the node.
        printed: the array by which what prints is in order; None if nothing does.
        index_guards: arrays of subscripts that the call looks at: each value is from minus the
            form to below the form.
        has_matrix_products: whether there are products that NumPy leaves to BLAS.
    """

    body: list[Node] = field(default_factory=list[Node])
    storages: dict[str, Storage] = field(default_factory=dict[str, Storage])
    scalars: dict[str, Scalar] = field(default_factory=dict[str, Scalar])
    parameters: dict[str, np.dtype | None] = field(default_factory=dict[str, np.dtype | None])
    reduced: dict[str, _Bounds] = field(default_factory=dict[str, _Bounds])
    guards: list[Affine] = field(default_factory=list[Affine])
    ends: dict[str, Expression] = field(default_factory=dict[str, Expression])
    fault: str | None = None
    fault_sites: list[tuple[int, int, ast.AST | None]] = field(
        default_factory=list[tuple[int, int, ast.AST | None]]
    )
    printed: str | None = None
    index_guards: dict[_IndexGuard, None] = field(default_factory=dict[_IndexGuard, None])
    has_matrix_products: bool = False
