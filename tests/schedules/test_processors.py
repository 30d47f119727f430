"""The stages for processors: when each is taken, when it is not, and that results stay."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import pipeline
from polygen.ir.kernel import Kernel
from polygen.schedules import processors
from polygen.schedules.plan import Plan
from tests.schedules.test_optimize import LIMITS, kernel, names, optimized

pytestmark = pytest.mark.filterwarnings("ignore::polygen.errors.NotVectorized")


def tags(knl: Kernel) -> dict[str, str]:
    return {iname: str(tag) for iname, tag in knl.tags.items()}


def why_left(knl: Kernel) -> str:
    return "\n".join(str(choice) for choice in knl.choices if not choice.is_taken)


# --- what threads share


def normed(**options: Any) -> Kernel:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "<> total = sum(j, x[j])\ny[i] = x[i]/total", **options)
    return pg.add_dtypes(knl, {"x": np.float64})


def test_a_sum_ahead_of_threads_is_computed_once() -> None:
    new = optimized(normed(), n=10**6)
    assert tags(new)["i"] == "g.0"
    assert new.address_space("total") is pg.AddressSpace.GLOBAL
    for n in (1, 7, 40_003):
        x = np.random.default_rng(n).random(n)
        np.testing.assert_allclose(new(x=x)[1][0], x / x.sum(), rtol=1e-12)


def test_optimize_reductions_computes_it_once_too() -> None:
    new = pg.optimize_reductions(normed(), LIMITS, sizes={"n": 10**6})
    assert new.address_space("total") is pg.AddressSpace.GLOBAL


def test_what_follows_from_a_sum_is_in_memory_too() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i,j<n }",
        "<> total = sum(j, x[j])\n<> scale = 1/total\ny[i] = x[i]*scale",
    )
    new = optimized(pg.add_dtypes(knl, {"x": np.float64}), n=10**6)
    assert new.address_space("scale") is pg.AddressSpace.GLOBAL


def test_what_is_cheap_is_computed_by_each() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "<> scale = 1/a[0]\ny[i] = x[i]*scale")
    new = optimized(pg.add_dtypes(knl, {"a, x": np.float64}), n=10**6)
    assert tags(new) == {"i": "g.0"}
    assert new.address_space("scale") is pg.AddressSpace.PRIVATE
    x = np.arange(9.0)
    np.testing.assert_array_equal(new(x=x, a=np.array([4.0]))[1][0], x / 4)


def test_one_thread_has_no_loops_on_threads() -> None:
    knl = pg.add_dtypes(kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1"), {"a": np.float64})
    assert pg.optimize(knl, replace(LIMITS, compute_units=1), sizes={"n": 10**6}) is knl


# --- scans, atomic updates


def scan() -> Kernel:
    return pg.add_dtypes(kernel("{ [i,j]: 0<=j<=i<n }", "b[i] = sum(j, a[j])"), {"a": np.float64})


def test_a_scan_stays_one_loop() -> None:
    """On threads, each iteration would add up from the start."""
    new = optimized(scan(), n=10**6)
    assert not new.tags
    assert "threads along 'i': each iteration of a scan goes on from the one before" in why_left(
        new
    )


def test_many_threads_share_the_parts_of_a_scan() -> None:
    new = pg.optimize(scan(), replace(LIMITS, compute_units=16), sizes={"n": 10**7})
    assert "split_scan" in names(new)
    assert list(tags(new).values()).count("g.0") == 2
    for n in (0, 1, 4095, 4097, 20_001):
        a = np.random.default_rng(n).integers(-9, 10, n).astype(np.float64)
        np.testing.assert_array_equal(new(a=a)[1][0], np.cumsum(a))


def test_rows_of_scans_are_on_threads() -> None:
    knl = kernel("{ [r,i,j]: 0<=r<m and 0<=j<=i<n }", "b[r,i] = sum(j, a[r,j])")
    new = optimized(pg.add_dtypes(knl, {"a": np.float64}), n=1000, m=1000)
    assert tags(new) == {"r": "g.0"}
    a = np.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(new(a=a)[1][0], a.cumsum(1))


def test_threads_have_copies_of_what_is_updated_atomically() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "count[data[i]] += 1  {atomic}",
        pg.GlobalArg("count", np.int32, 8),
        pg.GlobalArg("data", np.int32),
    )
    new = optimized(knl, n=10**6)
    assert "privatize_atomics" in names(new)
    data = np.random.default_rng(1).integers(0, 8, 70_000).astype(np.int32)
    count = np.zeros(8, np.int32)
    new(data=data, count=count)
    np.testing.assert_array_equal(count, np.bincount(data, minlength=8))


def test_threads_do_not_wait_for_each_other_at_atomic_updates() -> None:
    knl = kernel(
        "{ [i]: 0<=i<n }",
        "count[data[i]] += 1  {atomic}",
        pg.GlobalArg("count", np.int32, "n"),
        pg.GlobalArg("data", np.int32),
    )
    new = optimized(knl, n=10**5)
    assert not new.tags
    assert "wait for each other at atomic updates" in why_left(new)


# --- vectors of outer loops


def recurrence(extra: str = "", read: str = "x[j]") -> Kernel:
    return kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [t]: 0<=t<steps }"],
        f"""
        for i, j
            <> c = x[j]  {{id=c}}
            <> a = c  {{id=a, dep=c}}
            for t
                <> s = a*a  {{id=s, dep=a}}
                a = s - {read}*a {extra}  {{id=next, dep=s}}
            end
            out[i, j] = a + y[i]  {{dep=next}}
        end
        """,
        pg.GlobalArg("x", np.float64, "m"),
        pg.GlobalArg("y", np.float64, "n"),
        loop_priority="i, j",
    )


@pytest.mark.parametrize("read", ["x[j]", "c"])
def test_iterations_that_wait_for_each_other_are_inside_of_vectors(read: str) -> None:
    """Several vectors take turns; what is beyond the end is of no account."""
    new = optimized(recurrence(read=read), n=500, m=500, steps=50)
    assert sorted(tags(new).values()) == ["g.0", "ilp", "vec"]
    assert ("pad_iname" in names(new)) == (read == "c")
    assert "vec" in str(pg.generate_code(new).source)
    for m in (0, 1, 8, 21, 67):
        rng = np.random.default_rng(m)
        x, y = rng.random(m), rng.random(5)
        a = x.copy()
        for _ in range(6):
            a = a * a - x * a
        found = new(x=x, y=y, steps=6)[1][0]
        np.testing.assert_allclose(found, a[None, :] + y[:, None], rtol=1e-12)


def test_a_short_loop_is_one_vector_at_a_time() -> None:
    new = optimized(recurrence(), n=500, m=40, steps=50)
    assert "ilp" not in tags(new).values()
    x, y = np.random.default_rng(1).random(11), np.zeros(2)
    found = new(x=x, y=y, steps=1)[1][0]
    np.testing.assert_array_equal(found, np.stack([x * x - x * x] * 2))


def escaping(loops: str = "i, j") -> Kernel:
    """Return a loop with a condition inside, and a count in integers."""
    return kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [t]: 0<=t<steps }"],
        f"""
        for {loops}
            <> a = x[j] + y[i]  {{id=a}}
            <> count = 0  {{id=count}}
            for t
                <> near = a*a <= 4  {{id=near, dep=a}}
                if near
                    a = a*a + y[i]  {{id=next, dep=near}}
                    count = count + 1  {{id=add, dep=count:near}}
                end
            end
            out[i, j] = count  {{dep=add}}
        end
        """,
        pg.GlobalArg("x", np.float64, "m"),
        pg.GlobalArg("y", np.float64, "n"),
        pg.GlobalArg("out", np.int32, "n, m"),
        loop_priority="i, j",
    )


@pytest.mark.parametrize("units", [1, 2])
def test_iterations_with_conditions_are_side_by_side(units: int) -> None:
    limits = replace(LIMITS, compute_units=units)
    new = pg.optimize(escaping(), limits, sizes={"n": 500, "m": 500, "steps": 50})
    assert sorted(tags(new).values()) == ["g.0", "g.1", "l.0"]
    for m in (0, 1, 255, 300):
        rng = np.random.default_rng(m)
        x, y = 4 * rng.random(m), rng.random(3)
        a, count = x[None, :] + y[:, None], np.zeros((3, m), np.int32)
        for _ in range(7):
            near = a * a <= 4
            count += near
            a = np.where(near, a * a + y[:, None], a)
        np.testing.assert_array_equal(new(x=x, y=y, steps=7)[1][0], count)


def test_few_iterations_with_conditions_are_not() -> None:
    assert "l.0" not in tags(optimized(escaping(), n=500, m=40, steps=50)).values()
    assert "l.0" not in tags(optimized(escaping(), n=500, m=500, steps=3)).values()


def test_calls_and_short_loops_have_no_vectors() -> None:
    assert "vec" not in tags(optimized(recurrence("+ sin(s)"), n=500, m=500, steps=50)).values()
    assert "vec" not in tags(optimized(recurrence(), n=500, m=500, steps=2)).values()
    assert "vec" not in tags(optimized(recurrence(), n=500, m=9, steps=50)).values()


def test_loops_that_compilers_make_vectors_of_have_none() -> None:
    knl = kernel(
        ["{ [j]: 0<=j<n }", "{ [k]: 0<=k<n }"],
        "<> a = x[j]\nout[j,k] = a + y[k]",
        pg.GlobalArg("x, y", np.float64, "n"),
        loop_priority="j, k",
    )
    assert tags(optimized(knl, n=1000)) == {"j": "g.0"}


# --- sums in triangles, orders


def in_a_triangle(term: str) -> pg.Kernel:
    """Return a sum for each element of a triangle."""
    knl = kernel(
        "{ [i,j,k]: 0<=j<=i<n and 0<=k<m }",
        f"out[i,j] = sum(k, {term})",
        pg.GlobalArg("out", np.float64, shape="n, n"),
        loop_priority="i, j",
    )
    return pg.add_dtypes(knl, {"a": np.float64})


def check_triangle(knl: pg.Kernel, value: Callable[[Any], Any]) -> None:
    """Compare a triangle with NumPy's values; what lies above it stays as it is."""
    for n, m in ((1, 1), (9, 70), (17, 0), (101, 3)):
        a = np.random.default_rng(n).random((n, m))
        out = np.full((n, n), -1.0)
        knl(a=a, out=out)
        wanted = np.where(np.tri(n, dtype=bool), value(a), -1.0)
        np.testing.assert_allclose(out, wanted, rtol=1e-12)


def test_threads_share_the_rows_of_a_triangle() -> None:
    new = optimized(in_a_triangle("a[i,k] + a[j,k]"), n=300, m=300)
    assert "g.0" in tags(new).values()
    assert "collapse" not in pg.generate_code(new).source  # parts of all threads are alike
    check_triangle(new, lambda a: a.sum(axis=1)[:, None] + a.sum(axis=1))


def test_products_in_a_triangle_are_tiles_that_threads_take_when_they_are_free() -> None:
    new = optimized(in_a_triangle("a[i,k]*a[j,k]"), n=300, m=300)
    assert {"pad_tiles", "precompute"} <= {step.name for step in new.history}
    assert "for collapse(2) schedule(dynamic, " in pg.generate_code(new).source
    check_triangle(new, lambda a: a @ a.T)


def test_tiles_of_products_keep_their_order() -> None:
    """What is in registers stays there: loops of other stages are not turned."""
    knl = kernel(
        "{ [e,i,q]: 0<=e<n and 0<=i<36 and 0<=q<60 }",
        "flux(q) := s[e, q//15]*(u[e, q] - v[e, q])\nc[e,i] = sum(q, lift[q,i]*flux(q))",
        pg.GlobalArg("s", np.float32, "n, 4"),
        pg.GlobalArg("u, v", np.float32, "n, 60"),
        pg.GlobalArg("lift", np.float32, "60, 36"),
    )
    new = optimized(knl, n=8192)
    assert "pad_iname" in names(new)
    assert not any("inside" in choice.what for choice in new.choices)


# --- code is generated once


def test_a_stage_without_code_is_found_among_several(monkeypatch: pytest.MonkeyPatch) -> None:
    """The stages before and after it are kept."""
    knl = kernel("{ [i,j,p,q]: 0<=i,j,p,q<n }", "s[i] = sum(j, a[i,j])\nb[p] = 2*c[p]\nd[q] = c[q]")
    knl = pg.add_dtypes(knl, {"a, c": np.float64})
    generated = list[Kernel]()

    def tagged(iname: str) -> processors.Stage:
        def stage(plan: Plan) -> None:
            what = f"tag of {iname}"
            plan.take(["s"], what, "no reason", lambda k: pg.tag_inames(k, {iname: "g.0"}))

        return stage

    def counted(one: Kernel) -> object:
        generated.append(one)
        return pipeline.generated(one)

    monkeypatch.setattr("polygen.schedules.schedule.generated", counted)
    monkeypatch.setattr(processors, "STAGES", (tagged("p"), tagged("q")))
    assert tags(optimized(knl)) == {"p": "g.0", "q": "g.0"}
    assert len(generated) == 1
    monkeypatch.setattr(processors, "STAGES", (tagged("p"), tagged("j"), tagged("q")))
    new = optimized(knl)
    assert tags(new) == {"p": "g.0", "q": "g.0"}
    assert why_left(new).startswith("tag of j: there would be no code: ")


def test_threads_do_not_compute_reductions_beside_them_again() -> None:
    """What is beside the loop that they share would be done in each of its iterations."""
    knl = kernel(
        "{ [i,r,s,p]: 0<=i<n and 0<=r<i and 0<=s<r and 0<=p<m }",
        "b[i] = max(r, sum(s, 1))\nc[p] = exp(d[p])",
    )
    knl = pg.add_dtypes(knl, {"d": np.float64})
    new = optimized(knl, n=200, m=30_000)
    assert tags(new) == {}
    assert "threads along 'p': each iteration would compute the reductions of" in why_left(new)
    d = np.random.default_rng(1).random(9)
    _, (_, c) = new(d=d, n=5)
    np.testing.assert_allclose(c, np.exp(d))
