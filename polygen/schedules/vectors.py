"""Schedules nests whose inner loops go on from one iteration to the next: vectors of outer ones.

for j:                                a = 0 in 8 lanes
    a = 0                             for t:
    for t: a = a*a + x[j]      ->         a = a*a + x[8*j ... 8*j + 7]
    y[j] = a                          y[8*j ... 8*j + 7] = a

Compilers make vectors of innermost loops.  Where the iterations of that wait for each other, the
lanes are iterations of the loop around it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from polygen.analysis.dataflow.nest_parallelism import is_plainly_parallel
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import to_dtype
from polygen.ir.instruction import Assignment, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag
from polygen.schedules.nests import Extents, Nest, all_nests, nests_of
from polygen.schedules.plan import Plan
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import shared_uses, strides_of
from polygen.tuning.pack_product import kernel_vector_bytes

_EACH = 4  # vectors, at least: fewer, and what is left of the loop takes as long
_STEPS = 8  # iterations inside, at least


def in_vectors(plan: Plan) -> None:
    """Make vectors of loops around those that go on from one iteration to the next."""
    for nest in list(all_nests(nests_of(plan.kernel))):
        lanes = _lanes(plan, nest)
        if lanes:
            iname = nest.loops[-1]
            plan.take(
                nest.ids,
                f"vectors of {lanes} iterations of '{iname}'",
                "inside, each iteration waits for the one before",
                partial(_in_vectors, iname=iname, lanes=lanes),
            )


def _in_vectors(kernel: Kernel, iname: str, lanes: int) -> Kernel:
    lane = kernel.new_name(f"{iname}_lane")
    new = split_iname(kernel, iname, lanes, inner_iname=lane, inner_tag="vec")
    return separate_full_tiles(new, lane)


def _lanes(plan: Plan, nest: Nest) -> int | None:
    """Return how many iterations of the innermost loop of a nest are a vector; None if none are."""
    kernel, iname = plan.kernel, nest.loops[-1]
    extents = Extents(kernel, plan.request.sizes)
    if len(nest.inner) != 1 or any(i in kernel.tags or i not in kernel.inames for i in nest.inames):
        return None
    (inner,) = nest.inner
    if not inner.is_perfect or len(inner.loops) != 1 or extents.of(inner.loops[0]) < _STEPS:
        return None
    if not all(map(_is_plain, nest.instructions)) or any(map(_calls, inner.instructions)):
        return None
    if not _is_straight(kernel, nest, inner):
        return None
    size = _one_size(kernel, nest.instructions)
    if size is None or extents.of(iname) < _EACH * kernel_vector_bytes(kernel) // size:
        return None
    if not is_plainly_parallel(kernel, iname, GroupTag(0)):
        return None
    return kernel_vector_bytes(kernel) // size if _goes_on(inner) else None


def _is_plain(insn: Instruction) -> bool:
    """Tell whether lanes can do an instruction at once: an assignment, no sum, no condition."""
    return (
        isinstance(insn, Assignment)
        and not insn.predicates
        and not insn.reductions
        and insn.atomicity is None
        and not walk.classes(insn.expression) & {ex.FloorDiv, ex.Remainder}
    )


def _calls(insn: Instruction) -> bool:
    return isinstance(insn, Assignment) and ex.Call in walk.classes(insn.expression)


def _is_straight(kernel: Kernel, nest: Nest, inner: Nest) -> bool:
    """Tell whether the loop inside is the same for all lanes, which touch neighbours.

    In the loop, an element may also be one for all.
    """
    iname = nest.loops[-1]
    home = kernel.home_domains[inner.loops[0]]
    if iname in home.inames or iname in home.parameters or _has_data(kernel, home.parameters):
        return False
    uses = shared_uses(kernel.expanded, nest.ids)
    along = [strides_of(kernel.expanded, use, (iname,)).get(iname, 0) for use in uses]
    return all(stride in (0, 1) for stride in along)


def _has_data(kernel: Kernel, names: Sequence[str]) -> bool:
    return any(name in kernel.writers for name in names)


def _one_size(kernel: Kernel, insns: Sequence[Instruction]) -> int | None:
    """Return the size of the floating-point numbers that are computed; None if there are several.

    What is stored in the end may be of another type.
    """
    typed = infer_types(kernel.expanded, index_type(kernel))
    found = set[int]()
    for insn in insns:
        assert isinstance(insn, Assignment)
        name = ex.name_of(insn.assignee)
        if kernel.address_space(name) is AddressSpace.GLOBAL:
            continue
        dtype = to_dtype(typed.array(name).dtype)
        if dtype.kind != "f":
            return None
        found.add(dtype.itemsize)
    return found.pop() if len(found) == 1 and found <= {4, 8} else None


def _goes_on(inner: Nest) -> bool:
    """Tell whether an iteration of the loop inside reads what the one before has computed."""
    order = inner.instructions
    written = [ex.name_of(i.assignee) for i in order if isinstance(i, Assignment)]
    return any(not insn.read_names.isdisjoint(written[at:]) for at, insn in enumerate(order))
