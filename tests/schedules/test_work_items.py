"""Whole nests on work items: which loops, and what stays as it is."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel

H200 = pg.Limits.named("H200")


def optimized(domains: Any, text: str, *data: Any, **options: Any) -> Kernel:
    options |= {"seq_dependencies": True, "silenced_warnings": ["AmbiguousNesting"]}
    knl = pg.make_kernel(domains, text, [*data, "..."], target="cuda", **options)
    return pg.optimize(knl, H200, sizes=dict.fromkeys(knl.parameters, 1000))


def tags(knl: Kernel) -> list[str]:
    return sorted(str(tag) for tag in knl.tags.values())


COLUMNS = (
    "{ [i,j]: 1<=i<n and 0<=j<m }",
    "x[i,j] = x[i-1,j] + a[i,j]",
    pg.GlobalArg("x, a", np.float64, "n, m"),
)


def test_what_is_serial_stays_in_the_work_item() -> None:
    knl = optimized(*COLUMNS, loop_priority="i, j", assumptions="n >= 1")
    assert tags(knl) == ["g.0", "l.0"]
    assert "i" in knl.inames
    assert "i" not in knl.tags
    for shape in ((1, 5), (4, 1), (9, 300)):
        x, a = np.random.default_rng(3).random((2, *shape))
        expected = np.concatenate([x[:1], x[:1] + np.cumsum(a[1:], 0)])
        knl.copy(target=None).executor("c")(x=x, a=a)
        np.testing.assert_allclose(x, expected, rtol=1e-13)


def test_private_values_are_those_of_the_work_item() -> None:
    knl = optimized(
        ["{ [i,j]: 0<=i,j<n }", "{ [t]: 0<=t<10 }"],
        """
        for i, j
            <> z = a[i,j]
            for t
                z = z*z + a[i,j]
            end
            b[i,j] = z
        end
        """,
        pg.GlobalArg("a, b", np.float64, "n, n"),
    )
    assert tags(knl) == ["g.0", "g.1", "l.0"]
    (done,) = [c for c in knl.choices if "work item" in c.what]
    assert done.is_taken
    assert done.what == "a work item for each iteration of 'i', 'j'"
    a = 0.2 * np.random.default_rng(3).random((300, 300))
    z = a.copy()
    for _ in range(10):
        z = z * z + a
    _, (b,) = knl.copy(target=None).executor("c")(a=a)
    np.testing.assert_allclose(b, z, rtol=1e-13)


@pytest.mark.parametrize("space", [pg.AddressSpace.AUTO, pg.AddressSpace.PRIVATE])
def test_private_values_may_change_where_data_says_so(space: pg.AddressSpace) -> None:
    """What data decides counts as written elsewhere, unless each work item has its own copy."""
    knl = optimized(
        ["{ [i,j]: 0<=i,j<n }", "{ [t]: 0<=t<10 }"],
        """
        for i, j
            z = a[i,j]
            count = 0
            for t
                <> inside = z < 2
                count = count + 1  {if=inside}
                z = z*z + a[i,j]  {if=inside}
            end
            b[i,j] = count
        end
        """,
        pg.GlobalArg("a", np.float64, "n, n"),
        pg.GlobalArg("b", np.int32, "n, n"),
        pg.TemporaryVariable("z", np.float64, address_space=space),
        pg.TemporaryVariable("count", np.int32, address_space=space),
    )
    assert tags(knl) == ["g.0", "g.1", "l.0"]
    a = 2 * np.random.default_rng(3).random((70, 70))
    z, count = a.copy(), np.zeros(a.shape, int)
    for _ in range(10):
        inside = z < 2
        count += inside
        z = np.where(inside, z * z + a, z)
    _, (b,) = knl.copy(target=None).executor("c")(a=a)
    np.testing.assert_array_equal(b, count)


def test_neighbours_in_memory_are_on_an_axis_before_further_loops() -> None:
    """Of four parallel loops, the outermost two, and the one along memory."""
    knl = optimized(
        ["{ [b,c,i,j]: 0<=b,c,i,j<n }", "{ [t]: 0<=t<m }"],
        """
        for b, c, i, j
            <> s = 0
            for t
                s = 0.5*s + a[b,c,i,j]
            end
            out[b,c,i,j] = s
        end
        """,
        pg.GlobalArg("a, out", np.float64, "n, n, n, n"),
    )
    assert "i" not in knl.tags
    assert {"b", "c"} < knl.tags.keys()
    assert [str(tag) for iname, tag in knl.tags.items() if iname.startswith("j")] == ["g.0", "l.0"]
    a = np.random.default_rng(3).random((3, 3, 3, 3))
    _, (out,) = knl.copy(target=None).executor("c")(a=a, m=60)
    np.testing.assert_allclose(out, 2 * a, rtol=1e-13)


def test_a_few_iterations_are_no_work_for_a_grid() -> None:
    knl = optimized(
        "{ [i,j]: 1<=i<1000 and 0<=j<3 }", "x[i,j] = x[i-1,j] + 1", pg.GlobalArg("x", np.int32)
    )
    assert not any("a work item for" in choice.what for choice in knl.choices)


@pytest.mark.parametrize("text", ["b[i,j] = 2*a[i,j]", "b[i,j] = a[i,j] + a[i,0]"])
def test_statements_by_themselves_are_for_later_stages(text: str) -> None:
    knl = optimized("{ [i,j]: 0<=i,j<n }", text, pg.GlobalArg("a, b", np.float64, "n, n"))
    assert knl.tags
    assert not any("a work item for" in choice.what for choice in knl.choices)
