"""`polygen.join_inames`."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import pw_aff_expression
from polygen.errors import ExtentNotConstant, InvalidArgument
from polygen.ir import expression as ex
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import AutoLocalTag
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, NewName, Within, to_names, transformation
from polygen.transforms.inames.duplicate_inames import duplicate_inames
from polygen.transforms.inames.tag_arguments import AnyTag, Given, with_tags
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.iname_equations import map_to
from polygen.transforms.loops.map_domain import mapped
from polygen.transforms.splitting._joined_extents import coalesced
from polygen.transforms.splitting.split_iname import uses_alone


@transformation
def join_inames(
    kernel: Kernel,
    inames: Inames,
    new_iname: NewName | None = None,
    tag: AnyTag | None = None,
    within: Within | None = None,
) -> Kernel | Rearranged:
    """Make one loop of several (loop coalescing): ``new = extent_of_j*i + j``, for two of them.

    The iterations come in the order of nested loops, the first iname being the outermost one.  The
    joined iname begins at 0 if the first one does, or if extents are no constants: then the number
    of iterations is a product of sizes, ``n_m = n * m``, which is a size of its own from then on.

    Kind: order and storage.

    Requires:
        1. The inames are several.
        2. Each but the first has, for any values of those before it, values from a lower bound
           that is affine in these and in scalar arguments on, and at most a constant number; or
           the bounds of all are affine in scalar arguments alone, and bound no other iname.  Of
           split loops that holds where all parts are whole: ``n mod 16 = 0`` is assumed.
        3. Each instruction, and each reduction, is within all of the inames, or none.
        4. Of inames in different domains, none of these is empty where another matters alone.
        5. The inames are not tagged, or tagged ``for`` or ``l.auto``, which the joined one is then,
           too; and no priority puts a loop between them.
        6. No dependence would be turned around.

    Parameters:
        inames: ``"i, j"``, or a sequence, the fastest one last; they are gone afterwards.
        new_iname: the name of the joined loop; ``i_j`` if not given.
        tag: its tag; ``l.auto`` if not given and one of the inames has it.
        within: the instructions whose loops are joined, as a query (`polygen.language.within`); all
            if not given.  If others use the inames, these get loops of their own first, as
            `duplicate_inames` does it.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<8 }", "out[i] = out[i] + a[j,i]", name="add",
        ...     loop_priority="i, j",
        ... )
        >>> knl = pg.join_inames(pg.add_dtypes(knl, {"a,out": "float32"}), "i, j", "k")
        >>> print(pg.generate_code(knl, "c"))
        void add(float const *restrict a, int const n, float *restrict out)
        {
            for (int k = 0; k < 8 * n; ++k)
                out[k / 8] += a[k % 8 * n + k / 8];
        }
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }", "b[i,j] = 2*a[i,j]", name="twice"
        ... )
        >>> knl = pg.join_inames(pg.add_dtypes(knl, {"a": "float32"}), "i, j", "ij")
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b, int const m, int const n)
        {
            int const n_m = n * m;
            for (int ij = 0; ij < n_m; ++ij)
                b[ij] = 2.0f * a[ij];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NameTaken, ReservedName: if `new_iname` cannot be a new name.
        InvalidArgument: if 1 does not hold, if a priority puts a loop between, or if another
            argument is of the wrong kind.
        ExtentNotConstant: if 2 does not hold.
        MapMixesInames: if 3 does not hold.
        MapLosesInstances: if 4 does not hold.
        TagConflict: if 5 does not hold.
        IllegalStep: if 6 does not hold.
        InameNotUsed, InameNeeded, NotDistributable: if the instructions `within` cannot have loops
            of their own.

    Source: Polychronopoulos, Loop coalescing: a compiler transformation for parallel machines,
    ICPP 1987.
    """
    olds = to_names(inames)
    if len(olds) < 2 or len(set(olds)) < len(olds):
        raise InvalidArgument(
            f"join_inames: {', '.join(olds) or 'nothing'} is not several inames, each once",
            where=caller_location(),
            remedy="name two or more, the fastest one last",
        )
    if within is not None and not all(uses_alone(kernel, i, within) for i in olds):
        return _joined_apart(kernel, olds, new_iname, tag, within)
    name = new_iname or kernel.new_name("_".join(olds))
    joined = _affine(kernel, olds)
    if joined is None:
        if tag is None:
            return coalesced(kernel, olds, name)
        return tag_inames(join_inames(kernel, olds, name), {name: tag})
    fit = next((t for t in map(kernel.tags.get, olds) if isinstance(t, AutoLocalTag)), None)
    new = mapped(_without_fitting(kernel, olds), map_to(olds, {name: joined}))
    tag = fit if tag is None else tag
    if tag is None:
        return new
    return Rearranged(with_tags(new.kernel, [(name, tag)]), new.values)


def _without_fitting(kernel: Kernel, olds: Sequence[str]) -> Kernel:
    """Return the kernel without the tags ``l.auto`` of some inames, which say no axis yet."""
    gone = {i for i in olds if isinstance(kernel.tags.get(i), AutoLocalTag)}
    return kernel.copy(tags={i: t for i, t in kernel.tags.items() if i not in gone})


def _affine(kernel: Kernel, olds: Sequence[str]) -> Expression | None:
    """Return the joined iname in terms of the old ones; None if an extent depends on sizes."""
    joined: Expression = ex.Variable(olds[0])
    for position, iname in enumerate(olds[1:], 1):
        found = _range(kernel, iname, olds[:position])
        if found is None:
            return None
        least, extent = found
        offset = ex.sum_of(ex.Variable(iname), ex.product_of(-1, least))
        joined = ex.sum_of(ex.product_of(extent, joined), offset)
    return joined


def _joined_apart(
    kernel: Kernel,
    olds: Sequence[str],
    new_iname: str | None,
    tag: Given | None,
    within: str | Sequence[str],
) -> Kernel:
    """Join the loops of some instructions, which get loops of their own first."""
    name = new_iname or kernel.new_name("_".join(olds))
    own: list[str] = []
    for iname in olds:
        own.append(kernel.new_name(iname, (name, *own)))
    apart = duplicate_inames(kernel, olds, within, own)
    return join_inames(apart, own, name, tag)


def _range(kernel: Kernel, iname: str, before: Sequence[str]) -> tuple[Expression, int] | None:
    """Return the least value of an iname, and how many it has at most, both for others' values.

    None if how many it has depends on sizes.
    """
    around = with_surrounding(kernel, [iname, *before])
    points = domain_of(kernel, around).intersect(kernel.assumptions.flat)
    if points.is_empty():
        return 0, 1
    values = unflatten(project_out(points, around - {iname, *before}), [iname])
    # As a set: isl finds no greatest value of a function with a fraction in it.
    extent = isl.Set.from_pw_aff(values.dim_max(0).sub(values.dim_min(0))).dim_max_val(0)
    if not extent.is_int():
        return None
    least = pw_aff_expression(values.dim_min(0))
    if linear_form(least, {*before, *kernel.parameters}) is None:
        raise ExtentNotConstant(
            f"'{iname}' cannot be joined to {', '.join(before)}: it has no lower bound that is "
            "affine",
            where=caller_location(),
            remedy="subscripts would be no longer affine; fix_parameters, or split_iname first, "
            "makes an extent constant",
        )
    return least, extent.to_python() + 1
