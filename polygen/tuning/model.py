"""A model of how long a reduction takes on a device, and the choices that it finds best.

Groups are spread over the compute units, as many on each as there is room for work items.  In one
step, each work item of these asks for its elements, which takes the latency of memory, or as long
as the bandwidth needs for as many bytes, whichever is longer.  So few work items, or few elements
of each in flight, take long.  A unit begins groups one after the other: very many small ones take
long, too.  Trees take time for each stage; groups that share a result, a second launch, or, if they
are a cluster, for waiting for each other.  What
costs many operations to combine (the greatest element and its place) is bound by these.

On an H200, the choice that this finds best took at most a twentieth longer than the best of ten
that it finds good, for sums of 28 shapes (docs/benchmarks.md).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import inf, log

from polygen.inspection.devices.limits import Limits
from polygen.tuning.work import Work

_VECTOR = 32  # bytes: two loads of neighbours at once
_SUB_GROUP = 32  # neighbours that load what is together in memory
_THREADS = (64, 128, 256, 512, 1024)
_ITEMS = (1, 2, 4, 8, 16)
# What a work item has in flight: past it, registers are short, and fewer items are resident.
_MOST_ITEMS, _MOST_BYTES = 8, 96
_MOST_GROUPS = 32  # that a compute unit holds at once
MOST_SHARE = 3  # how much more than its share of the bandwidth a unit can take
_GROUP_SECONDS = 8e-8  # from one group that a compute unit begins to the next
_USUAL_THREADS = 256
_LITTLE_LONGER = 1.3  # and still worth a launch that is saved
_CLOSE = 0.05  # times that differ by less are as good
_OPERATIONS = (2, 20)  # that combine results of one value, or of two with tests which is greater
_CLUSTERS = (2, 4, 8)  # groups that share a result in a cluster
_CLUSTER_THREADS = 512  # of each, where many share columns: several find room on a unit
_CLUSTER_SECONDS = 1.2e-6  # until these have begun, and then have waited for each other
_ALONE = 8  # units for each group, if there are so few groups that none shares a unit
_STAGE_SECONDS = 3e-8  # of a tree: a shuffle, or an exchange in local memory


@dataclass(frozen=True)
class Choice:
    """The arguments of `parallelize_reduction`."""

    blocks: int
    threads: int
    items: int
    across: int
    finish: str = "two_pass"

    def __str__(self) -> str:
        return ", ".join(f"{name}={value}" for name, value in vars(self).items())


def ranked(work: Work, limits: Limits) -> list[Choice]:
    """Return what could be chosen, the fastest first, as far as the model knows.

    Parameters:
        work: what there is to do.
        limits: those of the device; `compute_units` is known.
    """
    timed = {choice: seconds(work, limits, choice) for choice in choices(work, limits)}

    least = min(timed.values())

    resident = limits.items_per_unit * (limits.compute_units or 1)

    def order(choice: Choice) -> tuple[float, ...]:
        # Of what is as good, as far as can be told, what was found to vary least.
        behind = int(log(timed[choice] / least) / _CLOSE)
        groups = choice.blocks * -(-work.results // choice.across)
        lacking = max(1.0, resident / (groups * choice.threads))
        usual = abs(log(choice.threads / _USUAL_THREADS))
        rest = (round(lacking), usual, choice.blocks)
        return behind, choice.blocks > 1, choice.across, -choice.items, *rest

    return sorted(timed, key=order)


def usual_first(work: Work, limits: Limits, best: Sequence[Choice]) -> list[Choice]:
    """Return choices, with those first whose groups have the usual shape and take little longer.

    Nests whose groups have one shape can share a launch.

    Parameters:
        work: what there is to do.
        limits: those of the device.
        best: the choices, the fastest first.
    """
    most = _LITTLE_LONGER * seconds(work, limits, best[0])
    shape = (_USUAL_THREADS, 1 if work.along else _SUB_GROUP)

    def is_usual(choice: Choice) -> bool:
        alike = (choice.threads, choice.across) == shape
        return alike and seconds(work, limits, choice) <= most

    return sorted(best, key=lambda choice: not is_usual(choice))


def choices(work: Work, limits: Limits) -> Iterator[Choice]:
    """Yield what could be chosen without being foolish."""
    for threads, items in product(_THREADS, _ITEMS):
        if threads > limits.items_per_group or not _fits(work, items):
            continue
        for across in _acrosses(work, threads):
            along = threads // across
            # Work items, and elements in flight, that would have nothing to do.
            if threads > _THREADS[0] and along // 2 * items >= work.length:
                continue
            for blocks in _blocks(work, limits, along * items, across):
                yield Choice(blocks, threads, items, across)
            for blocks in _CLUSTERS if threads <= _CLUSTER_THREADS or work.along else ():
                if blocks <= min(limits.cluster_groups, -(-work.length // (along * items))):
                    yield Choice(blocks, threads, items, across, "cluster")


def _fits(work: Work, items: int) -> bool:
    """Tell whether so many elements in flight are of use, and registers suffice for them."""
    most = max(_MOST_ITEMS, _VECTOR // work.width if work.along else 0)
    if work.values > 1:  # and tests, which need registers as well
        most //= 2 if work.along else 4
    return items == 1 or (
        items <= most and items * work.width <= _MOST_BYTES and items < 2 * work.length
    )


def _acrosses(work: Work, threads: int) -> Iterator[int]:
    """Yield how many results a group may have, so that neighbours load what is side by side."""
    near = min(_SUB_GROUP, threads)
    if work.along:
        first, last = 1, threads // (near if work.length >= near else 1)
    else:
        first, last = min(near, _power_above(work.results)), threads
    across = first
    while across <= last and (across == first or across < 2 * work.results):
        yield across
        across *= 2


def _power_above(count: int) -> int:
    """Return the least power of two that is not less."""
    return 1 << (count - 1).bit_length()


def _blocks(work: Work, limits: Limits, at_once: int, across: int) -> Iterator[int]:
    """Yield how many groups may share what is reduced."""
    yield 1
    units = limits.compute_units or 1
    results = -(-work.results // across)
    for each in (1, 2, 4, 8, 16, 32):
        blocks = units * each // results
        if 1 < blocks <= -(-work.length // at_once):
            yield blocks


def seconds(work: Work, limits: Limits, choice: Choice) -> float:
    """Return how long a reduction takes, with the second pass if there is one."""
    along = max(1, choice.threads // choice.across)
    steps = -(-work.length // (choice.blocks * along * choice.items))
    groups = choice.blocks * -(-work.results // choice.across)
    read = -(-work.length // choice.blocks) * choice.across * work.width
    tree = _STAGE_SECONDS * (along * choice.items).bit_length()
    alone = steps * limits.latency_seconds + tree
    taken = _all_groups(limits, groups, choice.threads, alone, read)
    taken = max(taken, _computing(work, limits, choice, groups))
    units = limits.compute_units or 1
    if groups * _ALONE <= units:  # no others of its unit compute what they have, while it waits
        taken += work.length * work.results * work.operations / _rate(limits, groups)
    if choice.finish == "cluster":
        taken += _CLUSTER_SECONDS
    elif choice.blocks > 1:
        taken += limits.launch_seconds + limits.latency_seconds
        taken += 2 * choice.blocks * work.results * work.width / limits.bytes_per_second
        taken += _STAGE_SECONDS * choice.blocks.bit_length()
    return taken


def _computing(work: Work, limits: Limits, choice: Choice, groups: int) -> float:
    """Return how long it takes to combine elements, then lanes, and then what items have.

    A shuffle counts as an operation of its own.
    """
    threads = groups * choice.threads
    own = choice.items * -(-work.length * work.results // (choice.items * threads))
    stages = (choice.threads // choice.across).bit_length()
    combined = threads * (own + choice.items + 2 * stages) * _OPERATIONS[work.values > 1]
    computed = threads * own * work.operations
    return (combined + computed) / _rate(limits, groups)


def _rate(limits: Limits, groups: int) -> float:
    """Return how many operations in a second the units do that some groups keep busy."""
    busy = min(1.0, groups / (limits.compute_units or 1))
    return busy * (limits.rate_of("float32") or inf) / 2


def _all_groups(limits: Limits, groups: int, threads: int, alone: float, read: int) -> float:
    """Return how long all groups take.

    Parameters:
        limits: those of the device.
        groups: how many there are.
        threads: work items of each.
        alone: how long one takes that has the device to itself.
        read: how many bytes it reads.
    """
    units = limits.compute_units or 1
    room = units * max(1, min(limits.items_per_unit // threads, _MOST_GROUPS))
    together = min(groups, room)
    # A unit that has nothing to do leaves its share of the bandwidth to the others.
    share = min(1.0, MOST_SHARE * together / units)
    wave = max(alone, together * read / (share * limits.bytes_per_second))
    # Groups that come later begin as others end: only the first ones do so at the same time.
    return max(groups / together * wave, groups / units * _GROUP_SECONDS)
