"""`polygen.rename_iname`."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import NotFusible
from polygen.ir import expression as ex
from polygen.ir.domain import Domain, flat_names, project_out, rename_dimension, unflatten
from polygen.ir.kernel import Kernel
from polygen.language.priorities import circle
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Iname, Within, is_new_name, transformation
from polygen.transforms.fusion._fusible_loops import check_two_loops, differ
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.splitting.split_iname import uses_alone


@transformation
def rename_iname(
    kernel: Kernel,
    old_iname: Iname,
    new_iname: str,
    existing_ok: bool = False,
    within: Within | None = None,
) -> Kernel | Rearranged:
    """Give an iname another name, everywhere; that of another iname fuses their loops.

    Kind: order and storage.

    Requires:
        1. The new name is not used yet; or, with `existing_ok`, it is that of an iname.

        If it is that of an iname:

        2. Both inames have the same values.
        3. Both are tagged alike.
        4. No instruction, and no reduction, is within both.
        5. One loop can hold the instructions of both: no dependency leads from one loop's
           instructions through others back into the other loop, some nest has one loop an iname,
           and the priorities of both agree.

    Parameters:
        old_iname: the iname; it is gone afterwards.
        new_iname: what it is called from now on.
        existing_ok: the new name may be that of an iname; then there is one loop for both.
        within: the instructions in which it is renamed, as a query (`polygen.language.within`); all
            if not given.  If others use the iname, too, these get a loop of their own first, as
            `duplicate_inames` does it, which must be legal by itself.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i,j<n }", ["b[i] = 2*a[i]", "c[j] = b[j] + 1"], name="chain"
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.rename_iname(knl, "j", "row"), "c"))
        void chain(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i)
                b[i] = 2.0f * a[i];
            for (int row = 0; row < n; ++row)
                c[row] = b[row] + 1.0f;
        }
        >>> print(pg.generate_code(pg.rename_iname(knl, "j", "i", existing_ok=True), "c"))
        void chain(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i) {
                b[i] = 2.0f * a[i];
                c[i] = b[i] + 1.0f;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NameTaken, ReservedName: if 1 does not hold.
        DomainsDiffer: if 2 does not hold: with a value that one has, and the other has not.
        TagConflict: if 3 does not hold.
        LoopsOfOneInstruction: if 4 does not hold.
        NotFusible: if 5 does not hold.
        InameNotUsed, InameNeeded, NotDistributable: if the instructions `within` cannot have a
            loop of their own.

    Source: Kennedy, McKinley, Maximizing loop parallelism and improving data locality via loop
    fusion and distribution, LCPC 1993.
    """
    if within is not None and not uses_alone(kernel, old_iname, within):
        return _of_some(kernel, (old_iname, new_iname), within, existing_ok=existing_ok)
    if existing_ok and new_iname in kernel.home_domains:
        return _fused(kernel, old_iname, new_iname)
    return with_new_name(kernel, old_iname, new_iname)


def with_new_name(kernel: Kernel, old: str, new: str) -> Rearranged:
    """Return the kernel with a name for an iname that nothing has yet.

    Raises:
        NameTaken, ReservedName: if it cannot be a new name.
    """
    is_new_name(kernel, new)
    domains = tuple([_renamed(d, old, new) for d in kernel.domains])
    return _with_domains(kernel, domains, [old], new)


def _of_some(
    kernel: Kernel, names: tuple[str, str], within: str | Sequence[str], *, existing_ok: bool
) -> Kernel:
    """Rename an iname in some instructions."""
    old, new = names
    tags = {old: kernel.tags[old]} if old in kernel.tags else None
    if not (existing_ok and new in kernel.home_domains):
        is_new_name(kernel, new)
        return duplicate_inames(kernel, old, within, new, tags=tags)
    own = kernel.new_name(old)
    apart = duplicate_inames(kernel, old, within, own, tags=tags)
    return rename_iname(apart, own, new, existing_ok=True)


def _with_domains(
    kernel: Kernel, domains: tuple[Domain, ...], olds: Sequence[str], new: str
) -> Rearranged:
    """Return the kernel with other domains, and the new iname wherever the old ones were."""
    values = {old: ex.Variable(new) for old in olds}
    known = [i for d in domains for i in d.inames]

    def renamed(inames: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(new if i in values else i for i in inames))

    result = kernel.copy(
        domains=domains,
        instructions=tuple([instruction_at(i, values, known) for i in kernel.instructions]),
        tags={new if i in values else i: tag for i, tag in kernel.tags.items()},
        priorities=tuple([renamed(p) for p in kernel.priorities]),
    )
    return Rearranged(result, values)


def _renamed(domain: Domain, old: str, new: str) -> Domain:
    if old not in domain.inames and old not in domain.parameters:
        return domain
    return Domain(rename_dimension(domain.set, old, new))


# --- fusion


def _fused(kernel: Kernel, old: str, new: str) -> Rearranged:
    return Rearranged(kernel) if old == new else in_one_loop(kernel, [old], new)


def in_one_loop(kernel: Kernel, olds: Sequence[str], new: str) -> Rearranged:
    """Return the kernel with one loop of several, all at once.

    Parameters:
        kernel: the kernel.
        olds: inames, each once, and not the new one.
        new: the iname that stays.

    Raises:
        DomainsDiffer, TagConflict, LoopsOfOneInstruction, NotFusible: if they cannot be one.
    """
    for place, old in enumerate(olds):
        for other in (new, *olds[:place]):
            if other == new or _are_together(kernel, old, other):
                check_two_loops(kernel, old, other)
    joined = kernel
    for old in olds:
        joined = joined.copy(domains=_joined_domains(joined, old, new))
    result = _with_domains(kernel, joined.domains, olds, new)
    _check_one_loop(result.kernel, olds, new)
    return result


def _are_together(kernel: Kernel, first: str, second: str) -> bool:
    return not {*kernel.numbers_of_loops.get(first, ())}.isdisjoint(
        kernel.numbers_of_loops.get(second, ())
    )


def _joined_domains(kernel: Kernel, old: str, new: str) -> tuple[Domain, ...]:
    """Return the domains with one iname instead of two."""
    first, second = kernel.home_domains[old], kernel.home_domains[new]
    if first == second:
        joined = _one_of_both(kernel, first, old, new)
    else:
        _check_values(kernel, _only(first, old, new), _only(second, new, new), (old, new))
        others = [i for i in first.inames if i != old]
        joined = second
        if others:
            flat = rename_dimension(first.flat, old, new).intersect(second.flat)
            joined = Domain(unflatten(flat, (*second.inames, *others)))
    # Where the iname stands that stays: the order of domains decides what nothing else does.
    return tuple(
        [
            joined if d == second else _renamed(d, old, new)
            for d in kernel.domains
            if d == second or d != first
        ]
    )


def _one_of_both(kernel: Kernel, domain: Domain, old: str, new: str) -> Domain:
    """Return a domain with two inames that have the same values beside all others without one."""
    kept = [i for i in domain.inames if i != old]
    without_old = project_out(domain.flat, [old])
    without_new = rename_dimension(project_out(domain.flat, [new]), old, new)
    _check_values(kernel, without_new, without_old, (old, new))
    return Domain(unflatten(without_old, kept))


def _only(domain: Domain, iname: str, name: str) -> isl.Set:
    """Return the values of an iname, under a name."""
    flat = project_out(domain.flat, [i for i in domain.inames if i != iname])
    return rename_dimension(flat, iname, name)


def _check_values(kernel: Kernel, olds: isl.Set, news: isl.Set, inames: tuple[str, str]) -> None:
    """Check that two sets of values, both of them under the second name, are the same."""
    old, new = inames
    context = kernel.assumptions.flat
    for has, more, less in ((old, olds, news), (new, news, olds)):
        left = more.intersect(context).subtract(less)
        if not left.is_empty():
            point = witness(left)
            value = point.pop(new)
            given = ", ".join(f"{n}={point[n]}" for n in flat_names(left) if n in point)
            lacks = new if has == old else old
            what = f"{has}={value} is there, {lacks}={value} is not"
            raise differ(kernel, old, new, f"for {given}, {what}" if given else what)


def _check_one_loop(kernel: Kernel, olds: Sequence[str], new: str) -> None:
    """Check that there is a loop tree for the new kernel."""
    named = ", ".join(map(repr, olds))
    found = circle(kernel.priorities)
    if found:
        raise NotFusible(
            f"{named} cannot be fused with '{new}': then priorities would put loops in a circle: "
            f"{', '.join(found)}",
            where=caller_location(),
            remedy="give priorities after fusing",
        )
    why = why_none_is_permitted(kernel)
    if why is not None:
        raise NotFusible(
            f"{named} cannot be fused with '{new}': then {why.what}",
            where=caller_location(),
            excerpt=why.excerpt,
            remedy="fuse the instructions in between, too; leave out a dependency that is not "
            "needed; or keep the loops apart",
        )
