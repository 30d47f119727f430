"""Warnings of kernels that are legal, and hardly what was meant; and remedies."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import errors

SQUARE = "{ [i, j]: 0<=i<n and 0<=j<m }"
TIME = "{ [t, i]: 0<=t<steps and 0<=i<n }"
A = {"a": np.float32}
X = {"x": np.float32}


def said(do: Callable[[], Any], kind: type[Warning] = pg.PolygenWarning) -> list[str]:
    """Return the warnings of a kind that something issues."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        do()
    return [str(w.message) for w in caught if issubclass(w.category, kind)]


def code(knl: pg.Kernel) -> Callable[[], Any]:
    return lambda: pg.generate_code(knl, "c")


# --- inames that nothing is in


def test_a_loop_that_nothing_is_in() -> None:
    knl = pg.make_kernel(TIME, "x[i] = 0.5*x[i]", name="decay")
    knl = pg.add_dtypes(knl, X)
    (text,) = said(code(knl), errors.UnusedIname)
    assert text.startswith("kernel 'decay': no instruction is in the loop of 't', so that")
    assert "{inames=+t}" in text
    assert "'for t'" in text
    assert "remove_unused_inames" in text
    # It is said once, of what steps make of it, too.
    again = [code(knl), code(pg.split_iname(knl, "i", 16))]
    assert not [text for do in again for text in said(do, errors.UnusedIname)]


@pytest.mark.parametrize(
    "text", ["x[i] = 0.5*x[i]  {inames=+t}", "for t\n    x[i] = 0.5*x[i]\nend"]
)
def test_what_it_says_helps(text: str) -> None:
    knl = pg.add_dtypes(pg.make_kernel(TIME, text, loop_priority="t, i"), X)
    assert said(code(knl)) == []
    x = np.ones(3, np.float32)
    knl.executor("c")(x=x, steps=3)
    np.testing.assert_array_equal(x, 0.125)


def test_running_it_says_so_too() -> None:
    knl = pg.make_kernel(TIME, "x[i] = 0.5*x[i]")
    with pytest.warns(errors.UnusedIname, match="'t'"):
        knl.executor("c")(x=np.ones(3), steps=3)


def test_several_loops_that_nothing_is_in() -> None:
    knl = pg.make_kernel("{ [t, i, q]: 0<=t<steps and 0<=i<n and 0<=q<9 }", "x[i] = 2")
    (text,) = said(code(knl), errors.UnusedIname)
    assert "in the loops of 't', 'q'," in text


TWICE = pg.make_function("{ [k]: 0<=k<4 }", "y[k] = 2*x[k]", name="twice")
PARTS = [pg.GlobalArg("x", np.float32, 9), pg.GlobalArg("y", np.float32, 9)]


def test_a_loop_of_a_function_that_nothing_is_in() -> None:
    decay = pg.make_function("{ [t, k]: 0<=t<9 and 0<=k<4 }", "y[k] = 0.5*x[k]", name="decay")
    knl = pg.make_kernel(
        "{ [i]: 0<=i<4 }", "[i]: y[i] = decay([i]: x[i])", PARTS, functions={"decay": decay}
    )
    (text,) = said(code(knl), errors.UnusedIname)
    assert text.startswith("kernel 'decay': no instruction is in the loop of 't', so that")
    assert not said(code(knl), errors.UnusedIname)


def added_inames(knl: pg.Kernel) -> pg.Kernel:
    with pg.without_proofs():
        return pg.add_inames_to_insn(knl, "g", "insn")


def deserved_nowhere() -> dict[str, Callable[[], pg.Kernel]]:
    def make(domains: Any, text: str, *data: Any, **options: Any) -> pg.Kernel:
        return pg.make_kernel(domains, text, [*data, "..."], **options)

    return {
        "reduced over": lambda: pg.add_dtypes(make(SQUARE, "b[i] = sum(j, a[i, j])"), A),
        "in a bound": lambda: make("{ [t, i]: 0<=t<4 and 0<=i<=t }", "b[i] = 2"),
        "the axis of a part": lambda: make(
            "{ [i]: 0<=i<4 }", "[i]: y[i] = twice([i]: x[i])", *PARTS, functions={"twice": TWICE}
        ),
        "the axis of a part that begins later": lambda: make(
            "{ [i]: 2<=i<6 }", "[i]: y[i] = twice([i]: x[i])", *PARTS, functions={"twice": TWICE}
        ),
        "added by a step": lambda: added_inames(make("{ [g]: 0<=g<4 }", "b[0] = 22")),
        "duplicated by all": lambda: make("{ [i]: 0<=i<8 }", "b[i] = 22  {dup=i->k}"),
        "duplicated for sums": lambda: pg.add_dtypes(
            make(
                ["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<=j }"],
                "b[i] = sum(j, a[j])\nc[i] = b[i] + sum(j, sum(k, a[k]))",
            ),
            A,
        ),
        "left by a step": lambda: pg.rename_iname(make("{ [i]: 0<=i<8 }", "b[i] = 22"), "i", "k"),
        "swept by a step": lambda: pg.precompute(
            pg.add_dtypes(make("{ [i, k]: 0<=i<8 and 0<=k<8 }", "f(x) := 2*a[x]\nb[i] = f(i)"), A),
            "f",
            "i",
            precompute_inames="k",
        ),
        "silenced": lambda: make(TIME, "x[i] = 2", silenced_warnings=["UnusedIname"]),
        "removed": lambda: pg.remove_unused_inames(
            make("{ [t, i]: 0<=t<4 and 0<=i<8 }", "x[i] = 2")
        ),
    }


@pytest.mark.parametrize("name", deserved_nowhere())
def test_where_nothing_is_said(name: str) -> None:
    assert said(lambda: pg.generate_code(deserved_nowhere()[name](), "c"), errors.UnusedIname) == []


# --- priorities that are ignored

TWO = "<> s = a[i, 0]  {id=s}\nb[i, j] = s*a[i, j]  {id=b}"


def test_a_priority_is_ignored_at_the_step_that_says_it() -> None:
    knl = pg.add_dtypes(pg.make_kernel(SQUARE, TWO, loop_priority="i, j"), A)
    (text,) = said(lambda: pg.prioritize_loops(knl, "j, i"), pg.PriorityIgnored)
    assert "the priority of 'j' over 'i' is ignored" in text
    assert "'s' is in the loop of 'i' and not in that of 'j'" in text
    assert "distribute_loop(kernel, 'i')" in text


def test_a_priority_that_is_ignored_is_said_once() -> None:
    knl = pg.add_dtypes(pg.make_kernel(SQUARE, TWO), A)
    with pytest.warns(pg.PriorityIgnored):
        knl = pg.prioritize_loops(knl, "j, i")
    assert said(code(knl)) == said(code(pg.split_iname(knl, "i", 4)), pg.PriorityIgnored) == []


def test_make_kernel_says_it_of_its_own_priorities() -> None:
    with pytest.warns(pg.PriorityIgnored, match="the values of 'j' depend on 'i'"):
        pg.make_kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[i, j] = 1", loop_priority="j, i")


def test_distribute_loop_makes_room_for_a_priority() -> None:
    text = "c[i] = a[i, 0]  {id=c}\nb[i, j] = a[i, j]  {id=b}"
    knl = pg.add_dtypes(pg.make_kernel(SQUARE, text), A)
    knl = pg.distribute_loop(knl, "i")
    own = knl.instruction("b").within_inames - {"j"}
    assert said(lambda: pg.generate_code(pg.prioritize_loops(knl, ["j", *own]), "c")) == []


# --- what is left open


def test_an_open_nest_is_told_once_a_kernel() -> None:
    texts = "b[i, j] = 2*a[i, j]\nc[i, j] = 3*a[i, j]\nd[k, l] = 4*a[k, l]"
    knl = pg.make_kernel([SQUARE, "{ [k, l]: 0<=k<n and 0<=l<m }"], texts)

    def all_of_it() -> None:
        typed = pg.add_dtypes(knl, A)
        for target in ("c", "opencl", "cuda"):
            pg.generate_code(typed, target)
        pg.generate_code(pg.split_iname(typed, "i", 4), "c")
        for dtype in (np.float32, np.float64):
            knl.executor("c")(a=np.ones((2, 3), dtype))

    (text,) = said(all_of_it, pg.AmbiguousNesting)
    assert "{i, j}; {k, l}" in text


def test_each_kernel_tells_of_its_own_nest() -> None:
    for name in ("one", "two"):
        knl = pg.add_dtypes(pg.make_kernel(SQUARE, "b[i, j] = 2*a[i, j]", name=name), A)
        (text,) = said(code(knl), pg.AmbiguousNesting)
        assert f"kernel '{name}'" in text


# --- scans that become quadratic

SCANS = "{ [r, i, j]: 0<=r<m and 0<=i<n and 0<=j<=i }"


def tiles(knl: pg.Kernel) -> pg.Kernel:
    return pg.prioritize_loops(pg.split_iname(knl, "i", 4), "i_outer, r, i_inner")


def turned(knl: pg.Kernel) -> pg.Kernel:
    return pg.interchange(knl, "r", "i")


def prior(knl: pg.Kernel) -> pg.Kernel:
    return pg.prioritize_loops(knl, "i, r")


@pytest.mark.parametrize("step", [tiles, turned, prior])
def test_a_scan_with_another_loop_inside(step: Callable[[pg.Kernel], pg.Kernel]) -> None:
    knl = pg.make_kernel(SCANS, "b[r, i] = sum(j, a[r, j])", loop_priority="r, i")
    knl = pg.add_dtypes(knl, {"a": np.float64})
    assert said(code(knl)) == []
    (text,) = said(code(step(knl)), errors.ComputedAnew)
    assert "'sum(j, a[r, j])' is computed anew for each value of 'i" in text
    assert "(prioritize_loops, interchange)" in text
    again = pg.prioritize_loops(knl, "r, i")
    assert said(code(again)) == []


@pytest.mark.parametrize(
    ("domains", "text", "priority"),
    [
        (SCANS, "b[r, i] = sum(j, a[r, j]*x[i, j])", "i, r"),  # no scan in any order
        ("{ [i, j]: 0<=i<n and 0<=j<=i }", "b[i] = sum(j, a[i, j])", ()),
        # The loop of the outer sum is inside of that of `i`, whatever is said.
        (SCANS, "b[i] = sum(r, sum(j, a[r, j]))", ()),
        (
            ["{ [i, j]: 0<=i<n and 0<=j<=i }", "{ [r]: 0<=r<=i }"],
            "b[r, i] = sum(j, a[r, j])",
            "i, r",
        ),
    ],
)
def test_sums_that_are_no_scans(domains: Any, text: str, priority: Any) -> None:
    knl = pg.add_dtypes(pg.make_kernel(domains, text, loop_priority=priority), A)
    knl = pg.add_dtypes(knl, X) if "x" in text else knl
    assert said(code(knl)) == []


# --- remedies


def test_where_is_if() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = where(a[i] > 0, a[i], 0)")
    with pytest.raises(errors.UnknownFunction) as caught:
        pg.generate_code(pg.add_dtypes(knl, A))
    assert str(caught.value.remedy).startswith("to choose between two values, write if(c, x, y); ")
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = if(a[i] > 0, a[i], 0)")
    _, (b,) = knl.executor("c")(a=np.array([1.0, -1]))
    np.testing.assert_array_equal(b, [1, 0])


LEAPFROG = """
    for t
        v[i] = v[i] + p[i+1] - p[i]
        p[j] = p[j] + v[j] - v[j-1]
    end
"""
GRID = "{ [t, i, j]: 0<=t<steps and 0<=i<n-1 and 1<=j<n-1 }"
FIELDS = [pg.GlobalArg("p, v", np.float64, "n"), "..."]


def test_a_leapfrog() -> None:
    with pytest.raises(errors.DependencyCycle) as caught:
        pg.make_kernel(GRID, LEAPFROG, FIELDS)
    assert "say seq_dependencies=True" in str(caught.value.remedy)
    knl = pg.make_kernel(GRID, LEAPFROG, FIELDS, seq_dependencies=True)
    p, v = np.random.default_rng(0).random((2, 9))
    q, w = p.copy(), v.copy()
    knl.executor("c")(p=p, v=v, steps=5)
    for _ in range(5):
        w[:-1] += q[1:] - q[:-1]
        q[1:-1] += w[1:-1] - w[:-2]
    np.testing.assert_allclose(p, q)
    np.testing.assert_allclose(v, w)


def test_the_order_as_written_is_no_remedy_where_it_is_taken_already() -> None:
    text = "a[i] = 1  {id=a, dep=c}\nb[i] = 2\nc[i] = a[i]  {id=c}"
    with pytest.raises(errors.DependencyCycle) as caught:
        pg.make_kernel("{ [i]: 0<=i<n }", text, seq_dependencies=True)
    assert "seq_dependencies" not in str(caught.value.remedy)
