"""Whether an iteration of an assignment to a slice reads what another iteration writes.

NumPy evaluates the right side before it assigns; a loop does not.  So ``a[1:] = a[:-1]`` needs a
copy, and ``a[1:] = 2*a[1:]`` does not; ``a[:] = a - a[0]`` needs one of ``a[0]`` alone.
"""

from __future__ import annotations

from functools import reduce

from polygen.analysis.integers.isl_affine import condition_set
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import intersection
from polygen.ir.expression import Expression
from polygen.python.affine import Affine
from polygen.python.size_facts import SizeFacts

Ranges = dict[str, tuple[Affine, Affine]]


def reads_of_other_elements(
    written: Expression, value: Expression, ranges: Ranges, facts: SizeFacts
) -> list[Expression]:
    """Return the reads in `value` of elements that another iteration may write.

    Parameters:
        written: the element that an iteration writes.
        value: what it assigns.
        ranges: the loops of the assignment: the least and the largest value.
        facts: what is known of other names.
    """
    array, index = ex.name_of(written), ex.index_of(written)
    reads = [
        node
        for node in walk.subexpressions(value)
        if isinstance(node, ex.Subscript) and ex.name_of(node) == array
    ]
    return [
        read
        for read in dict.fromkeys(reads)
        if ex.index_of(read) != index and not _are_apart(index, ex.index_of(read), ranges, facts)
    ]


def _are_apart(
    written: tuple[Expression, ...],
    read: tuple[Expression, ...],
    ranges: Ranges,
    facts: SizeFacts,
) -> bool:
    own = {name: name.replace("?", "w_") for name in ranges}
    other = {name: name.replace("?", "v_") for name in ranges}
    one = [walk.substitute(i, {n: ex.Variable(v) for n, v in own.items()}) for i in written]
    two = [walk.substitute(i, {n: ex.Variable(v) for n, v in other.items()}) for i in read]
    equalities = [ex.Comparison(a, "==", b) for a, b in zip(one, two, strict=True)]
    known: list[ex.Comparison] = []
    for name, (low, high) in ranges.items():
        for copy in (own[name], other[name]):
            known += _between(copy, low, high)
    asked = set[str]().union(*[walk.free_variables(i) for i in (*one, *two)])
    known += _known_ranges(asked, facts)
    known += [ex.Comparison(form.tree(), ">=", 0) for form in facts.guards]
    sets = [condition_set(condition) for condition in (*equalities, *known)]
    if any(found is None for found in sets[: len(equalities)]):
        return False
    together = reduce(intersection, [found for found in sets if found is not None])
    for name in ranges:
        for sign in ("<", ">"):
            apart = condition_set(
                ex.Comparison(ex.Variable(own[name]), sign, ex.Variable(other[name]))
            )
            assert apart is not None
            if not intersection(together, apart).is_empty():
                return False
    return True


def _known_ranges(names: set[str], facts: SizeFacts) -> list[ex.Comparison]:
    known: list[ex.Comparison] = []
    waiting, seen = list(names), set[str]()
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in facts.extents:
            known.append(ex.Comparison(ex.Variable(name), ">=", 0))
        if name in facts.ranges:
            low, high = facts.ranges[name]
            known += _between(name, low, high)
            for form in (low, high):
                waiting += form.symbols() if form is not None else ()
    return known


def _between(name: str, low: Affine | None, high: Affine | None) -> list[ex.Comparison]:
    found: list[ex.Comparison] = []
    if low is not None:
        found.append(ex.Comparison(low.tree(), "<=", ex.Variable(name)))
    if high is not None:
        found.append(ex.Comparison(ex.Variable(name), "<=", high.tree()))
    return found
