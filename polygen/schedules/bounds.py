"""The least time that instructions take on a device: what they move, and what they compute."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import UserError
from polygen.inspection.counts.access_footprints import footprint_bytes_in
from polygen.inspection.devices.launch_work import operations_of
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.schedules.tensor_rates import tensor_rate


@dataclass(frozen=True)
class Bound:
    """A lower bound of a time.

    Attributes:
        moved: bytes of memory, each element once for reading, and once for writing.
        operations: of all types, those in subscripts left out.
        seconds: the longer one of what memory and arithmetic take.
        by: ``"memory"`` or ``"arithmetic"``.
    """

    moved: int
    operations: int
    seconds: float
    by: str

    def __str__(self) -> str:
        work = f"{self.moved} bytes, {self.operations} operations"
        return f"{work}: {shown_time(self.seconds)}, bound by {self.by}"


def bound_of(
    kernel: Kernel, ids: Iterable[str], limits: Limits, sizes: Mapping[str, int]
) -> Bound | None:
    """Return the least time of some instructions; None if data decides what they do.

    Parameters:
        kernel: its types are known.
        ids: the instructions.
        limits: those of the device.
        sizes: the value of each size.
    """
    typed = infer_types(kernel.expanded, index_type(kernel))
    own = [i for i in ids if i in typed.instructions_by_id]
    try:
        moved = footprint_bytes_in(typed, frozenset(own), NO_NAMES).at(sizes)
        done = operations_of(typed, sizes, [f"id:{i}" for i in own])
    except UserError:
        return None
    rates = {
        dtype: max(
            (r for r in (limits.rate_of(dtype), tensor_rate(typed, own, dtype, limits)) if r),
            default=None,
        )
        for dtype in done
    }
    arithmetic = max((n / r for dtype, n in done.items() if (r := rates[dtype])), default=0.0)
    memory = moved / limits.bytes_per_second
    by = "memory" if memory >= arithmetic else "arithmetic"
    return Bound(moved, sum(done.values()), max(memory, arithmetic), by)
