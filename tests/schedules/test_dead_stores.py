"""Stores that nobody sees are dropped; all others stay."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.schedules.dead_stores import dead_stores_dropped
from polygen.schedules.plan import Plan
from polygen.schedules.schedule import request_for
from tests.schedules.test_optimize import LIMITS, kernel


def made(text: str) -> Kernel:
    """Return a kernel of nests over `i`, `j` and `k`, the loops that its text has."""
    loops = [name for name in "ijk" if f"[{name}]" in text or f"[n-1-{name}]" in text]
    data: list[Any] = [
        pg.GlobalArg(name, np.float64, shape="n") for name in "ab" if f"{name}[" in text
    ]
    if "t[" in text:
        space = pg.AddressSpace.GLOBAL
        data.append(pg.TemporaryVariable("t", np.float64, "n", address_space=space))
    steps = "0<=s<m and " if "for s" in text else ""
    names = ["s", *loops] if steps else loops
    domain = f"{{ [{','.join(names)}]: {steps}0<={','.join(loops)}<n }}"
    return kernel(domain, text, *data, seq_dependencies=True)


def dropped(knl: Kernel) -> tuple[Kernel, list[str]]:
    plan = Plan(knl, request_for(knl, LIMITS, {}, tune=False))
    dead_stores_dropped(plan)
    gone = knl.instructions_by_id.keys() - plan.kernel.instructions_by_id.keys()
    return plan.kernel, sorted(gone)


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("t[i] = a[i]  {id=x}\nb[j] = a[j]", ["x"]),
        ("<> s = sum(k, a[k])  {id=x}\n<> r = 2*s  {id=y}\nb[j] = a[j]", ["x", "y"]),
        ("t[i] = 0  {id=x}\nt[j] = 2*a[j]\nb[k] = t[n-1-k]", ["x"]),
        ("b[i] = 0  {id=x}\nb[j] = 2*a[j]", ["x"]),
        ("for i\n<> s = a[i]  {id=x}\ns = 2*a[i]\nb[i] = s\nend", ["x"]),
        # Each of these is seen.
        ("t[i] = 0\nb[k] = t[n-1-k]\nt[j] = 2*a[j]  {id=x}", ["x"]),
        ("t[i] = 1\nt[j] = t[j] + a[j]\nb[k] = t[n-1-k]", []),
        ("t[i] = 1\nif a[j] > 0.5\nt[j] = a[j]\nend\nb[k] = t[n-1-k]", []),
        ("t[i] = 1\nb[j] = t[n-1-j]\nt[j] = 2*a[j]\na[k] = t[n-1-k]", []),
        ("b[i] = 3\nb[j] = b[n-1-j] + a[j]", []),
    ],
)
def test_what_is_dropped(text: str, gone: list[str]) -> None:
    knl = made(text)
    new, found = dropped(knl)
    assert found == gone
    for n in (1, 6):
        a, b = np.random.default_rng(n).random((2, n))
        copies = a.copy(), b.copy()
        knl(a=a, b=b)
        new(a=copies[0], b=copies[1])
        np.testing.assert_array_equal(a, copies[0])
        np.testing.assert_array_equal(b, copies[1])


def test_part_of_an_array_is_not_enough() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i,k<n and 1<=j<n }",
        "t[i] = 1\nt[j] = a[j]\nb[k] = t[k]",
        pg.TemporaryVariable("t", np.float64, "n", address_space=pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a, b", np.float64, shape="n"),
        seq_dependencies=True,
    )
    assert dropped(knl)[1] == []


@pytest.mark.parametrize(
    ("text", "gone"),
    [
        ("for s\nt[i] = 0  {id=x}\nt[j] = a[j] + s\na[k] = t[n-1-k]\nend", ["x"]),
        # The next step of time reads it.
        ("t[k] = 0\nfor s\na[i] = t[n-1-i] + a[i]\nt[j] = a[j] + s  {id=x}\nend", []),
    ],
)
def test_in_a_loop_of_time(text: str, gone: list[str]) -> None:
    knl = made(text)
    new, found = dropped(knl)
    assert found == gone
    a = np.arange(5.0)
    b = a.copy()
    knl(a=a, m=3)
    new(a=b, m=3)
    np.testing.assert_array_equal(a, b)
    assert a[0] != 0


def test_bounds_are_read() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<e }"],
        "<> e = c[i]\nout[i,j] = 1  {inames=i:j}",
        pg.GlobalArg("c", np.int32, shape="n"),
        pg.GlobalArg("out", np.float64, shape="n, 9"),
    )
    assert dropped(knl)[1] == []


def test_a_kernel_of_which_nothing_is_left() -> None:
    space = pg.AddressSpace.GLOBAL
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "t[i] = 2*a[i]",
        pg.TemporaryVariable("t", np.float64, "n", address_space=space),
        pg.GlobalArg("a", np.float64, shape="n"),
    )
    for target in ("c", "cuda"):
        new = pg.optimize(knl.copy(target=target), LIMITS)
        assert new.instructions == ()
        assert pg.generate_code(new).source.count("a[") == 0
