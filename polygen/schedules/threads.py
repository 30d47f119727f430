"""Gives loops to threads: of each nest the outermost parallel loop that has work for them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel, same_element_of
from polygen.analysis.integers.affine_forms import linear_form
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Assignment
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, is_on_axis
from polygen.schedules.nests import Extents, Nest, is_on_axes, nests_of, weight_of
from polygen.schedules.parallel_loops import on_axes
from polygen.schedules.plan import Plan
from polygen.schedules.scans import scanned
from polygen.tuning.shared_values import in_memory, names_computed_again

_AXIS = "g.0"
_SEVERAL = 2  # threads: for one, a loop is better left to the compiler
WORTH_IT = 200_000  # operations: fewer, and waking threads takes as long
_ATOMIC = 100  # operations for each atomic update: fewer, and threads wait for each other
_EACH = 4  # iterations for each thread: else one that is late keeps all others waiting


def on_threads(plan: Plan) -> None:
    """Let threads share the iterations of loops."""
    if plan.request.units < _SEVERAL:
        return
    extents = Extents(plan.kernel, plan.request.sizes)
    found = list(_candidates(plan, nests_of(plan.kernel), extents, ()))
    plain = [pair for pair in found if _is_plain(plan.kernel, pair[0])]
    if not plain or not share_loops(plan, plain):
        plain = []
    for pair in found:
        if pair not in plain:
            share_loops(plan, [pair])


def share_loops(plan: Plan, found: Sequence[tuple[str, Nest]]) -> bool:
    """Let threads share loops, in one step; tell whether that is legal."""
    if (why := _why_repeated(plan, found)) is not None:
        shown = ", ".join(repr(iname) for iname, _ in found)
        plan.leave([n for _, nest in found for n in nest.ids], f"threads along {shown}", why)
        return False
    if not _kept(plan, [iname for iname, _ in found]):
        return False
    tags = {iname: _AXIS for iname, _ in found}
    threads = f"{plan.request.units} thread{'s' if plan.request.units != 1 else ''}"
    ids = [name for _, nest in found for name in nest.ids]
    return plan.take(
        ids,
        f"threads along {', '.join(map(repr, tags))}",
        f"no iteration needs another one, and there is work for {threads}",
        lambda knl: on_axes(knl, tags, ids),
    )


def chosen_for_threads(plan: Plan, nest: Nest, extents: Extents) -> str | None:
    """Return the loop of an outermost nest that threads share best, if there is one."""
    return _chosen(plan, nest, extents, ())


def _why_repeated(plan: Plan, found: Sequence[tuple[str, Nest]]) -> str | None:
    """Return why threads do more than one alone would; None if they do not.

    Reductions beside a loop that threads share, in loops that stay serial, are computed in each of
    its iterations.
    """
    plain, extents = plan.kernel.expanded, Extents(plan.kernel, plan.request.sizes)
    shared = {iname for iname, _ in found}
    shared |= {iname for iname, tag in plan.kernel.tags.items() if is_on_axis(tag)}
    kept = names_computed_again(plan.kernel, [iname for iname, _ in found])  # in memory: once
    beside = [
        insn
        for insn in plain.assignments
        if insn.reductions
        and insn.within_inames
        and insn.within_inames.isdisjoint(shared)
        and set(insn.written_names).isdisjoint(kept)
    ]
    again = sum(
        weight_of(insn) * extents.instances(insn.within_inames | insn.reduction_inames)
        for insn in beside
    )
    repeated = again * max(extents.of(iname) for iname, _ in found)
    if repeated <= sum(extents.work(nest) for _, nest in found):
        return None
    names = ", ".join(repr(insn.id) for insn in beside)
    return f"each iteration would compute the reductions of {names} again"


def _kept(plan: Plan, inames: Sequence[str]) -> bool:
    """Put what threads would compute again into memory; tell whether that is legal."""
    names = names_computed_again(plan.kernel, inames)
    return not names or plan.take(
        [insn.id for name in names for insn in plan.kernel.writers[name]],
        f"{', '.join(map(repr, names))} in memory",
        "each thread would compute it again",
        lambda knl: in_memory(knl, inames),
    )


def _candidates(
    plan: Plan, nests: Sequence[Nest], extents: Extents, outside: tuple[str, ...]
) -> Iterator[tuple[str, Nest]]:
    """Yield loops that may be shared, with their nests: at most one around each instruction."""
    for nest in nests:
        if is_on_axes(plan.kernel, nest):
            continue
        chosen = _chosen(plan, nest, extents, outside)
        if chosen is not None:
            yield chosen, nest
        else:
            yield from _candidates(plan, nest.inner, extents, (*outside, *nest.loops))


def _chosen(plan: Plan, nest: Nest, extents: Extents, outside: tuple[str, ...]) -> str | None:
    """Return the loop of a nest that threads share best, if there is one."""
    parallel: list[str] = []
    for place, iname in enumerate(nest.loops):
        if extents.work(nest, (*outside, *nest.loops[:place])) < WORTH_IT:
            break
        if _may_be_shared(plan, nest, iname):
            parallel.append(iname)
    long = [i for i in parallel if extents.of(i) >= _EACH * plan.request.units]
    first = next(iter(long), None) or max(parallel, key=extents.of, default=None)
    if first is None:
        return None
    others = [iname for iname in parallel if iname != first]
    about, work = f"threads of {', '.join(nest.ids)}", extents.work(nest)
    return [first, *others, None][plan.pick(about, (first, *others, "none"), work)]


def _may_be_shared(plan: Plan, nest: Nest, iname: str) -> bool:
    kernel = plan.kernel
    if iname not in kernel.inames or kernel.tags.get(iname) is not None:
        return False
    if why := _why_slower(plan, nest, iname):
        plan.leave(nest.ids, f"threads along '{iname}'", why)
        return False
    what = f"threads along '{iname}'"
    if (shared := same_element_of(kernel, iname)) is not None:
        plan.leave(nest.ids, what, f"each iteration writes the same elements of '{shared}'")
        return False
    if _is_plain(kernel, iname):
        return True
    trial = Plan(kernel, plan.request)
    if trial.take(nest.ids, what, "", lambda knl: on_axes(knl, {iname: _AXIS}, nest.ids)):
        return True
    plan.choices += trial.choices
    return False


def _is_plain(kernel: Kernel, iname: str) -> bool:
    return is_plainly_parallel(kernel, iname, GroupTag(0))


def _why_slower(plan: Plan, nest: Nest, iname: str) -> str | None:
    """Return why threads would take longer than one does; None if they would not."""
    extents = Extents(plan.kernel, plan.request.sizes)
    for insn in nest.instructions:
        if iname in scanned(plan.kernel, insn):
            return "each iteration of a scan goes on from the one before"
        if isinstance(insn, Assignment) and insn.atomicity is not None:
            inside = extents.instances(insn.reduction_inames)
            if weight_of(insn) * inside < _ATOMIC and not _is_own(plan.kernel, insn, iname):
                return "threads would wait for each other at atomic updates"
    return None


def _is_own(kernel: Kernel, insn: Assignment, iname: str) -> bool:
    """Tell whether each iteration updates an element of its own, as far as subscripts show."""
    names = {*kernel.inames, *kernel.parameters}
    index = [i for i in ex.index_of(insn.assignee) if linear_form(i, names) is not None]
    return any(iname in walk.free_variables(i) for i in index)
