"""Chooses how many elements of an element-wise nest one work item has.

A load of 16 bytes moves as much as four loads of 4, and groups take time to begin.  But where there
is little to do, more work items wait for memory side by side.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygen.analysis.access.accesses import Reference
from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from polygen.transforms.loops.size_estimates import likely_extent
from polygen.tuning.neighbours import shared_uses, strides_of

_VECTOR = 16  # bytes that a work item reads at once
_LEAST, _USUAL = 2, 4  # elements of a work item
_GROUPS = 2  # for each compute unit, before items have several elements


@dataclass(frozen=True)
class Device:
    """The facts that decide how much each work item has.

    Attributes:
        units: how many compute units there are.
        threads: how many work items a group has.
        sizes: how many bytes an element of each array takes in a vector; a complex number is one.
    """

    units: int
    threads: int
    sizes: Mapping[str, int]

    def most(self, kernel: Kernel, inames: Sequence[str]) -> int:
        """Return how many elements a work item may have, if all units are to be busy."""
        count = 1
        for iname in inames:
            count *= likely_extent(kernel, iname)
        return count // (_GROUPS * self.units * self.threads)


def device_of(kernel: Kernel, units: int, threads: int) -> Device:
    """Return what decides how much each work item has, for a kernel whose inputs have types."""
    typed = infer_types(kernel, index_type(kernel))
    arrays = [*typed.arguments, *typed.temporaries]
    dtypes = {a.name: to_dtype(a.dtype) for a in arrays if a.dtype is not None}
    sizes = {n: _VECTOR if t.kind == "c" else t.itemsize for n, t in dtypes.items()}
    return Device(units, threads, sizes)


def lanes_along(
    kernel: Kernel, insn_ids: Sequence[str], inames: Sequence[str], iname: str, device: Device
) -> int:
    """Return how many neighbours along an iname a work item reads and writes as vectors.

    1 if there is too little to do, or if vectors would not begin where those of memory do.
    """
    lanes = _VECTOR
    plain = kernel.expanded
    for use in shared_uses(plain, insn_ids):
        along = strides_of(plain, use, inames)
        if along.get(iname, 0) == 1:
            rest = [stride for name, stride in along.items() if name != iname]
            lanes = min(lanes, _lanes(plain, use, rest, device))
    most = min(lanes, device.most(kernel, inames))
    if lanes == _VECTOR:  # nothing lies side by side
        return 1
    while lanes > 1 and (lanes > most or likely_extent(kernel, iname) % lanes):
        lanes //= 2
    return lanes


def in_turns(kernel: Kernel, inames: Sequence[str], device: Device) -> int:
    """Return how many elements work items have that are not side by side."""
    most = device.most(kernel, inames)
    return _USUAL if most >= _USUAL else _LEAST if most >= _LEAST else 1


def _lanes(kernel: Kernel, use: Reference, strides: Sequence[float], device: Device) -> int:
    """Return how many elements of an array a vector has; 1 if it does not begin where it must."""
    array = kernel.array(use.name)
    size = device.sizes.get(use.name, _VECTOR)
    begins = (array.alignment or 1) if isinstance(array, GlobalArg) else _VECTOR
    lanes = min(_VECTOR, begins) // size
    while lanes > 1 and any(stride % lanes for stride in strides):
        lanes //= 2
    return max(1, lanes)
