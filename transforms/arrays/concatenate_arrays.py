"""`polygen.concatenate_arrays`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from polygen.analysis.dataflow.one_to_one_subscripts import is_beyond_proofs
from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import NotConcatenable
from polygen.ir import expression as ex
from polygen.ir.array import Array, GlobalArg
from polygen.ir.claims import Injective
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Strided
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import NewName, transformation
from polygen.transforms.arrays.array_rewriting import (
    Arrays,
    AxisNumber,
    Index,
    check_axis,
    check_rewritable,
    several,
    with_names,
    with_subscripts,
)


@transformation
def concatenate_arrays(
    kernel: Kernel, array_names: Arrays, new_name: NewName | None = None, axis_nr: AxisNumber = 0
) -> Rearranged:
    """Make one array of several: one after the other along an axis.

    Kind: order and storage, for temporaries: this is proved.  Change of interface, for arguments:
    a call passes ``np.concatenate((a, b), axis)`` in place of both.

    Requires:
        1. There are several arrays, each named once.
        2. They are alike: of one type, in one address space, of the same extents along all other
           axes, with the same tags, none of which is a stride; not declared ``may_alias``.
        3. Each use of them is in sight: none in verbatim C, in a call of another kernel, in the
           values of a table of constants, in a claim.

    Parameters:
        array_names: arguments, or temporaries: ``"a, b"``, or a sequence, in their order.
        new_name: what the array is called; the names, joined by ``_``, if not given.
        axis_nr: the number of the axis, from 0.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i]*b[i]", name="multiply")
        >>> knl = pg.concatenate_arrays(pg.add_dtypes(knl, {"a, b": "float32"}), "a, b", "ab")
        >>> print(pg.generate_code(knl, "c"))
        void multiply(float const *restrict ab, int const n, float *restrict out)
        {
            for (int i = 0; i < n; ++i)
                out[i] = ab[i] * ab[i + n];
        }

    Raises:
        UnknownArgument: if the kernel has no such array.
        InvalidArgument: if 1 does not hold.
        NotConcatenable: if 2 does not hold, or a claim mentions an array.
        AxisNotPossible, VerbatimNotPossible: if there is no such axis, or if 3 does not hold.
        NameTaken, ReservedName: if `new_name` cannot be a new name.
        IllegalStep, CannotProve: if what temporaries keep cannot be followed.

    Source: Loo.py's transformation of this name.
    """
    names = several("concatenate_arrays", array_names, "arrays", "the first one first")
    check_rewritable(kernel, names)
    _check_alike(kernel, names, axis_nr)
    name = new_name or kernel.new_name("_".join(names))
    offsets, total = _places([(kernel.array(n).shape or ())[axis_nr] for n in names])
    moves = dict(zip(names, offsets, strict=True))
    new = with_subscripts(kernel, {n: partial(_moved, axis_nr, at) for n, at in moves.items()})
    new = with_names(new, dict.fromkeys(names, name))
    first = kernel.array(names[0])
    shape = first.shape or ()
    one = replace(first, name=name, shape=(*shape[:axis_nr], total, *shape[axis_nr + 1 :]))
    new = new.copy(
        arguments=_with_one(kernel.arguments, names, one),
        temporaries=_with_one(kernel.temporaries, names, one),
    )
    if isinstance(one, GlobalArg):
        return Rearranged(new, restated=new)
    same = _are_named_otherwise(kernel, names, new, name)
    return Rearranged(new, computes_as=kernel if same else None)


def _are_named_otherwise(kernel: Kernel, names: Sequence[str], new: Kernel, name: str) -> bool:
    """Tell whether elements have but other names, where proofs could not follow which are meant.

    Those of several arrays are one after the other, so no name becomes that of two.
    """
    spaces = {new.address_space(name), *map(kernel.address_space, names)}
    return len(spaces) == 1 and any(is_beyond_proofs(kernel, n) for n in names)


def _check_alike(kernel: Kernel, names: Sequence[str], axis: int) -> None:
    first = kernel.array(names[0])
    for name in names:
        check_axis(kernel, name, axis)
        array = kernel.array(name)
        shapes = [list(a.shape or ()) for a in (first, array)]
        for shape in shapes:
            del shape[axis : axis + 1]
        why = ""
        if shapes[0] != shapes[1]:
            why = "have other extents along another axis"
        elif replace(array, name=first.name, shape=first.shape or ()) != first:
            why = "are not declared alike"
        elif any(isinstance(tag, Strided) for tag in array.dim_tags or ()):
            why = "have strides that are given"
        elif isinstance(array, GlobalArg) and array.may_alias:
            why = "may overlap: they have no places one after the other"
        elif Injective(name) in kernel.claims:
            why = f"cannot be one: a claim says something of '{name}'"
        if why:
            raise NotConcatenable(
                f"'{first.name}' and '{name}' {why}",
                where=caller_location(),
                remedy="give them one type, address space and layout first (tag_array_axes)",
            )


def _places(extents: Sequence[Expression]) -> tuple[list[Expression], Expression]:
    """Return where each array begins, and how long all are together."""
    found: list[Expression] = [0]
    for extent in extents:
        found.append(_sum(found[-1], extent))
    return found[:-1], found[-1]


def _sum(first: Any, second: Any) -> Expression:
    """Return a sum as it reads well."""
    forms = (linear_form(first), linear_form(second))
    if forms[0] is not None and forms[1] is not None:
        return (forms[0] + forms[1]).expression()
    return first if second == 0 else ex.sum_of(first, second)


def _moved(axis: int, offset: Expression, index: Index) -> Index:
    return (*index[:axis], _sum(index[axis], offset), *index[axis + 1 :])


def _with_one(variables: Sequence[Any], names: Sequence[str], one: Array) -> tuple[Any, ...]:
    """Return variables with one in place of the first of those named, and without the others."""
    kept = [one if v.name == names[0] else v for v in variables]
    return tuple([v for v in kept if v.name not in names])
