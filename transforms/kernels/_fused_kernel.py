"""The step behind `polygen.fuse_kernels`: from one kernel to that one and others in one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, cast

import islpy as isl

from polygen.analysis.access.domains import all_reads, domain_of
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.pairs.instance_pairs import witness
from polygen.analysis.values.sound_accesses import is_sound, note_sound
from polygen.errors import DomainsDiffer, InvalidArgument, NotFusible, TagConflict
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.domain import Domain, unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import ForTag
from polygen.language.kernel_assembly import check_made, finished
from polygen.language.priorities import circle
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Kind, transformation
from polygen.transforms.kernels._fused_names import (
    named_apart,
    shared_arguments,
    shared_fields,
    with_inames,
)


class Others(tuple[Kernel, ...]):
    """Kernels, which the history of a kernel shows by their names."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"({', '.join(f'kernel {kernel.name!r}' for kernel in self)})"


def _are_suffixes(_: Kernel, value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    given = cast("Sequence[object]", value)
    return all(isinstance(s, str) and f"a{s}".isidentifier() and s.isascii() for s in given)


def _is_flow(_: Kernel, value: Any) -> bool:
    if isinstance(value, str) or not isinstance(value, Sequence):
        return False
    return all(
        isinstance(entry, tuple | list)
        and [type(part) for part in cast("Sequence[object]", entry)] == [str, int, int]
        for entry in cast("Sequence[object]", value)
    )


Suffixes = Annotated[
    Sequence[str], Kind("a sequence of ends of names: ['_a', '_b']", _are_suffixes)
]
Flow = Annotated[
    Sequence[tuple[str, int, int]],
    Kind("a sequence of (name, from_kernel, to_kernel), kernels by their positions", _is_flow),
]


@transformation
def fuse_kernels(
    kernel: Kernel,
    others: Others,
    suffixes: Suffixes | None = None,
    data_flow: Flow | None = None,
) -> Rearranged:
    """Return a kernel that computes what this one and then the others do.

    Parameters:
        kernel: the first one.
        others: those that come after it.
        suffixes, data_flow: as `polygen.fuse_kernels` has them.
    """
    kernels = (kernel, *map(finished, others))
    if suffixes is not None and len(suffixes) != len(kernels):
        raise InvalidArgument(
            f"fuse_kernels was given {len(suffixes)} suffixes for {len(kernels)} kernels",
            where=caller_location(),
            remedy="give one for each kernel",
        )
    flow = tuple(data_flow or ())
    for entry in flow:
        _check_flow(kernels, *entry)
    order = _order(kernels, flow)
    parts = named_apart(kernels, suffixes)
    fused = _in_one_nest(parts, order)
    in_turn, values = _in_turn(parts, fused)
    if all(is_sound(part.expanded) for part in kernels):
        # So are all together, one after the other: they only touch arguments in common.
        note_sound(in_turn.expanded)
    else:
        check_made(in_turn)
    return Rearranged(fused, values, restated=in_turn)


def _check_flow(kernels: Sequence[Kernel], name: str, writer: int, reader: int) -> None:
    """Check that one kernel writes an argument that a later one reads."""
    why, known = "", range(len(kernels))
    if writer not in known or reader not in known:
        why = f"there are {len(kernels)} kernels, with positions from 0"
    elif writer == reader:
        why = "they are one"
    elif name not in kernels[writer].writers:
        why = f"kernel '{kernels[writer].name}' does not write '{name}'"
    elif not _reads(kernels[reader].without_rules, name):
        why = f"kernel '{kernels[reader].name}' does not read '{name}'"
    if why:
        raise InvalidArgument(
            f"fuse_kernels: '{name}' cannot flow from kernel {writer} to kernel {reader}: {why}",
            where=caller_location(),
            remedy="leave out data_flow: what depends on what is found by itself",
        )


def _order(kernels: Sequence[Kernel], flow: Sequence[tuple[str, int, int]]) -> list[int]:
    """Return in which order kernels run: as they are listed, unless one writes what another reads.

    Raises:
        InvalidArgument: if data would flow in a circle.
    """
    left, order = list(range(len(kernels))), list[int]()
    while left:
        waiting = {reader for _, writer, reader in flow if writer in left}
        ready = [position for position in left if position not in waiting]
        if not ready:
            names = " and ".join(f"'{kernels[position].name}'" for position in left)
            raise InvalidArgument(
                f"fuse_kernels: data would flow in a circle between {names}",
                where=caller_location(),
                remedy="each kernel runs once: all of it before, or after, all of another one",
            )
        order.append(ready[0])
        left.remove(ready[0])
    return order


def _reads(kernel: Kernel, name: str) -> bool:
    return any(name in all_reads(kernel, insn) for insn in kernel.instructions)


# --- the loops


def _in_one_nest(parts: list[Kernel], order: Sequence[int]) -> Kernel:
    """Return the fused kernel; reductions that cannot share a loop get inames of their own.

    `parts` become what the fused kernel consists of.
    """
    fused = _together(parts, order)
    why = _why_no_nest(fused)
    for some in (range(1, len(parts)), (0,)):
        if why is not None:
            for position in some:
                parts[position] = _with_own_reductions(fused, parts[position])
            fused = _together(parts, order)
            why = _why_no_nest(fused)
    if why is None:
        return fused
    raise NotFusible(
        f"kernels {' and '.join(repr(part.name) for part in parts)} cannot become one: {why[0]}",
        where=caller_location(),
        excerpt=why[1],
        remedy="let one of them have a loop of its own: give its iname another name before "
        "(rename_iname)",
    )


def _why_no_nest(kernel: Kernel) -> tuple[str, str | None] | None:
    """Return why no loop nest has one loop an iname, or None if one has."""
    found = circle(kernel.priorities)
    if found:
        return f"priorities would put loops in a circle: {', '.join(found)}", None
    why = why_none_is_permitted(kernel)
    return None if why is None else (why.what, why.excerpt)


def _with_own_reductions(fused: Kernel, part: Kernel) -> Kernel:
    """Return a kernel with other names of inames that nothing but reductions runs over."""
    around = NO_NAMES.union(*(i.within_inames for i in part.instructions))
    reduced = NO_NAMES.union(*(i.reduction_inames for i in part.without_rules.instructions))
    names: dict[str, str] = {}
    for iname in sorted(reduced - around):
        names[iname] = fused.new_name(iname, {*names.values(), *part.names})
    return with_inames(part, names)


def _together(parts: Sequence[Kernel], order: Sequence[int]) -> Kernel:
    """Return a kernel with the instructions of all, in loops that they share."""
    shared = shared_fields(parts)
    domains: list[Domain] = []
    for part in parts:
        before = part.copy(domains=tuple(domains), assumptions=shared["assumptions"])
        _check_shared(before, part, parts)
        for domain in part.domains:
            domains = _joined(domains, domain)
    after = _dependencies([parts[position] for position in order])
    return parts[0].copy(
        name="_and_".join(part.name for part in parts),
        domains=tuple(domains),
        instructions=tuple(
            [i.copy(depends_on=i.depends_on | after[i.id]) for p in parts for i in p.instructions]
        ),
        arguments=shared_arguments(parts),
        **shared,
    )


def _check_shared(before: Kernel, part: Kernel, parts: Sequence[Kernel]) -> None:
    """Check that inames mean the same in a kernel and in those before it."""
    common = [i for i in part.inames if i in before.home_domains]
    for iname in common:
        first = next(other for other in parts if iname in other.home_domains)
        tags = [kernel.tags.get(iname, ForTag()) for kernel in (first, part)]
        if tags[0] != tags[1]:
            raise TagConflict(
                f"'{iname}' is tagged {tags[0]} in kernel '{first.name}', and {tags[1]} in kernel "
                f"'{part.name}'",
                where=caller_location(),
                remedy="tag it alike in both; or let one have a loop of its own (rename_iname)",
            )
    for inames in (*([iname] for iname in common), common):
        _check_values(before, part, frozenset(inames))


def _check_values(before: Kernel, part: Kernel, inames: frozenset[str]) -> None:
    context = before.assumptions.flat
    olds, news = (domain_of(k, inames).intersect(context) for k in (before, part))
    for only, more, less in (("not in it", olds, news), ("in it alone", news, olds)):
        left = more.subtract(less)
        if not left.is_empty():
            point = ", ".join(f"{name}={value}" for name, value in witness(left).items())
            names = " and ".join(f"'{iname}'" for iname in sorted(inames))
            raise DomainsDiffer(
                f"kernel '{part.name}' has other values of {names} than the kernels before it: "
                f"{point} is {only}",
                where=caller_location(),
                excerpt="\n".join(str(d) for k in (before, part) for d in k.domains),
                remedy="say for which sizes they are the same (assume), or let it have a loop of "
                "its own: give the iname another name before (rename_iname); fuse_loops can make "
                "one loop of both later",
            )


def _joined(domains: list[Domain], new: Domain) -> list[Domain]:
    """Return domains with one more, of which some inames may be there with the same values."""
    homes = [d for d in domains if not set(d.inames).isdisjoint(new.inames)]
    added = [i for i in new.inames if not any(i in home.inames for home in homes)]
    if not homes:
        return [*domains, new]
    if not added:
        return domains
    flat: isl.Set = new.flat
    for home in homes:
        flat = flat.intersect(home.flat)
    joined = Domain(unflatten(flat, [*(i for home in homes for i in home.inames), *added]))
    return [joined if d is homes[0] else d for d in domains if d is homes[0] or d not in homes]


# --- the order


def _dependencies(parts: Sequence[Kernel]) -> dict[str, frozenset[str]]:
    """Return which instructions of earlier kernels each instruction has to come after.

    Those that touch an array which it touches, too, if one of the two writes it.
    """
    arrays = [a for part in parts for a in part.arguments if isinstance(a, GlobalArg)]
    aliases = {array.name for array in arrays if array.may_alias}
    users: dict[str, dict[bool, list[str]]] = {}
    found: dict[str, frozenset[str]] = {}
    for part in parts:
        plain = part.without_rules
        touched = {i.id: _touched(plain, i) for i in plain.instructions}
        for insn_id, names in touched.items():
            before: set[str] = set()
            for name, writes in names.items():
                others = [n for n in users if n == name or not aliases.isdisjoint((n, name))]
                for other in others:
                    before.update(users[other][True], users[other][False] if writes else ())
            found[insn_id] = frozenset(before)
        for insn_id, names in touched.items():
            for name, writes in names.items():
                users.setdefault(name, {True: [], False: []})[writes].append(insn_id)
    return found


def _touched(kernel: Kernel, insn: Instruction) -> dict[str, bool]:
    """Return the arrays of the caller's that an instruction touches, and whether it writes them."""
    arrays = {a.name for a in kernel.arguments if isinstance(a, GlobalArg)}
    written = arrays.intersection(insn.written_names)
    return {name: name in written for name in sorted(arrays & all_reads(kernel, insn) | written)}


def _in_turn(parts: Sequence[Kernel], fused: Kernel) -> tuple[Kernel, Mapping[str, Expression]]:
    """Return the kernel that executes all of each kernel before the next one.

    Its loops have names of their own: no two kernels share any, so that what depends on an
    instruction of an earlier kernel comes after all of its instances.

    Returns it, and what its inames are in the fused kernel.
    """
    values: dict[str, Expression] = {}
    plain: list[Kernel] = []
    seen: set[str] = set()
    for part in parts:
        names: dict[str, str] = {}
        for iname in part.inames:
            if iname in seen:
                names[iname] = fused.new_name(f"{iname}_of_{part.name}", {*values, *part.names})
                values[names[iname]] = ex.Variable(iname)
        seen.update(part.inames)
        plain.append(with_inames(part.without_rules, names))
    shared = shared_fields(plain)
    after = fused.instructions_by_id
    kernel = fused.copy(
        domains=tuple([domain for part in plain for domain in part.domains]),
        instructions=tuple(
            [i.copy(depends_on=after[i.id].depends_on) for p in plain for i in p.instructions]
        ),
        **shared,
    )
    return kernel, values
