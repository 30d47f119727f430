"""Conditions at which code is separated."""

from __future__ import annotations

import islpy as isl

from polygen.analysis.domains import domain_of, with_surrounding
from polygen.analysis.isl_affine import condition_set, pw_aff_expression, set_condition
from polygen.analysis.separations import Separation, separation
from polygen.errors import NotSeparable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location
from polygen.transforms._nesting import path_to


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
    if others := sorted(names - inames - set(kernel.parameters)):
        why = f"it mentions '{others[0]}', which is no iname or scalar argument"
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


def inner_iterations(kernel: Kernel, iname: str, first: int, last: int) -> Expression:
    """Return the condition that holds in all iterations but the first and the last ones.

    Raises:
        NotSeparable: if the ends of the loop are not affine.
    """
    around = with_surrounding(kernel, [iname, *path_to(kernel, iname)[:-1]])
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    values = unflatten(points, [iname])
    step = values.get_stride_info(0).get_stride().to_python() or 1
    me = ex.Variable(iname)
    inside = isl.Set("{ : }")
    for count, end, operator in ((first, values.dim_min, ">="), (last, values.dim_max, "<=")):
        if count and not values.is_empty():
            inwards = count * step if operator == ">=" else -count * step
            bound = ex.sum_of(pw_aff_expression(end(0)), inwards)
            holds = condition_set(ex.Comparison(me, operator, bound))
            assert holds is not None  # it is made of what isl returned
            inside = inside.intersect(holds)
    plain = inside.remove_divs()
    if plain.n_basic_set() != 1 or not plain.is_equal(inside):
        raise NotSeparable(
            f"the first and the last iterations of '{iname}' cannot be separated: its loop does "
            "not begin and end at affine functions of what is around it",
            where=caller_location(),
            excerpt=kernel.home_domains[iname].text,
            remedy="index_set_split separates by a condition of your own",
        )
    return set_condition(plain)
