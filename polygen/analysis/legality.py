"""Whether a kernel still computes the same after its loops were rearranged.

The new kernel has the old one's instructions, at other points: each new instance computes one
old instance, and the *instance map* says which.  Then the two compute the same if

1. the map is a bijection from the new instances onto the old ones,
2. each instruction computes at a new point what the old one computed at the point it maps to,
3. every two instances that touch one element, one of them writing, come in the order in which
   they came before.

A temporary is spared the third if, in both kernels, every instance that reads it finds what one
instruction wrote in the same iteration of the loops that both are in.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import reduce

import islpy as isl

from polygen.analysis.isl_affine import condition_set
from polygen.analysis.order import Piece, order_of
from polygen.analysis.pairs import (
    OTHER,
    address_space,
    conflicts,
    equal,
    greater,
    less,
    piece_set,
    touched,
    users,
    witness,
)
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.domain import flat_names, project_out
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel, per_kernel
from polygen.ir.tags import is_parallel

InstanceMap = Mapping[str, Expression]


@dataclass(frozen=True)
class Violation:
    """Two instances of the new kernel that no longer come in the order they need.

    Attributes:
        first: the id of the instruction whose instance has to come first.
        second: the other one's.
        name: the variable of which they touch one element.
        kind: ``"flow"`` (written, then read), ``"anti"`` (read, then written) or ``"output"``.
        certain: whether both touch it for certain; otherwise data decides.
        reversed: whether the second comes first now; otherwise the two are unordered.
        point: values of the parameters, of the first's inames, and (with a suffix) of the
            second's.
    """

    first: str
    second: str
    name: str
    kind: str
    certain: bool
    reversed: bool
    point: Mapping[str, int]


def violation(old: Kernel, new: Kernel, values: InstanceMap) -> Violation | None:
    """Return a broken dependence of the new kernel, or None if every one is kept.

    Parameters:
        old: the kernel before.
        new: the kernel after, with the same instructions.
        values: what each iname of the old kernel is, in terms of the new one's.  An iname that
            is not mentioned is the same in both.
    """
    for name in new.writers:
        if _is_scratch(old, name) and _is_scratch(new, name):
            continue
        concerned = [insn.id for insn in users(new, name)]
        for first in concerned:
            for second in concerned:
                found = _broken(old, new, values, (first, second), name)
                if found is not None:
                    return found
    return None


def _broken(
    old: Kernel, new: Kernel, values: InstanceMap, insns: tuple[str, str], name: str
) -> Violation | None:
    first, second = insns
    before = list(order_of(old).before(first, second))
    if not before:
        return None
    assumptions = new.assumptions.flat
    for a, b, pairs in conflicts(new, first, second, name):
        for piece in before:
            needed = _in_old_order(pairs.intersect(assumptions), piece, values)
            if needed.is_empty():
                continue
            for wrong, is_reversed in _not_before(new, first, second):
                bad = reduce(isl.Set.intersect, wrong, needed)
                if not bad.is_empty():
                    kind = "output" if a.is_write and b.is_write else "anti"
                    kind = "flow" if a.is_write and not b.is_write else kind
                    certain = a.exact and b.exact
                    return Violation(first, second, name, kind, certain, is_reversed, witness(bad))
    return None


def _in_old_order(pairs: isl.Set, piece: Piece, values: InstanceMap) -> isl.Set:
    """Return the pairs of new instances whose old instances are in a piece of the old order."""
    if not any(i in values for i in (*piece.equal, piece.less)):
        return piece_set(pairs, piece)
    compared = [(i, "==") for i in piece.equal]
    if piece.less is not None:
        compared.append((piece.less, "<"))
    for iname, operator in compared:
        value = values.get(iname, ex.Variable(iname))
        names = walk.free_variables(value)
        other = walk.substitute(value, {n: ex.Variable(n + OTHER) for n in names})
        condition = condition_set(ex.Comparison(value, operator, other))
        if condition is None:
            raise InternalError(f"the old value of '{iname}' is not affine: {value!r}")
        pairs = pairs.intersect(condition)
    return pairs


def _not_before(kernel: Kernel, first: str, second: str) -> Iterator[tuple[list[isl.Set], bool]]:
    """Yield the pairs of which the first instance does not come first.

    Each as sets to intersect, and whether the second comes first instead.
    """
    order = order_of(kernel)
    shared = order.shared_loops(first, second)
    for depth, loop in enumerate(shared):
        yield [*(equal(i) for i in shared[:depth]), greater(loop)], True
    if order.depends(first, second):
        return
    same = [equal(i) for i in shared]
    if first != second:
        yield same, order.depends(second, first)
        return
    for iname in sorted(kernel.instruction(first).within_inames):
        if is_parallel(kernel.tags.get(iname)):
            yield [*same, less(iname)], False
            yield [*same, greater(iname)], False


@per_kernel
def _is_scratch(kernel: Kernel, name: str) -> bool:
    """Tell whether each read finds what the only writer wrote in the same iteration."""
    if address_space(kernel, name) is not AddressSpace.PRIVATE:
        return False
    (writer, *others) = kernel.writers[name]
    if others:
        return False
    order = order_of(kernel)
    (written,) = (a for a in touched(kernel, writer.id)[name] if a.is_write)
    if not written.exact:
        return False
    for reader in users(kernel, name):
        if reader.id == writer.id:
            if any(not a.is_write for a in touched(kernel, reader.id)[name]):
                return False
            continue
        loops = order.shared_loops(writer.id, reader.id)
        if set(order.loops(writer.id)) - set(loops) or not order.depends(writer.id, reader.id):
            return False
        for access in touched(kernel, reader.id)[name]:
            if not _covered(kernel, written.relation, access.relation, loops):
                return False
    return True


def _covered(kernel: Kernel, written: isl.Set, read: isl.Set, loops: tuple[str, ...]) -> bool:
    """Tell whether what is read was written with the same values of `loops` and work item."""
    kept = {*loops, *(i for i, tag in kernel.tags.items() if is_parallel(tag))}
    own = [n for n in flat_names(written) if n in kernel.home_domains and n not in kept]
    available = project_out(written, own)
    extra = [n for n in flat_names(read) if n in kernel.home_domains and n not in kept]
    return bool(project_out(read, extra).is_subset(available))
