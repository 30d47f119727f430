"""Lets processors compute several rows of a stencil at once, in vectors.

    for i: for j:                             for i in steps of 4: for j in vectors:
        b[i,j] = a[i-1,j] + a[i+1,j]    ->        b[i ... i+3, j] = ...

A row that is read for one row of results is read for the next ones, too.  Where rows are long, it
has left the first-level cache by then.  Four rows of results need six rows, and not twelve; and
more of memory is on its way at once.  Compilers do not know that rows of results are apart, so
vectors are written out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from polygen.analysis.access.accesses import Reference
from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel
from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.domain import unflatten
from polygen.ir.dtype import to_dtype
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.loops.shift import shift
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.transforms.splitting.strip_mine_to_vector import strip_mine_to_vector
from polygen.tuning.neighbours import shared_uses, strides_of

_ROWS = 4, 2  # of results at once; the first is the usual number
_VECTOR = 32  # bytes: those that compilers take, too
_CACHE = 16 * 1024  # bytes that rows take together, at least: fewer stay in the first-level cache
_LEAST_ROWS, _LEAST_COLUMNS = 16, 64
_MOST_LOADS = 12  # of an iteration: with more, registers are short
_MOST_STATEMENTS = 8
_MOST_NESTS = 8  # of one kernel: each takes as long to make and to compile as 20 plain ones
_TOO_MUCH_CODE = f"the kernel has more than {_MOST_NESTS} such nests, and would be long"


def in_several_rows(plan: Plan) -> None:
    """Compute several rows of stencils at once, where rows are long."""
    found = [(nest, _lanes(plan, nest)) for nest in all_nests(nests_of(plan.kernel))]
    stencils = [(nest, lanes) for nest, lanes in found if lanes is not None]
    is_long = len(stencils) > _MOST_NESTS
    for nest, lanes in stencils:
        *_, rows, columns = nest.loops
        what, alone = "{} iterations of '" + rows + "' at once", "one by one"
        labels = [f"{count} at once" for count in _ROWS]
        labels = [alone, *labels] if is_long else [*labels, alone]
        work = Extents(plan.kernel, plan.request.sizes).work(nest)
        picked = labels[plan.pick(f"rows of {', '.join(nest.ids)}", labels, work)]
        if picked == alone:
            if is_long:
                plan.leave(nest.ids, what.format(_ROWS[0]), _TOO_MUCH_CODE)
            continue
        count = int(picked.split()[0])
        plan.take(
            nest.ids,
            f"{what.format(count)}, vectors of {lanes} along '{columns}'",
            "they read the same elements, which do not stay in the first-level cache",
            partial(_in_rows, rows=rows, columns=columns, count=count, lanes=lanes),
        )


def _in_rows(kernel: Kernel, rows: str, columns: str, count: int, lanes: int) -> Kernel:
    """Return the kernel with some rows at once; both loops begin at 0, so that tiles are full."""
    for iname in (rows, columns):
        first = _first(kernel, iname)
        kernel = shift(kernel, iname, -first) if first else kernel
    near = kernel.new_name(f"{rows}_near")
    kernel = split_iname(kernel, rows, count, inner_iname=near, inner_tag="ilp")
    return strip_mine_to_vector(separate_full_tiles(kernel, near), columns, lanes)


def _first(kernel: Kernel, iname: str) -> int | None:
    """Return where a loop begins; None if that is no number."""
    home = kernel.home_domains[iname]
    least = unflatten(home.flat, (iname,)).dim_min(0)
    found = [aff for _, aff in least.get_pieces()]
    if len(found) != 1 or not found[0].is_cst():
        return None
    value = found[0].get_constant_val()
    return int(value.to_python()) if value.is_int() else None


def _lanes(plan: Plan, nest: Nest) -> int | None:
    """Return how many elements a vector has; None if rows are better computed one by one."""
    kernel = plan.kernel
    if not _is_stencil(plan, nest):
        return None
    *_, rows, columns = nest.loops
    uses = shared_uses(kernel.expanded, nest.ids)
    item = _item(kernel, nest, uses)
    if item is None or not _goes_along_rows(kernel, uses, columns):
        return None
    together = sum(_rows_of(kernel, uses, rows).values())
    length = Extents(kernel, plan.request.sizes).of(columns)
    if together * length * item < _CACHE or not _shares_rows(kernel, uses, rows):
        return None
    is_free = all(is_plainly_parallel(kernel, i, GroupTag(0)) for i in (rows, columns))
    return _VECTOR // item if is_free else None


def _is_stencil(plan: Plan, nest: Nest) -> bool:
    """Tell whether a nest may be a stencil over a plane that is large enough."""
    kernel, extents = plan.kernel, Extents(plan.kernel, plan.request.sizes)
    if len(nest.loops) < 2 or not nest.is_perfect or len(nest.ids) > _MOST_STATEMENTS:
        return False
    if any(i in kernel.tags or i not in plan.given.inames for i in nest.inames):
        return False
    if not all(_is_plain(insn) and insn.id not in plan.settled for insn in nest.instructions):
        return False
    *_, rows, columns = nest.loops
    return extents.of(rows) >= _LEAST_ROWS and extents.of(columns) >= _LEAST_COLUMNS


def _goes_along_rows(kernel: Kernel, uses: Sequence[Reference], columns: str) -> bool:
    """Tell whether vectors are what lies side by side, or one element, and loads are few."""
    plain = kernel.expanded
    strides = [strides_of(plain, use, [columns]).get(columns, 0) for use in uses]
    return set(strides) <= {0, 1} and 0 < sum(not use.is_write for use in uses) <= _MOST_LOADS


def _shares_rows(kernel: Kernel, uses: Sequence[Reference], rows: str) -> bool:
    """Tell whether neighbouring rows of results need the same rows."""
    counts = _rows_of(kernel, [use for use in uses if not use.is_write], rows)
    return any(count > 1 for count in counts.values())


def _is_plain(insn: Instruction) -> bool:
    return (
        isinstance(insn, Assignment)
        and not insn.predicates
        and not insn.reductions
        and insn.atomicity is None
        and not walk.classes(insn.expression) & {ex.FloorDiv, ex.Remainder, ex.Call, ex.If}
    )


def _item(kernel: Kernel, nest: Nest, uses: Sequence[Reference]) -> int | None:
    """Return how many bytes a number has; None if they are not all of one type of floats."""
    names = {use.name for use in uses}.union(*(insn.written_names for insn in nest.instructions))
    found = {kernel.array(name).dtype for name in names}
    if None in found:
        typed = infer_types(kernel.expanded, index_type(kernel), complete=False)
        found = {typed.array(name).dtype for name in names}
    if len(found) != 1 or None in found:
        return None
    dtype = to_dtype(found.pop())
    return int(dtype.itemsize) if dtype.kind == "f" and dtype.itemsize in {4, 8} else None


def _rows_of(kernel: Kernel, uses: Sequence[Reference], rows: str) -> dict[tuple[object, ...], int]:
    """Return how many rows of each array an iteration touches; those of other planes are apart.

    Parameters:
        kernel: the kernel.
        uses: what is touched.
        rows: the loop that counts rows.
    """
    names = {*kernel.inames, *kernel.parameters}
    found: dict[tuple[object, ...], set[object]] = {}
    for use in uses:
        forms = [linear_form(index, names) for index in use.index]
        along = [form for form in forms if form is not None and rows in form.terms]
        others = [form and (form.constant, *form.terms.items()) for form in forms[:-1]]
        apart = tuple([o for o, form in zip(others, forms, strict=False) if form not in along])
        places = tuple([form.constant for form in along])
        found.setdefault((use.name, *apart), set()).add(places)
    return {key: len(places) for key, places in found.items()}
