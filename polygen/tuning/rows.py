"""Rows that several instructions go along: a softmax, say, or what is divided by a norm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import gcd
from typing import SupportsIndex

from polygen.analysis.access.accesses import Reference, references
from polygen.analysis.typing.functions import conversion_type
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import UserError
from polygen.inspection.devices.limits import Limits
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import to_dtype
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.tags import is_parallel
from polygen.transforms.instructions.set_instruction_priority import set_instruction_priority
from polygen.transforms.kernels.set_options import set_options
from polygen.transforms.parallel_reductions.share_rows import share_rows
from polygen.transforms.splitting.join_inames import join_inames
from polygen.tuning.blocked_sums import steps_in_blocks
from polygen.tuning.nests import Family, names_of, work_of_all
from polygen.tuning.work import Work

_VECTOR = 16  # bytes that a work item reads at once
_VECTORS = 4  # of these in a row, for each work item; of a short row, half as many
_LANES = 4  # that such a vector has, or fewer, unless it is of halves
_SHORT = 256
_ITEMS, _FEW = 128, 64  # work items of a group that has several rows; of a row that has its own
_MOST = 32  # elements that fit into the registers of a work item
_MORE = 1  # so many more if rows are a little longer, rather than other work items
_MOST_VECTORS = 8  # the same of long rows, which are kept as they are
_BUSY = 512  # work items of each unit at once, if there are so many
_NEAR = 16  # elements that items read at once, one beside the other, or in vectors
_WARP, _BESIDE = 32, 512  # work items of a block in a cluster, if a unit is to hold several blocks


def with_rows(
    kernel: Kernel, family: Family, limits: Limits, sizes: Mapping[str, SupportsIndex]
) -> Kernel | None:
    """Return the kernel in which work items share rows, and keep their parts of these.

    Rows that are too long for their registers, items read again, several vectors at a time.

    None if that does not apply: each row is read once, or by one reduction.
    """
    plain = kernel.expanded
    ids = [*names_of(family), *_along_rows(plain, family)]
    if len(ids) == len(family[0].ids):
        return None
    work = work_of_all(kernel, family, sizes)
    if not work.along or work.results == 1:
        return None
    kernel = _in_one_loop(kernel, ids)
    smallest, largest = _sizes(plain, ids)
    # Vectors of the largest elements: those of smaller ones are narrower, but leave no gaps.
    room = max(1, _VECTOR // largest)
    # Where rows do not begin where vectors do, neighbours are read by items in turn.
    lanes = gcd(work.length, room, *_aligned(plain, ids, room))
    own = min(room, _LANES * lanes)  # what an item has in the place of a vector
    wanted = max(work.length // (own * _vectors(work, own, limits)), _together(work.length, lanes))
    threads = _in_warps(max(1, min(wanted, limits.items_per_group)))
    across = 1 if threads >= _FEW else _ITEMS // threads
    shares = {"threads": threads, "lanes": lanes, "across": across}
    used = _used_again(kernel, ids)
    arrays = tuple([name for name in used if name not in kernel.rules])
    once = _read_in_vectors(kernel, ids) if lanes > 1 else ()
    rules = tuple([name for name in used if _is_computed(kernel, name)])
    every = tuple(dict.fromkeys((*used, *once)))
    ways: tuple[tuple[str, ...], ...] = (every, used, *([rules] if rules else []), arrays, ())
    if work.length > threads * (_MOST + _MORE):
        ways = ways if rules else (arrays, ())
        cluster = _cluster(work.length, _VECTOR // smallest, limits, computed=bool(rules))
        if cluster is not None:
            shares["blocks"], shares["threads"] = cluster
            kernel = set_options(kernel, clusters=True)
            if not rules and shares["threads"] == _BESIDE:
                # Two find room on a unit if the compiler leaves registers for them.
                kernel = set_options(kernel, resident_groups=2)
        else:
            shares["ahead"], ways = _VECTORS * own // lanes, (arrays,)
    for keep in dict.fromkeys(ways):
        try:
            shared = share_rows(kernel, ids, keep=keep, **shares)
        except UserError:
            continue
        return _stores_first(steps_in_blocks(shared, kernel.instructions_by_id), kernel, ids)
    return None


def _stores_first(shared: Kernel, kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel in which what needs no reduction of the rows is written ahead of these.

    Then it is on its way while items wait for each other, and what it is made of is not kept.

    Parameters:
        shared: the kernel, rows shared.
        kernel: as it was before.
        ids: the instructions that go along rows.
    """
    behind = {name for name in ids if kernel.instruction(name).reductions}
    while more := {i.id for i in kernel.instructions if i.depends_on & behind} - behind:
        behind |= more
    free = [f"id:{name}" for name in ids if name not in behind]
    return set_instruction_priority(shared, " or ".join(free), 1) if free else shared


def _vectors(work: Work, own: int, limits: Limits) -> int:
    """Return how many vectors of a row each item has: fewer, if units had nothing to do else."""
    count = _VECTORS if work.length > _SHORT else _VECTORS // 2
    busy = (limits.compute_units or 1) * _BUSY
    while count > 1 and work.results * work.length // (own * count) < busy:
        count //= 2
    return count


def _in_warps(threads: int) -> int:
    """Return how many items share a row, if that many would: so that shuffles combine theirs."""
    if threads > _WARP:
        return -(-threads // _WARP) * _WARP
    above = 1 << (threads - 1).bit_length()
    return above if 4 * threads >= 3 * above else above // 2


def _together(length: int, lanes: int) -> int:
    """Return how many items at least read neighbours, for memory to be read as it is laid out."""
    least = _NEAR // lanes
    return least if length >= least else 1


def _in_one_loop(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel with one loop over rows, which groups can be spread over."""
    free = [i for i in kernel.inames if not is_parallel(kernel.tags.get(i))]
    around = frozenset[str].intersection(*(kernel.instruction(i).within_inames for i in ids))
    loops = [iname for iname in free if iname in around]
    if len(loops) < 2:
        return kernel
    try:
        return join_inames(kernel, loops)
    except UserError:  # one bounds another, say
        return kernel


def _cluster(length: int, lanes: int, limits: Limits, *, computed: bool) -> tuple[int, int] | None:
    """Return how many blocks keep a row together, in a cluster, and how large these are.

    They are so small that several find room on a unit, where some read while others compute, if
    that is possible; else as few as hold the row, of as many work items as there may be.  None if
    none do.

    Parameters:
        length: of a row.
        lanes: of a vector.
        limits: those of the device.
        computed: whether more is kept than what is read, for which registers are needed, too.
    """
    most, kept = limits.cluster_groups, _MOST_VECTORS * lanes

    def shares(each: int, items: int) -> int:
        """Return how many shares a row has, of some elements, or one more, for each item."""
        return max(1, -(-(length - _MORE * items) // (each * items)))

    if most == 1 or shares(kept, limits.items_per_group) > most:
        return None
    threads = _WARP * shares(_VECTORS * lanes, most * _WARP)
    if computed and threads <= _BESIDE:
        return most, threads
    small = shares(kept, _BESIDE)
    if not computed and 2 * small <= most:
        return small, _BESIDE
    return shares(kept, limits.items_per_group), limits.items_per_group


def _along_rows(kernel: Kernel, family: Family) -> list[str]:
    """Return the instructions that do something for each element of the rows, no reductions."""
    around = kernel.instruction(family[0].ids[0]).within_inames
    return [
        insn.id
        for insn in kernel.assignments
        if not insn.reductions and insn.within_inames > around
        if len(insn.within_inames - around) == 1
    ]


def _sizes(kernel: Kernel, ids: Sequence[str]) -> tuple[int, int]:
    """Return the size of the smallest elements of all arrays, and of the largest of rows."""
    typed = infer_types(kernel, index_type(kernel)).expanded
    insns = [typed.instruction(name) for name in ids]
    rows = insns[0].within_inames.intersection(*(insn.within_inames for insn in insns))
    sizes, whole = set[int](), set[int]()
    for use in [use for insn in insns for use in references(insn) if use.index]:
        array = typed.variables.get(use.name)
        if isinstance(array, GlobalArg):
            size = to_dtype(array.dtype).itemsize
            sizes.add(size)
            mentioned = NO_NAMES.union(*map(walk.free_variables, use.index))
            if rows < mentioned & frozenset(typed.inames):
                whole.add(size)
    smallest = min(sizes, default=_VECTOR)
    return smallest, max(whole, default=smallest)


def _aligned(kernel: Kernel, ids: Sequence[str], most: int) -> Iterator[int]:
    """Yield how many elements of each array along rows are certain to be read at once.

    Parameters:
        kernel: the kernel, rules expanded.
        ids: the instructions.
        most: how many are of use.
    """
    typed = infer_types(kernel, index_type(kernel)).expanded
    insns = [typed.instruction(name) for name in ids]
    rows = insns[0].within_inames.intersection(*(insn.within_inames for insn in insns))
    for use in {use.name: use for insn in insns for use in references(insn)}.values():
        array = typed.variables.get(use.name)
        along = NO_NAMES.union(*map(walk.free_variables, use.index)) - rows
        if isinstance(array, GlobalArg) and along & set(typed.inames):
            begins = gcd(_VECTOR, array.alignment or 1)
            yield most if begins == _VECTOR else max(1, begins // to_dtype(array.dtype).itemsize)


def _used_again(kernel: Kernel, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the rules and the arrays of which several instructions use the elements of rows."""
    counts: dict[str, int] = {}
    plain = kernel.expanded
    for name in ids:
        of_rule = dict.fromkeys([use.rule for use in kernel.instruction(name).invocations])
        rules = [rule for rule in of_rule if len(kernel.rules[rule].arguments) == 1]
        arrays = {use.name for use in _of_rows(plain, plain.instruction(name))}
        for used in [*rules, *sorted(arrays)]:
            counts[used] = counts.get(used, 0) + 1
    return tuple([used for used, count in counts.items() if count > 1])


def _read_in_vectors(kernel: Kernel, ids: Sequence[str]) -> tuple[str, ...]:
    """Return the arrays of which reductions use elements of rows: they read these one by one."""
    plain = kernel.expanded
    found: set[str] = set()
    for insn in map(plain.instruction, ids):
        for use in _of_rows(plain, insn) if insn.reductions else ():
            if not insn.reduction_inames.isdisjoint(
                NO_NAMES.union(*map(walk.free_variables, use.index))
            ):
                found.add(use.name)
    return tuple(sorted(found))


def _is_computed(kernel: Kernel, name: str) -> bool:
    """Tell whether a name is that of a rule, which is more than an element in another type."""
    if name not in kernel.rules:
        return False
    node = kernel.rules[name].expression
    while isinstance(node, ex.Call) and conversion_type(ex.name_of(node.function)) is not None:
        (node,) = node.parameters
    return not isinstance(node, ex.Subscript)


def _of_rows(kernel: Kernel, insn: Instruction) -> Iterator[Reference]:
    """Yield what an instruction reads in memory with all loops around it."""
    for use in references(insn):
        mentioned = NO_NAMES.union(*map(walk.free_variables, use.index))
        is_array = isinstance(kernel.variables.get(use.name), GlobalArg)
        if is_array and not use.is_write and insn.within_inames <= mentioned:
            yield use
