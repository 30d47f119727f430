"""A work item finds in its copy of a temporary what the kernel says is there.

Which copy of a private or local temporary an instance touches is the distance of its iname from
the first value that this ever has (`polygen.analysis.access.storage_copies`).  Where several
inames are on one axis, the program has to count their distances from the same values, or from
others that are as far apart.
"""

from __future__ import annotations

from itertools import combinations

from polygen.analysis.access.domains import all_reads
from polygen.analysis.access.storage_copies import FIRST, first_of, has_copies
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import WrongStorage
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.tags import GroupTag, HardwareTag, LocalTag, is_on_axis
from polygen.lower.program import HardwareAxis
from polygen.validation.faults import fault, shown
from polygen.validation.view import View
from polygen.validation.works import Work, Works


def check_copies(view: View, works: Works) -> None:
    """Check which work items find what others of their group have written.

    Raises:
        WrongStorage: if an item finds another copy of a temporary than the kernel says.
    """
    tags = [tag for tag in view.kernel.tags.values() if is_on_axis(tag)]
    if len(set(tags)) == len(tags):
        return
    for temporary in view.kernel.temporaries:
        users = [work for work in works.all if work.copies and _touches(view, work, temporary.name)]
        for tag, inames in _inames(view, users, temporary.name).items():
            for first, second in combinations(inames, 2):
                _check(view, tag, temporary.name, (first, inames[first]), (second, inames[second]))


def _touches(view: View, work: Work, name: str) -> bool:
    return name in work.insn.written_names or name in all_reads(view.kernel, work.insn)


def _inames(view: View, users: list[Work], name: str) -> dict[HardwareTag, dict[str, Work]]:
    """Return, for each axis, the inames that tell copies of a variable apart, each with a user."""
    found: dict[HardwareTag, dict[str, Work]] = {}
    for work in users:
        for iname in sorted(work.insn.within_inames):
            tag = view.kernel.tags.get(iname)
            if isinstance(tag, GroupTag | LocalTag) and has_copies(view.kernel, name, iname):
                found.setdefault(tag, {}).setdefault(iname, work)
    return found


def _check(
    view: View, tag: HardwareTag, name: str, first: tuple[str, Work], second: tuple[str, Work]
) -> None:
    """Check that two inames on an axis are as far from their first values as the kernel says."""
    firsts = [first_of(view.kernel, iname) for iname, _ in (first, second)]
    here, there = (_first(view, tag, *each) for each in (first, second))
    left = ex.sum_of(ex.Variable(FIRST + first[0]), there)
    right = ex.sum_of(ex.Variable(FIRST + second[0]), here)
    apart = condition_set(ex.Comparison(left, "!=", right))
    if firsts[0] is None or firsts[1] is None or apart is None:
        raise _fault(view, name, (first, second), "nothing shows that")
    wrong = apart.intersect(firsts[0]).intersect(firsts[1]).intersect(view.known)
    if not wrong.is_empty():
        sizes = shown(witness(wrong), view.kernel.parameters)
        why = f"for {sizes}, it is not so that" if sizes else "it is not so that"
        raise _fault(view, name, (first, second), why)


def _first(view: View, tag: HardwareTag, iname: str, work: Work) -> Expression:
    """Return the value of an iname at the first index along its axis, in the program."""
    frame = work.copies[0].statement.frame.axes[tag]
    assert frame.name is not None
    if isinstance(frame.node, HardwareAxis):
        return dict(frame.node.inames)[iname]
    alias = view.terms(work.copies[0].statement.frame).alias(iname)
    if alias is None:
        return frame.first
    return ex.sum_of(alias, ex.negated(ex.Variable(frame.name)), frame.first)


def _fault(
    view: View, name: str, users: tuple[tuple[str, Work], tuple[str, Work]], why: str
) -> WrongStorage:
    (first, one), (second, other) = users
    return fault(
        WrongStorage,
        view.kernel,
        f"{why} a work item touches the same copy of '{name}' through '{first}' and through "
        f"'{second}' as in the kernel",
        one.origin,
        other.origin,
    )
