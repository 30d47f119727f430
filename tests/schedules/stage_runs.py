"""Single stages of schedules, and runs of what they make."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules.plan import Plan
from polygen.schedules.schedule import request_for
from tests.schedules.test_optimize import LIMITS, kernel


def nests(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    """Return a kernel of nests one after the other, for C."""
    return kernel(domains, text, *data, seq_dependencies=True, **options)


def array(names: str, shape: str = "n", dtype: Any = np.float64) -> pg.GlobalArg:
    """Return arrays that are arguments."""
    return pg.GlobalArg(names, dtype, shape=shape)


def temporary(name: str, shape: str = "n", dtype: Any = np.float64) -> pg.TemporaryVariable:
    """Return an array in global memory."""
    return pg.TemporaryVariable(name, dtype, shape, address_space=pg.AddressSpace.GLOBAL)


def staged(
    knl: Kernel, *stages: Callable[[Plan], None], limits: pg.Limits = LIMITS, **sizes: int
) -> Plan:
    """Return a plan after some stages."""
    plan = Plan(knl, request_for(knl, limits, sizes, tune=False))
    for stage in stages:
        stage(plan)
    return plan


def left(plan: Plan) -> list[str]:
    """Return why what was not done was not done."""
    return [choice.why for choice in plan.choices if not choice.is_taken]


def check(new: Kernel, expected: Callable[..., Any], shapes: Callable[[int], Any]) -> None:
    """Compare what a kernel returns, or changes, with NumPy, for sizes 1 and odd.

    Parameters:
        new: the kernel.
        expected: returns arrays by their names, from copies of the arguments.
        shapes: returns the shape of each array that is passed, for a size.
    """
    outputs = [a.name for a in new.arguments if a.name in new.writers]
    for n in (1, 2, 9):
        rng = np.random.default_rng(n)
        given = {name: rng.random(shape) for name, shape in shapes(n).items()}
        right = expected(**{name: each.copy() for name, each in given.items()})
        _, found = new(**given, n=n)
        results = dict(zip(outputs, found, strict=True)) | given
        for name, value in right.items():
            np.testing.assert_allclose(results[name], value, rtol=1e-13, atol=1e-13)
