"""Chooses the innermost loop of a reduction, by how its operands lie in memory.

The loop that walks along most arrays is innermost.  For ``c[i,j] = sum(k, a[i,k]*b[k,j])``, that is
``j``: ``b`` is walked along and ``a[i,k]`` stays, where ``k`` would jump from row to row of ``b``.
An innermost loop over results reads and writes their accumulators each time, which counts as one
more array.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from math import prod

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.order.reduction_statements import places
from polygen.analysis.rearrangement.summation_order import may_reorder
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assigning, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag, GroupTag, InameTag
from polygen.transforms.loops.memory_order import likely_strides
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.tuning.blocked_sums import extent_of

_APART = 8  # what an access costs whose neighbours are not side by side; else 1
_FEW = 32
_START = 8  # iterations that the start of a loop takes as long as


@dataclass(frozen=True)
class SumOrder:
    """The order chosen for the loops of reductions that run over the same inames.

    Attributes:
        reduced: what they run over, outermost first.
        kept: the inames around, outermost first.
        near: the innermost loop: the last one of `reduced`, or one of `kept`.
        is_new: whether the loops were in another order.
    """

    reduced: tuple[str, ...]
    kept: tuple[str, ...]
    near: str
    is_new: bool

    @property
    def is_across(self) -> bool:
        """Whether the innermost loop is over results."""
        return self.near in self.kept


def orders_of(kernel: Kernel, insn: Instruction) -> list[SumOrder]:
    """Return the orders for the outermost reductions of an instruction.

    None for those that are better left as they are: scans, reductions that share some of their
    loops with others, and those that are shared by work items or lanes already.

    Parameters:
        kernel: the kernel, rules expanded.
        insn: one of its instructions.
    """
    found: dict[frozenset[str], list[ex.Reduction]] = {}
    for node in outermost(insn):
        found.setdefault(frozenset(node.inames), []).append(node)
    plain = {
        inames: nodes
        for inames, nodes in found.items()
        if all(inames.isdisjoint(other) for other in found if other is not inames)
        and all(_is_plain(kernel.tags.get(i)) for i in inames)
        and not any(is_scan(kernel, insn, node) for node in nodes)
        and not _is_short(kernel, inames)
    }
    return [_order(kernel, insn, inames, nodes) for inames, nodes in plain.items()]


def outermost(insn: Instruction) -> list[ex.Reduction]:
    """Return the reductions of an instruction that are in no other."""
    inside = {inner for node in insn.reductions for inner in walk.reductions(node.operand)}
    return [node for node in dict.fromkeys(insn.reductions) if node not in inside]


def _is_short(kernel: Kernel, inames: Iterable[str]) -> bool:
    """Tell whether a reduction has few values: compilers unroll it, and are left to do so."""
    extents = [extent_of(kernel, iname) for iname in inames]
    return None not in extents and prod(filter(None, extents)) <= _FEW


def is_scan(kernel: Kernel, insn: Instruction, node: ex.Reduction) -> bool:
    """Tell whether a reduction may go on from one iteration around it to the next.

    That takes time linear in what is read; the results by themselves would take quadratic time.
    """
    mentioned = walk.free_variables(node.operand)
    for iname in node.inames:
        home = kernel.home_domains[iname]
        around = insn.within_inames.intersection((*home.inames, *home.parameters))
        around |= insn.within_inames.intersection(surrounding_inames(kernel, iname))
        if around and around.isdisjoint(mentioned):
            return True
    return False


def _is_plain(tag: InameTag | None) -> bool:
    return tag is None or isinstance(tag, ForTag)


def _order(
    kernel: Kernel, insn: Instruction, inames: frozenset[str], nodes: list[ex.Reduction]
) -> SumOrder:
    nest = _nest(kernel, insn, inames)
    reduced = [iname for iname in nest if iname in inames]
    kept = [iname for iname in nest if iname not in inames]
    read = list(_read(kernel, insn, inames))
    ordered = reduced
    if all(may_reorder(kernel, node) for node in nodes):
        ordered = _by_strides(kernel, read, reduced)
    near = ordered[-1]
    least = min([_cost(kernel, read, i) for node in nodes for i in (near, *inner_inames(node))])
    for iname in _possible(kernel, kept):
        if not any(_stride(kernel, reference, iname) == 1 for reference in read):
            continue
        cost = _cost(kernel, read, iname, of_results=1)
        if cost < least:
            near, least = iname, cost
    if near in kept:
        outer = [iname for iname in ordered if iname in _outside(kernel, ordered)]
        ordered = [*outer, *(iname for iname in ordered if iname not in outer)]
    is_new = near in kept or ordered != reduced
    return SumOrder(tuple(ordered), tuple(kept), near, is_new)


def inner_inames(node: ex.Reduction) -> tuple[str, ...]:
    """Return the inames of reductions directly in a reduction, of its operation: blocks."""
    found: tuple[str, ...] = ()
    while isinstance(node.operand, ex.Reduction) and node.operand.operation == node.operation:
        node = node.operand
        found += node.inames
    return found


def _outside(kernel: Kernel, inames: Collection[str]) -> set[str]:
    """Return those of the inames that bounds of others need."""
    return {j for i in inames for j in surrounding_inames(kernel, i) if j != i}


def _nest(kernel: Kernel, insn: Instruction, inames: frozenset[str]) -> list[str]:
    """Return the loops around what is reduced, outermost first."""
    place = places(kernel).of[insn.id, insn.within_inames | inames]
    return [part for part in place if isinstance(part, str)]


def _read(kernel: Kernel, insn: Instruction, inames: frozenset[str]) -> Iterator[Reference]:
    """Yield the elements of arrays that are reduced over some inames, each once."""
    seen = set[tuple[object, ...]]()
    for reference in references(insn):
        what = reference.name, reference.index
        if inames <= reference.inames and reference.index and what not in seen:
            seen.add(what)
            if isinstance(kernel.variables.get(reference.name), GlobalArg | TemporaryVariable):
                yield reference


def _by_strides(kernel: Kernel, read: list[Reference], reduced: list[str]) -> list[str]:
    """Return the inames of a reduction, those that cost most as innermost loops first."""
    needed = _outside(kernel, reduced)
    if needed.intersection(reduced):  # bounds say the order
        return reduced
    jumps = {i: sum(_stride(kernel, reference, i) for reference in read) for i in reduced}
    costs = {i: _cost(kernel, read, i) for i in reduced}
    return sorted(reduced, key=lambda i: (-costs[i], -jumps[i]))


def _possible(kernel: Kernel, kept: Iterable[str]) -> list[str]:
    """Return the loops around that may become the innermost one, the innermost first."""
    tags = {iname: kernel.tags.get(iname) for iname in kept}
    if not all(_is_plain(tag) or isinstance(tag, GroupTag) for tag in tags.values()):
        return []
    return [iname for iname in reversed(list(tags)) if _is_plain(tags[iname])]


def _cost(kernel: Kernel, read: Iterable[Reference], near: str, of_results: int = 0) -> float:
    """Return what an iteration costs if a loop is the innermost one."""
    found = float(of_results)
    for reference in read:
        stride = _stride(kernel, reference, near)
        found += min(stride, 1) if stride <= 1 else _APART
    return max(found, 0.5) * (1 + _START / max(1, likely_extent(kernel, near)))


def _stride(kernel: Kernel, reference: Reference, iname: str) -> float:
    """Return how far apart neighbours are; 0 if the iname makes no difference."""
    mentioned = NO_NAMES.union(*map(walk.free_variables, reference.index))
    return likely_strides(kernel, reference, [iname])[iname] if iname in mentioned else 0


def reducing(kernel: Kernel, ids: Iterable[str]) -> list[str]:
    """Return those of the instructions that have reductions, in rules that they invoke as well."""
    plain = kernel.expanded.instructions_by_id
    return [
        name
        for name in ids
        if isinstance(kernel.instructions_by_id[name], Assigning)
        and name in plain
        and plain[name].reductions
    ]
