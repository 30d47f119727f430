"""Conditions at which code is separated."""

from __future__ import annotations

from functools import reduce
from typing import NoReturn

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import condition_set, pw_aff_expression, set_condition
from polygen.analysis.integers.loop_separations import Separation, separation
from polygen.errors import NotSeparable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.bounding import bounding
from polygen.ir.domain import unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location
from polygen.transforms.inames.loop_position import path_to

_SET = isl.dim_type.set


def separated(kernel: Kernel, condition: Expression) -> Kernel:
    """Return the kernel with one more separation; itself if it has that one.

    Raises:
        NotSeparable: if code cannot be separated by the condition.
    """
    _checked(kernel, condition)
    return kernel.copy(separations=tuple(dict.fromkeys((*kernel.separations, condition))))


def _checked(kernel: Kernel, condition: Expression) -> Separation:
    found = separation(condition)
    names = walk.free_variables(condition)
    inames = names.intersection(kernel.inames)
    why = None
    if others := sorted(names - inames - set(kernel.parameters) - bounding(kernel, inames)):
        why = f"it mentions '{others[0]}', which is no iname or scalar argument"
        why += ", and bounds none of these loops" if others[0] in kernel.variables else ""
    elif found is None:
        why = "it is no conjunction of comparisons of affine expressions"
    elif not inames:
        why = "it mentions no iname"
    elif not any(
        inames <= insn.within_inames | insn.reduction_inames
        for insn in kernel.expanded.instructions
    ):
        why = f"no instruction is within all of {', '.join(sorted(inames))}"
    if found is None or why is not None:
        raise NotSeparable(
            f"code cannot be separated by '{show_expression(condition)}': {why}",
            where=caller_location(),
            remedy="write comparisons such as 'i < m', joined by 'and', of loops that are nested",
        )
    return found


def with_ends_apart(kernel: Kernel, iname: str, first: int, last: int) -> Kernel:
    """Return the kernel with the first and the last iterations of a loop separated.

    It is the kernel itself if the loop has no iteration.

    Raises:
        NotSeparable: if the ends of the loop are not affine.
    """
    around = with_surrounding(kernel, [iname, *path_to(kernel, iname)[:-1]])
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    values = unflatten(points, [iname])
    if values.is_empty():
        return kernel
    step = values.get_stride_info(0).get_stride().to_python() or 1
    inwards = [n for n in (first * step, -last * step) if n]
    inside = [_inside(points, iname, by) for by in inwards]
    return separated(kernel, _where_all_hold(inside, points) or _no_ends(kernel, iname))


def _inside(points: isl.Set, iname: str, inwards: int) -> isl.Set:
    """Return where an iname is that far from the first, or the last, of its values, or farther.

    Parameters:
        points: the values, for those of the loops around, as a flat set.
        iname: the iname.
        inwards: how far from the first one; negative: from the last one.
    """
    found = _inside_of(unflatten(points, [iname]), iname, inwards)
    relaxed = unflatten(points.remove_divs(), [iname])
    if _convex(found) is not None or not relaxed.is_bounded():
        return found
    # In steps, the last value need not be that which the bound says.
    plain = _inside_of(relaxed, iname, inwards)
    return plain if plain.intersect(points).is_equal(found.intersect(points)) else found


def _inside_of(values: isl.Set, iname: str, inwards: int) -> isl.Set:
    end, operator = (values.dim_min, ">=") if inwards > 0 else (values.dim_max, "<=")
    bound = ex.sum_of(pw_aff_expression(end(0)), inwards)
    found = condition_set(ex.Comparison(ex.Variable(iname), operator, bound))
    assert found is not None  # it is made of what isl returned
    return found


def _where_all_hold(sets: list[isl.Set], points: isl.Set) -> Expression | None:
    """Return the condition that holds in all of the sets; None if it is not affine.

    Parameters:
        sets: where each part of it holds.
        points: where it is asked.
    """
    together = _convex(reduce(isl.Set.intersect, sets))
    if together is not None:
        return set_condition(together)
    found: list[Expression] = []
    for one in sets:
        part, here = _convex(one), one.intersect(points)
        if part is None and here.is_empty():
            continue  # this end is all of the loop
        part = part or _convex(here.gist(points))
        if part is None:
            return None
        found += walk.conjuncts(set_condition(part))
    if not found:
        return None
    return found[0] if len(found) == 1 else ex.LogicalAnd(tuple(found))


def _convex(points: isl.Set) -> isl.Set | None:
    """Return a set as one conjunction of affine inequalities; None if it is none."""
    points = points.coalesce()
    plain = points.remove_divs()
    return plain if plain.n_basic_set() == 1 and plain.is_equal(points) else None


def _no_ends(kernel: Kernel, iname: str) -> NoReturn:
    raise NotSeparable(
        f"the first and the last iterations of '{iname}' cannot be separated: its loop does "
        "not begin and end at affine functions of what is around it, or at the largest and "
        "the least of such",
        where=caller_location(),
        excerpt=kernel.home_domains[iname].text,
        remedy="index_set_split separates by a condition of your own",
    )
