"""Orders that a step keeps, as far as it shows without isl.

It saves 20 to 57 % of a step in benchmarks/proofs.py.

Two instances x and y, of two instructions that the step keeps, come in the order in which they
differ in the old loops, the outermost first.  Each old iname is said in terms of the new ones.  If
the value of the outermost old loop has the new loops outside as its digits (``16*i_outer +
i_inner``, with fewer than 16 values of `i_inner`), it is smaller for x than for y only if x comes
first in these loops, and equal only if they are.  Then the next old loop decides, whose value has
the next new loops as its digits, besides inames in which x and y are known to agree.  So x comes
before y in the new loops if it did in the old ones.  And if no new loop is left, two that agree in
all old loops agree in all new ones, where a dependency orders them.

What x and y agree in, subscripts show (only pairs that touch one element matter); and pairs
between whose iterations a temporary passes nothing do not matter (`Rearrangement.frame`).
"""

from __future__ import annotations

from collections.abc import Sequence

from polygen.analysis.access.accesses import touched
from polygen.analysis.access.storage_copies import axes
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.pairs.constant_distances import distances, open_terms, width_of
from polygen.analysis.pairs.instance_pairs import in_conflict
from polygen.analysis.rearrangement.rearranged_kernel import Rearrangement
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel


def is_plainly_kept(step: Rearrangement, insns: tuple[str, str], name: str) -> bool:
    """Tell whether all pairs that conflict over a variable come in the order in which they came.

    Each touches the same copy of it as before, too.  If that cannot be seen at once: False.

    Parameters:
        step: the kernels.
        insns: the instructions of the first and the second instance, of each pair.
        name: the variable that both touch.
    """
    agreed = [agreeing(kernel, *insns, name) for kernel in (step.old, step.new)]
    if agreed[0] is None or agreed[1] is None:
        return True  # no two touch one element
    old, new = agreed[0], agreed[1]
    if has_same_copies(step, insns, name) and _counts_up(step, insns, old, new):
        return True
    frame = step.frame(name)
    if not frame:
        return False
    new |= frame
    return _share_copies(step, insns, name, old, new) and _counts_up(step, insns, old, new)


@per_kernel
def agreeing(kernel: Kernel, first: str, second: str, name: str) -> frozenset[str] | None:
    """Return inames in which all instances of two instructions agree that conflict.

    None if their subscripts show that there are none.
    """
    found: frozenset[str] | None = None
    for a in touched(kernel, first).get(name, ()):
        for b in touched(kernel, second).get(name, ()):
            gaps = distances(kernel, a, b) if in_conflict(kernel, a, b) else None
            if gaps is not None:
                same = frozenset(iname for iname, gap in gaps.items() if gap == 0)
                found = same if found is None else found & same
    return found


def _counts_up(
    step: Rearrangement, insns: tuple[str, str], agree: frozenset[str], agree_now: frozenset[str]
) -> bool:
    """Tell whether pairs that agree in some old and some new inames come as they came."""
    old, new = order_of(step.old), order_of(step.new)
    if old.related(*insns) is not None:
        return False
    same, loops = agree_now, [i for i in new.shared_loops(*insns) if i not in agree_now]
    for iname in old.shared_loops(*insns):
        if iname in agree:
            continue
        value = step.form(insns, iname)
        if value is None:
            return False
        digits = open_terms(step.new, value, same)
        these, loops = loops[: len(digits)], loops[len(digits) :]
        if {*digits} != {*these} or not _are_digits(step.new, value, these):
            return False
        same = same.union(these)
    return not old.depends(*insns) or (not loops and new.depends(*insns))


def _are_digits(kernel: Kernel, value: LinearForm, loops: Sequence[str]) -> bool:
    """Tell whether a value grows with loops that count up, the first one the outermost."""
    below = 0  # by how much what is inside makes the value differ at most
    for loop in reversed(loops):
        if value.terms.get(loop, 0) <= below:
            return False
        if loop != loops[0]:
            width = width_of(kernel, loop)
            if width is None:
                return False
            below += value.terms[loop] * width
    return True


# --- copies


def has_same_copies(step: Rearrangement, insns: tuple[str, str], name: str) -> bool:
    """Tell whether each instance touches the copies that it touched, whichever it is."""
    for insn in insns:
        found = axes(step.new, insn, name)
        if axes(step.old, insn, name) != found or step.map.moves(insn, frozenset(found.values())):
            return False
    return True


def _share_copies(
    step: Rearrangement,
    insns: tuple[str, str],
    name: str,
    agree: frozenset[str],
    agree_now: frozenset[str],
) -> bool:
    """Tell whether pairs that agree in some inames touch one copy, before and now."""
    (first, second), (now, other) = (
        [axes(kernel, insn, name) for insn in insns] for kernel in (step.old, step.new)
    )
    if first != second or now != other or not agree_now.issuperset(now.values()):
        return False
    for iname in frozenset(first.values()) - agree:
        value = step.form(insns, iname)
        if value is None or open_terms(step.new, value, agree_now):
            return False
    return True
