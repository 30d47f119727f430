"""The examples of the paper on Loo.py (Klöckner, ARRAY 2014), sections 2.1 to 2.4.

Each is run, and gives what NumPy does.  Where the paper shows code, its shape is compared.
"""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg

SIZES = (0, 1, 13, 16, 17)
DOUBLE = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")


@pytest.fixture(params=["c", "opencl"])
def target(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def run(knl: pg.Kernel, target: str, **given: Any) -> Any:
    """Return the only output of a call."""
    _, (out,) = knl.executor(target)(**given)
    return out


# --- 2.1, 2.2


def test_doubling(target: str) -> None:
    for size in SIZES:
        for dtype in np.float32, np.float64, np.int32:
            a = np.arange(size).astype(dtype)
            out = run(DOUBLE, target, a=a)
            assert out.dtype == dtype
            np.testing.assert_array_equal(out, 2 * a)


def test_assumptions(target: str) -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]", assumptions="n > 0 and n mod 4 = 0")
    np.testing.assert_array_equal(run(knl, target, a=np.arange(8.0)), 2 * np.arange(8.0))
    for size in 0, 6:
        with pytest.raises(pg.errors.AssumptionViolated):
            run(knl, target, a=np.zeros(size))


def test_the_matrix_product(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i,j,k<n }",
        "c[i,j] = sum(k, a[i,k]*b[k,j])",
        loop_priority="i,j",
    )
    for size in SIZES:
        a, b = np.random.default_rng(size).random((2, size, size))
        np.testing.assert_allclose(run(knl, target, a=a, b=b), a @ b, rtol=1e-13)


def test_the_kernel_as_text() -> None:
    lines = str(DOUBLE).splitlines()
    for part in "ARGUMENTS:", "DOMAINS:", "INSTRUCTIONS:", "[i] out[i] = 2*a[i]  {id=insn}":
        assert part in lines
    assert any(re.match(r"a: GlobalArg.*shape: \(n\)", line) for line in lines)


def test_the_generated_code() -> None:
    code = pg.generate_code(pg.add_dtypes(DOUBLE, {"a": np.float32}), "opencl").source
    assert "for (int i = 0; i < n; ++i)\n        out[i] = 2.0f * a[i];" in code


# --- 2.3


def test_transposing_then_doubling(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
        """
        out[j,i] = a[i,j] {id=transpose}
        out[ii,jj] = 2*out[ii,jj] {dep=transpose}
        """,
        loop_priority=["i,j", "ii,jj"],
    )
    for size in SIZES:
        a = np.random.default_rng(size).random((size, size))
        np.testing.assert_array_equal(run(knl, target, a=a), 2 * a.T)


def test_without_the_dependency_it_is_refused() -> None:
    with pytest.raises(pg.errors.UnorderedAccess):
        pg.make_kernel(
            "{ [i,j,ii,jj]: 0<=i,j,ii,jj<n }",
            "out[j,i] = a[i,j] {id=transpose}\nout[ii,jj] = 2*out[ii,jj]",
        )


def test_active_inames_are_passed_on(target: str) -> None:
    """Both follow the writer of what they read: into its loop, and behind it."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        """
        <> z = a[i] + i  {id=insn0}
        <> y = z*z       {id=insn1}
        out[i] = y - 1   {id=insn2}
        """,
    )
    assert [insn.within_inames for insn in knl.instructions] == [frozenset("i")] * 3
    assert knl.instruction("insn1").depends_on == {"insn0"}
    assert knl.instruction("insn2").depends_on == {"insn1"}
    for size in SIZES:
        a = np.random.default_rng(size).random(size)
        expected = (a + np.arange(size)) ** 2 - 1
        np.testing.assert_allclose(run(knl, target, a=a), expected, rtol=1e-14, atol=1e-14)


# --- 2.4


ZERO = pg.make_kernel("{ [i]: 0<=i<n }", "a[i] = 0", [pg.GlobalArg("a", np.float32), "..."])


def test_splitting(target: str) -> None:
    knl = pg.prioritize_loops(pg.split_iname(ZERO, "i", 16), "i_outer,i_inner")
    for size in SIZES:
        a = np.full(size, 3, np.float32)
        np.testing.assert_array_equal(run(knl, target, a=a), np.zeros(size))
    code = pg.generate_code(knl, "c").source
    outer, inner = code.index("i_outer = 0"), code.index("i_inner = 0")
    assert outer < inner
    assert "i_inner < pg_min_i32(16, n - 16 * i_outer)" in code


def test_tiling(target: str) -> None:
    """Splitting and priorities are enough for tiles."""
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "out[j,i] = a[i,j]", loop_priority="i,j")
    knl = pg.split_iname(pg.split_iname(knl, "i", 4), "j", 4)
    knl = pg.prioritize_loops(knl, "i_outer,j_outer,i_inner,j_inner")
    code = pg.generate_code(pg.add_dtypes(knl, {"a": np.float64}), "c").source
    loops = ["i_outer = 0", "j_outer = 0", "i_inner = 0", "j_inner = 0"]
    places = [code.index(f"int {loop}") for loop in loops]
    assert places == sorted(places)
    for size in SIZES:
        a = np.random.default_rng(size).random((size, size))
        np.testing.assert_array_equal(run(knl, target, a=a), a.T)


def test_unrolling(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "a[i] = 0",
        [pg.GlobalArg("a", np.float32), "..."],
        assumptions="n>=0 and n mod 4 = 0",
    )
    knl = pg.tag_inames(pg.split_iname(knl, "i", 4), {"i_inner": "unr"})
    knl = pg.prioritize_loops(knl, "i_outer,i_inner")
    code = pg.generate_code(knl, "c").source
    assert code.count("= 0.0f;") == 4
    assert "if (" not in code
    for size in 0, 4, 16:
        a = np.full(size, 3, np.float32)
        np.testing.assert_array_equal(run(knl, target, a=a), np.zeros(size))


RULES = pg.make_kernel(
    "{ [i]: 0<=i<n }",
    """
    f(x) := x*a[x]
    g(x) := 12 + f(x)
    h(x) := 1 + g(x) + 20*g(x)

    out[i] = h(i) * h(i)
    """,
)


def expected_of_rules(a: Any) -> Any:
    g = 12 + np.arange(len(a)) * a
    return (1 + g + 20 * g) ** 2


def test_substitution_rules(target: str) -> None:
    for size in SIZES:
        a = np.random.default_rng(size).random(size)
        np.testing.assert_allclose(run(RULES, target, a=a), expected_of_rules(a), rtol=1e-13)


def test_rules_in_place(target: str) -> None:
    """As in the paper, which writes what it reads."""
    knl = pg.make_kernel(
        "{ [i]: 0<=i<n }", "f(x) := x*a[x]\ng(x) := 12 + f(x)\n"
        "h(x) := 1 + g(x) + 20*g(x)\na[i] = h(i) * h(i)",
    )  # fmt: skip
    a = np.random.default_rng(3).random(13)
    expected = expected_of_rules(a)
    np.testing.assert_allclose(run(knl, target, a=a), expected, rtol=1e-13)


def test_precomputation(target: str) -> None:
    """Rules say what is computed once and kept."""
    knl = pg.split_iname(RULES, "i", 4)
    knl = pg.precompute(knl, "g", "i_inner", default_tag=None)
    assert any(t.shape for t in knl.temporaries)
    for size in SIZES:
        a = np.random.default_rng(size).random(size)
        np.testing.assert_allclose(run(knl, target, a=a), expected_of_rules(a), rtol=1e-13)


def test_prefetching(target: str) -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i,j<n }", "out[j,i] = a[i,j]", loop_priority="i,j")
    for iname, axis in ("i", 0), ("j", 1):
        knl = pg.split_iname(knl, iname, 4, outer_tag=f"g.{axis}", inner_tag=f"l.{axis}")
    knl = pg.add_prefetch(knl, "a", ["i_inner", "j_inner"], default_tag="l.auto")
    code = pg.generate_code(pg.add_dtypes(knl, {"a": np.float32}), "opencl").source
    assert "__local" in code
    assert "barrier(" in code
    for size in SIZES:
        a = np.random.default_rng(size).random((size, size)).astype(np.float32)
        np.testing.assert_array_equal(run(knl, target, a=a), a.T)
