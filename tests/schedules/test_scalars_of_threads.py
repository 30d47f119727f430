"""Loops with scalars of iterations are given to threads, whatever decides on updates of these."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.schedules.test_optimize import optimized

SIZES = {"n": 10**6, "m": 5}
AUTO = pg.AddressSpace.AUTO

# Statements, as kernels and as Python have them: a loop that may be empty, conditions of loops and
# of data.
UPDATES = (
    ("t = 0.5*(t + p[i+1]) {if=i<n-1}", "if i < n - 1: t = 0.5*(t + p[i + 1])"),
    ("t = t*p[i] + a[i,j] {inames=i:j}", "for j in range(m): t = t*p[i] + a[i, j]"),
    ("t = 0.2*t + sum(k, a[i,k])", "t = 0.2*t + sum(a[i, :])"),
    ("s = 0.5*(s + t) {if=i>0}", "if i > 0: s = 0.5*(s + t)"),
    ("s = t*p[i] {if=p[i]>0.5}", "if p[i] > 0.5: s = t*p[i]"),
    ("t = 0.5*(s - t)", "t = 0.5*(s - t)"),
)
BEGINS = (("t = p[i]", "t = p[i]"), ("s = 2*p[i]", "s = 2*p[i]"))


def made(lines: list[str], *, outside: bool) -> Kernel:
    start = "s = 0 {inames=}\nt = 0 {inames=}\n" if outside else ""
    inner = [line if "inames" in line else line.replace("{", "{inames=i, ") for line in lines]
    body = "\n".join([line if "{" in line else f"{line} {{inames=i}}" for line in inner])
    loops = {"i": "n", "j": "m", "k": "m", "l": "m"}
    used = [i for i in loops if i in "il" or f"i,{i}]" in body]
    given = [pg.TemporaryVariable(name, np.float64, (), AUTO) for name in "st"]
    arrays = [pg.GlobalArg("p", np.float64, "n"), pg.GlobalArg("a", np.float64, "n, m"), "..."]
    return pg.make_kernel(
        [f"{{ [{i}]: 0<={i}<{loops[i]} }}" for i in used],
        f"{start}{body}\nq[i] = s + t + sum(l, a[i,l]) {{inames=i}}",
        [*given, pg.ValueArg("m", np.int32), *arrays],
        seq_dependencies=True,
        assumptions="n >= 1 and m >= 0",
        target="c",
        silenced_warnings=["AmbiguousNesting"],
    )


def by_python(lines: list[str], p: Any, a: Any) -> Any:
    """Return what the statements compute, one iteration after the other."""
    text = "\n    ".join(["for i in range(n):", *lines, "q[i] = s + t + sum(a[i, :])"])
    n, m = a.shape
    names = {"p": p, "a": a, "n": n, "m": m, "q": np.zeros(n), "s": 0.0, "t": 0.0, "sum": np.sum}
    exec(text, names)  # noqa: S102
    return names["q"]


def is_on_threads(knl: Kernel) -> bool:
    return str(knl.tags.get("i")) == "g.0"


def check(knl: Kernel, lines: list[str]) -> None:
    for n, m in ((1, 0), (7, 5), (2000, 3)):
        rng = np.random.default_rng(n)
        p, a = rng.random(n), rng.random((n, m))
        _, (q,) = knl(p=p, a=a)
        np.testing.assert_allclose(q, by_python(lines, p, a), rtol=1e-12)


@pytest.mark.parametrize("update", UPDATES)
def test_an_update_of_a_scalar_that_each_iteration_writes_first(update: tuple[str, str]) -> None:
    several = [*BEGINS, update]
    new = optimized(made([one for one, _ in several], outside=False), **SIZES)
    assert is_on_threads(new)
    check(new, [line for _, line in several])


@few(4, "seed", range(24))
def test_random_statements(seed: int) -> None:
    """Where an iteration may read what another one wrote, there are no threads."""
    rng = random.Random(seed)
    updates = [rng.choice(UPDATES) for _ in range(rng.randint(1, 4))]
    begins = list(BEGINS) if seed % 3 else [rng.choice(BEGINS)]
    several = [*begins, *updates]
    knl = made([one for one, _ in several], outside=len(begins) == 1)
    new = optimized(knl, **SIZES)
    if len(begins) == 2:
        assert is_on_threads(new)
    check(new, [line for _, line in several])


def test_a_scalar_that_goes_on_is_left_to_one_thread() -> None:
    lines = [("s = p[i] {if=p[i]>0.5}", "if p[i] > 0.5: s = p[i]")]
    new = optimized(made([one for one, _ in lines], outside=True), **SIZES)
    assert not new.tags
    assert "'s' is declared auto, and is global" in "\n".join(map(str, new.choices))
    check(new, [line for _, line in lines])
