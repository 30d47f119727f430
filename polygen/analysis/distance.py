"""How far apart two instances are that touch one element, where the subscripts show it at once.

Cheap: plain arithmetic on subscripts such as ``i + 1``, no isl.
"""

from __future__ import annotations

from collections.abc import Mapping

from polygen.analysis.access import Access
from polygen.analysis.affine import LinearForm, linear_form
from polygen.analysis.integers import integer_parameters
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel, per_kernel


def distances(kernel: Kernel, a: Access, b: Access) -> Mapping[str, int] | None:
    """Return by how much inames of the second instance exceed those of the first.

    Only of inames that every pair of instances which touch one element differs in by the same
    number.  None if no two instances touch one element.

    Parameters:
        kernel: the kernel.
        a: an access of the first instance.
        b: one of the second instance, to the same variable.
    """
    found: dict[str, int] = {}
    for left, right in zip(subscripts(kernel, a), subscripts(kernel, b), strict=False):
        if left is None or right is None or left.terms != right.terms:
            continue
        inames = [t for t in left.terms if t not in kernel.variables]
        gap = left.constant - right.constant
        if not inames:
            if gap:
                return None
            continue
        if len(inames) > 1 or not isinstance(inames[0], str):
            continue
        distance, rest = divmod(gap, left.terms[inames[0]])
        if rest or found.setdefault(inames[0], distance) != distance:
            return None
    return found


def subscripts(kernel: Kernel, access: Access) -> tuple[LinearForm | None, ...]:
    """Return the subscripts of an access in their normal form; None for those that are data."""
    if access.reference is None:
        return ()
    return _forms(kernel, access.reference.index, access.inames)


@per_kernel
def _forms(
    kernel: Kernel, index: tuple[Expression, ...], inames: frozenset[str]
) -> tuple[LinearForm | None, ...]:
    known = inames | integer_parameters(kernel)
    return tuple([linear_form(subscript, known) for subscript in index])
