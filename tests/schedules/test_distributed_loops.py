"""Loops are distributed where statements are parallel, and the whole loop is not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.schedules.distributed_loops import loops_distributed
from polygen.schedules.fused_nests import nests_fused
from polygen.schedules.nests import nests_of
from tests.schedules.stage_runs import array, check, left, nests, staged

LARGE = 10**6


def test_what_is_parallel_leaves_a_recurrence() -> None:
    knl = nests(
        "{ [i]: 1<=i<n }",
        """
        for i
            a[i] = 0.5*a[i-1] + x[i]             {id=chain}
            b[i] = exp(x[i]) + exp(a[i])       {id=free}
            c[i] = b[i]*b[i]                   {id=too}
        end
        """,
        array("a, x, b, c"),
    )
    plan = staged(knl, loops_distributed, nests_fused, n=LARGE)
    new = plan.kernel
    assert [nest.ids for nest in nests_of(new)] == [("chain",), ("free", "too")]
    assert plan.choices[0].why == "these are parallel: 44 of 47 operations"

    def expected(a: Any, x: Any, b: Any, c: Any) -> Any:
        for i in range(1, len(a)):
            a[i] = a[i - 1] / 2 + x[i]
        b[1:] = np.exp(x[1:]) + np.exp(a[1:])
        c[1:] = b[1:] ** 2
        return {"a": a, "b": b, "c": c}

    check(new, expected, lambda n: dict.fromkeys("axbc", n))


def test_inside_of_a_parallel_loop() -> None:
    knl = nests(
        "{ [i,j]: 0<=i<n and 1<=j<n }",
        """
        for i, j
            a[i,j] = 0.5*a[i,j-1] + x[i,j]   {id=chain}
            b[i,j] = exp(x[i,j]) + i       {id=free}
        end
        """,
        array("a, x, b", "n, n"),
    )
    new = staged(knl, loops_distributed, n=1000).kernel
    (nest,) = nests_of(new)
    assert nest.loops == ("i",)
    assert [inner.ids for inner in nest.inner] == [("chain",), ("free",)]

    def expected(a: Any, x: Any, b: Any) -> Any:
        for j in range(1, len(a)):
            a[:, j] = a[:, j - 1] / 2 + x[:, j]
        b[:, 1:] = np.exp(x[:, 1:]) + np.arange(len(a))[:, None]
        return {"a": a, "b": b}

    check(new, expected, lambda n: dict.fromkeys("axb", (n, n)))


def test_an_element_of_a_later_iteration() -> None:
    """The second statement reads what the first one is yet to write: it goes first."""
    knl = nests(
        "{ [i]: 0<=i<n-1 }",
        "for i\na[i] = x[i]  {id=write}\nb[i] = exp(a[i+1])*exp(x[i])  {id=read}\nend",
        array("a, x, b"),
    )
    plan = staged(knl, loops_distributed, n=LARGE)
    assert [nest.ids for nest in nests_of(plan.kernel)] == [("read",), ("write",)]

    def expected(a: Any, x: Any, b: Any) -> Any:
        b[:-1] = np.exp(a[1:]) * np.exp(x[:-1])
        a[:-1] = x[:-1]
        return {"a": a, "b": b}

    check(plan.kernel, expected, lambda n: dict.fromkeys("axb", n))


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (
            "a[i] = a[i-1] + x[i]\nb[i] = 2*x[i]",
            ["2 operations are done while 2 wait for those of the iteration before"],
        ),
        ("<> s = exp(x[i])\na[i] = a[i-1] + s", []),  # a scalar hands it on
        ("a[i] = a[i-1] + b[i-1]\nb[i] = exp(a[i-1])", []),  # a circle
        ("a[i] = exp(x[i])\nb[i] = exp(a[i])", []),  # all is parallel
    ],
)
def test_what_stays(text: str, why: list[str]) -> None:
    names = [name for name in "axb" if f"{name}[" in text]
    knl = nests("{ [i]: 1<=i<n }", f"for i\n{text}\nend", *[array(name) for name in names])
    plan = staged(knl, loops_distributed, n=LARGE)
    assert plan.kernel is knl
    assert left(plan) == why


def test_short_loops_stay() -> None:
    knl = nests(
        "{ [i]: 1<=i<n }",
        "for i\na[i] = a[i-1] + x[i]\nb[i] = exp(x[i])*exp(2*x[i])\nend",
        array("a, x, b"),
    )
    plan = staged(knl, loops_distributed, n=100)
    assert left(plan) == ["there is too little to do"]


def test_on_grids_any_parallel_loop_counts() -> None:
    knl = nests(
        "{ [i]: 1<=i<n }",
        "for i\na[i] = a[i-1] + x[i]  {id=chain}\nb[i] = 2*x[i]  {id=free}\nend",
        array("a, x, b"),
    ).copy(target="cuda")
    new = pg.optimize(knl, pg.Limits.named("H200"), sizes={"n": LARGE})
    tags = [str(new.tags.get(i)) for i in new.instruction("free").within_inames]
    assert "l.0" in tags
    assert not any(
        str(new.tags.get(i)).startswith("l.") for i in new.instruction("chain").within_inames
    )
    assert pg.generate_code(new).source.count("__global__ void") == 2
