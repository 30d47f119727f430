"""`polygen.roofline`: how fast a kernel could be on a device, by what it moves and computes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import SupportsIndex

from polygen.errors import InvalidArgument
from polygen.inspection.counts.access_footprints import gather_access_footprint_bytes
from polygen.inspection.counts.traffic import traffic_of
from polygen.inspection.counts.trips import Trips
from polygen.inspection.devices.launch_work import operations_of
from polygen.inspection.devices.limits import Limits, is_rate
from polygen.inspection.devices.roofline_plot import drawn
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.source import caller_location


@dataclass(frozen=True)
class Roofline:
    """A lower bound of a kernel's run time on a device, for given sizes.  It prints as a table.

    Attributes:
        name: that of the kernel.
        limits: those of the device.
        needed_bytes: how many have to move: each element of an array once for reading, and once for
            writing.
        accessed_bytes: how many the work items ask for, in global memory, all together.
        mapped_bytes: how many move as work items are mapped, if caches keep nothing: all that is
            in the sectors of 32 bytes that 32 neighbours ask for together, arrays beginning with
            one.
        local_bytes: how many local memory could move in the turns that its 32 banks take to serve
            all accesses; what compilers keep in registers is not known.
        operations: how many there are, by the name of their type, those in subscripts left out.
        measured: how long it took, in seconds, if that was said.
    """

    name: str
    limits: Limits
    needed_bytes: int
    accessed_bytes: int
    mapped_bytes: int
    local_bytes: int
    operations: Mapping[str, int]
    measured: float | None = None

    @property
    def memory_seconds(self) -> float:
        """The least time that the memory traffic takes."""
        return self.needed_bytes / self.limits.bytes_per_second

    @property
    def arithmetic_seconds(self) -> float:
        """The least time that the arithmetic takes: that of the slowest type.

        Units for several types work beside each other; types without a rate take no time.
        """
        return self._longest[1]

    @property
    def seconds(self) -> float:
        """The least run time: the longer one of memory and arithmetic."""
        return max(self.memory_seconds, self.arithmetic_seconds)

    @property
    def bound(self) -> str:
        """The bottleneck: ``"memory"`` or ``"arithmetic"``."""
        return "memory" if self.memory_seconds >= self.arithmetic_seconds else "arithmetic"

    @property
    def local_seconds(self) -> float | None:
        """The time that local memory is busy; None if its rate is not known."""
        rate = self.limits.local_bytes_per_second
        return None if rate is None else self.local_bytes / rate

    @property
    def _longest(self) -> tuple[int, float]:
        """The operations of the type that takes longest: how many, and how long they take."""
        rated = ((n, self.limits.rate_of(dtype)) for dtype, n in self.operations.items())
        times = [(n, n / rate) for n, rate in rated if rate is not None]
        return max(times, key=lambda pair: pair[1], default=(0, 0.0))

    @property
    def counted_operations(self) -> int:
        """The number of operations of the type that takes longest."""
        return self._longest[0]

    @property
    def share(self) -> float | None:
        """The least time as a part of the measured one: 1 is as fast as can be."""
        return None if self.measured is None else self.seconds / self.measured

    def __str__(self) -> str:
        rows = list(self._rows())
        width = max(len(label) for label, _ in rows)
        return "\n".join(f"{label:{width}}  {text}" for label, text in rows)

    def _rows(self) -> Iterator[tuple[str, str]]:
        yield "kernel", self.name
        yield "bytes that must move", f"{self.needed_bytes}, {shown_time(self.memory_seconds)}"
        moved = self.mapped_bytes / self.limits.bytes_per_second
        yield "bytes as mapped", f"{self.mapped_bytes}, {shown_time(moved)} without caches"
        yield "bytes that are accessed", f"{self.accessed_bytes}"
        if self.local_bytes:
            busy = self.local_seconds
            taken = "" if busy is None else f", {shown_time(busy)}"
            yield "bytes of local memory", f"{self.local_bytes}{taken}"
        for dtype, number in self.operations.items():
            rate = self.limits.rate_of(dtype)
            yield (
                f"{dtype} operations",
                f"{number}" + (f", {shown_time(number / rate)}" if rate else ""),
            )
        yield "bound", f"{self.bound}, {shown_time(self.seconds)}"
        if self.measured is not None:
            share = 100 * self.seconds / self.measured
            yield "measured", f"{shown_time(self.measured)}, {share:.0f} % of the bound"

    def plot(self, path: str | Path) -> Path:
        """Draw the limits, and where the kernel is below them, as SVG, and return the path.

        Parameters:
            path: where the file is written.

        Raises:
            InvalidArgument: if nothing moves, or nothing is computed that has a rate.
        """
        if not self.needed_bytes or not self.counted_operations:
            raise InvalidArgument(
                f"kernel '{self.name}' has no place in the picture: it moves {self.needed_bytes} "
                f"bytes, and does {self.counted_operations} operations",
                where=caller_location(),
                remedy="choose sizes for which it does something, or limits for its types",
            )
        work = self.counted_operations
        peak = work / self.arithmetic_seconds
        reached = None if self.measured is None else work / self.measured
        file = Path(path)
        file.write_text(
            drawn(
                self.name,
                self.limits.bytes_per_second,
                peak,
                self._places(work),
                reached,
                self.limits.local_bytes_per_second,
            )
        )
        return file

    def _places(self, work: int) -> dict[str, float]:
        """Return operations for each byte, by what is drawn."""
        places = {"bytes that must move": work / self.needed_bytes}
        if self.mapped_bytes:
            places["bytes as mapped"] = work / self.mapped_bytes
        if self.local_bytes and self.limits.local_bytes_per_second:
            places["bytes of local memory"] = work / self.local_bytes
        return places


@public
def roofline(
    kernel: Kernel,
    limits: Limits,
    sizes: Mapping[str, SupportsIndex],
    measured: float | None = None,
    trips: Trips | None = None,
) -> Roofline:
    """Return what bounds a kernel on a device: memory or arithmetic, and the time that it implies.

    The numbers are those of `gather_access_footprint_bytes`, `get_mem_access_map` and `get_op_map`,
    for work items, with redundant work.  The bound holds where no cache has anything at first, and
    the compiler leaves out nothing that instructions say.

    Parameters:
        kernel: the types of its inputs are known.
        limits: what the device can do.
        sizes: the value of each size.
        measured: how long the kernel took, in seconds, to compare with.
        trips: how many iterations loops have that a condition ends: see `get_op_map`.

    Raises:
        TypeNotFound: if the type of a variable is not known.
        NotCountable: if data decides what is done.
        MissingArgument, AssumptionViolated: if sizes are missing, or are not as assumed.
        InvalidArgument: if `measured` is no time, or `trips` is of no such loop.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "z[i] = alpha*x[i] + y[i]", name="saxpy")
    >>> knl = pg.add_dtypes(knl, dict.fromkeys(["x", "y", "alpha"], "float32"))
    >>> print(pg.roofline(knl, pg.Limits(3e12, 60e12), {"n": 10**8}, measured=450e-6))
    kernel                   saxpy
    bytes that must move     1200000000, 400 us
    bytes as mapped          1200000000, 400 us without caches
    bytes that are accessed  1200000000
    float32 operations       200000000, 3.33 us
    bound                    memory, 400 us
    measured                 450 us, 89 % of the bound

    Source: S. Williams, A. Waterman, D. Patterson, Roofline: an insightful visual performance model
    for multicore architectures (CACM 2009).
    """
    if measured is not None and not is_rate(measured):
        raise InvalidArgument(
            f"measured={measured!r} is no time",
            where=caller_location(),
            remedy="pass seconds, or leave it out",
        )
    moved = gather_access_footprint_bytes(kernel, trips=trips)
    traffic = traffic_of(kernel, sizes, trips)
    return Roofline(
        kernel.name,
        limits,
        sum(count.at(sizes) for count in moved.values()),
        traffic.accessed,
        traffic.mapped,
        traffic.local,
        operations_of(kernel, sizes, trips=trips),
        measured,
    )
