"""Cheap consistency checks of a kernel's parts, run after every step."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial

from polygen.errors import (
    MalformedKernel,
    NameTaken,
    NoAtomicUpdate,
    NotAsynchronous,
    TagConflict,
    UnknownInstruction,
    UnknownName,
    did_you_mean,
    mark_lines,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import (
    AddressSpace,
    ConstantArg,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
    ValueArg,
)
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Assignment, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.kernel_changes import KernelChanges, kernel_changes
from polygen.ir.names import check_argument_name, check_name
from polygen.ir.recomputed import DOUBT
from polygen.ir.show import show_instruction
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import AutoLocalTag, InameTag, LocalTag, VectorTag, is_on_axis
from polygen.ir.unknown_calls import given_to_unknown
from polygen.ir.verify_asynchronous import why_not_asynchronous
from polygen.ir.verify_atomic import why_no_update
from polygen.ir.verify_claims import check_claims
from polygen.ir.verify_domains import check_domain_parameters, check_separations
from polygen.ir.verify_ends import check_open_ends
from polygen.ir.verify_extents import check_derived_sizes, check_extents
from polygen.ir.verify_layouts import check_layouts
from polygen.ir.verify_relations import check_relation
from polygen.ir.verify_rules import check_rules


def excerpt(kernel: Kernel, *insn_ids: str) -> str:
    """Return the instructions of `kernel` as text, those with these ids marked."""
    lines = {i.id: show_instruction(i, kernel.inames) for i in kernel.instructions}
    return mark_lines("\n".join(lines.values()), [lines[i] for i in insn_ids if i in lines])


def verify(kernel: Kernel, before: Kernel | None = None) -> None:
    """Check that names resolve, and that tags and subscripts fit.

    Parameters:
        kernel: the kernel.
        before: the kernel that a step made it of: what was found to fit there is not looked at
            again, as far as the step left it as it was.

    Raises:
        UserError: the subclass that says what does not fit.
    """
    changes = None if before is None else _changes(before, kernel)
    if changes is None:
        _verify_all(kernel)
    else:
        _verify_changes(kernel, changes)
        if DOUBT.share:
            DOUBT.check((verify, kernel.name), None, partial(_verify_all, kernel))
    kernel.notes.verified = True


def _verify_all(kernel: Kernel) -> None:
    _check_unique(kernel)
    for argument in kernel.arguments:
        check_argument_name(argument.name)
    check_rules(kernel)
    later = given_to_unknown(kernel)
    for call in kernel.without_rules.calls:
        _check_names(kernel, call)
        _check_subscripts(kernel, call, later)
    shown = kernel.expanded if kernel.calls else kernel
    expanded = kernel.expanded
    _check_instructions(shown, expanded.instructions, later)
    check_domain_parameters(shown)
    check_extents(kernel)
    check_derived_sizes(kernel)
    check_open_ends(shown)
    check_layouts(kernel)
    check_claims(kernel)
    check_separations(kernel)


def _check_instructions(
    shown: Kernel, instructions: Iterable[Instruction], later: frozenset[str] = NO_NAMES
) -> None:
    needed = _needed(shown)
    parallel = {i: tag for i, tag in shown.tags.items() if is_on_axis(tag) or _is_vector(tag)}
    for insn in instructions:
        _check_names(shown, insn)
        if needed:
            _check_surrounding(shown, insn, needed)
        _check_subscripts(shown, insn, later)
        if parallel:
            _check_tags(shown, insn, parallel)
        _check_atomic(shown, insn)
        if isinstance(insn, Assignment) and insn.asynchronous:
            _check_asynchronous(shown, insn)
        _check_verbatim(shown, insn)


def _changes(before: Kernel, kernel: Kernel) -> KernelChanges | None:
    """Return the changes by a step, if what they leave as it was fits as it did; else None.

    What they leave in a kernel with rules, calls, loops without ends, or work items that share
    iterations may depend on more than its own loops and variables.
    """
    if not before.notes.verified or before.name != kernel.name:
        return None
    changes = kernel_changes(before, kernel)
    if changes is None or kernel.calls or kernel.substitutions or kernel.derived_sizes:
        return None
    if kernel.has_invocations or _AUTO in {*map(type, kernel.tags.values())}:
        return None
    if kernel.claims or not kernel.has_plain_instructions:
        return None
    scalars = {t.name for t in kernel.temporaries if not t.shape}
    if scalars and any(not scalars.isdisjoint(d.parameters) for d in kernel.domains):
        return None
    return changes


_AUTO: type[InameTag] = AutoLocalTag


def _verify_changes(kernel: Kernel, changes: KernelChanges) -> None:
    """Check what a step changed, and what is in loops that it changed."""
    if changes.other_domains:
        _check_unique(kernel)
    others = {after.id for _, after in changes.instructions}
    inames = changes.inames
    touched = [kernel.instructions[n] for n in kernel.in_loops(inames, others)]
    homes = {id(d): d for i in inames if (d := kernel.home_domains.get(i)) is not None}
    if changes.gone:
        gone = changes.gone
        homes |= {id(d): d for d in kernel.domains if not gone.isdisjoint(d.parameters)}
    around = {i for insn in touched for i in (*insn.within_inames, *insn.reduction_inames)}
    known = kernel.home_domains
    near = {id(d): d for i in around if (d := known.get(i)) is not None}
    shown = kernel.copy(
        domains=tuple({**homes, **near}.values()),
        tags={i: tag for i in around if (tag := kernel.tags.get(i)) is not None},
    )
    for name in _WHOLE:
        shown.__dict__[name] = getattr(kernel, name)
    _check_instructions(shown, touched)
    check_domain_parameters(shown)
    check_layouts(kernel)
    check_separations(kernel)


# What is known of the whole kernel where a part of its domains is looked at.
_WHOLE = ("home_domains", "inames")


def _check_unique(kernel: Kernel) -> None:
    spaces: tuple[tuple[str, list[str]], ...] = (
        ("instruction", [i.id for i in kernel.instructions]),
        (
            "name",
            [
                *kernel.inames,
                *[v.name for v in (*kernel.arguments, *kernel.temporaries, *kernel.derived_sizes)],
                *[rule.name for rule in kernel.substitutions],
            ],
        ),
    )
    for what, names in spaces:
        if len(set(names)) < len(names):
            twice = sorted(name for name, count in Counter(names).items() if count > 1)
            raise NameTaken(
                f"kernel '{kernel.name}' has more than one {what} '{twice[0]}'",
                where=kernel.location,
                remedy="inames, arguments, temporaries and rules share one space of names; "
                "instructions have one of their own",
            )


def _check_names(kernel: Kernel, insn: Instruction) -> None:
    for dep in insn.depends_on:
        if dep not in kernel.instructions_by_id:
            raise UnknownInstruction(
                f"instruction '{insn.id}' depends on '{dep}', which does not exist",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy=did_you_mean(dep, kernel.instructions_by_id),
            )
    for relation in sorted(insn.happens_after, key=str) if insn.happens_after else ():
        check_relation(kernel, insn, relation, excerpt(kernel, insn.id))
    for other, _ in insn.no_sync_with:
        if other not in kernel.instructions_by_id:
            raise UnknownInstruction(
                f"instruction '{insn.id}' need not wait for '{other}', which does not exist",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy=did_you_mean(other, kernel.instructions_by_id),
            )
    if both := sorted(insn.groups & insn.conflicts_with_groups):
        raise MalformedKernel(
            f"instruction '{insn.id}' is part of the group '{both[0]}', and conflicts with it",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy="leave out one of groups= and conflicts=",
        )
    check_mentioned(kernel, insn)
    inames = insn.within_inames | insn.reduction_inames
    for iname in sorted(inames.difference(kernel.home_domains)):
        kernel.check_iname(iname)
    if both := sorted(insn.within_inames & insn.reduction_inames):
        raise MalformedKernel(
            f"instruction '{insn.id}' reduces over '{both[0]}', which it is also within",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=meant_instead(insn, both[0])
            + "use another iname for the reduction, or leave it out of inames=",
        )


def meant_instead(insn: Instruction, iname: str) -> str:
    """Return a remedy if a reduction over an iname seems to be meant over another; else ''.

    That one is in what is reduced, the instruction is within it, and no result depends on it:
    ``b[i] = sum(i, a[i, j])``.
    """
    written = NO_NAMES.union(*map(walk.free_variables, insn.assignees))
    for reduction in insn.reductions:
        inside = walk.free_variables(reduction.operand) & insn.within_inames
        meant = sorted(inside.difference(written, reduction.inames))
        if iname in reduction.inames and meant:
            over = tuple([meant[0] if name == iname else name for name in reduction.inames])
            other = show_expression(replace(reduction, inames=over))
            return f"to reduce over '{meant[0]}', write {other}; "
    return ""


def check_mentioned(kernel: Kernel, insn: Instruction) -> None:
    """Check that what an instruction mentions is a variable, or an iname of its loops.

    Raises:
        UnknownName: if it mentions something else.
    """
    known = kernel.variables
    mentioned = insn.read_names.union(insn.written_names)
    for name in sorted(mentioned.difference(known, insn.within_inames)):
        remedy = did_you_mean(name, {*known, *insn.within_inames})
        if name in kernel.home_domains:
            remedy = f"let it be in the loop of '{name}', too: {{+inames={name}}}"
        raise UnknownName(
            f"instruction '{insn.id}' mentions '{name}', which is no argument, temporary or "
            "iname of its loops",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=remedy,
        )


def _check_surrounding(
    kernel: Kernel, insn: Instruction, around: Mapping[str, frozenset[str]]
) -> None:
    """Check that an instruction is in the loops that the bounds of its loops need.

    Parameters:
        kernel: the kernel.
        insn: the instruction.
        around: the loops that others need outside, one step far.
    """
    for iname in sorted(around.keys() & (insn.within_inames | insn.reduction_inames)):
        needed = around[iname] - insn.within_inames
        if iname in insn.reduction_inames:
            needed -= insn.reduction_inames
        if needed:
            raise MalformedKernel(
                f"instruction '{insn.id}' is not within '{min(needed)}', which the domain of "
                f"'{iname}' needs",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy=f"let it be within '{min(needed)}', too",
            )


def _needed(kernel: Kernel) -> dict[str, frozenset[str]]:
    """Return the inames whose loops need others outside, with these, one step far."""
    needed: dict[str, frozenset[str]] = {}
    for domain in kernel.domains:
        found: set[str] = set()
        for name in domain.parameters:
            if name in kernel.home_domains:
                found.add(name)
            elif isinstance(kernel.variables.get(name), TemporaryVariable):
                found = found.union(*(w.within_inames for w in kernel.writers.get(name, ())))
        if found:
            needed |= dict.fromkeys(domain.inames, frozenset(found))
    return needed


def _check_subscripts(kernel: Kernel, insn: Instruction, later: frozenset[str]) -> None:
    """Check the numbers of subscripts, but of arrays whose shapes are found `later`."""
    for name, given in _given_subscripts(insn):
        variable = kernel.variables.get(name)
        if isinstance(variable, GlobalArg):
            expected = None if variable.shape is None else len(variable.shape)
        elif isinstance(variable, TemporaryVariable):
            is_open = not variable.shape and name in later
            expected = None if is_open else len(variable.shape)
        else:
            expected = 0
        if expected is not None and given != expected:
            raise MalformedKernel(
                f"instruction '{insn.id}' uses '{name}' with {given} subscripts; it has {expected}",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy=f"write one for each axis, here {expected}"
                if expected
                else f"write '{name}' alone, or declare it with a shape",
            )
    for name in insn.written_names:
        _check_written(kernel, insn, name)


def _given_subscripts(insn: Instruction) -> tuple[tuple[str, int], ...]:
    """Return the variables that an instruction mentions, with the number of their subscripts."""
    known: tuple[tuple[str, int], ...] | None = insn.__dict__.get(_GIVEN)
    if known is None:
        counted = [
            (ex.name_of(a), len(ex.index_tuple(a)) if isinstance(a, ex.Subscript) else 0)
            for a in insn.accesses
        ]
        known = insn.__dict__[_GIVEN] = tuple(dict.fromkeys(counted))
    return known


_GIVEN = "numbers of subscripts"


def _check_written(kernel: Kernel, insn: Instruction, name: str) -> None:
    variable = kernel.variables.get(name)
    what, remedy = "", None
    if isinstance(variable, ValueArg):
        what = "a scalar argument"
        remedy = "scalar arguments are read-only: write a temporary or an array"
    elif isinstance(variable, ConstantArg):
        what = "an argument in constant memory"
        remedy = f"declare '{name}' a GlobalArg"
    elif isinstance(variable, ImageArg):
        what = "an image"
        remedy = f"images are only read: declare '{name}' a GlobalArg"
    elif isinstance(variable, TemporaryVariable) and variable.read_only:
        what = "a table of constants"
        remedy = "it is read-only: write another temporary, or an array"
    if what:
        raise MalformedKernel(
            f"instruction '{insn.id}' writes '{name}', {what}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=remedy,
        )


def _check_verbatim(kernel: Kernel, insn: Instruction) -> None:
    """Check the names that verbatim C is given, and what it says that it reads."""
    if not isinstance(insn, CInstruction):
        return
    what, remedy = "", None
    known = {*insn.within_inames, *kernel.parameters}
    for name, value in insn.iname_exprs:
        check_name(name)
        if name in kernel.variables:
            what, remedy = f"'{name}', which is a variable", "give it another name in the text"
        elif others := sorted(walk.free_variables(value) - known):
            what = f"'{name}' as something that depends on '{others[0]}'"
            remedy = "use inames of its loops and scalar arguments"
        elif walk.reductions(value):
            what, remedy = f"'{name}' as a reduction", "reduce in an instruction before"
    for name in sorted(insn.read_variables.difference(kernel.variables)):
        what, remedy = f"'{name}', which is no variable", did_you_mean(name, kernel.variables)
    if what:
        raise MalformedKernel(
            f"verbatim C in instruction '{insn.id}' is given {what}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=remedy,
        )


def _check_atomic(kernel: Kernel, insn: Instruction) -> None:
    why = why_no_update(insn)
    if why is not None:
        raise NoAtomicUpdate(
            f"instruction '{insn.id}' {why[0]}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy=why[1],
        )


def _check_asynchronous(kernel: Kernel, insn: Assignment) -> None:
    why = why_not_asynchronous(kernel, insn)
    if why is not None:
        raise NotAsynchronous(
            f"instruction '{insn.id}' is asynchronous, but {why}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy="leave the option out; it is for copies of elements of arrays in global memory "
            "to temporaries in local memory (temporary_address_space='local')",
        )


def _is_vector(tag: InameTag) -> bool:
    return isinstance(tag, VectorTag)


def _check_tags(kernel: Kernel, insn: Instruction, parallel: Mapping[str, InameTag]) -> None:
    """Check that no two inames of an instruction are on one axis; some are on axes at all."""
    inames = sorted(parallel.keys() & (insn.within_inames | insn.reduction_inames))
    for iname in inames:
        if isinstance(parallel[iname], AutoLocalTag):
            _check_shared(kernel, insn, iname)
    found = _clash(inames, parallel)
    if found is not None:
        tag = parallel[found[0]]
        raise TagConflict(
            f"instruction '{insn.id}' is within '{found[0]}' and '{found[1]}', both tagged {tag}",
            where=insn.location,
            excerpt=excerpt(kernel, insn.id),
            remedy="give one of them another "
            + ("tag: ilp" if isinstance(tag, VectorTag) else "axis"),
        )


def _clash(inames: Iterable[str], parallel: Mapping[str, InameTag]) -> tuple[str, str] | None:
    """Return two inames that are on one axis; None if there are none."""
    taken: dict[InameTag, str] = {}
    for iname in inames:
        tag = parallel[iname]
        if tag in taken and not isinstance(tag, AutoLocalTag):
            return taken[tag], iname
        taken[tag] = iname
    return None


def clash(kernel: Kernel, tags: Mapping[str, InameTag]) -> tuple[str, str] | None:
    """Return two inames of one instruction that tags would put on one axis; None if none are.

    Parameters:
        kernel: the kernel.
        tags: those of its inames, in place of what it has.
    """
    parallel = {i: tag for i, tag in tags.items() if is_on_axis(tag) or _is_vector(tag)}
    for insn in kernel.expanded.instructions:
        inames = sorted(parallel.keys() & (insn.within_inames | insn.reduction_inames))
        if (found := _clash(inames, parallel)) is not None:
            return found
    return None


def _check_shared(kernel: Kernel, insn: Instruction, iname: str) -> None:
    """Check that it does not matter which work item executes what: `iname` is tagged l.auto."""
    mentioned = {p for i in insn.within_inames for p in kernel.home_domains[i].parameters}
    for name in (*insn.written_names, *sorted(insn.read_names | mentioned)):
        variable = kernel.variables.get(name)
        if not isinstance(variable, TemporaryVariable):
            continue
        if variable.address_space is AddressSpace.PRIVATE and (
            name in insn.written_names
            or any(_has_items(kernel, w) for w in kernel.writers.get(name, ()))
        ):
            raise TagConflict(
                f"instruction '{insn.id}' is within '{iname}', tagged l.auto, and uses '{name}', "
                "which each work item has for itself",
                where=insn.location,
                excerpt=excerpt(kernel, insn.id),
                remedy=f"declare '{name}' local, or say which axis '{iname}' is on",
            )


def _has_items(kernel: Kernel, insn: Instruction) -> bool:
    tags = (kernel.tags.get(i) for i in insn.within_inames)
    return any(isinstance(tag, LocalTag | AutoLocalTag) for tag in tags)
