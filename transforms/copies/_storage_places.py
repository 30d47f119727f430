"""Chooses storage and loops for the values of `precompute` and `add_prefetch`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import islpy as isl

from polygen.analysis.access.domains import domain_of, surrounding_inames
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import InvalidArgument, OutsideFootprint
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.domain import flatten, intersection, project_out
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import InameTag
from polygen.source import caller_location


@dataclass(frozen=True)
class Storage:
    """The storage of values; None for what is found out.

    Attributes:
        temporary: the name of the variable: a new one, or a temporary of the kernel.
        inames: the names of the loops that compute the values, the first of them at least: new
            ones, or inames of the kernel.
        named: the same by what the rule calls an axis.
        names: what new loops are called otherwise: by what the rule calls an axis.
        axes: of the variable: what the rule calls them.
        outer: the inames that the computation is within.
        tag: of the new inames; None for loops.
        tags: of those along some axes, instead, by what the rule calls these.
        dtype: of the variable.
        space: of the variable.
        insn_id: the instruction that computes the values.
        box: whether a box of values is computed, although not all in it are needed; None for where
            that takes fewer conditions.
    """

    temporary: str
    insn_id: str
    names: Mapping[str, str]
    inames: tuple[str, ...] = ()
    named: Mapping[str, str] | None = None
    axes: tuple[str, ...] | None = None
    outer: frozenset[str] | None = None
    tag: InameTag | None = None
    tags: Mapping[str, InameTag] | None = None
    dtype: DType | None = None
    space: AddressSpace | None = None
    box: bool | None = False


# --- the variable


def old_temporary(kernel: Kernel, how: Storage) -> TemporaryVariable | None:
    """Return the temporary that values are stored in, if the kernel has it already.

    Raises:
        InvalidArgument: if it is declared to be something else than what is asked for.
    """
    old = kernel.variables.get(how.temporary)
    if not isinstance(old, TemporaryVariable):
        return None
    if old.initializer is not None:
        raise _refused(old, "it is a table of constants", "store the values in another one")
    space = old.address_space
    asked = space if how.space in (None, AddressSpace.AUTO) else how.space
    if space not in (asked, AddressSpace.AUTO):
        why = f"it is in {space.value} memory, not in {asked.value} memory"
        raise _refused(old, why, "leave temporary_address_space out")
    if how.dtype is not None and (old.dtype is None or old.dtype != how.dtype):
        known = "not declared" if old.dtype is None else str(old.dtype)
        why = f"the type of its elements is {known}, and {how.dtype} is asked for"
        raise _refused(old, why, "leave dtype out, or call add_dtypes before")
    return old


def reused(
    kernel: Kernel, old: TemporaryVariable, sizes: Sequence[Expression]
) -> TemporaryVariable:
    """Return a temporary that has room for values: it is as large as before, at least.

    Raises:
        InvalidArgument: if that cannot be.
    """
    if len(old.shape) != len(sizes):
        wanted = f"{len(sizes)} axes are stored" if len(sizes) != 1 else "1 axis is stored"
        why = f"it has {len(old.shape)} axes, but {wanted}"
        raise _refused(old, why, "declare it with as many, or choose other storage_axes")
    shape = tuple([_room(kernel, old, *both) for both in zip(old.shape, sizes, strict=True)])
    if shape != old.shape and old.dim_tags is not None:
        why = f"its layout is for {_shown(old.shape)} elements, and {_shown(sizes)} are stored"
        raise _refused(old, why, "declare it large enough")
    return replace(old, shape=shape)


def _room(
    kernel: Kernel, old: TemporaryVariable, extent: Expression, size: Expression
) -> Expression:
    """Return the extent of an axis that is at least as long as both."""
    if isinstance(extent, int) and isinstance(size, int):
        return max(extent, size)
    for more, less in ((extent, size), (size, extent)):
        lacking = condition_set(ex.Comparison(more, "<", less))
        if lacking is not None and intersection(lacking, known_parameters(kernel)).is_empty():
            return more
    why = f"an axis has {show_expression(extent)} elements, and {show_expression(size)} are stored"
    raise _refused(old, why, "declare it large enough, or let the step make a new one")


def _shown(shape: Iterable[Expression]) -> str:
    return " x ".join(map(show_expression, shape))


def _refused(old: TemporaryVariable, why: str, remedy: str) -> InvalidArgument:
    return InvalidArgument(
        f"values cannot be stored in '{old.name}': {why}", where=caller_location(), remedy=remedy
    )


@dataclass(frozen=True)
class Turns:
    """Other users of the temporary, in an order with those that store and read its values.

    Attributes:
        before: the instructions that come before: those that have to, or stand before in the text.
        after: those that come after, and do not depend on the readers yet.
    """

    before: frozenset[str]
    after: frozenset[str]


def turns(kernel: Kernel, name: str, readers: frozenset[str]) -> Turns:
    """Return in which order instructions use a temporary that values are stored in."""
    position = {insn.id: place for place, insn in enumerate(kernel.instructions)}
    first = min(position[i] for i in readers)
    needed = depended_on(kernel, readers)
    before, after = set[str](), set[str]()
    for insn in kernel.instructions:
        if insn.id in readers or name not in (*insn.read_names, *insn.written_names):
            continue
        if insn.id in needed:
            before.add(insn.id)
        elif readers.isdisjoint(depended_on(kernel, [insn.id])):
            (before if position[insn.id] < first else after).add(insn.id)
    return Turns(frozenset(before), frozenset(after))


def depended_on(kernel: Kernel, ids: Iterable[str]) -> frozenset[str]:
    """Return the instructions that some depend on, through others too."""
    found: set[str] = set()
    pending: list[Instruction] = [kernel.instruction(insn_id) for insn_id in ids]
    while pending:
        new = pending.pop().depends_on - found
        found |= new
        pending += [kernel.instruction(insn_id) for insn_id in new]
    return frozenset(found)


# --- the loops


def check_old_loops(kernel: Kernel, inames: Iterable[str], outer: frozenset[str]) -> None:
    """Check that loops of a kernel can be those that compute values, within others.

    Raises:
        InvalidArgument: if one is outside of another one already.
    """
    for iname in inames:
        if iname in outer:
            raise InvalidArgument(
                f"'{iname}' decides which values are needed, so they cannot be computed in its "
                "iterations",
                where=caller_location(),
                remedy=f"sweep over '{iname}', or choose another iname",
            )
        if missing := sorted(surrounding_inames(kernel, iname).difference(outer, inames)):
            raise InvalidArgument(
                f"the values cannot be computed in the loop over '{iname}': it is within that "
                f"over '{missing[0]}', which is not around the computation",
                where=caller_location(),
                remedy=f"name '{missing[0]}' among the outer inames too, or choose another iname",
            )


def check_room(kernel: Kernel, exact: isl.Set, outer: frozenset[str], olds: Sequence[str]) -> None:
    """Check that the iterations of loops of a kernel are enough for all that is needed.

    Parameters:
        kernel: the kernel.
        exact: what is needed, with a dimension for each iname along which it is computed.
        outer: the inames that the computation is within.
        olds: those of the inames that are in the kernel already.

    Raises:
        OutsideFootprint: if they are not.
    """
    news = [
        name
        for axis in range(exact.dim(isl.dim_type.set))
        if (name := exact.get_dim_name(isl.dim_type.set, axis)) and name not in olds
    ]
    around = intersection(domain_of(kernel, outer), kernel.assumptions.flat)
    needed = intersection(project_out(flatten(exact), news), around)
    left = needed.subtract(domain_of(kernel, outer.union(olds)))
    if not left.is_empty():
        names = ", ".join(f"'{iname}'" for iname in olds)
        raise OutsideFootprint(
            f"the iterations of {names} are not enough to compute all values that are needed",
            where=caller_location(),
            excerpt="\n".join(
                [f"needed: {exact}", *dict.fromkeys(str(kernel.home_domains[i]) for i in olds)]
            ),
            remedy="give loops that have a value for each place, from 0 on, or new names",
        )
