"""`polygen.separate_full_tiles`."""

from __future__ import annotations

from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from functools import reduce

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.analysis.integers.isl_affine import form_condition, is_negative_somewhere
from polygen.errors import NotSeparable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location
from polygen.transformation import Inames, to_names, transformation
from polygen.transforms.splitting.separation_conditions import separated


@transformation
def separate_full_tiles(kernel: Kernel, inames: Inames) -> Kernel:
    """Write the code for full tiles, which needs no guards, apart from that for the rim.

    A tile is full if all values of the loops over its points are in the domain.  It is
    `index_set_split` at that condition: a hint for the code, which leaves what is executed as it
    is.  If tiles are on axes of the hardware, there are two versions of all code.

    Kind: order and storage.

    Requires:
        1. Each iname has values between two constants: it runs over the points of a tile.
        2. The domains of the inames are convex.
        3. There is an instruction within all loops that decide whether a tile is full: where
           several loops run over the points of one tile (`duplicate_inames`), all are named.

    Parameters:
        inames: the inames of the loops over the points of a tile: ``"i_inner, j_inner"``, or a
            sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
        >>> knl = pg.split_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 16)
        >>> knl = pg.prioritize_loops(knl, "i_outer, i_inner")
        >>> print(pg.generate_code(pg.separate_full_tiles(knl, "i_inner"), "c"))
        void twice(float const *restrict a, float *restrict b, int const n)
        {
            for (int i_outer = 0; i_outer < n / 16; ++i_outer) {
                for (int i_inner = 0; i_inner < 16; ++i_inner)
                    b[16 * i_outer + i_inner] = 2.0f * a[16 * i_outer + i_inner];
            }
            for (int i_outer = n / 16; i_outer < (n + 15) / 16; ++i_outer) {
                for (int i_inner = 0; i_inner < n - 16 * i_outer; ++i_inner)
                    b[16 * i_outer + i_inner] = 2.0f * a[16 * i_outer + i_inner];
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NotSeparable: if 1, 2 or 3 does not hold.

    Source: Kim, Renganarayanan, Rostron, Rajopadhye, Strout, Multi-level tiling: M for the price
    of one, SC 2007.
    """
    inner = to_names(inames)
    homes = dict.fromkeys(kernel.home_domains[i] for i in inner)
    around = with_surrounding(kernel, [i for d in homes for i in d.inames])
    # What is known of remainders of sizes says nothing about convexity; nor does "this or that".
    known = isl.Set.from_basic_set(kernel.assumptions.flat.remove_divs().simple_hull())
    points = domain_of(kernel, around).intersect(known)
    if points.is_empty():
        return kernel
    ranges = {iname: _range(kernel, points, iname) for iname in inner}
    if points.n_basic_set() != 1 or points.get_basic_sets()[0].dim(isl.dim_type.div):
        raise _refused(kernel, inner[0], "its domain is not convex")
    tiles = project_out(points, inner)
    asked: list[Expression] = []
    for form, is_equality, _ in constraint_forms(points.get_basic_sets()[0]):
        for side in (form, -form) if is_equality else (form,):
            least = _least(side, ranges)
            if not ranges.keys().isdisjoint(side.names()) and is_negative_somewhere(tiles, least):
                asked.append(form_condition(least))
    if not asked:
        return kernel  # all tiles are full
    asked = sorted(dict.fromkeys(asked), key=show_expression)
    condition = asked[0] if len(asked) == 1 else ex.LogicalAnd(tuple(asked))
    _check_nested(kernel, inner, walk.free_variables(condition).intersection(kernel.inames))
    return separated(kernel, condition)


def _check_nested(kernel: Kernel, inner: Sequence[str], deciding: AbstractSet[str]) -> None:
    """Check that there is code within the loops that decide whether a tile is full."""
    loops = [i.within_inames | i.reduction_inames for i in kernel.expanded.instructions]
    if any(deciding <= around for around in loops):
        return
    around = frozenset[str]().union(*(found for found in loops if found.issuperset(inner)))
    others = ", ".join(sorted(deciding - around))
    raise NotSeparable(
        f"full tiles cannot be separated: no instruction is within all the loops that decide "
        f"whether a tile of {', '.join(inner)} is full: {', '.join(sorted(deciding))}",
        where=caller_location(),
        remedy=f"name all inames over the points of a tile: {others}, too, if that is what they are"
        if around
        else "take one step for loops that are nested, another one for others",
    )


def _range(kernel: Kernel, points: isl.Set, iname: str) -> tuple[int, int]:
    """Return the least and the greatest value of an iname, anywhere."""
    values = unflatten(points, [iname])
    least, most = values.dim_min(0).min_val(), values.dim_max(0).max_val()
    if not (least.is_int() and most.is_int()):
        raise _refused(kernel, iname, "it has no values between two constants")
    return least.to_python(), most.to_python()


def _least(form: LinearForm, ranges: dict[str, tuple[int, int]]) -> LinearForm:
    """Return the least value of a form in a tile."""
    parts = [
        LinearForm(coefficient * ranges[term][coefficient < 0])
        if isinstance(term, str) and term in ranges
        else LinearForm(0, {term: coefficient})
        for term, coefficient in form.terms.items()
    ]
    return reduce(LinearForm.__add__, parts, LinearForm(form.constant))


def _refused(kernel: Kernel, iname: str, why: str) -> NotSeparable:
    return NotSeparable(
        f"full tiles cannot be separated: '{iname}' is no iname over the points of a tile: {why}",
        where=caller_location(),
        excerpt=kernel.home_domains[iname].text,
        remedy="name the inner inames of split_iname, or of tile",
    )
