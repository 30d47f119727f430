"""`polygen.optimize_by_size`: a schedule for each of some sizes; a call takes the one that fits.

What pays for large sizes may cost for small ones: copies in tiles, parts of sums, padded loops.
Threads are no reason: the code asks sizes whether there is work for them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import isqrt, prod
from typing import SupportsIndex, TypeAlias, cast

import islpy as isl

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.size_conditions import SizeCondition
from polygen.errors import InvalidArgument, did_you_mean
from polygen.inspection.devices.limits import Limits
from polygen.ir import expression as ex
from polygen.ir.domain import intersection
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.schedules.schedule import BUDGET, scheduled
from polygen.schedules.variants import Variant, Variants
from polygen.source import caller_location

_Sizes: TypeAlias = dict[str, int]


@public
def optimize_by_size(
    kernel: Kernel,
    sizes: Sequence[Mapping[str, SupportsIndex]],
    limits: Limits | None = None,
    *,
    tune: bool = False,
    budget: float = BUDGET,
) -> Variants:
    """Schedule a kernel for several sizes at once: a call takes the schedule that fits it best.

    Each schedule is one of `optimize`, and right for all sizes.  Which one a call takes, sizes
    alone decide, in a microsecond: the first of those that were given, from small to large, in
    which nothing is further away than half of the way to the next, counted in doublings.
    Neighbours with one schedule are one variant.

    Parameters:
        kernel: the kernel.
        sizes: what to expect, for each schedule: ``[{"n": 64}, {"n": 4096}]``.
        limits: those of the device, as for `optimize`.
        tune: measure schedules, as `optimize` does, with each of the sizes.
        budget: for how many seconds, for each of them.

    Returns:
        The variants, from small to large.  A call with the kernel's arguments calls the one that
        fits; `Variants.pick` returns it.

    Raises:
        InvalidArgument: if there are no sizes, if they are not of the same names, or if a name is
            no size of the kernel.
        NoLoopNest, DependencyCycle, NoDevice, OutOfMemory: as `optimize`.

    >>> import numpy as np
    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i,j]: 0<=i,j<n }", "s[i] = sum(j, a[i,j])",
    ...     [pg.GlobalArg("a", np.float64, shape="n, n"), "..."], target="c",
    ... )
    >>> limits = pg.Limits(2e10, 3e10, compute_units=2)
    >>> found = pg.optimize_by_size(knl, [{"n": 16}, {"n": 1024}], limits)
    >>> print(found)
    if n <= 128: for n = 16
    otherwise: for n = 1024
    >>> [dict(variant.kernel.tags) == {} for variant in found]
    [True, False]
    >>> _, (s,) = found(a=np.ones((3, 3)))
    >>> s
    array([3., 3., 3.])

    Source: Jacob, Trinder and Singer, Python Programmers Have GPUs Too (2019), for kernels by size.
    """
    asked = sorted(_checked(kernel, sizes), key=lambda given: prod(given.values()))
    made = [(given, scheduled(kernel, limits, given, tune=tune, budget=budget)) for given in asked]
    known = known_parameters(kernel)
    found: list[Variant] = []
    for (given, new), following in zip(made, [*made[1:], None], strict=True):
        if following is not None and following[1].history == new.history:
            continue
        allowed = known if following is None else _up_to(known, given, following[0])
        found.append(Variant(SizeCondition(allowed, known), new, made_for=tuple(given.items())))
    return Variants(found)


def _checked(kernel: Kernel, sizes: Sequence[Mapping[str, SupportsIndex]]) -> list[_Sizes]:
    """Return the sizes as numbers."""
    asked: list[object] = list(sizes)
    if not asked or not all(map(_are_sizes, asked)):
        raise InvalidArgument(
            f"optimize_by_size was given sizes={sizes!r}, which are no sizes to expect",
            where=caller_location(),
            remedy="pass sizes for each schedule: [{'n': 64}, {'n': 4096}]",
        )
    found = [{name: size.__index__() for name, size in sorted(given.items())} for given in sizes]
    for given in found:
        for name in given:
            if name not in kernel.parameters:
                raise InvalidArgument(
                    f"optimize_by_size: kernel '{kernel.name}' has no size '{name}'",
                    where=caller_location(),
                    remedy=did_you_mean(name, kernel.parameters),
                )
        if given.keys() != found[0].keys():
            raise InvalidArgument(
                "optimize_by_size was given sizes of other names for one schedule than for "
                f"another: {', '.join(given)}, and {', '.join(found[0])}",
                where=caller_location(),
                remedy="say all of these for each schedule",
            )
    return found


def _are_sizes(given: object) -> bool:
    """Tell whether something is integers by name, at least one."""
    if not isinstance(given, Mapping) or not given:
        return False
    found = cast("Mapping[object, object]", given)
    return all(isinstance(n, str) for n in found) and all(
        hasattr(size, "__index__") for size in found.values()
    )


def _up_to(known: isl.Set, given: _Sizes, following: _Sizes) -> isl.Set:
    """Return the sizes that are nearer to some than to the next larger ones."""
    allowed = known
    for name, size in given.items():
        if following[name] <= size:
            continue
        border = ex.Comparison(ex.Variable(name), "<=", isqrt(max(1, size) * following[name]))
        nearer = condition_set(border)
        if nearer is not None:
            allowed = intersection(allowed, nearer)
    return allowed
