"""`polygen.explain_order`: which of two instructions comes first, why, and what needs it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import reduce
from itertools import pairwise

import islpy as isl

from polygen.analysis.access.domains import all_reads, surrounding_inames
from polygen.analysis.dataflow.conflicting_instances import Related, memory_pairs
from polygen.analysis.dataflow.dependences import dependences
from polygen.analysis.expansion.call_origins import called_from
from polygen.analysis.expansion.inlining import parts_of_calls
from polygen.analysis.integers.instance_wording import shown_instance, shown_parameters
from polygen.analysis.integers.proving import limited
from polygen.analysis.integers.second_instance import OTHER
from polygen.analysis.order.instance_order import order_of
from polygen.analysis.order.loop_tree import loops_outside
from polygen.analysis.pairs.instance_pairs import equal, greater, less, witness
from polygen.errors import UnknownInstruction, in_users_words, unambiguous
from polygen.inspection.order.dependency_chains import Link, chain
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_on_axis, is_parallel
from polygen.ir.verify import excerpt


@public
def explain_order(kernel: Kernel, first: str, second: str) -> str:
    """Return which instances of two instructions come first, by what, and what needs this order.

    Parameters:
        kernel: the kernel.
        first, second: the ids of two instructions (``"load"`` or ``"id:load"``), in whatever
            order; or of one, twice.  Of a call of a kernel, instructions that it stands for are
            named: ``<id of the call>_<id>``.

    Returns:
        A text for people: the loops that both are in, what puts one outside of the other, the
        chain of dependencies that decides within an iteration, and the elements that both touch.

    Raises:
        UnknownInstruction: if there is no such instruction.
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i]: 1<=i<n }",
    ...     '''
    ...     a[i] = c[i]  {id=load}
    ...     b[i] = a[i-1]  {id=shift}
    ...     ''',
    ... )
    >>> print(pg.explain_order(knl, "load", "shift"))
    'load' and 'shift' are both in the loop i: an earlier iteration comes first.
    Within an iteration, 'load' comes before 'shift': load -> shift
      'shift' depends on 'load': it reads 'a', which nothing else writes
    This order is needed:
      flow   load[i] -> shift[i + 1]  through a, distance (1), carried by i
    """
    expanded = kernel.expanded
    first, second = (name.removeprefix("id:").strip() for name in (first, second))
    a, b = _instruction(kernel, first), _instruction(kernel, second)
    with limited(
        kernel,
        f"the order of '{first}' and '{second}' could not be explained",
        "print(lower_kernel(kernel)) shows the order that was taken",
    ):
        parts = (_loops, _reductions, _axes, _within, _related, _needed)
        lines = [line for part in parts for line in part(expanded, a, b)]
    text = "\n".join([*_origins(kernel, a, b), *lines])
    return in_users_words(text, unambiguous(kernel.names_in_errors))


def _instruction(kernel: Kernel, insn_id: str) -> Instruction:
    """Return an instruction; the only one that a call stands for is meant by the call's id."""
    parts = parts_of_calls(kernel).get(insn_id, (insn_id,))
    if len(parts) == 1:
        return kernel.expanded.instruction(parts[0])
    call = kernel.without_rules.instruction(insn_id)
    raise UnknownInstruction(
        f"'{insn_id}' is a call of a kernel, and stands for {len(parts)} instructions",
        where=call.location,
        excerpt=excerpt(kernel, insn_id),
        remedy=f"name one of them: {', '.join(map(repr, parts))}",
    )


def _origins(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    for insn_id in dict.fromkeys((a.id, b.id)):
        if found := called_from(kernel, insn_id):
            yield f"'{insn_id}' is {found}."


def _quoted(names: Sequence[str]) -> str:
    return " and ".join(f"'{n}'" for n in names)


# --- loops


def _loops(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    loops = order_of(kernel).shared_loops(a.id, b.id)
    who = f"'{a.id}' is" if a.id == b.id else f"'{a.id}' and '{b.id}' are both"
    if not loops:
        yield (
            f"{who} in no loop."
            if a.id == b.id
            else f"No loop is around both '{a.id}' and '{b.id}'."
        )
    elif len(loops) == 1:
        yield f"{who} in the loop {loops[0]}: an earlier iteration comes first."
    else:
        yield (
            f"{who} in the loops {', '.join(loops)}: an earlier iteration comes first; the "
            "outermost loop in which two instances differ decides."
        )
    for outer, inner in pairwise(loops):
        yield f"  {outer} is outside of {inner}: {_why_outside(kernel, outer, inner)}"


def _reductions(_kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    for one, other in ((a, b), (b, a)):
        inames = sorted(one.reduction_inames & other.within_inames)
        if inames:
            yield (
                f"'{one.id}' is a reduction over {', '.join(inames)}, and '{other.id}' is in that "
                "loop: what it reads there, it reads in the course of the loop."
            )


def _why_outside(kernel: Kernel, outer: str, inner: str) -> str:
    if outer in surrounding_inames(kernel, inner):
        return f"the bounds of {inner} are known there only"
    for insn in kernel.instructions:
        if outer in insn.within_inames and inner not in insn.within_inames:
            return f"'{insn.id}' is in {outer} and not in {inner}"
    if any(
        outer in p and inner in p and p.index(outer) < p.index(inner) for p in kernel.priorities
    ):
        return "a priority says so"
    if outer in loops_outside(kernel)[inner]:
        return "it follows from what is said of other loops"
    return "nothing but the order of the domains says so; prioritize_loops would decide it"


def _axes(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    common = a.within_inames & b.within_inames
    found = [i for i in kernel.inames if i in common and is_parallel(kernel.tags.get(i))]
    for iname in found:
        tag = kernel.tags[iname]
        what = f"is on the hardware's axis {tag}" if is_on_axis(tag) else f"is tagged {tag}: lanes"
        yield f"{iname} {what}, and orders nothing."


# --- dependencies


def _within(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    loops = order_of(kernel).shared_loops(a.id, b.id) or list(_reductions(kernel, a, b))
    same = "Within an iteration, " if loops else "As a whole, "
    if a.id == b.id:
        if any(is_parallel(kernel.tags.get(i)) for i in a.within_inames):
            yield f"{same}nothing orders the instances of '{a.id}'."
        return
    for first, second in ((a, b), (b, a)):
        links = chain(kernel, first.id, second.id)
        if links:
            yield f"{same}'{first.id}' comes before '{second.id}': {_path(first, links, second)}"
            yield from _links(kernel, first.id, links, second.id)
            return
    if order_of(kernel).related_either_way(a.id, b.id) is not None:
        yield f"{same}'{a.id}' and '{b.id}' are unordered, but for some instances:"
        return
    yield f"{same}'{a.id}' and '{b.id}' are unordered: no dependency leads from one to the other."


def _related(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    for first, second in dict.fromkeys(((a.id, b.id), (b.id, a.id))):
        inner = order_of(kernel).related(first, second) is not None
        for relation in sorted(kernel.instruction(second).happens_after, key=str):
            if relation.first == first:
                known = "" if inner else "; loops order these"
                yield f"  '{second}' depends on instances of '{first}': {relation}{known}"


def _path(first: Instruction, links: Sequence[Link], second: Instruction) -> str:
    """Return ``a -> b -> c``, with ``..`` between two that are in one loop."""
    text = at = first.id
    for link in links:
        text += f" -> {link.after}" if link.before == at else f" .. {link.before} -> {link.after}"
        at = link.after
    return text if at == second.id else f"{text} .. {second.id}"


def _links(kernel: Kernel, first: str, links: Sequence[Link], second: str) -> Iterator[str]:
    at = first
    for link in links:
        if link.before != at:
            yield f"  '{link.before}' is with '{at}' in the loop {link.loop_before}"
        yield f"  '{link.after}' depends on '{link.before}': {_reason(kernel, link)}"
        at = link.after
    if at != second:
        yield f"  '{second}' is with '{at}' in the loop {links[-1].loop_after}"


def _reason(kernel: Kernel, link: Link) -> str:
    after = kernel.instruction(link.after)
    names = sorted(
        name
        for name in all_reads(kernel, after)
        if {w.id for w in kernel.writers.get(name, ())} == {link.before}
    )
    return f"it reads {_quoted(names)}, which nothing else writes" if names else "it is declared"


# --- what needs the order


def _needed(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    ids = {a.id, b.id}
    found = [d for d in dependences(kernel, memory=True) if {d.source, d.sink} == ids]
    if found:
        yield "This order is needed:"
        yield from (f"  {d}" for d in found)
    loose = list(_unordered(kernel, a, b))
    yield from loose
    if not found and not loose:
        yield "No order is needed: nothing that one writes is touched by the other."


def _unordered(kernel: Kernel, a: Instruction, b: Instruction) -> Iterator[str]:
    """Yield what both touch, one of them writing, in no order: one pair for each variable."""
    names: set[str] = set()
    for related in memory_pairs(kernel):
        name = related.first.name
        if (related.first.insn_id, related.second.insn_id) != (a.id, b.id) or name in names:
            continue
        pairs = _without_order(kernel, related)
        if not pairs.is_empty():
            names.add(name)
            point = witness(pairs)
            given = shown_parameters(kernel, point)
            first, second = (
                shown_instance(kernel, insn_id, point, suffix)
                for insn_id, suffix in ((a.id, ""), (b.id, OTHER))
            )
            both = "both touch" if related.certain else "may both touch"
            yield (
                f"Nothing orders what should be in order: {given}{first} and {second} {both} an "
                f"element of '{name}'."
            )


def _without_order(kernel: Kernel, related: Related) -> isl.Set:
    """Return the pairs in one iteration of the loops, unless dependencies order these."""
    order = order_of(kernel)
    first, second = related.first.insn_id, related.second.insn_id
    loops = order.shared_loops(first, second)
    same = reduce(isl.Set.intersect, map(equal, loops), related.pairs)
    if first != second:
        if order.depends(first, second) or order.depends(second, first):
            return same.subtract(same)
        ordered = order.related_either_way(first, second)
        return same if ordered is None else same.subtract(ordered)
    inames = kernel.instruction(first).within_inames.difference(loops)
    others = [same.intersect(c(i)) for i in sorted(inames) for c in (less, greater)]
    return reduce(isl.Set.union, others, same.subtract(same))
