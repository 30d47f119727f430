"""`polygen.simplify_indices`."""

from __future__ import annotations

from collections.abc import Callable

import islpy as isl

from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term, combine, linear_form
from polygen.analysis.integers.isl_affine import is_negative_somewhere
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.transformation import transformation

_MOST = 2  # how far the one value of a floor is from that of its even part, at most


@transformation
def simplify_indices(kernel: Kernel) -> Kernel:
    """Write affine subscripts in a normal form, without the ``//`` and ``%`` that bounds settle.

    In ``a[(4*i + j)//4]``, with ``0 <= j < 4``, the subscript is ``i``.  Subscripts that are data,
    or products of sizes, stay; so do those in substitution rules: `expand_subst` first.

    Kind: expression rewrite.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<4 }",
        ...     "out[(4*i+j)//4, (4*i+j)%4] = a[2*(i+1) - i]",
        ...     [pg.GlobalArg("out", shape="n, 4"), "..."],
        ... )
        >>> print(str(knl).splitlines()[-2])
        [i, j] out[(4*i + j)//4, (4*i + j) % 4] = a[2*(i + 1) - i]  {id=insn}
        >>> print(str(pg.simplify_indices(knl)).splitlines()[-2])
        [i, j] out[i, j] = a[i + 2]  {id=insn}

    Source: Loo.py's transformation of this name.
    """
    domains: dict[frozenset[str], isl.Set] = {}

    def values(inames: frozenset[str]) -> isl.Set:
        if inames not in domains:
            known = kernel.assumptions.flat
            domains[inames] = domain_of(kernel, inames).intersect(known)
        return domains[inames]

    def simpler(insn: Instruction) -> Instruction:
        around = insn.within_inames
        return insn.map_expressions(lambda node: _rewritten(node, around, values))

    return kernel.copy(instructions=tuple(map(simpler, kernel.instructions)))


_Values = Callable[[frozenset[str]], isl.Set]


def _rewritten(node: Expression, around: frozenset[str], values: _Values) -> Expression:
    """Return an expression with its subscripts simplified, in the loops of some inames."""
    inside = around.union(node.inames) if isinstance(node, ex.Reduction) else around
    new = walk.rebuild(node, tuple([_rewritten(p, inside, values) for p in walk.parts(node)]))
    if not isinstance(new, ex.Subscript):
        return new
    index = tuple([_simple(i, around, values) for i in ex.index_tuple(new)])
    if index == ex.index_tuple(new):
        return new
    return ex.Subscript(new.aggregate, index[0] if len(index) == 1 else index)


def _simple(index: Expression, around: frozenset[str], values: _Values) -> Expression:
    form = linear_form(index)
    if form is None or isinstance(index, int):
        return index
    return _settled(form, lambda: values(around)).expression()


def _settled(form: LinearForm, values: Callable[[], isl.Set]) -> LinearForm:
    """Return a form without the floors that are the same number for all these values."""
    rest = [LinearForm(form.constant)]
    for term, factor in form.terms.items():
        if isinstance(term, FloorTerm):
            numerator = _settled(term.numerator, values)
            rest.append(_floor(numerator, term.divisor, values) * factor)
        else:
            rest.append(LinearForm.of_name(term) * factor)
    return combine([(part, 1) for part in rest])


def _floor(numerator: LinearForm, divisor: int, values: Callable[[], isl.Set]) -> LinearForm:
    whole = numerator // divisor
    # What divides evenly is outside now; what is left may be in one period alone.
    inside = numerator - _without_floors(whole) * divisor
    for quotient in range(-_MOST, _MOST + 1):
        low = inside - quotient * divisor
        high = (-low) + (divisor - 1)
        points = values()
        if not is_negative_somewhere(points, low) and not is_negative_somewhere(points, high):
            return _without_floors(whole) + quotient
    return whole


def _without_floors(form: LinearForm) -> LinearForm:
    names: dict[Term, int] = {t: factor for t, factor in form.terms.items() if isinstance(t, str)}
    return LinearForm(form.constant, names)
