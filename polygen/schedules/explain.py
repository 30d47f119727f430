"""`polygen.explain`: what binds a kernel, nest by nest, and what was chosen for it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import SupportsIndex

from polygen.errors import NoLoopNest
from polygen.inspection.devices.limits import Limits
from polygen.inspection.devices.shown_numbers import shown_time
from polygen.ir.choices import Choice
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import GroupTag, InameTag, LocalTag
from polygen.ir.target_facts import facts_of
from polygen.runtime.devices import default_target
from polygen.schedules.bounds import Bound, bound_of
from polygen.schedules.forecasts import Forecast, forecasts_of
from polygen.schedules.guessed_types import with_types
from polygen.schedules.nests import Nest, nests_of
from polygen.schedules.schedule import request_for

_TAKEN = {False: "", True: " (taken)"}


@dataclass(frozen=True)
class ExplainedNest:
    """A loop nest of a kernel, and what binds it.

    Attributes:
        ids: its instructions.
        loops: its loops, outermost first, with the tags that they have.
        bound: the least time that it takes on the device; None if that cannot be counted.
        forecast: the time that it should take, as it is scheduled; None if that cannot be counted.
    """

    ids: tuple[str, ...]
    loops: tuple[tuple[str, str], ...]
    bound: Bound | None
    forecast: Forecast | None = None

    def __str__(self) -> str:
        loops = ", ".join(f"{iname} ({tag})" if tag else iname for iname, tag in self.loops)
        found = "data decides what it does" if self.bound is None else str(self.bound)
        return f"{loops}: {', '.join(self.ids)}\n    {found}"


@dataclass(frozen=True)
class Explanation:
    """A kernel's schedule, explained.  It prints as a page of text.

    Attributes:
        name: that of the kernel.
        target: what it is for.
        sizes: what sizes are taken for.
        nests: the outermost loop nests, in order.
        taken: what `optimize` decided to do, with the reasons.
        left: what it decided not to do, with the reasons.
        measured: the schedules that were measured, the fastest first; nothing without ``tune``.
    """

    name: str
    target: str
    sizes: Mapping[str, int]
    nests: tuple[ExplainedNest, ...]
    taken: tuple[Choice, ...]
    left: tuple[Choice, ...]
    measured: tuple[Choice, ...] = ()

    @property
    def seconds(self) -> float | None:
        """The least time of all nests together; None if data decides what one of them does."""
        bounds = [nest.bound for nest in self.nests]
        return None if None in bounds else sum(bound.seconds for bound in bounds if bound)

    @property
    def forecast(self) -> float | None:
        """The time of all nests, called again and again; None if data decides what one does."""
        found = [nest.forecast for nest in self.nests]
        return None if None in found else sum(each.seconds for each in found if each)

    def __str__(self) -> str:
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        sizes = ", ".join(f"{name} = {value}" for name, value in self.sizes.items())
        title = facts_of(self.target).title
        yield f"kernel '{self.name}', {title}" + (f", {sizes}" if sizes else "")
        yield f"least time: {shown_time(self.seconds)}"
        yield f"forecast: {shown_time(self.forecast)}"
        for nest in self.nests:
            yield str(nest)
        for title, choices in (("done", self.taken), ("not done", self.left)):
            if choices:
                yield f"{title}:"
            for choice in choices:
                about = f"{', '.join(choice.ids)}: " if choice.ids else ""
                yield f"    {about}{choice}"
        if self.measured:
            yield "measured:"
        for choice in self.measured:
            yield f"    {shown_time(choice.seconds)}: {choice.what}{_TAKEN[choice.is_taken]}"


@public
def explain(
    kernel: Kernel,
    limits: Limits | None = None,
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
) -> Explanation:
    """Explain the schedule of a kernel: nest by nest, what binds it, and what was chosen.

    For each outermost nest: its loops with their tags, how many bytes it has to move and how many
    operations it takes, and the least time that this takes.  The forecast is the time that the
    kernel should take as it is scheduled, called again and again: with what caches keep, threads
    that are begun, divisions and functions.  Then what `optimize` did, and what it
    did not do, each with its reason; with ``tune``, what it measured.  Of a kernel that was
    scheduled by hand there are the nests alone.

    Parameters:
        kernel: the kernel, from `optimize` or not.
        limits: those of the device; as in `optimize` if not given.  `measure_limits` finds them.
        sizes: what to expect of sizes that are not numbers; 1024 if not given.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1", target="c", name="line")
    >>> limits = pg.Limits(2e10, 3e10, compute_units=2)
    >>> fast = pg.optimize(knl, limits, sizes={"n": 10**6})
    >>> print(pg.explain(fast, limits, sizes={"n": 10**6}))
    kernel 'line', C with OpenMP, n = 1000000
    least time: 800 us
    forecast: 1 ms
    i (g.0): insn
        16000000 bytes, 2000000 operations: 800 us, bound by memory
    done:
        insn: threads along 'i': no iteration needs another one, and there is work for 2 threads

    Source: S. Williams, A. Waterman, D. Patterson, Roofline (CACM 2009).
    """
    target = kernel.target or default_target()
    typed = with_types(kernel.copy(target=target))
    request = request_for(typed, limits, sizes or {}, tune=False)
    decided = [choice for choice in kernel.choices if choice.seconds is None]
    shown = {name: request.sizes[name] for name in kernel.parameters if name in request.sizes}
    nests = _nests(typed)
    bounds = [bound_of(typed, nest.ids, request.limits, shown) for nest in nests]
    forecasts = forecasts_of(typed, nests, request.limits, shown)
    return Explanation(
        kernel.name,
        target,
        shown,
        tuple([_explained(typed, *each) for each in zip(nests, bounds, forecasts, strict=True)]),
        tuple([choice for choice in decided if choice.is_taken]),
        tuple([choice for choice in decided if not choice.is_taken]),
        tuple([choice for choice in kernel.choices if choice.seconds is not None]),
    )


def _explained(
    kernel: Kernel, nest: Nest, bound: Bound | None, forecast: Forecast | None
) -> ExplainedNest:
    loops = (*nest.loops, *_inside(nest.inner))
    tags: Mapping[str, InameTag] = kernel.tags
    shown = [(iname, str(tags[iname]) if iname in tags else "") for iname in dict.fromkeys(loops)]
    return ExplainedNest(nest.ids, tuple(shown), bound, forecast)


def _nests(kernel: Kernel) -> list[Nest]:
    """Return the nests of a kernel, with loops for its axes if there is an order of these."""
    try:
        return nests_of(_in_loops(kernel))
    except NoLoopNest:  # each item has several on an axis, of copies ahead of loops, say
        return nests_of(kernel)


def _in_loops(kernel: Kernel) -> Kernel:
    """Return the kernel with loops where it has axes, so that they show in nests."""
    axes = (GroupTag, LocalTag)
    kept = {iname: tag for iname, tag in kernel.tags.items() if not isinstance(tag, axes)}
    return kernel.copy(tags=kept)


def _inside(nests: Sequence[Nest]) -> Iterator[str]:
    for nest in nests:
        yield from nest.loops
        yield from _inside(nest.inner)
