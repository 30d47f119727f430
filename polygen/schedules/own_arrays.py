"""Gives iterations of loops arrays of their own, so that threads can share the loops.

for i                                    for i                      # on threads
    for j: row[j] = a[i,j] + b[j]   ->       for j: row[i,j] = a[i,j] + b[j]
    for k: c[i,k] = f(row, k)                for k: c[i,k] = f(row[i,...], k)

All iterations write the same elements of `row`, and so they wait for each other, although none
needs what another one wrote.  With an axis for the loop, outermost in memory, they do not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from polygen.analysis.dataflow.nest_parallelism import same_element_of
from polygen.ir.array import AddressSpace, TemporaryVariable
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.schedules.nests import Extents, Nest, is_on_axes, nests_of
from polygen.schedules.parallel_loops import may_be_on_axes
from polygen.schedules.plan import Plan
from polygen.schedules.threads import WORTH_IT, share_loops
from polygen.transforms.arrays.privatize_temporaries_with_inames import (
    privatize_temporaries_with_inames,
)
from polygen.transforms.arrays.tag_array_axes import tag_array_axes
from polygen.transforms.loops.size_estimates import likely

_ITEM = 8  # bytes of a number whose type is not known yet
_EACH = 4  # iterations for each thread
_MOST_BYTES = 1 << 25  # of an array with an element for each iteration


def arrays_for_threads(plan: Plan) -> None:
    """Give iterations arrays of their own where threads can share the loop then."""
    if plan.request.units < 2 or not any(
        _is_shared(plan.kernel, t) for t in plan.kernel.temporaries
    ):
        return
    _look(plan, nests_of(plan.kernel), Extents(plan.kernel, plan.request.sizes), ())


def _look(plan: Plan, nests: Sequence[Nest], extents: Extents, outside: tuple[str, ...]) -> None:
    """Look for loops from outside inwards, as `threads` does, up to those that can be shared."""
    for nest in nests:
        if is_on_axes(plan.kernel, nest) or extents.work(nest, outside) < WORTH_IT:
            continue
        if not _is_shared_now(plan, nest, extents, outside):
            _look(plan, nest.inner, extents, (*outside, *nest.loops))


def _is_shared_now(plan: Plan, nest: Nest, extents: Extents, outside: tuple[str, ...]) -> bool:
    """Let threads share a loop of a nest; tell whether they do, or can as it is."""
    found: dict[str, tuple[list[str], Kernel]] = {}
    for place, iname in enumerate(nest.loops):
        if extents.work(nest, (*outside, *nest.loops[:place])) < WORTH_IT:
            break
        if iname in plan.kernel.tags or extents.of(iname) < plan.request.units:
            continue
        names = _own(plan, nest, iname, extents)
        if not names and may_be_on_axes(plan.kernel, iname):
            return True
        if names and (new := _parallel(plan, nest, iname, names)) is not None:
            found[iname] = names, new
            if extents.of(iname) >= _EACH * plan.request.units:
                break
    if not found:
        return False
    long = [i for i in found if extents.of(i) >= _EACH * plan.request.units]
    chosen = long[0] if long else max(found, key=extents.of)
    names, new = found[chosen]
    before, count = plan.kernel, len(plan.choices)
    plan.take(nest.ids, _what(names, chosen), "no iteration waits for another one", lambda _: new)
    if not share_loops(plan, [(chosen, nest)]):
        plan.kernel = before
        del plan.choices[count]
        return False
    return True


def _what(names: Sequence[str], iname: str) -> str:
    return f"{', '.join(map(repr, names))} for each iteration of '{iname}'"


def _own(plan: Plan, nest: Nest, iname: str, extents: Extents) -> list[str]:
    """Return the arrays that iterations of a loop could have for themselves."""
    kernel, inside = plan.kernel, {insn.id for insn in nest.instructions}
    found: list[str] = []
    for temporary in kernel.temporaries:
        name = temporary.name
        users = [i for i in kernel.instructions if name in i.read_names or name in i.written_names]
        if not _is_shared(kernel, temporary) or not inside.issuperset(i.id for i in users):
            continue
        writers = kernel.writers.get(name, ())
        if not writers or any(iname not in insn.within_inames for insn in users):
            continue
        if _bytes(temporary, plan.request.sizes) * extents.of(iname) <= _MOST_BYTES:
            found.append(name)
    return found


def _bytes(temporary: TemporaryVariable, sizes: Mapping[str, int]) -> int:
    item = _ITEM if temporary.dtype is None else int(to_dtype(temporary.dtype).itemsize)
    return item * prod(likely(extent, dict(sizes)) for extent in temporary.shape)


def _is_shared(kernel: Kernel, temporary: TemporaryVariable) -> bool:
    """Tell whether a temporary is an array that all iterations see."""
    space = kernel.address_space(temporary.name)
    return bool(temporary.shape) and not temporary.read_only and space is AddressSpace.GLOBAL


def _parallel(plan: Plan, nest: Nest, iname: str, names: Sequence[str]) -> Kernel | None:
    """Return the kernel with own arrays; None if the loop has to be serial with these, too."""
    if same_element_of(plan.kernel, iname, names) is not None:
        return None
    trial = Plan(plan.kernel, plan.request)
    if not trial.take(
        nest.ids, _what(names, iname), "", lambda knl: _privatized(knl, iname, names)
    ):
        plan.choices += trial.choices
        return None
    return trial.kernel if may_be_on_axes(trial.kernel, iname) else None


def _privatized(kernel: Kernel, iname: str, names: Sequence[str]) -> Kernel:
    """Return the kernel with arrays that have an axis for a loop, outermost in memory."""
    kernel = privatize_temporaries_with_inames(kernel, (iname,), tuple(names))
    for name in names:
        temporary = next(t for t in kernel.temporaries if t.name == name)
        if temporary.dim_tags is None:
            count = len(temporary.shape)
            levels = [*reversed(range(count - 1)), count - 1]
            kernel = tag_array_axes(kernel, name, ",".join(f"N{level}" for level in levels))
    return kernel
