"""`polygen.pad_iname`."""

from __future__ import annotations

from typing import NoReturn

import islpy as isl

from polygen.analysis.affine import LinearForm
from polygen.analysis.isl_affine import condition_set, form_of_aff, pieces
from polygen.errors import InternalError, NotPaddable
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import TemporaryVariable
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transformation import Iname, PositiveInt, transformation
from polygen.transforms.expand_subst import expand_subst


@transformation
def pad_iname(kernel: Kernel, iname: Iname, multiple: PositiveInt) -> Kernel:
    """Let a loop run on to a multiple of a number: nothing uses what it does beyond its end.

    Then tiles of that size are all full, and no instance in them has to ask whether it exists.
    Instructions that write temporaries under subscripts without the iname are executed beyond the
    end, too, with 0 in the place of elements that they read under subscripts with it.  All others
    get the condition that the loop had.  Substitution rules are expanded.

    A tile in local memory is filled with such zeros if what is prefetched is the choice between
    these and the array: `extract_subst` makes a rule of that, and `precompute` the tile.

    Kind: order and storage.

    Requires:
        1. The iname's loop begins and ends at affine functions of what is around it, and has every
           integer between; no other loop ends, and no reduction runs, with it.
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
    first, last = _ends(kernel, home, iname)
    there = ex.Comparison(ex.Variable(iname), "<", (last + 1).expression())
    new = _padded(home, iname, first, last, multiple)
    if new.intersect(kernel.assumptions.flat).is_subset(home.flat):
        return kernel
    domain = Domain(unflatten(new, home.inames))
    return kernel.copy(
        domains=tuple([domain if d is home else d for d in kernel.domains]),
        instructions=tuple([_guarded(kernel, i, iname, there) for i in kernel.instructions]),
    )


def _ends(kernel: Kernel, home: Domain, iname: str) -> tuple[LinearForm, LinearForm]:
    """Return the first and the last value of an iname."""
    if any(iname in insn.reduction_inames for insn in kernel.instructions):
        _refuse(home, f"'{iname}' is what a reduction runs over")
    values = unflatten(home.flat, (iname,))
    bounded = values.dim_has_any_lower_bound(isl.dim_type.set, 0)
    if not bounded or not values.dim_has_any_upper_bound(isl.dim_type.set, 0):
        _refuse(home, f"the loop of '{iname}' has no end")
    ends: list[LinearForm] = []
    for end in (values.dim_min(0), values.dim_max(0)):
        forms = dict.fromkeys(form_of_aff(aff) for _, aff in pieces(end))
        form = next(iter(forms), LinearForm(0, {}))
        if len(forms) > 1 or not {*home.inames}.isdisjoint(form.names()):
            _refuse(home, f"the loop of '{iname}' does not begin and end at an affine function")
        ends.append(form)
    first, last = ends
    box = project_out(home.flat, (iname,)).intersect(_between(iname, first, last))
    if not box.is_subset(home.flat):
        _refuse(home, f"the loop of '{iname}' leaves out values, or others end with it")
    return first, last


def _padded(
    home: Domain, iname: str, first: LinearForm, last: LinearForm, multiple: int
) -> isl.Set:
    """Return the domain with further values of an iname."""
    count = ((last - first + multiple) // multiple) * multiple
    values = _between(iname, first, first + count - 1)
    rest = tuple(name for name in home.inames if name != iname)
    return project_out(home.flat, (iname,)).intersect(values) if rest else values


def _between(iname: str, first: LinearForm, last: LinearForm) -> isl.Set:
    value = ex.Variable(iname)
    found = condition_set(
        ex.LogicalAnd(
            (
                ex.Comparison(first.expression(), "<=", value),
                ex.Comparison(value, "<=", last.expression()),
            )
        )
    )
    if found is None:
        raise InternalError("the end of a loop is not affine")
    return found


def _guarded(kernel: Kernel, insn: Instruction, iname: str, there: Expression) -> Instruction:
    """Return an instruction that does no harm in further iterations."""
    if iname not in insn.within_inames or not isinstance(insn, Assigning):
        return insn
    if not _has_scratch(kernel, insn, iname):
        return insn.copy(predicates=(there, *insn.predicates))

    def value(node: Expression) -> Expression:
        if iname not in walk.free_variables(node):
            return node
        if isinstance(node, ex.Subscript):
            return ex.If(there, node, 0)
        return walk.rebuild(node, tuple([value(part) for part in walk.parts(node)]))

    return insn.map_expressions(value)


def _has_scratch(kernel: Kernel, insn: Assigning, iname: str) -> bool:
    """Tell whether what an instruction writes is its loops' own, as far as can be seen here."""
    if isinstance(insn, CInstruction) or insn.atomicity is not None:
        return False
    if any(iname in walk.free_variables(node) for node in (*insn.assignees, *insn.predicates)):
        return False
    return all(isinstance(kernel.variables[n], TemporaryVariable) for n in insn.written_names)


def _refuse(home: Domain, why: str) -> NoReturn:
    raise NotPaddable(
        why,
        where=caller_location(),
        excerpt=home.text,
        remedy="pad before loops are split, one whose ends mention no other loop of its domain",
    )
