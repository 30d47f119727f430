"""`polygen.split_iname`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Annotated, Any, TypeAlias, cast

import islpy as isl

from polygen.analysis.access.instance_map import is_apart
from polygen.analysis.integers.isl_affine import to_val
from polygen.errors import TagConflict
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import AutoLocalTag, is_on_axis, is_parallel
from polygen.language.within import matching
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import (
    Iname,
    Kind,
    NewName,
    PositiveInt,
    Within,
    transformation,
)
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.tag_arguments import AnyTag, Given, with_tags
from polygen.transforms.splitting.separation_conditions import with_ends_apart

_SET = isl.dim_type.set


def _are_slabs(_kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, tuple | list):
        return False
    given = cast("Sequence[object]", value)
    return len(given) == 2 and all(
        isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in given
    )


Slabs: TypeAlias = Annotated[
    tuple[int, int], Kind("two numbers of iterations: of the first ones, the last ones", _are_slabs)
]


@transformation
def split_iname(  # noqa: PLR0913 -- Loo.py's arguments
    kernel: Kernel,
    split_iname: Iname,
    inner_length: PositiveInt,
    *,
    outer_iname: NewName | None = None,
    inner_iname: NewName | None = None,
    outer_tag: AnyTag | None = None,
    inner_tag: AnyTag | None = None,
    slabs: Slabs = (0, 0),
    within: Within | None = None,
) -> Kernel | Rearranged:
    """Split a loop in two: ``i = inner_length*i_outer + i_inner``, ``0 <= i_inner < inner_length``.

    Every use of the iname is rewritten, reductions over it included; the new names say nothing
    about which loop is outside.

    Kind: order and storage.

    Requires:
        1. The iname is not tagged, or tagged ``for``, or ``l.auto``, as both parts are then, too.
        2. The new names are not used yet.

    Parameters:
        split_iname: the iname to split; it is gone afterwards.
        inner_length: how many iterations the inner loop has.
        outer_iname: the name of the outer loop; ``<iname>_outer`` if not given.
        inner_iname: the name of the inner loop; ``<iname>_inner`` if not given.
        outer_tag: the tag of the outer loop, as `tag_inames` takes it.
        inner_tag: the tag of the inner loop.
        slabs: how many of the first, and of the last iterations of the outer loop are written
            apart, as `peel` does it; in between are no guards that only these need.
        within: the instructions whose loop is split, as a query (`polygen.language.within`); all if
            not given.  If others use the iname, these get a loop of their own first, as
            `duplicate_inames` does it.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 0", name="clear")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(knl, "c"))
        void clear(float *restrict a, int const n)
        {
            for (int i = 0; i < n; ++i)
                a[i] = 0.0f;
        }
        >>> knl = pg.split_iname(knl, "i", 16)
        >>> knl = pg.prioritize_loops(knl, "i_outer, i_inner")
        >>> print(str(pg.generate_code(knl, "c")).partition("n)")[2])
        <BLANKLINE>
        {
            for (int i_outer = 0; i_outer < (n + 15) / 16; ++i_outer) {
                for (int i_inner = 0; i_inner < pg_min_i32(16, n - 16 * i_outer); ++i_inner)
                    a[16 * i_outer + i_inner] = 0.0f;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        TagConflict: if 1 does not hold.
        NameTaken, ReservedName: if 2 does not hold.
        InvalidArgument: if another argument is of the wrong kind.
        InameNotUsed, InameNeeded, NotDistributable: if the instructions `within` cannot have a
            loop of their own.
        NotSeparable: if the outer loop does not begin, or end, at an affine function where `slabs`
            are asked for.

    Source: Loo.py, section 2.4.1, equation 1.
    """
    _check_untagged(kernel, split_iname)
    outer = outer_iname or kernel.new_name(f"{split_iname}_outer")
    inner = inner_iname or kernel.new_name(f"{split_iname}_inner")
    if within is not None and not uses_alone(kernel, split_iname, within):
        own = kernel.new_name(split_iname, (outer, inner))
        apart = duplicate_inames(kernel, split_iname, within, own)
        return _split_alone(apart, own, inner_length, (outer, inner), (outer_tag, inner_tag), slabs)
    new, old_value = in_two(kernel, split_iname, inner_length, outer, inner)
    new = with_tags(new, ((outer, outer_tag), (inner, inner_tag)))
    if any(slabs):
        new = with_ends_apart(new, outer, *slabs)
    return Rearranged(new, {split_iname: old_value})


def in_two(
    kernel: Kernel, iname: str, length: int, outer: str, inner: str
) -> tuple[Kernel, Expression]:
    """Return the kernel with two inames instead of one, and what the old one is.

    They are not tagged, or, as the old one is, ``l.auto``.
    """
    _check_untagged(kernel, iname)
    fit = kernel.tags.get(iname)
    tags = {outer: fit, inner: fit} if isinstance(fit, AutoLocalTag) else {}
    home = kernel.home_domains[iname]
    old_value = ex.sum_of(ex.product_of(length, ex.Variable(outer)), ex.Variable(inner))
    parts = {iname: (outer, inner)}

    def rewrite(insn: Instruction) -> Instruction:
        if is_apart(insn, parts):
            return insn
        if iname in insn.reduction_inames:
            insn = insn.map_expressions(lambda e: _split_reductions(e, parts))
        insn = insn.map_expressions(lambda e: walk.substitute(e, {iname: old_value}))
        return insn.copy(within_inames=_renamed(insn.within_inames, parts))

    new = kernel.copy(
        domains=tuple(
            _split_domain(d, iname, length, outer, inner)
            if d is home
            else _split_parameter(d, iname, length, outer, inner)
            for d in kernel.domains
        ),
        instructions=_rewritten(kernel, iname, rewrite),
        tags={**{i: t for i, t in kernel.tags.items() if i != iname}, **tags},
        priorities=tuple(
            [
                tuple(n for i in p for n in parts.get(i, (i,))) if iname in p else p
                for p in kernel.priorities
            ]
        ),
    )
    return new, old_value


def _rewritten(
    kernel: Kernel, iname: str, rewrite: Callable[[Instruction], Instruction]
) -> tuple[Instruction, ...]:
    """Return a kernel's instructions, those rewritten that have to do with an iname."""
    if kernel.has_invocations or kernel.calls:
        return tuple(map(rewrite, kernel.instructions))
    insns = list(kernel.instructions)
    for number in kernel.in_loops((iname,)):
        insns[number] = rewrite(insns[number])
    return tuple(insns)


def _split_alone(
    kernel: Kernel,
    iname: str,
    inner_length: int,
    names: tuple[str, str],
    tags: tuple[Given | None, Given | None],
    slabs: tuple[int, int],
) -> Kernel:
    """Split an iname that no other instructions use."""
    return split_iname(
        kernel,
        iname,
        inner_length,
        outer_iname=names[0],
        inner_iname=names[1],
        outer_tag=tags[0],
        inner_tag=tags[1],
        slabs=slabs,
    )


def uses_alone(kernel: Kernel, iname: str, within: str | Sequence[str]) -> bool:
    """Tell whether no other instructions than these are within an iname, or reduce over it."""
    ids = {insn.id for insn in matching(kernel, within)}
    insns = kernel.expanded.instructions
    users = {i.id for i in insns if iname in i.within_inames | i.reduction_inames}
    return bool(users) and users <= ids


def _check_untagged(kernel: Kernel, iname: str) -> None:
    tag = kernel.tags.get(iname)
    if tag is not None and str(tag) not in {"for", "l.auto"}:
        what = "an axis of the hardware" if is_on_axis(tag) else "lanes"
        what = what if is_parallel(tag) else "unrolled"
        raise TagConflict(
            f"'{iname}' cannot be split: it is tagged {tag} ({what})",
            where=caller_location(),
            remedy="split first, then tag the parts (outer_tag=, inner_tag=)",
        )


def _renamed(inames: frozenset[str], parts: dict[str, tuple[str, str]]) -> frozenset[str]:
    return frozenset(n for i in inames for n in parts.get(i, (i,)))


def _split_reductions(node: Expression, parts: dict[str, tuple[str, str]]) -> Expression:
    def rule(e: Expression) -> Expression:
        if not isinstance(e, ex.Reduction) or parts.keys().isdisjoint(e.inames):
            return e
        inames = tuple(n for i in e.inames for n in parts.get(i, (i,)))
        return ex.Reduction(e.operation, inames, e.operand)

    return walk.rewrite(node, rule)


def _equation(
    space: isl.Space, old: tuple[isl.dim_type, int], length: int, new: tuple[int, int]
) -> isl.Constraint:
    """Return ``old = length*outer + inner`` for dimensions at the given positions."""
    outer, inner = new
    return (
        isl.Constraint.alloc_equality(isl.LocalSpace.from_space(space))
        .set_coefficient_val(*old, isl.Val(-1))
        .set_coefficient_val(_SET, outer, to_val(length))
        .set_coefficient_val(_SET, inner, isl.Val(1))
    )


def _split_domain(domain: Domain, iname: str, length: int, outer: str, inner: str) -> Domain:
    """Return the domain with the dimension replaced by two, where it stood."""
    at = domain.inames.index(iname)
    result = domain.set.insert_dims(_SET, at, 2)
    result = result.set_dim_name(_SET, at, outer).set_dim_name(_SET, at + 1, inner)
    result = result.add_constraint(
        _equation(result.get_space(), (_SET, at + 2), length, (at, at + 1))
    )
    result = result.lower_bound_val(_SET, at + 1, isl.Val(0))
    result = result.upper_bound_val(_SET, at + 1, to_val(length - 1))
    return Domain(result.project_out(_SET, at + 2, 1))


def _split_parameter(domain: Domain, iname: str, length: int, outer: str, inner: str) -> Domain:
    """Return a domain that mentions the iname in its bounds in terms of the two new ones."""
    if iname not in domain.parameters:
        return domain
    result = domain.set
    for name in (outer, inner):
        result = result.add_dims(isl.dim_type.param, 1).set_dim_name(
            isl.dim_type.param, result.dim(isl.dim_type.param), name
        )
    space = result.get_space()
    names = {n: space.find_dim_by_name(isl.dim_type.param, n) for n in (iname, outer, inner)}
    equation = isl.Constraint.alloc_equality(isl.LocalSpace.from_space(space))
    for name, coefficient in ((iname, -1), (outer, length), (inner, 1)):
        equation = equation.set_coefficient_val(
            isl.dim_type.param, names[name], to_val(coefficient)
        )
    result = result.add_constraint(equation)
    return Domain(result.project_out(isl.dim_type.param, names[iname], 1))
