"""The table of a profile: a row for each function that was launched."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from polygen.inspection.devices.launch_work import Work, work_of
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.measure_limits import measure_limits
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.kernel import Kernel
from polygen.ir.sizes import open_ends
from polygen.runtime.calls.call_recording import Called, RecordedCall


@dataclass(frozen=True)
class ProfileRow:
    """The launches of one function.

    Attributes:
        kernel: the name of the kernel that was called.
        name: that of the function.
        target: ``"c"``, ``"opencl"`` or ``"cuda"``.
        launches: how many there were.
        timed: of how many the time is known.
        seconds: how long these took together, and
        least_seconds: the shortest; None if the time of none is known.
        bytes: how many had to move: in each launch, each element of an array once for reading,
            and once for writing; None if that cannot be counted.
        operations: how many there were of each type; None if that cannot be counted.
        limits: those of the device.
        why: what cannot be counted, and why.
    """

    kernel: str
    name: str
    target: str
    launches: int
    timed: int
    seconds: float
    least_seconds: float | None
    bytes: int | None
    operations: Mapping[str, int] | None
    limits: Limits
    why: tuple[str, ...] = ()

    @property
    def mean_seconds(self) -> float | None:
        """The mean time of a launch, in seconds."""
        return self.seconds / self.timed if self.timed else None

    @property
    def bytes_per_second(self) -> float | None:
        """The rate at which what had to move did; None if it, or the time, is not known."""
        return None if self.bytes is None else self._rate(self.bytes)

    @property
    def operations_per_second(self) -> float | None:
        """The rate of all operations; None if they, or the time, are not known."""
        return None if self.operations is None else self._rate(sum(self.operations.values()))

    @property
    def memory_share(self) -> float | None:
        """The part of the device's peak bandwidth that was reached: at most 1."""
        rate = self.bytes_per_second
        return None if rate is None else rate / self.limits.bytes_per_second

    @property
    def arithmetic_share(self) -> float | None:
        """The reached part of the device's peak rate of operations, for the busiest type."""
        if self.operations is None or self._rate(1) is None:
            return None
        rates = ((n, self.limits.rate_of(dtype)) for dtype, n in self.operations.items())
        needed = max((n / rate for n, rate in rates if rate is not None), default=0.0)
        return self._rate(needed)

    def _rate(self, number: float) -> float | None:
        known = self.timed == self.launches and self.seconds > 0
        return number / self.seconds if known else None


_COLUMNS: dict[str, Callable[[ProfileRow], Any]] = {
    "kernel": lambda row: row.kernel,
    "launch": lambda row: row.name,
    "target": lambda row: row.target,
    "launches": lambda row: row.launches,
    "seconds": lambda row: row.seconds if row.timed else None,
    "least_seconds": lambda row: row.least_seconds,
    "mean_seconds": lambda row: row.mean_seconds,
    "bytes": lambda row: row.bytes,
    "bytes_per_second": lambda row: row.bytes_per_second,
    "memory_share": lambda row: row.memory_share,
    "operations": lambda row: None if row.operations is None else sum(row.operations.values()),
    "operations_per_second": lambda row: row.operations_per_second,
    "arithmetic_share": lambda row: row.arithmetic_share,
}


@dataclass(frozen=True)
class ProfileTable:
    """The launches of a profile, the slowest first.  It prints as a table.

    Attributes:
        rows: one for each function of each kernel, on each device.
    """

    rows: tuple[ProfileRow, ...]

    def to_csv(self, path: str | Path) -> Path:
        """Write the table, with one line for each row, and return the path."""
        file = Path(path)
        with file.open("w", newline="") as out:
            writer = csv.writer(out)
            writer.writerow(_COLUMNS)
            writer.writerows([[of(row) for of in _COLUMNS.values()] for row in self.rows])
        return file

    def __str__(self) -> str:
        if not self.rows:
            return "nothing was launched"
        lines = [_TITLES, *map(_cells, self.rows)]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        text = [
            "  ".join(
                cell.ljust(width) if k < _NAMES else cell.rjust(width)
                for k, (cell, width) in enumerate(zip(cells, widths, strict=True))
            ).rstrip()
            for cells in lines
        ]
        return "\n".join([*text, *self._notes()])

    def _notes(self) -> Iterator[str]:
        for row in self.rows:
            for why in row.why:
                yield f"{row.name}: not counted: {why}"


_NAMES = 2  # columns of names, which begin on the left
_TITLES = (
    *("launch", "on", "launches", "time", "each"),
    *("bytes", "GB/s", "of peak", "operations", "Gop/s", "of peak"),
)


def _cells(row: ProfileRow) -> tuple[str, ...]:
    done = None if row.operations is None else sum(row.operations.values())
    return (
        row.name,
        row.target,
        str(row.launches),
        shown_time(row.seconds if row.timed else None),
        shown_time(row.mean_seconds),
        _whole(row.bytes),
        _scaled(row.bytes_per_second, 1e-9),
        _percent(row.memory_share),
        _whole(done),
        _scaled(row.operations_per_second, 1e-9),
        _percent(row.arithmetic_share),
    )


def _whole(number: int | None) -> str:
    return "?" if number is None else str(number)


def _scaled(number: float | None, factor: float) -> str:
    return "?" if number is None else f"{number * factor:.4g}"


def _percent(share: float | None) -> str:
    return "?" if share is None else f"{100 * share:.3g} %"


# --- adding up


@dataclass
class _Sum:
    """Running totals of one function's launches."""

    called: Called
    times: list[float] = field(default_factory=list[float])
    launches: int = 0
    bytes: int | None = 0
    operations: dict[str, int] | None = field(default_factory=dict[str, int])
    why: dict[str, None] = field(default_factory=dict[str, None])

    def add(self, work: Work, calls: int) -> None:
        """Add what a number of calls did."""
        self.why |= dict.fromkeys(work.why)
        moved = work.bytes
        self.bytes = None if self.bytes is None or moved is None else self.bytes + calls * moved
        if self.operations is None or work.operations is None:
            self.operations = None
            return
        for dtype, number in work.operations.items():
            self.operations[dtype] = self.operations.get(dtype, 0) + calls * number


_Key = tuple[Kernel, str, str, Any]  # kernel, function, target, device


def table_of(calls: Sequence[RecordedCall], limits: Limits | None) -> ProfileTable:
    """Return the table of some calls.

    Parameters:
        calls: the calls.
        limits: what to compare with; None for what each device was measured to do.
    """
    sums: dict[_Key, _Sum] = {}
    counts: Counter[tuple[Called, tuple[tuple[str, int], ...]]] = Counter()
    for call in calls:
        called = call.called
        launched = Counter([name for name, _ in call.launches()])
        # Only where a condition ends loops, launches say how often.
        is_told = bool(open_ends(called.kernel.derived_sizes))
        counts[called, tuple(sorted(launched.items())) if is_told else ()] += 1
        for function in called.program.launches:
            sums.setdefault(_key(called, function.name), _Sum(called))
        for name, times in call.launches():
            found = sums[_key(called, name)]
            found.launches += 1
            if times is not None:
                found.times.append(times[1] - times[0])
    for (called, launches), number in counts.items():
        for name, work in work_of(called, dict(launches)).items():
            if (key := _key(called, name)) in sums:
                sums[key].add(work, number)
    of_devices = _limits((s.called for s in sums.values()), limits)
    rows = [_row(key[1], s, of_devices[key[3]]) for key, s in sums.items() if s.launches]
    return ProfileTable(tuple(sorted(rows, key=lambda row: -row.seconds)))


def _key(called: Called, name: str) -> _Key:
    return called.kernel, name, called.target, _device(called)


def _device(called: Called) -> Any:
    """Return what tells devices apart."""
    return called.device if isinstance(called.device, str) else called.device.device


def _limits(calls: Iterable[Called], limits: Limits | None) -> dict[Any, Limits]:
    devices = {_device(called): called.device for called in calls}
    return {k: limits or measure_limits(device) for k, device in devices.items()}


def _row(name: str, found: _Sum, limits: Limits) -> ProfileRow:
    return ProfileRow(
        found.called.kernel.name,
        name,
        found.called.target,
        found.launches,
        len(found.times),
        sum(found.times),
        min(found.times, default=None),
        found.bytes,
        found.operations,
        limits,
        tuple(found.why),
    )
