"""Lets loops of products count rows and columns, where they count from a loop around on.

    for i: for p < n - i:  c[i+p,i] = sum(k, a[k,i]*a[k,i+p])
->
    for i: for i <= p < n: c[p,i] = sum(k, a[k,i]*a[k,p])

Views of arrays (``a[:, i:]``) are written so.  Afterwards each factor depends on one loop.
"""

from __future__ import annotations

from collections.abc import Iterator

from polygen.analysis.access.accesses import references
from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.transforms.instructions.simplify_indices import simplify_indices
from polygen.transforms.loops.skew import skew


def with_skewed_factors(kernel: Kernel, insn_id: str) -> Kernel:
    """Return the kernel with loops of an instruction that count what subscripts do.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.  Loops that others are in, too, stay.
    """
    given, insn = kernel, kernel.expanded.instruction(insn_id)
    own = insn.within_inames | insn.reduction_inames
    others = [i for i in kernel.expanded.instructions if i.id != insn_id]
    for inner in [iname for iname in kernel.inames if iname in own]:
        if any(inner in i.within_inames | i.reduction_inames for i in others):
            continue
        outer = sorted(surrounding_inames(kernel, inner) & own)
        outer += [i for i in kernel.home_domains[inner].inames if i != inner and i in own]
        for iname in outer:
            factor = _factor(kernel, insn_id, iname, inner)
            if factor:
                try:
                    kernel = skew(kernel, iname, inner, factor)
                except UserError:
                    continue
                break
    return kernel if kernel is given else simplify_indices(kernel)


def _factor(kernel: Kernel, insn_id: str, outer: str, inner: str) -> int:
    """Return how much of one loop subscripts add to each value of another; 0 if they do not."""
    found = {_ratio(form, outer, inner) for form in _forms(kernel, insn_id, inner)}
    return found.pop() if len(found) == 1 else 0


def _ratio(form: LinearForm | None, outer: str, inner: str) -> int:
    if form is None:
        return 0
    by, each = form.terms.get(inner, 0), form.terms.get(outer, 0)
    return each // by if by and each % by == 0 else 0


def _forms(kernel: Kernel, insn_id: str, inner: str) -> Iterator[LinearForm | None]:
    """Yield the subscripts that mention a loop; None for one that is not affine."""
    names = {*kernel.inames, *kernel.parameters}
    for reference in references(kernel.expanded.instruction(insn_id)):
        for index in reference.index:
            form = linear_form(index, names)
            if form is None or inner in form.names():
                yield form
