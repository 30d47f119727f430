"""A loop over more values, in which its instructions are executed for those that it had."""

from __future__ import annotations

from typing import Annotated, Any

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.errors import DomainsDiffer
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.language.priorities import with_priority
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, Kind, transformation
from polygen.transforms.inames.loop_position import loops_below, path_to

Values = Annotated[Any, Kind("a flat set", lambda _, v: isinstance(v, isl.Set))]


def values_of(kernel: Kernel, iname: str) -> isl.Set:
    """Return the values of an iname for those of the loops around it, as a flat set."""
    outer = outer_of_domain(kernel, iname)
    around = with_surrounding(kernel, [iname, *outer])
    return domain_of(kernel, around).coalesce()


def outer_of_domain(kernel: Kernel, iname: str) -> tuple[str, ...]:
    """Return the loops around that of an iname which are in its domain."""
    home = kernel.home_domains[iname].inames
    return tuple([i for i in path_to(kernel, iname)[:-1] if i in home])


@transformation
def widen(kernel: Kernel, iname: Iname, values: Values) -> Rearranged:
    """Let a loop run over more values: what is in it gets an iname that has one for the old ones.

    Raises:
        DomainsDiffer: if an instruction is within inames of its domain, and not within it.
    """
    home, old = kernel.home_domains[iname], values_of(kernel, iname)
    outer = [i for i in home.inames if i in outer_of_domain(kernel, iname)]
    inner = [i for i in home.inames if i != iname and i not in outer]
    for insn in kernel.expanded.instructions:
        group = insn.within_inames | insn.reduction_inames
        if iname not in group and not group.isdisjoint(inner):
            raise DomainsDiffer(
                f"'{iname}' cannot have other values: instruction '{insn.id}' is within inames of "
                "its domain, but not within it",
                where=caller_location(),
                excerpt=home.text,
                remedy="give the inames of this instruction a domain of their own "
                "(duplicate_inames)",
            )
    once = kernel.new_name(f"{iname}_once")
    only = unflatten(old.intersect(isl.Set(f"[{once}] -> {{ : {once} = 0 }}")), [once])
    parts = [
        Domain(unflatten(project_out(home.flat, [iname, *inner]), outer)) if outer else None,
        Domain(unflatten(values, [iname]).drop_unused_params()),
        Domain(only.drop_unused_params()),
        Domain(unflatten(home.flat, inner)) if inner else None,
    ]
    news = [part for part in parts if part is not None]

    def inside(insn: Instruction) -> Instruction:
        if iname not in insn.within_inames:
            return insn
        return insn.copy(within_inames=insn.within_inames | {once})

    new = kernel.copy(
        domains=tuple([n for d in kernel.domains for n in (news if d is home else [d])]),
        instructions=tuple(map(inside, kernel.instructions)),
    )
    path = path_to(kernel, iname)
    if not path:  # a reduction alone has it
        return Rearranged(new)
    return Rearranged(with_priority(new, (*path, *_with_once(kernel, path, once))))


def _with_once(kernel: Kernel, path: tuple[str, ...], once: str) -> tuple[str, ...]:
    """Return the loops inside of the one at the end of a path, and a new one: innermost.

    There it bears that other loops are fused, too.  But what some instructions are not within has
    to be inside of it; and all loops are, if the path is empty: that to an axis of the hardware.
    """
    below = loops_below(kernel, path)
    around = [insn.within_inames for insn in kernel.expanded.instructions]
    users = [inames for inames in around if path and path[-1] in inames]
    if users and all(inames.issuperset(below) for inames in users):
        return (*below, once)
    return (once, *below)
