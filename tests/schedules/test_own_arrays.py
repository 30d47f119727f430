"""Arrays that iterations overwrite one after the other: one for each, so that threads do not."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.schedules.test_optimize import LIMITS, kernel

ROWS = """
for t
    for i
        row[j] = sum(l, a[i,l]*b[l,j]) + t   {id=row}
        c[i,k] = fmax(row[k], row[n-1-k])    {id=c, dep=row}
    end
end
"""


def rows(text: str = ROWS, also: str = "") -> Kernel:
    more = f",{also}" if also else ""
    return kernel(
        f"{{ [t,i,j,k,l{more}]: 0<=t<2 and 0<=i<m and 0<=j,k,l{more}<n }}",
        text,
        pg.TemporaryVariable("row", np.float64, "n", address_space=pg.AddressSpace.GLOBAL),
        pg.GlobalArg("a, c", np.float64, "m, n"),
        pg.GlobalArg("b", np.float64, "n, n"),
        "...",
        loop_priority=["t, i, j", "t, i, k"],
    )


def optimized(knl: Kernel, **sizes: int) -> Kernel:
    return pg.optimize(knl, LIMITS, sizes=sizes or {"n": 200, "m": 1000})


def call(knl: Kernel, n: int, m: int, **more: Any) -> None:
    """Compare with NumPy: the last step of time is what is seen."""
    random = np.random.default_rng(n)
    a, b = random.integers(0, 9, (m, n)).astype(float), random.integers(0, 9, (n, n)).astype(float)
    c = np.zeros((m, n))
    knl(a=a, b=b, c=c, **more)
    row = a @ b + 1
    np.testing.assert_array_equal(c, np.maximum(row, row[:, ::-1]))


def test_rows_of_their_own_let_threads_share_the_loop() -> None:
    new = optimized(rows())
    assert str(new.tags["i"]) == "g.0"
    row = new.variables["row"]
    assert isinstance(row, pg.TemporaryVariable)
    assert row.shape is not None
    assert str(row.shape[-1]) == "m"
    assert "N0, N1" in str(new), "neighbours of a row stay side by side"
    assert "'row' for each iteration of 'i'" in [c.what for c in new.choices]
    for n, m in ((0, 0), (1, 1), (3, 0), (5, 17), (33, 2)):
        call(new, n, m)
    assert pg.replay(rows(), new.history) == new


def test_what_a_row_keeps_for_the_next_iteration_stays() -> None:
    """Rows begin with what the iteration before left in them; the first one, with zeros."""
    text = ROWS.replace("for i", "row[z] = 0  {id=zero}\n    for i").replace("+ t ", "+ row[j]/2 ")
    knl = rows(text.replace("{id=row}", "{id=row, dep=zero}"), also="z")
    new = optimized(knl)
    assert not any(choice.is_taken and "for each" in choice.what for choice in new.choices)


def test_a_loop_beside_others_in_steps_of_time() -> None:
    text = ROWS.replace("for i", "d[z] = t  {id=d}\n    for i")
    new = optimized(rows(text, also="z"))
    assert str(new.tags["i"]) == "g.0"
    call(new, 5, 17, d=np.zeros(5))


def test_small_work_keeps_its_row() -> None:
    new = optimized(rows(), n=8, m=30)
    assert not any(choice.is_taken and "for each" in choice.what for choice in new.choices)


def test_large_arrays_are_not_multiplied() -> None:
    new = optimized(rows(), n=3000, m=3000)
    assert not any(choice.is_taken and "for each" in choice.what for choice in new.choices)


@pytest.mark.parametrize("space", ["t", "j"])
def test_loops_that_need_the_iteration_before_stay_serial(space: str) -> None:
    new: Any = optimized(rows())
    assert str(new.tags.get(space)) not in {"g.0", "g.1"}


def test_a_sum_over_the_loop_keeps_its_order() -> None:
    """The result of each iteration is added to one array: threads would wait for each other."""
    text = ROWS.replace("c[i,k] =", "c[0,k] = c[0,k] +")
    new = optimized(rows(text))
    assert not any(choice.is_taken and "for each" in choice.what for choice in new.choices)
