"""`polygen.propose`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, SupportsIndex, TypeAlias

from polygen import transforms
from polygen.inspection.devices.limits import Limits
from polygen.ir.kernel import Kernel, Step
from polygen.ir.public import public
from polygen.schedules.schedule import BUDGET, scheduled

Proposal: TypeAlias = tuple[Any, dict[str, Any]]
_PREFIX = f"{transforms.__name__}."


@public
def propose(
    kernel: Kernel,
    limits: Limits | None = None,
    *,
    sizes: Mapping[str, SupportsIndex] | None = None,
    tune: bool = False,
    budget: float = BUDGET,
) -> list[Proposal]:
    """Return the steps that `optimize` takes, as data; none is taken.

    Change them, leave some out, keep them in a file: `apply` takes them.

    Parameters are those of `optimize`.

    Returns:
        The name of each step, and its arguments.  A step that is not polygen's stands there itself.

    Raises:
        NoLoopNest, DependencyCycle: if the kernel has no order.
        InvalidArgument, NoDevice, OutOfMemory: as `optimize` does, with `tune`.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1", target="c")
    >>> steps = pg.propose(knl, sizes={"n": 10**6})
    >>> steps
    [('tag_inames', {'iname_to_tag': {'i': 'g.0'}, 'force': False, 'ignore_nonexistent': False})]
    >>> pg.apply(knl, steps) == pg.optimize(knl, sizes={"n": 10**6})
    True
    """
    new = scheduled(kernel, limits, sizes or {}, tune=tune, budget=budget)
    return [_written(step) for step in new.history[len(kernel.history) :]]


def _written(step: Step) -> Proposal:
    is_ours = step.apply.__module__.startswith(_PREFIX)
    return step.name if is_ours else step.apply, dict(step.arguments)
