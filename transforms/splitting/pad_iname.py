"""`polygen.pad_iname`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import islpy as isl

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import LinearForm
from polygen.analysis.integers.instance_wording import shown_values
from polygen.analysis.integers.isl_affine import (
    condition_set,
    form_condition,
    form_of_aff,
    pieces,
    set_condition,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.pairs.instance_pairs import witness
from polygen.errors import InternalError, NotPaddable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show_expression import show_expression
from polygen.source import caller_location
from polygen.transformation import Iname, PositiveInt, transformation
from polygen.transforms.rules.expand_subst import expand_subst
from polygen.transforms.splitting._padded_instructions import guarded


@transformation
def pad_iname(kernel: Kernel, iname: Iname, multiple: PositiveInt) -> Kernel:
    """Let a loop run on to a multiple of a number: nothing uses what it does beyond its end.

    Then tiles of that size are all full, and no instance in them has to ask whether it exists.
    Instructions that write temporaries under subscripts without the iname are executed beyond the
    end, too, with 0 in the place of elements that they read under subscripts with it.  All others
    get the condition that the loop had, and so do those of which data decides what they touch, or
    where the loop ends.  Substitution rules are expanded.

    A loop in steps keeps these; values that it leaves out otherwise (``i != 5``) are among the
    iterations that are added.

    A tile in local memory is filled with such zeros if what is prefetched is the choice between
    these and the array: `extract_subst` makes a rule of that, and `precompute` the tile.

    Kind: order and storage.

    Requires:
        1. The iname's loop begins and ends at affine functions of what is around it; no other loop
           of its domain ends, and no reduction runs, with it.
        2. What instructions write in further iterations, no other one reads.

    Parameters:
        iname: the iname of the loop.
        multiple: of what the number of its iterations is to be a multiple.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel(
        ...     "{ [i,j]: 0<=i<n and 0<=j<m }",
        ...     '''
        ...     for i
        ...         <> s = 0  {id=s}
        ...         s = s + a[i,j]  {id=add, dep=s}
        ...         b[i] = s  {dep=add}
        ...     end
        ...     ''',
        ...     name="rows",
        ... )
        >>> knl = pg.pad_iname(pg.add_dtypes(knl, {"a": "float32"}), "i", 16)
        >>> print(pg.generate_code(knl, "c"))
        void rows(float const *restrict a, float *restrict b, int const m, int const n)
        {
            for (int i = 0; i < 16 * ((n + 15) / 16); ++i) {
                float s = 0.0f;
                for (int j = 0; j < m; ++j)
                    s += i < n ? a[i * m + j] : 0.0f;
                if (i < n)
                    b[i] = s;
            }
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        InvalidArgument: if `multiple` is no positive integer.
        NotPaddable: if 1 does not hold.
        IllegalStep, CannotProve, OutOfBounds, NotTheSame: if 2 does not hold.

    Source: padding of tiles, as in libraries of matrix products.
    """
    kernel = expand_subst(kernel)
    home = kernel.home_domains[iname]
    known = _known(kernel, home, iname)
    if home.flat.intersect(known).is_empty():
        return kernel
    loop = _loop(kernel, home, iname, known)
    new = _padded(home, loop, multiple)
    if new.intersect(kernel.assumptions.flat).is_subset(home.flat):
        return kernel
    there = _condition(home, loop, known)
    by_data = not kernel.writers.keys().isdisjoint(home.parameters)
    mentioned = sorted(walk.free_variables(there).intersection(home.parameters))
    sizes = isl.Set(f"[{', '.join(mentioned)}] -> {{ : }}")  # those of gaps stay sizes
    domain = Domain(unflatten(new.align_params(sizes.get_space()), home.inames))
    return kernel.copy(
        domains=tuple([domain if d is home else d for d in kernel.domains]),
        instructions=tuple(
            [
                guarded(kernel, i, {iname}, [there], lambda _: [there], by_data=by_data)
                for i in kernel.instructions
            ]
        ),
    )


class _Loop(NamedTuple):
    """Values from a first to a last one, in steps, with all those that the iname has."""

    iname: str
    first: LinearForm
    last: LinearForm
    step: int

    def until(self, end: LinearForm) -> isl.Set:
        """Return the values up to another end."""
        value = ex.Variable(self.iname)
        parts = [
            ex.Comparison(self.first.expression(), "<=", value),
            ex.Comparison(value, "<=", end.expression()),
        ]
        if self.step > 1:
            distance = LinearForm.of_name(self.iname) - self.first
            parts.append(ex.Comparison(ex.remainder_of(distance.expression(), self.step), "==", 0))
        found = condition_set(ex.LogicalAnd(tuple(parts)))
        if found is None:
            raise InternalError("the end of a loop is not affine")
        return found


def _known(kernel: Kernel, home: Domain, iname: str) -> isl.Set:
    """Return what is known of the sizes, and of the loops around, wherever a loop begins."""
    outer = with_surrounding(kernel, home.inames) - {iname}
    return known_parameters(kernel).intersect(domain_of(kernel, outer))


def _loop(kernel: Kernel, home: Domain, iname: str, known: isl.Set) -> _Loop:
    """Return the loop that has all values of an iname, and perhaps some that are left out."""
    for insn in kernel.instructions:
        if iname in insn.reduction_inames:
            raise _refusal(home, f"'{iname}' is what a reduction runs over, in '{insn.id}'")
    values = unflatten(home.flat, (iname,))
    why = ""
    for around in _around(values):
        ends = [_forms(end, known) for end in (around.dim_min(0), around.dim_max(0))]
        others = [n for forms in ends for f in forms for n in f.names() if n in home.inames]
        if not others and all(len(forms) == 1 for forms in ends):
            step = int(around.get_stride(0).to_python())
            return _Loop(iname, next(iter(ends[0])), next(iter(ends[1])), step)
        why = why or _several_ends(ends, others)
    raise _refusal(
        home, f"the loop of '{iname}' does not begin and end at an affine function: {why}"
    )


def _around(values: isl.Set) -> Iterator[isl.Set]:
    """Yield the values of an iname, and sets around them, simpler ones last.

    A hull of what is in several pieces may go on forever, where each of them ends.
    """
    if values.n_basic_set() == 1:
        yield values
    hull = values.simple_hull()
    simpler = [isl.Set.from_basic_set(part) for part in (hull, hull.remove_divs())]
    if not simpler[0].is_bounded():
        yield values
    yield from (around for around in simpler if around.is_bounded())


def _forms(end: isl.PwAff, known: isl.Set) -> dict[LinearForm, dict[str, int]]:
    """Return the forms that a function has, with parameters that there may be for each."""
    found: dict[LinearForm, dict[str, int]] = {}
    for where, aff in pieces(end):
        possible = where.intersect(known)
        if not possible.is_empty():
            found.setdefault(form_of_aff(aff), witness(possible))
    return found or {LinearForm(0, {}): {}}


def _several_ends(
    ends: Sequence[Mapping[LinearForm, Mapping[str, int]]], others: Sequence[str]
) -> str:
    """Return where a loop begins or ends that does so in several ways, or with another loop."""
    if others:
        return f"that depends on '{others[0]}', a loop of the same domain"
    which, forms = next((k, forms) for k, forms in enumerate(ends) if len(forms) > 1)
    told = [
        f"{show_expression(form.expression())} for {shown_values(point, sorted(point))}"
        for form, point in forms.items()
    ]
    return f"it {('begins', 'ends')[which]} with {', but with '.join(told)}"


def _padded(home: Domain, loop: _Loop, multiple: int) -> isl.Set:
    """Return the domain with further values of an iname."""
    whole = loop.step * multiple
    length = ((loop.last - loop.first + whole) // whole) * whole
    return _until(home, loop, loop.first + length - loop.step)


def _until(home: Domain, loop: _Loop, end: LinearForm) -> isl.Set:
    """Return a domain in which an iname has all values of its loop, up to another end."""
    values = loop.until(end)
    if home.inames == (loop.iname,):  # for all sizes, also those for which it had no value
        return values
    return project_out(home.flat, (loop.iname,)).intersect(values)


def _condition(home: Domain, loop: _Loop, known: isl.Set) -> Expression:
    """Return the condition that a value of a padded loop is one of the loop's own."""
    box = _until(home, loop, loop.last).intersect(known)
    end = form_condition(loop.last - LinearForm.of_name(loop.iname))
    gaps = box.subtract(home.flat).coalesce()
    left_out = [
        _not(set_condition(gap))
        for gap in map(isl.Set.from_basic_set, gaps.gist(box).get_basic_sets())
    ]
    return ex.LogicalAnd((end, *left_out)) if left_out else end


def _not(condition: Expression) -> Expression:
    if isinstance(condition, ex.Comparison) and condition.operator == "==":
        return ex.Comparison(condition.left, "!=", condition.right)
    return ex.LogicalNot(condition)


def _refusal(home: Domain, why: str) -> NotPaddable:
    return NotPaddable(
        why,
        where=caller_location(),
        excerpt=home.text,
        remedy="pad before loops are split, one whose ends mention no other loop of its domain",
    )
