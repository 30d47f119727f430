"""Schedules nests whose inner loops go on from one iteration to the next: vectors of outer ones.

for j:                                a = 0 in 8 lanes
    a = 0                             for t:
    for t: a = a*a + x[j]      ->         a = a*a + x[8*j ... 8*j + 7]
    y[j] = a                          y[8*j ... 8*j + 7] = a

Compilers make vectors of innermost loops.  Where the iterations of that wait for each other, the
lanes are iterations of the loop around it.  Several such vectors are computed at once, as far as
there are registers: while one operation is under way, others begin.

Where there are conditions, or numbers of several sizes, iterations are work items: for each `t`, a
loop over these, of which compilers make vectors, with what the conditions choose.
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
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.splitting.pad_iname import pad_iname
from polygen.transforms.splitting.separate_full_tiles import separate_full_tiles
from polygen.transforms.splitting.split_iname import split_iname
from polygen.tuning.neighbours import shared_uses, strides_of
from polygen.tuning.pack_product import kernel_vector_bytes

_EACH = 4  # vectors, at least: fewer, and what is left of the loop takes as long
_STEPS = 8  # iterations inside, at least
_AT_ONCE = 4, 2, 1  # vectors at once: as many as there are registers for
_REGISTERS = {32: 16, 64: 32}  # vectors that a core can name, by their bytes
_ITEMS = 256, 128, 64, 32  # work items of a group: what they have stays in the first-level cache
_LEAST_ITEMS = 64  # iterations, at least
_CACHE, _NUMBER = 16 * 1024, 8  # bytes, of the first-level cache, and of a number at most
_AXES = 3  # of a grid


def in_vectors(plan: Plan) -> None:
    """Make vectors of loops around those that go on from one iteration to the next."""
    for nest in list(all_nests(nests_of(plan.kernel))):
        if not _is_serial_inside(plan, nest):
            continue
        lanes = _lanes(plan, nest)
        if lanes:
            _take_vectors(plan, nest, lanes)
        elif _may_be_items(plan, nest):
            _take_items(plan, nest)


def _take_vectors(plan: Plan, nest: Nest, lanes: int) -> None:
    """Let vectors have iterations of the innermost loop of a nest, several at once."""
    iname = nest.loops[-1]
    extents = Extents(plan.kernel, plan.request.sizes)
    fits = [n for n in _AT_ONCE if n == 1 or _fits(plan, nest, n, extents.of(iname) // lanes)]
    labels = [f"{n} at once" for n in fits]
    at_once = fits[plan.pick(f"vectors of {', '.join(nest.ids)}", labels, extents.work(nest))]
    several = f", {at_once} at once" if at_once > 1 else ""
    plan.take(
        nest.ids,
        f"vectors of {lanes} iterations of '{iname}'{several}",
        "inside, each iteration waits for the one before",
        partial(_in_vectors, iname=iname, lanes=lanes, at_once=at_once, inner=nest.inner[0]),
    )


def _fits(plan: Plan, nest: Nest, at_once: int, vectors: int) -> bool:
    """Tell whether there are registers for several vectors of each variable, and work for them."""
    count = len(_own_names(plan.kernel, nest))
    return (
        at_once * count <= _REGISTERS[kernel_vector_bytes(plan.kernel)]
        and vectors >= _EACH * at_once
    )


def _own_names(kernel: Kernel, nest: Nest) -> set[str]:
    """Return the variables that each iteration has for itself."""
    written = {ex.name_of(i.assignee) for i in nest.instructions if isinstance(i, Assignment)}
    return {name for name in written if kernel.address_space(name) is not AddressSpace.GLOBAL}


def _in_vectors(kernel: Kernel, iname: str, lanes: int, at_once: int, inner: Nest) -> Kernel:
    """Return the kernel with vectors.

    The last one is computed as a whole, too, unless the loop inside would ask at each step whether
    there is an element.
    """
    lane = kernel.new_name(f"{iname}_lane")
    if any(iname in walk.free_variables(insn.expression) for insn in _assignments(inner)):
        return _of_full_tiles(kernel, iname, lane, lanes, at_once)
    new = pad_iname(kernel, iname, lanes)
    tile = new.new_name(f"{iname}_outer")
    new = split_iname(new, iname, lanes, outer_iname=tile, inner_iname=lane, inner_tag="vec")
    if at_once == 1:
        return new
    several = new.new_name(f"{iname}_near")
    new = split_iname(new, tile, at_once, inner_iname=several, inner_tag="ilp")
    return separate_full_tiles(new, several)


def _of_full_tiles(kernel: Kernel, iname: str, lane: str, lanes: int, at_once: int) -> Kernel:
    """Return the kernel with vectors where there are iterations for all of them."""
    if at_once == 1:
        new = split_iname(kernel, iname, lanes, inner_iname=lane, inner_tag="vec")
        return separate_full_tiles(new, lane)
    near = kernel.new_name(f"{iname}_near")
    new = separate_full_tiles(split_iname(kernel, iname, lanes * at_once, inner_iname=near), near)
    return split_iname(new, near, lanes, inner_iname=lane, outer_tag="ilp", inner_tag="vec")


def _assignments(nest: Nest) -> list[Assignment]:
    return [insn for insn in nest.instructions if isinstance(insn, Assignment)]


def _take_items(plan: Plan, nest: Nest) -> None:
    """Let work items have iterations of the innermost loop of a nest."""
    *around, iname = nest.loops
    count = len(_own_names(plan.kernel, nest))
    items = max(size for size in _ITEMS if size * count * _NUMBER <= _CACHE or size == _ITEMS[-1])
    plan.take(
        nest.ids,
        f"{items} iterations of '{iname}' side by side",
        "inside, each iteration waits for the one before",
        partial(_on_items, iname=iname, around=around, items=items),
    )


def _on_items(kernel: Kernel, iname: str, around: Sequence[str], items: int) -> Kernel:
    tags = {name: f"g.{axis}" for axis, name in enumerate(reversed(around), 1)}
    new = split_iname(kernel, iname, items, outer_tag="g.0", inner_tag="l.0")
    return tag_inames(new, tags) if tags else new


def _may_be_items(plan: Plan, nest: Nest) -> bool:
    """Tell whether the loops of a nest may be on axes: the innermost on work items."""
    kernel = plan.kernel
    if Extents(kernel, plan.request.sizes).of(nest.loops[-1]) < _LEAST_ITEMS:
        return False
    is_outermost = any(nest.loops == one.loops for one in nests_of(kernel))
    return (
        is_outermost
        and len(nest.loops) <= _AXES
        and all(is_plainly_parallel(kernel, iname, GroupTag(0)) for iname in nest.loops)
    )


def _is_serial_inside(plan: Plan, nest: Nest) -> bool:
    """Tell whether a nest has one long loop inside whose iterations wait for each other."""
    kernel = plan.kernel
    extents = Extents(kernel, plan.request.sizes)
    if len(nest.inner) != 1 or any(i in kernel.tags or i not in kernel.inames for i in nest.inames):
        return False
    (inner,) = nest.inner
    if not inner.is_perfect or len(inner.loops) != 1 or extents.of(inner.loops[0]) < _STEPS:
        return False
    if not all(map(_is_simple, nest.instructions)) or any(map(_calls, inner.instructions)):
        return False
    return _is_straight(kernel, nest, inner) and _goes_on(inner)


def _lanes(plan: Plan, nest: Nest) -> int | None:
    """Return how many iterations of the innermost loop of a nest are a vector; None if none are."""
    kernel, iname = plan.kernel, nest.loops[-1]
    if any(insn.predicates for insn in nest.instructions):
        return None
    size = _one_size(kernel, nest.instructions)
    extents = Extents(kernel, plan.request.sizes)
    if size is None or extents.of(iname) < _EACH * kernel_vector_bytes(plan.kernel) // size:
        return None
    if not is_plainly_parallel(kernel, iname, GroupTag(0)):
        return None
    return kernel_vector_bytes(plan.kernel) // size


def _is_simple(insn: Instruction) -> bool:
    """Tell whether lanes can do an instruction at once: an assignment, no sum, no quotient."""
    return (
        isinstance(insn, Assignment)
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
    home = kernel.expanded.home_domains[inner.loops[0]]
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
