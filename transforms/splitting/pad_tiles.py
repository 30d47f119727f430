"""`polygen.pad_tiles`."""

from __future__ import annotations

from collections.abc import Sequence

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.isl_affine import condition_set, set_condition
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import InternalError, NotPaddable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, flat_names, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Inames, to_names, transformation
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.splitting._padded_instructions import guarded


@transformation
def pad_tiles(kernel: Kernel, inames: Inames) -> Kernel:
    """Let loops over the points of tiles run over all of them: nothing uses what is not there.

    A triangle that is cut into tiles becomes a staircase of full ones: tiles without a point stay
    away, and those on the diagonal are computed as a whole.  Instructions that write temporaries
    under subscripts without the inames are executed for all points, with 0 in the place of elements
    that no point of their own reads.  All others get the condition that the point is there.
    Substitution rules are expanded.  `pad_iname` does so before a loop is split, if its ends do not
    depend on other loops.

    Kind: order and storage.

    Requires:
        1. Each iname has values between two constants, and no reduction runs over an iname of its
           domain (`pad_reduction` gives such a one a domain of its own).
        2. What instructions write at further points, no other one reads.

    Parameters:
        inames: the inames of the loops over the points of a tile: ``"i_inner, j_inner"``, or a
            sequence.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=j<=i<n }",
        ...     '''
        ...     for i, j
        ...         <> t = sqrt(a[j])  {id=t}
        ...         c[i,j] = t*t  {dep=t}
        ...     end
        ...     ''',
        ...     name="squares", loop_priority="i, j",
        ... )
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.split_iname(knl, "i", 4, outer_iname="ii", inner_iname="p")
        >>> knl = pg.split_iname(knl, "j", 4, outer_iname="jj", inner_iname="q")
        >>> knl = pg.prioritize_loops(knl, "ii, jj, p, q")
        >>> print(pg.generate_code(pg.pad_tiles(knl, "p, q"), "c"))
        #include <math.h>
        <BLANKLINE>
        void squares(float const *restrict a, float *restrict c, int const n)
        {
            for (int ii = 0; ii < (n + 3) / 4; ++ii) {
                for (int jj = 0; jj <= ii; ++jj) {
                    for (int p = 0; p < 4; ++p) {
                        for (int q = 0; q < 4; ++q) {
                            float const t = sqrtf(4 * jj + q < n ? a[4 * jj + q] : 0.0f);
                            if (4 * ii + p < n && 4 * jj + q <= 4 * ii + p)
                                c[(4 * ii + p) * n + 4 * jj + q] = t * t;
                        }
                    }
                }
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NotPaddable: if 1 does not hold.
        IllegalStep, CannotProve, OutOfBounds, NotTheSame: if 2 does not hold.

    Source: padding of tiles, as in libraries of matrix products.
    """
    kernel = expand_subst(kernel)
    inner = frozenset(to_names(inames))
    homes = dict.fromkeys(kernel.home_domains[iname] for iname in kernel.inames if iname in inner)
    known = known_parameters(kernel)
    new = {
        home: _filled(kernel, home, [i for i in home.inames if i in inner], known) for home in homes
    }
    changed = {home: domain for home, domain in new.items() if domain is not home}
    if not changed:
        return kernel
    _check_reductions(kernel, list(changed))
    domains = tuple([changed.get(home, home) for home in kernel.domains])
    by_data = any(not kernel.writers.keys().isdisjoint(home.parameters) for home in changed)
    filled = kernel.copy(domains=domains)
    instructions = [
        _guarded(kernel, filled, insn, inner, known, by_data=by_data)
        for insn in kernel.instructions
    ]
    return filled.copy(instructions=tuple(instructions))


def _check_reductions(kernel: Kernel, homes: Sequence[Domain]) -> None:
    """Check that no reduction would run over more: those of padded domains are none's."""
    for home in homes:
        for insn in kernel.instructions:
            for iname in home.inames:
                if iname in insn.reduction_inames:
                    raise _refusal(
                        home,
                        f"'{iname}' is what a reduction runs over, in '{insn.id}'",
                        "pad_reduction gives it a domain of its own",
                    )


def _filled(kernel: Kernel, home: Domain, inner: Sequence[str], known: isl.Set) -> Domain:
    """Return a domain with all points of each of its tiles that has any; the same if it has them.

    Tiles may be more than these: what lies between others, say.
    """
    points = domain_of(kernel, with_surrounding(kernel, home.inames)).intersect(known)
    if points.is_empty():
        return home
    tiles = project_out(home.flat, inner).coalesce()
    hull = isl.Set.from_basic_set(tiles.simple_hull().remove_divs())
    rest = [iname for iname in home.inames if iname not in inner]
    if unflatten(hull, rest).is_bounded():
        tiles = hull
    box = tiles
    for iname in inner:
        box = box.intersect(_range(home, points, iname))
    if box.intersect(known).is_subset(home.flat):
        return home
    return Domain(unflatten(box.align_params(home.flat.get_space()), home.inames))


def _range(home: Domain, points: isl.Set, iname: str) -> isl.Set:
    """Return the values that an iname has in a full tile."""
    values = unflatten(points, [iname])
    least, most = values.dim_min(0).min_val(), values.dim_max(0).max_val()
    if not (least.is_int() and most.is_int()):
        raise _refusal(home, f"'{iname}' has no values between two constants")
    value = ex.Variable(iname)
    first = ex.Comparison(least.to_python(), "<=", value)
    last = ex.Comparison(value, "<=", most.to_python())
    found = condition_set(ex.LogicalAnd((first, last)))
    if found is None:
        raise InternalError("a range between two constants is not affine")
    return found


def _guarded(
    old: Kernel,
    new: Kernel,
    insn: Instruction,
    inner: frozenset[str],
    known: isl.Set,
    *,
    by_data: bool,
) -> Instruction:
    """Return an instruction that does no harm at points that are added."""
    around = insn.within_inames | insn.reduction_inames
    points, box = (domain_of(kernel, with_surrounding(kernel, around)) for kernel in (old, new))

    def known_in(names: frozenset[str]) -> list[Expression]:
        """Return what is asked of some names, of which the loops as they are say the rest."""
        some, all_of_them = (_of(values, names, old) for values in (points, box))
        return _parts(set_condition(some.gist(all_of_them.intersect(known))))

    own = insn.within_inames.union(with_surrounding(old, insn.within_inames))
    return guarded(
        old,
        insn,
        inner,
        known_in(own),
        lambda node: known_in(walk.free_variables(node) & around),
        by_data=by_data,
    )


def _of(values: isl.Set, names: frozenset[str], kernel: Kernel) -> isl.Set:
    """Return the values that some inames have."""
    others = [n for n in flat_names(values) if n in kernel.home_domains and n not in names]
    return project_out(values, others).coalesce()


def _parts(condition: Expression) -> list[Expression]:
    """Return conditions all of which hold where one does."""
    if condition is True:
        return []
    return list(condition.children) if isinstance(condition, ex.LogicalAnd) else [condition]


def _refusal(
    home: Domain, why: str, remedy: str = "name the inner inames of split_iname, or of tile"
) -> NotPaddable:
    return NotPaddable(why, where=caller_location(), excerpt=home.text, remedy=remedy)
