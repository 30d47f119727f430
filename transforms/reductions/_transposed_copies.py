"""Arrays that lie across the loops of a reduction: copies that lie along them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from polygen.analysis.access.accesses import Reference, references
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.kernel import Kernel
from polygen.language.layouts import with_dim_tags
from polygen.transformation import transformation
from polygen.transforms.copies.precompute import new_id, precompute
from polygen.transforms.inames.tag_inames import tag_inames
from polygen.transforms.loops.memory_order import along_memory, likely_strides
from polygen.transforms.loops.size_estimates import likely_instances
from polygen.transforms.rules.extract_subst import extract_subst
from polygen.transforms.splitting.join_inames import join_inames
from polygen.transforms.splitting.split_iname import split_iname

_LARGE = 2**25  # bytes: what is smaller stays in a cache, and may be read in any order
_SECTOR = 32  # bytes that come together
_TILE = 16  # work items along either axis


@dataclass(frozen=True)
class _Across:
    """An array that is read across the innermost loop.

    Attributes:
        name: the array.
        inames: those that are its subscripts, in the order in which the copy has axes.
        axes: which axis of the array each of them is.
        fastest: the iname along which its elements follow each other.
    """

    name: str
    inames: tuple[str, ...]
    axes: tuple[int, ...]
    fastest: str


def with_turned_copies(kernel: Kernel, insn_id: str, inames: Sequence[str]) -> Kernel:
    """Return the kernel in which large arrays that lie across the loops are copied first.

    Parameters:
        kernel: the kernel.
        insn_id: the instruction.
        inames: those that it is within, and reduces over, which are to be joined.
    """
    for found in list(_across(kernel, insn_id, inames)):
        kernel = _copied(kernel, insn_id, found)
    return kernel


def _across(kernel: Kernel, insn_id: str, inames: Sequence[str]) -> Iterator[_Across]:
    """Yield arrays of which the order of the loops reads an element of each sector at a time."""
    order = [iname for run in along_memory(kernel, insn_id, inames) for iname in run]
    reads = [r for r in references(kernel.expanded.instruction(insn_id)) if not r.is_write]
    for reference in reads:
        found = [i.name for i in reference.index if isinstance(i, ex.Variable)]
        if len(set(found)) < len(reference.index) or not set(found) <= set(order):
            continue  # its subscripts are no inames, each once
        if [r.name for r in reads].count(reference.name) > 1 or len(found) < 2:
            continue
        if reference.conditions:
            continue  # perhaps not all of it is read
        strides = likely_strides(kernel, reference, found)
        fastest = min(found, key=lambda iname: strides[iname])
        innermost = max(found, key=order.index)
        if innermost != order[-1] or not _pays(kernel, reference, strides[innermost]):
            continue
        along = tuple(sorted(found, key=order.index))
        yield _Across(reference.name, along, tuple(map(found.index, along)), fastest)


def _pays(kernel: Kernel, reference: Reference, stride: float) -> bool:
    """Tell whether a copy of an array takes less time than reading it across.

    That is so if it is too large for caches, and each element is read once.
    """
    array = kernel.variables[reference.name]
    if not isinstance(array, GlobalArg) or reference.name in kernel.writers:
        return False
    if not all(isinstance(extent, int) for extent in array.shape or ()):
        return False  # nobody knows how large it is
    itemsize = 4 if array.dtype is None else array.dtype.itemsize
    names = [i.name for i in reference.index if isinstance(i, ex.Variable)]
    elements = likely_instances(kernel, names)
    is_read_once = likely_instances(kernel, reference.inames) == elements
    return is_read_once and elements * itemsize >= _LARGE and stride * itemsize >= _SECTOR


def _copied(kernel: Kernel, insn_id: str, found: _Across) -> Kernel:
    """Return the kernel with a copy of an array, made through tiles in local memory."""
    name = found.name
    loops = [kernel.new_name(f"{name}_along_{place}") for place in range(len(found.axes))]
    copy = kernel.new_name(f"{name}_turned")
    insn = new_id(kernel, copy)
    kernel, arguments = _as_rule(kernel, name, insn_id)
    kernel = precompute(
        kernel,
        kernel.substitutions[-1].name,
        found.inames,
        storage_axes=[arguments[axis] for axis in found.axes],
        temporary_name=copy,
        temporary_address_space=AddressSpace.GLOBAL,
        default_tag=None,
        dtype=kernel.array(name).dtype,
        precompute_inames=loops,
        compute_insn_id=insn,
    )
    return _in_tiles(kernel, insn, name, loops, loops[found.inames.index(found.fastest)])


def _as_rule(kernel: Kernel, name: str, insn_id: str) -> tuple[Kernel, list[str]]:
    """Return the kernel in which an instruction reads an array by a rule, and its arguments."""
    axes = range(len(kernel.array(name).shape or ()))
    arguments = [kernel.new_name(f"{name}_at_{axis}") for axis in axes]
    rule, subscripts = kernel.new_name(f"{name}_element"), ", ".join(arguments)
    kernel = extract_subst(kernel, rule, f"{name}[{subscripts}]", arguments, within=insn_id)
    return kernel, arguments


def _in_tiles(kernel: Kernel, insn_id: str, name: str, loops: Sequence[str], across: str) -> Kernel:
    """Return the kernel with a copy's loops on the grid; either side goes along its rows."""
    inner: list[str] = []
    for iname, axis in ((across, 1), (loops[-1], 0)):
        inner.append(kernel.new_name(f"{iname}_inner"))
        kernel = split_iname(
            kernel,
            iname,
            _TILE,
            inner_iname=inner[-1],
            outer_tag=f"g.{axis}",
            inner_tag=f"l.{axis}",
        )
    others = [iname for iname in loops if iname not in (across, loops[-1])]
    if len(others) > 1:
        whole = kernel.new_name("_".join(others))
        kernel, others = join_inames(kernel, others, whole), [whole]
    if others:
        kernel = tag_inames(kernel, {others[0]: "g.2"})
    fetched = kernel.new_name(f"{name}_tile")
    kernel, _ = _as_rule(kernel, name, insn_id)
    kernel = precompute(
        kernel,
        kernel.substitutions[-1].name,
        inner,
        temporary_name=fetched,
        default_tag="l.auto",
        dtype=kernel.array(name).dtype,
    )
    return _with_room(kernel, fetched)


@transformation
def _with_room(kernel: Kernel, name: str) -> Kernel:
    """Make rows of a tile longer, so that the elements of a column are in different banks."""
    tile = with_dim_tags(kernel.array(name), f"N1, N0(pad_to={_TILE + 1})")
    return kernel.copy(
        temporaries=tuple([tile if t.name == name else t for t in kernel.temporaries])
    )
