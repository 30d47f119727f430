"""Forecasts of times: the least time, and what caches, threads and functions add to it.

for t: for i: b[i] = a[i-1] + a[i+1]

What a loop moves through memory is what it touches, once, if what one iteration touches stays in
the cache until the next one; else it is what the iterations move, each on its own.  Here: if `a`
and `b` fit into the cache, a step finds what the one before left there, and memory moves nothing
after the first one.  If not, each step moves all of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polygen.analysis.typing.index_type import index_type
from polygen.analysis.typing.inference import infer_types
from polygen.errors import UserError
from polygen.inspection.counts.access_footprints import footprint_bytes_in
from polygen.inspection.counts.count_keys import CountGranularity
from polygen.inspection.counts.op_map import get_op_map
from polygen.inspection.devices.limits import Limits
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import dtype_name
from polygen.ir.kernel import Kernel
from polygen.ir.tags import GroupTag, LocalTag
from polygen.ir.target_facts import facts_of
from polygen.schedules.nests import Extents, Nest
from polygen.schedules.tensor_rates import reached_rate, uses_tensor_cores

_REACHED = 0.8  # of peaks, by code that does other things, too
_COPY = 1.5  # bytes that a copy moves for each one that it reads or writes: see `_Case.claimed`
# Operations that take as long as one of a function, in vectors where compilers have these.
_COSTS = {"div": 12.0, "func:sqrt": 16.0, "func:min": 1.0, "func:max": 1.0, "func:fabs": 1.0}
_BARRIER = 0.25  # of the latency of memory: what a group waits, with its values in a near cache
_FUNCTION = 60.0  # of others: exp, log, sin


@dataclass(frozen=True)
class Forecast:
    """The time that a nest is expected to take.

    Attributes:
        seconds: the time, if the kernel is called again and again.
        by: what takes it: ``"memory"``, ``"cache"``, ``"arithmetic"`` or ``"starting"``.
    """

    seconds: float
    by: str


@dataclass(frozen=True)
class _Case:
    """The case that a forecast is for.

    Attributes:
        kernel: its types are known, and it has neither rules nor calls.
        tagged: the same as it was scheduled.
        limits: those of the device.
        sizes: the value of each size.
        extents: those of its loops.
    """

    kernel: Kernel
    tagged: Kernel
    limits: Limits
    sizes: Mapping[str, int]
    extents: Extents

    @property
    def on_grid(self) -> bool:
        return facts_of(self.tagged.target).has_grid

    @property
    def reached(self) -> float:
        """The share of peaks that kernels reach."""
        return 1.0 if self.on_grid else _REACHED

    def is_shared(self, iname: str) -> bool:
        """Tell whether threads or work items share a loop."""
        return isinstance(self.tagged.tags.get(iname), GroupTag | LocalTag)

    def in_one_group(self, nest: Nest) -> bool:
        """Tell whether the work items of one group share a nest: barriers, and no launches."""
        tags = [self.tagged.tags.get(iname) for iname in nest.inames]
        has_items = any(isinstance(tag, LocalTag) for tag in tags)
        return has_items and not any(isinstance(tag, GroupTag) for tag in tags)

    def moved(self, ids: Sequence[str], around: Sequence[str]) -> float:
        """Return how many bytes instructions touch, in each iteration of what is around anew."""
        own = frozenset(ids).intersection(self.kernel.instructions_by_id)
        return float(footprint_bytes_in(self.kernel, own, frozenset(around)).at(self.sizes))

    def claimed(self, ids: Sequence[str]) -> float:
        """Return what processors move for instructions, in terms of what a copy moves.

        A line of memory that is only written is read before: three transfers for a copy, which is
        what rates were measured by, and for ``a[i] += b[i]`` as well.
        """
        if self.on_grid:
            return 1.0
        found: list[float] = []
        for insn in self.kernel.assignments:
            written = self.arrays.intersection(insn.written_names)
            read = self.arrays.intersection(insn.read_names)
            if insn.id in ids and (read or written):
                count = len(read) + len(written)
                found.append((count + len(written - read)) / count / _COPY)
        return sum(found) / len(found) if found else 1.0

    @property
    def arrays(self) -> frozenset[str]:
        """The arrays in memory that all threads share."""
        known = self.kernel.variables
        shared = AddressSpace.GLOBAL
        return frozenset([n for n in known if self.kernel.address_space(n) is shared])


def forecasts_of(
    kernel: Kernel, nests: Sequence[Nest], limits: Limits, sizes: Mapping[str, int]
) -> list[Forecast | None]:
    """Return the time that each nest takes; None if data decides what it does.

    Parameters:
        kernel: the kernel, with its tags; its types are known.
        nests: its nests.
        limits: those of the device.
        sizes: the value of each size.
    """
    typed = infer_types(kernel.expanded, index_type(kernel))
    case = _Case(typed, kernel, limits, sizes, Extents(kernel, sizes))
    try:
        whole = case.moved([name for nest in nests for name in nest.ids], ())
        is_warm = limits.cache_bytes_per_second is not None and whole <= limits.cache_bytes
    except UserError:
        is_warm = False
    found: list[Forecast | None] = []
    for nest in nests:
        try:
            found.append(_forecast(case, nest, is_warm=is_warm))
        except UserError:  # it cannot be counted
            found.append(None)
    return found


def _forecast(case: _Case, nest: Nest, *, is_warm: bool) -> Forecast:
    limits = case.limits
    starting = _starts(case, nest, 1) * limits.launch_seconds
    if case.in_one_group(nest):
        waits = _starts(case, nest, 1) * _BARRIER * limits.latency_seconds
        starting = limits.launch_seconds + waits
    times = {"arithmetic": _computing(case, nest), "starting": starting}
    share = case.claimed(nest.ids) / case.reached
    if not is_warm:
        far = _traffic(case, nest, (), limits.cache_bytes)
        times["memory"] = far * share / limits.bytes_per_second
    if (rate := limits.cache_bytes_per_second) is not None:
        near = _traffic(case, nest, (), limits.local_bytes) * _idle(case, nest)
        times["cache"] = near * share / rate
    working = max(seconds for name, seconds in times.items() if name != "starting")
    by = max(times, key=lambda name: times[name])
    return Forecast(working + times["starting"], by)


def _traffic(case: _Case, nest: Nest, around: tuple[str, ...], room: float) -> float:
    """Return how many bytes come from beyond a cache."""
    for place, iname in enumerate(nest.loops):
        before = (*around, *nest.loops[:place])
        if case.is_shared(iname) and case.on_grid:  # groups share what they touch
            return case.moved(nest.ids, before)
        each = case.moved(nest.ids, (*before, iname))
        at_once = (case.limits.compute_units or 1) if case.is_shared(iname) else 1
        if each * at_once <= room * max(1, case.extents.instances((*before, iname))):
            return case.moved(nest.ids, before)
    inside = (*around, *nest.loops)
    inner = sum(_traffic(case, one, inside, room) for one in nest.inner)
    named = {name for one in nest.inner for name in one.ids}
    own = [name for name in nest.ids if name not in named]
    return inner + (case.moved(own, inside) if own else 0.0)


def _computing(case: _Case, nest: Nest) -> float:
    """Return how long arithmetic takes, on as many threads as share it."""
    known = case.kernel.instructions_by_id
    ids = [f"id:{name}" for name in nest.ids if name in known]
    each = CountGranularity.WORKITEM
    done = get_op_map(case.kernel, True, False, within=ids, count_granularity=each)
    total, on_cores = 0.0, uses_tensor_cores(case.tagged)
    for key, count in done.group_by("dtype", "name").items():
        dtype = dtype_name(key.dtype)
        rate = case.limits.rate_of(dtype)
        if on_cores:
            own = [name for name in nest.ids if name in known]
            rate = reached_rate(case.kernel, own, dtype, case.limits) or rate
        if rate is not None:
            total += count.at(case.sizes) * _cost(key.name or "") / rate / case.reached
    return total * _idle(case, nest)


def _idle(case: _Case, nest: Nest) -> float:
    """Return how much longer it takes than if all threads had the same to do all the time."""
    if case.on_grid:
        return float(case.limits.compute_units or 1) if case.in_one_group(nest) else 1.0
    units = case.limits.compute_units or 1
    shared = [iname for iname in nest.inames if case.is_shared(iname)]
    count = max(1, case.extents.instances(shared))
    return -(-count // units) * units / count


def _cost(name: str) -> float:
    return _COSTS.get(name, _FUNCTION if name.startswith("func:") or name == "pow" else 1.0)


def _starts(case: _Case, nest: Nest, times: int) -> int:
    """Return how often threads, or launches, begin."""
    for place, iname in enumerate(nest.loops):
        if case.is_shared(iname):
            return times * case.extents.instances(nest.loops[:place])
    inside = times * case.extents.instances(nest.loops)
    return sum(_starts(case, one, inside) for one in nest.inner)
