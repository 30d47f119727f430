"""`polygen.privatize_atomics`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.moving_box import TileAxis, tile_axis
from polygen.analysis.typing.expression_types import type_of
from polygen.analysis.typing.inference import kinds
from polygen.analysis.typing.kinds import letter
from polygen.errors import InvalidArgument, NotPrivatizable, Reassociated, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.atomicity import EXACT
from polygen.ir.domain import project_out, unflatten, universe
from polygen.ir.dtype import DType, is_exact
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.reduction import update_identity
from polygen.ir.substitution import expand
from polygen.ir.tags import AutoLocalTag, GroupTag, LocalTag
from polygen.ir.verify import excerpt
from polygen.language.kernel_assembly import check_made
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, Tag, Within, to_names, to_tag, transformation
from polygen.transforms.arrays.array_rewriting import (
    ArrayName,
    Space,
    check_rewritable,
    to_space,
    without_rules_about,
)
from polygen.transforms.atomics._atomic_copies import AtomicCopy
from polygen.transforms.atomics._ordered_copies import OrderedCopies


@transformation
def privatize_atomics(
    kernel: Kernel,
    var_name: ArrayName,
    inames: Inames,
    within: Within | None = None,
    default_tag: Tag | None = "l.auto",
    temporary_scope: Space = "local",
) -> Rearranged:
    r"""Collect the atomic updates of an array in a copy for each iteration of some loops.

    The copy starts as the operation's identity.  After the updates, each of its elements that is
    something else updates the array, atomically, once.  So work items of a group, or those that
    come to an element one after the other, meet in fast memory of their own.

    In global memory, the copies of all iterations are side by side.  Updates are not atomic then:
    each copy is updated by one iteration after another; and afterwards the copies are combined,
    in the order of the loops.  So the result is the same in each run, which is what the option
    ``deterministic`` asks for.

    Kind: order and storage.

    Requires:
        1. The updates are atomic, with one operation, and are in all of these loops.
        2. Whatever else touches the array shares no other loops with them; nor these, if the copies
           are in global memory.
        3. The elements that an iteration may update fit into a box of constant size: those that
           subscripts name, or the array along axes where data names them.  In global memory, sizes
           say how large it is, and how many iterations there are.
        4. The identity of the operation is known: so is the array's type.  Integers are updated
           by integers: what is cut off cannot be put together again.
        5. The kernel permits reassociation (`set_options`), or the result is exact in any order.

    Parameters:
        var_name: the array.
        inames: the loops that have a copy in each iteration: ``"i"``, ``"i, j"``, or a sequence.
            Those around them, by their bounds, are meant as well.
        within: the instructions: an id, a query, or several of these; all that update the array
            in these loops if not given.
        default_tag: the tag of the inames that start and add up the copy; None for loops.
        temporary_scope: where the copy lives: ``"local"``; ``"private"`` if one work item alone
            updates each copy; or ``"global"``, for copies that are combined in order.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [g,i]: 0<=g<m and 0<=i<n }", "count[bin[g,i]] += 1  {id=count, atomic}",
        ...     [pg.GlobalArg("count", "int32", 64), pg.GlobalArg("bin", "int32"), "..."],
        ... )
        >>> knl = pg.privatize_atomics(pg.tag_inames(knl, {"g": "g.0"}), "count", "g")
        >>> for insn in knl.assignments:
        ...     print(insn.id, insn.assignee, "=", insn.expression)
        count_start count_own[count_start] = 0
        count count_own[bin[g, i]] = count_own[bin[g, i]] + 1
        count_flush count[count_flush] = count[count_flush] + count_own[count_flush]

    Raises:
        InvalidArgument: if the copy is to be elsewhere.
        UnknownArgument, UnknownIname: if the kernel has no such array or iname.
        VerbatimNotPossible, AxisNotPossible: if verbatim C, or a kernel that is called, touches it.
        NotPrivatizable: if 1, 2, 3 or 4 does not hold.
        TypeNotFound: if 4 does not hold, for want of a type.
        Reassociated: if 5 does not hold.
        IllFormedKernel: if the array would be touched in no certain order, or a copy.

    Source: Gómez-Luna et al., An optimized approach to histogram computation on GPU, Machine
    Vision and Applications 2013.
    """
    space = to_space(temporary_scope)
    if space is AddressSpace.AUTO:
        raise InvalidArgument(
            f"privatize_atomics: where a copy is to live, '{space.value}' does not say",
            where=caller_location(),
            remedy="temporary_scope='local', 'private' or 'global'",
        )
    in_order = space is AddressSpace.GLOBAL
    check_rewritable(kernel, [var_name])
    plain = without_rules_about(kernel, [var_name])
    loops = with_surrounding(plain, to_names(inames))
    updates = _updates(plain, var_name, loops, within)
    _check_others(plain, var_name, NO_NAMES if in_order else loops, updates)
    if not in_order:
        _check_sharing(plain, loops, updates, space)
    _check_operation(plain, var_name, updates)
    copy = (OrderedCopies if in_order else AtomicCopy)(
        plain,
        var_name,
        plain.new_name(f"{var_name}_own"),
        loops,
        updates,
        tuple(_axes(plain, var_name, NO_NAMES if in_order else loops, updates, sized=in_order)),
        _identity(plain, var_name, updates[0]),
        _dtype(plain, var_name),
    )
    is_local = space is AddressSpace.LOCAL
    tag = to_tag(default_tag) if is_local and default_tag is not None else None
    new = copy.privatized(tag, space)
    # Each update reaches the array once, in a copy of one iteration; what is left to see is that
    # all others that touch the array come before or after these, and, of updates that are not
    # atomic any more, that the work items which make them share no copy.
    alone = copy.in_sequence(new)
    check_made(alone)
    return Rearranged(new, restated=alone)


def _refusal(kernel: Kernel, what: str, remedy: str, *ids: str) -> NotPrivatizable:
    return NotPrivatizable(
        what,
        where=caller_location(),
        excerpt=excerpt(kernel, *ids) if ids else None,
        remedy=remedy,
    )


# --- what is required


def _updates(
    kernel: Kernel, name: str, loops: frozenset[str], within: str | Sequence[str] | None
) -> tuple[Assignment, ...]:
    """Return the instructions that update the array in the loops."""
    found = [
        i for i in matching(kernel, within) if name in i.written_names and i.within_inames >= loops
    ]
    updates = tuple([i for i in found if isinstance(i, Assignment) and i.update is not None])
    if not updates or len(updates) < len(found):
        others = [i.id for i in found if i not in updates]
        raise _refusal(
            kernel,
            _why_not(kernel, others[0], name)
            if others
            else f"no instruction updates '{name}' atomically in the loops of "
            f"{', '.join(sorted(loops))}",
            "say {atomic} with the updates that are meant, and name them with within=",
            *others,
        )
    return updates


def _why_not(kernel: Kernel, insn_id: str, name: str) -> str:
    if kernel.assignment(insn_id).updated is not None:
        return f"'{insn_id}' returns old values of '{name}', which a copy does not have"
    return f"'{insn_id}' writes '{name}', and is no atomic update"


def _check_others(
    kernel: Kernel, name: str, loops: frozenset[str], updates: Sequence[Assignment]
) -> None:
    """Check that what else touches the array is outside of all loops but those with a copy."""
    inside = NO_NAMES.union(*(i.within_inames for i in updates)) - loops
    for insn in kernel.instructions:
        if insn in updates:
            assert isinstance(insn, Assignment) and insn.update is not None
            names = [insn.update.operand, *ex.index_of(insn.assignee), *insn.predicates]
            touches = name in NO_NAMES.union(*map(walk.free_variables, names))
        else:
            touches = name in insn.read_names or name in insn.written_names
        shared = sorted(inside.intersection(insn.within_inames))
        if touches and shared:
            raise _refusal(
                kernel,
                f"'{insn.id}' touches '{name}', too, in the loop of '{shared[0]}': it would not "
                "find what is in a copy",
                "let the copy be that of an iteration of this loop, too, or distribute the loop",
                insn.id,
            )


def _check_sharing(
    kernel: Kernel, loops: frozenset[str], updates: Sequence[Assignment], space: AddressSpace
) -> None:
    """Check that all updates of an iteration are made where there is one copy."""
    apart = (GroupTag,) if space is AddressSpace.LOCAL else (GroupTag, LocalTag, AutoLocalTag)
    for insn in updates:
        for iname in sorted(insn.within_inames - loops):
            tag = kernel.tags.get(iname)
            if isinstance(tag, apart):
                raise _refusal(
                    kernel,
                    f"'{insn.id}' is in the loop of '{iname}', which is tagged {tag}: there would "
                    "be several copies, of which one would be added up",
                    f"name '{iname}' among the inames, or share a copy in local memory",
                    insn.id,
                )


def _check_operation(kernel: Kernel, name: str, updates: Sequence[Assignment]) -> None:
    """Check that the updates have one operation, which may be regrouped."""
    first = updates[0].update
    assert first is not None
    for insn in updates:
        if insn.update is None or insn.update.operation != first.operation:
            raise _refusal(
                kernel,
                f"'{updates[0].id}' and '{insn.id}' update '{name}' with different operations",
                "name instructions of one operation, with within=",
                updates[0].id,
                insn.id,
            )
    dtype = _dtype(kernel, name)
    if not (kernel.options.allow_reassociation or first.operation in EXACT or is_exact(dtype)):
        raise Reassociated(
            f"privatize_atomics would add up the updates of '{name}' in groups, which may change "
            f"how they are rounded, and kernel '{kernel.name}' does not allow reassociation",
            where=caller_location(),
            excerpt=excerpt(kernel, *[i.id for i in updates]),
            remedy="set_options(kernel, allow_reassociation=True)",
        )
    for insn in updates if is_exact(dtype) else ():
        assert insn.update is not None
        added = expand(insn.update.operand, kernel.rules)
        operand = letter(type_of(added, kinds(kernel.expanded)))
        if operand not in "biu":
            raise _refusal(
                kernel,
                f"'{insn.id}' updates integers of '{name}' by '{operand}': what each update cuts "
                "off depends on what is there",
                "convert what is added: int32(...)",
                insn.id,
            )


def _dtype(kernel: Kernel, name: str) -> DType:
    dtype = kernel.array(name).dtype
    if dtype is None:
        raise TypeNotFound(
            f"the type of '{name}', which a copy has to have, is not known",
            where=caller_location(),
            remedy=f"declare it: add_dtypes(kernel, {{'{name}': ...}})",
        )
    return dtype


def _identity(kernel: Kernel, name: str, insn: Assignment) -> Expression:
    """Return what a copy starts with."""
    dtype, atomicity = _dtype(kernel, name), insn.atomicity
    assert insn.update is not None and atomicity is not None
    found = update_identity(insn.update, atomicity.operation, dtype)
    if found is None:
        raise _refusal(
            kernel,
            f"the operation that '{insn.id}' updates '{name}' with has no identity of type {dtype}",
            "name one where the operation is registered",
            insn.id,
        )
    return found


# --- the copy


def _axes(
    kernel: Kernel,
    name: str,
    loops: frozenset[str],
    updates: Sequence[Assignment],
    *,
    sized: bool,
) -> Iterator[TileAxis]:
    """Yield, for each axis, the part of it that an iteration of the loops may update.

    Parameters:
        kernel, name, loops, updates: what is to be found in which loops.
        sized: whether it may be as large as sizes say.
    """
    shape = kernel.array(name).shape or ()
    for number, extent in enumerate(shape):
        found = _needed(kernel, loops, [(i, ex.index_of(i.assignee)[number]) for i in updates])
        axis = None if found is None else tile_axis(found)
        if axis is None and isinstance(extent, int):
            axis = TileAxis(LinearForm(0, {}), 1, extent)
        if axis is None and sized:
            axis = TileAxis(LinearForm(0, {}), 1, 0, extent)
        if axis is None:
            raise _refusal(
                kernel,
                f"how much of axis {number} of '{name}' an iteration of {', '.join(sorted(loops))} "
                "may update is no constant",
                "give the array a constant shape: fix_parameters",
                *[i.id for i in updates],
            )
        yield axis


def _needed(
    kernel: Kernel, loops: frozenset[str], index: Sequence[tuple[Assignment, Expression]]
) -> isl.Set | None:
    """Return the subscripts along an axis in an iteration of the loops; None if these are data."""
    found = universe().complement()
    for insn, subscript in index:
        names = {*insn.within_inames, *kernel.parameters}
        same = ex.Comparison(ex.Variable(_SUBSCRIPT), "==", subscript)
        values = condition_set(same, {*names, _SUBSCRIPT})
        if values is None:
            return None
        points = domain_of(kernel, with_surrounding(kernel, insn.within_inames))
        points = points.intersect(kernel.assumptions.flat).intersect(values)
        found = found.union(project_out(points, insn.within_inames - loops))
    return None if found.is_empty() else unflatten(found, (_SUBSCRIPT,))


_SUBSCRIPT = "__subscript"  # names of users do not begin so
