"""Kernels of which nothing is proved, and sets of pairs of their instances, listed one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import islpy as isl

import polygen as pg
from polygen.analysis.access.accesses import Access, touched
from polygen.ir.domain import unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_statement
from tests.analysis.flat import SMALL
from tests.oracle.cases import kernel


def unproved(
    domains: Any, instructions: str, *data: Any, order: str = "", **options: Any
) -> Kernel:
    """Return a kernel as it is written, with no proof that it has one result.

    Parameters:
        domains: of the loops.
        instructions: as text.
        data: arguments and temporaries to declare.
        order: loops, outermost first.
        options: of `make_kernel`.
    """
    with pg.without_proofs():
        made = kernel(domains, instructions, *data, **options)
        return pg.prioritize_loops(made, order) if order else made


def tagged(knl: Kernel, **tags: str) -> Kernel:
    """Return the kernel with tags of inames, with no proof."""
    with pg.without_proofs():
        return pg.tag_inames(knl, tags)


def read_of(knl: Kernel, insn_id: str, name: str) -> Access:
    """Return the one access that reads a variable."""
    (found,) = (a for a in touched(knl, insn_id)[name] if not a.is_write)
    return found


def write_of(knl: Kernel, insn_id: str, name: str) -> Access:
    """Return the one access that writes a variable."""
    (found,) = (a for a in touched(knl, insn_id)[name] if a.is_write)
    return found


def listed(
    flat: isl.Set, names: Sequence[str], values: range = SMALL, **sizes: int
) -> set[tuple[int, ...]]:
    """Return the points of a flat set over these names, as far as they are within the values.

    Parameters:
        flat: the set.
        names: of all its dimensions but sizes.
        values: a range with no gaps.
        sizes: what they are.
    """
    for name, size in sizes.items():
        position = flat.find_dim_by_name(isl.dim_type.param, name)
        if position >= 0:
            flat = flat.fix_val(isl.dim_type.param, position, isl.Val(size))
            flat = flat.project_out(isl.dim_type.param, position, 1)
    whole = unflatten(flat, names)
    assert whole.dim(isl.dim_type.param) == 0, f"{flat} is not over {names}"
    for axis in range(len(names)):
        whole = whole.lower_bound_val(isl.dim_type.set, axis, isl.Val(values.start))
        whole = whole.upper_bound_val(isl.dim_type.set, axis, isl.Val(values.stop - 1))
    found: list[isl.Point] = []
    whole.foreach_point(found.append)
    return {
        tuple(
            point.get_coordinate_val(isl.dim_type.set, axis).to_python()
            for axis in range(len(names))
        )
        for point in found
    }


def expression(text: str) -> Expression:
    """Return an expression from a text."""
    return parse_statement(f"x = {text}").values[0]
