"""Distances between two instances that touch one element, where the subscripts show them.

They save 70 to 75 % of a step of 20 instructions in benchmarks/proofs.py.

Cheap: plain arithmetic on subscripts such as ``i + 1``; on ones such as ``16*i_outer + i_inner``,
too, whose inames are the digits of a number.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Set
from itertools import product
from math import inf

from polygen.analysis.access.accesses import Access, touched
from polygen.analysis.integers.affine_forms import LinearForm, Term, linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import by_parts, per_kernel


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
            if gap == 0 and are_digits(kernel, left, inames):
                for iname in inames:
                    if found.setdefault(str(iname), 0):
                        return None
            continue
        distance, rest = divmod(gap, left.terms[inames[0]])
        if rest or found.setdefault(inames[0], distance) != distance:
            return None
    return found


def are_digits(kernel: Kernel, form: LinearForm, inames: Sequence[Term]) -> bool:
    """Tell whether each value of a form comes from one choice of inames, whatever else it is."""
    below: float = 0  # by how much smaller digits together differ at most
    for coefficient, iname in sorted((abs(form.terms[i]), str(i)) for i in inames):
        if coefficient <= below or iname not in kernel.home_domains:
            return False
        width = width_of(kernel, iname)
        below = coefficient * width + below if width is not None else inf
    return True


def open_terms(kernel: Kernel, form: LinearForm, known: Set[str]) -> list[Term]:
    """Return the terms of a form that mention inames, other than some whose values are known."""

    def names(term: Term) -> Set[str]:
        return {term} if isinstance(term, str) else term.numerator.names()

    unknown = kernel.home_domains.keys() - known
    return [term for term in form.terms if not unknown.isdisjoint(names(term))]


def width_of(kernel: Kernel, iname: str) -> int | None:
    """Return by how much two values of an iname differ at most, or None if that is not bounded."""
    ends = _ends(kernel, iname)
    return None if ends is None else ends[1] - ends[0]


def ends_of(kernel: Kernel, names: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Return the least and the largest value of each name that is an iname bounded by numbers."""
    found = {n: _ends(kernel, n) for n in names if n in kernel.home_domains}
    return {name: ends for name, ends in found.items() if ends is not None}


def extremes(form: LinearForm, ends: Mapping[str, tuple[int, int]]) -> tuple[int, int] | None:
    """Return numbers between which a form certainly is: by the ends of each name by itself.

    None if it mentions anything else.
    """
    low = high = form.constant
    for term, factor in form.terms.items():
        if not isinstance(term, str) or term not in ends:
            return None
        low += factor * ends[term][factor < 0]
        high += factor * ends[term][factor > 0]
    return low, high


def _ends(kernel: Kernel, iname: str) -> tuple[int, int] | None:
    """Return the least and the largest value of an iname, or None if it is not bounded."""
    home = kernel.home_domains[iname]

    def find() -> tuple[int, int] | None:
        position = home.inames.index(iname)
        ends = home.set.dim_min_val(position), home.set.dim_max_val(position)
        if not all(end.is_int() for end in ends):
            return None
        return int(ends[0].to_python()), int(ends[1].to_python())

    return by_parts(kernel, (_ends, home, iname), find)


def only_itself(kernel: Kernel, insn_id: str, name: str, before: Kernel | None = None) -> bool:
    """Tell whether it is plain that no two instances of an instruction touch one element.

    Subscripts show it.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        name: a variable; elements of other variables that may overlap it are not looked at.
        before: a kernel of which the instruction has the same instances, at other coordinates, and
            touches the same elements in each: what is true in one is true in both.
    """
    key = only_itself, insn_id, name
    if key not in kernel.memo:
        kernel.memo[key] = (before is not None and only_itself(before, insn_id, name)) or (
            _touches_apart(kernel, insn_id, name)
        )
    return bool(kernel.memo[key])


def _touches_apart(kernel: Kernel, insn_id: str, name: str) -> bool:
    accesses = touched(kernel, insn_id).get(name, ())
    inames = kernel.instruction(insn_id).within_inames
    for a, b in product(accesses, accesses):
        if a.is_write or b.is_write:
            known = distances(kernel, a, b)
            if known is not None and any(known.get(i, 1) for i in inames):
                return False
    return True


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
