"""`polygen.optimize`: which steps are taken, and that results are as before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen import pipeline
from polygen.errors import UserError
from polygen.ir.kernel import Kernel
from polygen.schedules import processors
from polygen.schedules.plan import Plan
from tests.random_kernels.check import check_compiled, make_case

LIMITS = pg.Limits(2e10, 3e10, compute_units=2)
QUIET = ("AmbiguousNesting", "PriorityIgnored")


def kernel(domains: Any, text: str, *data: Any, target: str = "c", **options: Any) -> Kernel:
    given = [*data, "..."] if data else None
    return pg.make_kernel(domains, text, given, target=target, silenced_warnings=QUIET, **options)


def names(knl: Kernel) -> list[str]:
    return [step.name for step in knl.history]


def optimized(knl: Kernel, **sizes: int) -> Kernel:
    return pg.optimize(knl, LIMITS, sizes=sizes)


# --- processors


def test_the_innermost_loop_walks_through_memory() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i,j,k<n }", "b[j,k,i] = 2*a[j,k,i]", loop_priority="i, j, k", name="turned"
    )
    new = optimized(knl)
    loops = str(pg.generate_code(pg.add_dtypes(new, {"a": "float32"})))
    assert loops.index("int j") < loops.index("int k") < loops.index("int i = ")
    for n in (0, 1, 7, 33):
        a = np.random.default_rng(n).random((n, n, n), np.float32)
        np.testing.assert_array_equal(new(a=a)[1][0], 2 * a)


def test_what_lies_well_stays() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j]", loop_priority="i, j")
    assert names(optimized(knl)) == ["tag_inames"]
    assert optimized(knl).tags.keys() == {"i"}


def test_an_order_that_data_forbids_stays() -> None:
    """Each column goes on from the one before; rows have to be taken from the end."""
    knl = kernel(
        "{ [i,j]: 1<=i<n and 0<=j<n-1 }",
        "a[j,i] = a[j+1,i-1] + 1",
        pg.GlobalArg("a", np.float64, shape="n, n"),
        loop_priority="i, j",
    )
    a = np.random.default_rng(1).random((40, 40))
    expected = a.copy()
    for i in range(1, 40):
        for j in range(39):
            expected[j, i] = expected[j + 1, i - 1] + 1
    optimized(knl)(a=a)
    np.testing.assert_array_equal(a, expected)


@pytest.mark.parametrize(("n", "is_shared"), [(100, False), (10**5, True)])
def test_threads_have_work(n: int, is_shared: bool) -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1")
    new = optimized(knl, n=n)
    assert bool(new.tags) == is_shared
    assert (new is knl) != is_shared


def test_steps_are_proved_also_where_proofs_are_off() -> None:
    """What is legal is found by trying: unproved, every try would succeed."""
    knl = pg.make_kernel(
        "{ [t, i]: 0<=t<T and 1<=i<n-1 }",
        "a[i] = (a[i-1] + a[i] + a[i+1])/3",
        loop_priority="t, i",
        target="c",
    )
    sizes = {"T": 9, "n": 100_000}
    with pg.without_proofs():
        fast = pg.optimize(knl, sizes=sizes)
    assert "i" not in fast.tags
    assert fast == pg.optimize(knl, sizes=sizes)


def test_steps_of_time_stay_outside() -> None:
    knl = kernel(
        "{ [t,i,j]: 0<=t<T and 0<=i,j<n }",
        "b[i] = a[i] + t  {id=b, inames=t:i, dep=*}\na[j] = b[n-1-j]  {dep=b, inames=t:j}",
        pg.GlobalArg("a, b", np.float64, shape="n"),
        loop_priority=["t, i", "t, j"],
    )
    new = optimized(knl, n=10**6, T=10)
    assert {iname: str(tag) for iname, tag in new.tags.items()} == {"i": "g.0", "j": "g.0"}
    a = np.arange(50.0)
    expected = a.copy()
    for t in range(3):
        expected = (expected + t)[::-1]
    new(a=a, T=3)
    np.testing.assert_array_equal(a, expected)


def test_of_short_loops_the_longest_one_is_shared() -> None:
    knl = kernel("{ [c,i]: 0<=c<3 and 0<=i<n }", "b[c,i] = 2*a[c,i]", loop_priority="c, i")
    assert optimized(knl, n=10**6).tags.keys() == {"i"}


def test_products_are_packed() -> None:
    knl = kernel("{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<o }", "c[i,j] = sum(k, a[i,k]*b[k,j])")
    knl = pg.add_dtypes(knl, {"a, b": np.float64})
    new = optimized(knl)
    assert "pad_iname" in names(new)
    assert "pad_iname" not in names(optimized(knl, n=20, m=20, o=20))
    for n, m, o in ((0, 3, 2), (1, 1, 1), (13, 7, 31)):
        rng = np.random.default_rng(n)
        a, b = rng.random((n, o)), rng.random((o, m))
        np.testing.assert_allclose(new(a=a, b=b)[1][0], a @ b, rtol=1e-13)


@pytest.mark.more
def test_products_that_share_loops_are_packed_one_by_one() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = sum(k, a[i,k]*b[k,j])\nd[i,j] = sum(k, a[k,i]*b[k,j]) + 1",
    )
    new = optimized(pg.add_dtypes(knl, {"a, b": np.float32}))
    assert names(new).count("pad_iname") == 4
    a, b = np.random.default_rng(3).random((2, 35, 35), np.float32)
    _, (c, d) = new(a=a, b=b)
    np.testing.assert_allclose(c, a @ b, rtol=1e-5)
    np.testing.assert_allclose(d, a.T @ b + 1, rtol=1e-5)


def test_sums_are_shared() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "s[j] = sum(i, a[i,j])")
    new = optimized(pg.add_dtypes(knl, {"a": np.float32}))
    assert "g.0" in map(str, new.tags.values())
    a = np.random.default_rng(4).random((300, 70), np.float32)
    np.testing.assert_allclose(new(a=a)[1][0], a.sum(0), rtol=1e-5)


def test_sums_that_a_rule_hides() -> None:
    knl = kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "row(x) := sum(j, a[x,j])\ns[i] = row(i)  {id=s}\nt[i] = 2*row(i)  {id=t}",
    )
    new = optimized(pg.add_dtypes(knl, {"a": np.float64}))
    a = np.random.default_rng(4).random((30, 70))
    _, (s, t) = new(a=a)
    np.testing.assert_allclose(s, a.sum(1))
    np.testing.assert_allclose(t, 2 * a.sum(1))


def test_waves_where_no_loop_is_parallel() -> None:
    knl = kernel(
        "{ [t,i]: 0<=t<T and 1<=i<n-1 }",
        "a[i] = 0.5*(a[i-1] + a[i+1])  {inames=t:i}",
        pg.GlobalArg("a", np.float64, shape="n"),
        loop_priority="t, i",
        assumptions="n >= 2",
    )
    new = optimized(knl)
    assert "wavefront" in names(new)
    assert "wavefront" not in names(pg.optimize(knl, replace(LIMITS, compute_units=1)))
    a = np.random.default_rng(2).random(70)
    expected = a.copy()
    for _ in range(40):
        for i in range(1, 69):
            expected[i] = 0.5 * (expected[i - 1] + expected[i + 1])
    new(a=a, T=40)
    np.testing.assert_array_equal(a, expected)


def test_nests_with_axes_stay() -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[j,i] = 2*a[j,i]", loop_priority="i, j")
    knl = pg.tag_inames(knl, {"i": "g.0"})
    assert optimized(knl) is knl


def test_a_stage_that_leaves_no_code_is_undone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Work items share no sum of C's by a tag alone: there is no code for that."""
    knl = kernel("{ [i,j]: 0<=i<n and 0<=j<n }", "s[i] = sum(j, a[i,j])")
    knl = pg.add_dtypes(knl, {"a": np.float64})

    def stage(plan: Plan) -> None:
        plan.take(["s"], "a tag", "no reason", lambda k: pg.tag_inames(k, {"j": "g.0"}))

    monkeypatch.setattr(processors, "STAGES", (stage,))
    with pytest.raises(UserError) as caught:
        pg.generate_code(pg.tag_inames(knl, {"j": "g.0"}))
    new = optimized(knl)
    assert names(new) == ["add_dtypes"]
    assert new == knl
    (left,) = new.choices
    assert str(left) == f"a tag: there would be no code: {caught.value.what}"


# --- types, targets


def test_types_that_are_not_known_stay_open() -> None:
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[p[i]]", pg.GlobalArg("a", shape="n"))
    new = optimized(knl, n=10**6)
    assert names(new) == ["tag_inames"]
    assert all(a.dtype is None for a in new.arguments if a.name in "abp")
    for dtype in (np.float32, np.int64, np.complex128):
        a = np.arange(9).astype(dtype)
        p = np.arange(9, dtype=np.int32)[::-1].copy()
        np.testing.assert_array_equal(new(a=a, p=p)[1][0], 2 * a[::-1])


def test_the_default_target_is_that_of_calls() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i] + 1")
    new = pg.optimize(knl, sizes={"n": 10**6})
    assert new.target is None
    assert new.tags.keys() == {"i"}


@pytest.mark.parametrize("target", ["opencl", "cuda"])
def test_loops_on_axes_of_a_grid(target: str) -> None:
    knl = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 2*a[i,j]", target=target)
    new = pg.optimize(pg.add_dtypes(knl, {"a": np.float32}), pg.Limits.named("H200"))
    assert {"g.0", "l.0"} <= set(map(str, new.tags.values()))
    source = pg.generate_code(new).source
    assert ("threadIdx.x" if target == "cuda" else "get_local_id(0)") in source


# --- random kernels


def check_random(seeds: range, target: str, patch: pytest.MonkeyPatch) -> None:
    """Check that schedules have code where kernels have, and compute the same."""
    asked = target if target == "c" else "every"
    cases = [make_case(seed, target=asked) for seed in seeds]
    new = [
        replace(case, changed=pg.optimize(case.changed.copy(target=target), sizes={"n": 2000}))
        for case in cases
    ]
    assert sum(bool(case.changed.history) for case in new) > len(new) // 2
    plain = check_compiled(cases, target, patch)
    assert check_compiled(new, target, patch) >= plain


FILTERS = [
    pytest.mark.filterwarnings(f"ignore::polygen.errors.{name}")
    for name in ("NotParallel", "NotVectorized", "SeparationIgnored", "PriorityIgnored")
]
pytestmark = FILTERS


@pytest.mark.parametrize(
    "seeds",
    [
        range(52_000, 52_006),
        pytest.param(range(52_010, 52_130), marks=pytest.mark.more),
        *(
            pytest.param(range(s, s + 100), marks=pytest.mark.deep)
            for s in range(53_000, 55_000, 100)
        ),
    ],
    ids=lambda seeds: str(seeds[0]),
)
def test_random_kernels_in_c(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_random(seeds, "c", monkeypatch)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(52_200, 52_230), marks=pytest.mark.more),
        pytest.param(range(52_300, 52_500), marks=pytest.mark.deep),
    ],
    ids=lambda seeds: str(seeds[0]),
)
def test_random_kernels_in_opencl(seeds: range, monkeypatch: pytest.MonkeyPatch) -> None:
    check_random(seeds, "opencl", monkeypatch)


@pytest.fixture
def builds(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The kernels whose code is generated, one entry each time."""
    found: list[str] = []
    built = pipeline.build_program

    def counted(kernel: Kernel, *rest: Any) -> Any:
        found.append(kernel.name)
        return built(kernel, *rest)

    monkeypatch.setattr(pipeline, "build_program", counted)
    return found


def test_the_first_call_takes_the_code_that_was_looked_at(builds: list[str]) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "b[i] = 2*a[i]",
        [pg.GlobalArg("a, b", np.float64, "n"), pg.ValueArg("n", np.int32)],
        name="twice",
        target="c",
    )
    fast = pg.optimize(knl, sizes={"n": 10**6})
    assert builds == ["twice"]
    a = np.random.default_rng(0).random(5)
    np.testing.assert_array_equal(fast(a=a)[1][0], 2 * a)
    assert builds == ["twice"]
    other = pg.set_options(fast, contract="off")  # another kernel has code of its own
    np.testing.assert_array_equal(other(a=a)[1][0], 2 * a)
    assert builds == ["twice"] * 2


def test_code_that_was_not_checked_is_not_taken(builds: list[str]) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "b[i] = 2*a[i]",
        [pg.GlobalArg("a, b", np.float64, "n"), pg.ValueArg("n", np.int32)],
        name="unproved",
        target="c",
    )
    with pg.without_proofs():
        fast = pg.optimize(knl, sizes={"n": 10**6})
    np.testing.assert_array_equal(fast(a=np.ones(3))[1][0], [2, 2, 2])
    assert builds == ["unproved"] * 2
