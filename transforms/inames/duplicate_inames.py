"""`polygen.duplicate_inames`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polygen.analysis.access.domains import surrounding_inames
from polygen.analysis.access.instance_map import instruction_at
from polygen.analysis.dataflow.permitted_executions import why_none_is_permitted
from polygen.errors import InameNeeded, InameNotUsed, InvalidArgument, NotDistributable
from polygen.ir import expression as ex
from polygen.ir.domain import with_duplicates
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.verify import excerpt
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import (
    Inames,
    Names,
    Within,
    is_new_name,
    to_names,
    transformation,
)
from polygen.transforms.inames.tag_arguments import Given, Tags, with_tags


@transformation(says_more=True)
def duplicate_inames(
    kernel: Kernel,
    inames: Inames,
    within: Within,
    new_inames: Names | None = None,
    suffix: str | None = None,
    tags: Tags | None = None,
) -> Rearranged:
    """Give some instructions loops of their own: loop distribution.

    The new inames have the values of the old ones, and their priorities.  Reductions over them in
    these instructions get the new ones, too; other instructions keep the old ones.

    Kind: order and storage.

    Requires:
        1. Each of the inames is one that some of the instructions are within, or reduce over.
        2. The new names are not used yet, and there is one for each iname.
        3. An instruction whose bounds need one of the inames is within it still: duplicate inames
           together with those whose bounds mention them.
        4. The new loops can come before or after the old ones: no dependency leads from an old
           loop through the new ones back into it.

    Parameters:
        inames: ``"i"``, ``"i, j"``, or a sequence.
        within: the instructions: an id, a pattern such as ``"load_*"``, or several of these;
            ``"id:load_*"`` is the same.
        new_inames: the new names, in the order of `inames`; names like ``i_0`` if not given.
        suffix: put behind the old names to make the new ones.
        tags: of the new inames, by the old ones' names; untagged if not given.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i]: 0<=i<n }", ["b[i] = 2*a[i]", "c[i] = b[i] + 1  {id=add}"], name="apart"
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(knl, "c"))
        void apart(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i) {
                b[i] = 2.0f * a[i];
                c[i] = b[i] + 1.0f;
            }
        }
        >>> print(pg.generate_code(pg.duplicate_inames(knl, "i", "id:add"), "c"))
        void apart(float const *restrict a, float *restrict b, float *restrict c, int const n)
        {
            for (int i = 0; i < n; ++i)
                b[i] = 2.0f * a[i];
            for (int i_0 = 0; i_0 < n; ++i_0)
                c[i_0] = b[i_0] + 1.0f;
        }

    Raises:
        UnknownIname, UnknownInstruction: if the kernel has no such iname or instruction.
        InameNotUsed: if 1 does not hold.
        NameTaken, ReservedName, InvalidArgument: if 2 does not hold, or if another argument is of
            the wrong kind.
        InameNeeded: if 3 does not hold.
        NotDistributable: if 4 does not hold.

    Source: Loo.py's transformation of this name.
    """
    olds = to_names(inames)
    insns = matching(kernel, within)
    _check_used(kernel, olds, insns)
    renamed = dict(zip(olds, _new_names(kernel, olds, new_inames, suffix), strict=True))
    domains = tuple([new for d in kernel.domains for new in with_duplicates(d, renamed)])
    known = [i for d in domains for i in d.inames]
    values = {insn.id: _values(insn, renamed) for insn in insns}
    new = kernel.copy(
        domains=domains,
        instructions=tuple(
            [instruction_at(i, values.get(i.id, {}), known) for i in kernel.instructions]
        ),
        priorities=tuple(
            dict.fromkeys(q for p in kernel.priorities for q in (p, _renamed(p, renamed)))
        ),
    )
    _check_bounds(new)
    new = with_tags(new, _tags(renamed, tags or {}))
    _check_order(new, olds)
    return Rearranged(new, by_instruction=values)


def _renamed(names: Sequence[str], renamed: Mapping[str, str]) -> tuple[str, ...]:
    return tuple([renamed.get(n, n) for n in names])


def _values(insn: Instruction, renamed: Mapping[str, str]) -> dict[str, ex.Expression]:
    around = insn.within_inames | insn.reduction_inames
    return {old: ex.Variable(new) for old, new in renamed.items() if old in around}


def _tags(renamed: Mapping[str, str], given: Mapping[str, Given]) -> list[tuple[str, Given]]:
    other = sorted(given.keys() - renamed.keys())
    if other:
        raise _wrong(
            f"'{other[0]}' has a tag, and is not duplicated", "tags= has the old inames' names"
        )
    return [(renamed[i], tag) for i, tag in given.items()]


# --- names


def _check_used(kernel: Kernel, inames: Sequence[str], insns: Sequence[Instruction]) -> None:
    for iname in inames:
        if not any(iname in i.within_inames | i.reduction_inames for i in insns):
            raise InameNotUsed(
                f"none of these instructions is within '{iname}', or reduces over it",
                where=caller_location(),
                excerpt=excerpt(kernel, *(i.id for i in insns)),
                remedy="name the instructions that are to have a loop of their own",
            )


def _new_names(
    kernel: Kernel, inames: Sequence[str], given: str | Sequence[str] | None, suffix: str | None
) -> tuple[str, ...]:
    if given is not None and suffix is not None:
        raise _wrong("both new_inames and suffix are given", "give one of them")
    if given is None:
        names = tuple([i + suffix if suffix else kernel.new_name(i) for i in inames])
    else:
        names = to_names(given)
    if len(names) != len(inames):
        raise _wrong(f"there are {len(inames)} inames and {len(names)} new ones", "name as many")
    for listed in (inames, names):
        if len(set(listed)) < len(listed):
            raise _wrong(f"{', '.join(listed)} names an iname twice", "name each once")
    for name in names:
        is_new_name(kernel, name)
    return names


def _wrong(what: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(f"duplicate_inames: {what}", where=caller_location(), remedy=remedy)


# --- checks of the new kernel


def _check_bounds(kernel: Kernel) -> None:
    for insn in kernel.instructions:
        around = insn.within_inames | insn.reduction_inames
        for iname in sorted(around):
            missing = surrounding_inames(kernel, iname) - around
            if missing:
                raise InameNeeded(
                    f"instruction '{insn.id}' would be within '{iname}', but not within "
                    f"'{min(missing)}', which the bounds of '{iname}' need",
                    where=caller_location(),
                    excerpt=excerpt(kernel, insn.id),
                    remedy=f"duplicate '{iname}' as well, and give what computes its bounds the "
                    "new loops, too",
                )


def _check_order(kernel: Kernel, inames: Sequence[str]) -> None:
    why = why_none_is_permitted(kernel)
    if why is not None:
        raise NotDistributable(
            f"the loops of {', '.join(inames)} cannot be distributed so: {why.what}",
            where=caller_location(),
            excerpt=why.excerpt,
            remedy="duplicate the inames of the loops inside, too; or give all instructions from "
            "the first of them on, or up to the last, the new loops",
        )
