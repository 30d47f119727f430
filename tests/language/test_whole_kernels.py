"""Kernels with several constructs in them, beside NumPy, in C and in OpenCL."""

from __future__ import annotations

import numpy as np
import pytest
import sympy

import polygen as pg

QUIET = "AmbiguousNesting"
RNG = np.random.default_rng(11)
BOTH = pytest.mark.parametrize("target", ["c", "opencl"])


@BOTH
@pytest.mark.parametrize("n", [0, 1, 7])
def test_rows_with_two_data_dependent_bounds(n: int, target: str) -> None:
    knl = pg.make_kernel(
        ["{ [r]: 0<=r<n }", "{ [e]: low<=e<high }", "{ [w]: 0<=w<wide }"],
        """
        <int32> low = start[r]
        <int32> high = start[r + 1]
        <int32> wide = count[r]
        y[r] = sum(e, v[e]*x[column[e]]) + sum(w, 1)*0.5
        """,
        [
            pg.GlobalArg("start", np.int32, "n + 1"),
            pg.GlobalArg("v", np.float64, "entries"),
            pg.GlobalArg("column", np.int32, "entries"),
            pg.GlobalArg("x", np.float64, "n"),
            "...",
        ],
    )
    count = RNG.integers(0, 4, n).astype(np.int32)
    start = np.concatenate([[0], np.cumsum(count)]).astype(np.int32)
    column = RNG.integers(0, max(n, 1), start[-1]).astype(np.int32)
    v, x = RNG.normal(size=start[-1]), RNG.normal(size=n)
    _, (y,) = knl.executor(target)(start=start, count=count, v=v, column=column, x=x)
    rows = [slice(start[r], start[r + 1]) for r in range(n)]
    expected = [v[row] @ x[column[row]] + 0.5 * c for row, c in zip(rows, count, strict=True)]
    np.testing.assert_allclose(y, expected, atol=1e-12)


@BOTH
def test_a_block_in_which_branches_add_up(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        """
        for i
            with {tags=row}
                <> s = 0  {id=first}
                for j
                    if a[i,j] > 0 and j % 2 == 0
                        s = s + a[i,j]  {id=add, dep=first}
                    elif a[i,j] < -1
                        s = s - 1  {id=less, dep=first:add}
                    else
                        s = s + 0.5  {id=half, dep=first:add:less}
                    end
                end
                out[i] = s  {dep=add:less:half}
            end
        end
        """,
    )
    assert all("row" in insn.tags for insn in knl.instructions)
    a = 2 * RNG.normal(size=(6, 5))
    even = np.arange(5) % 2 == 0
    terms = np.where((a > 0) & even, a, np.where(a < -1, -1, 0.5))
    _, (out,) = knl.executor(target)(a=a)
    np.testing.assert_allclose(out, terms.sum(axis=1))


@BOTH
def test_a_histogram_for_each_group_first(target: str) -> None:
    knl = pg.make_kernel(
        ["{ [g,l]: 0<=g<4 and 0<=l<32 }", "{ [z]: 0<=z<8 }", "{ [w]: 0<=w<8 }"],
        """
        h[z] = 0                  {id=zero, inames=g:z, atomic=init}
        h[b[32*g + l] % 8] += 1   {id=count, dep=zero, atomic}
        out[w] += h[w]            {id=add, dep=count, inames=g:w, atomic}
        """,
        [
            pg.TemporaryVariable("h", np.int32, 8, pg.AddressSpace.LOCAL),
            pg.GlobalArg("out", np.int32, 8),
            pg.GlobalArg("b", np.int32, 128),
        ],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "l": "l.0", "z": "l.0", "w": "l.0"})
    b = RNG.integers(0, 80, 128).astype(np.int32)
    out = np.zeros(8, np.int32)
    knl.executor(target)(b=b, out=out)
    np.testing.assert_array_equal(out, np.bincount(b % 8, minlength=8))


@BOTH
def test_reductions_in_subscripts_and_conditions(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<m and 0<=k<3 }",
        "o[i] = a[i, argmax(j, a[i,j], j)[1]] {if=any(k, b[i,k] > 0) and sum(j, a[i,j]) > -9}",
        silenced_warnings=QUIET,
        assumptions="m >= 1",
    )
    a, b = RNG.normal(size=(5, 4)), RNG.integers(-3, 2, (5, 3))
    o = np.full(5, -7.0)
    knl.executor(target)(a=a, b=b, o=o)
    np.testing.assert_array_equal(o, np.where((b > 0).any(1), a.max(1), -7))


@BOTH
def test_random_numbers_in_a_mean(target: str) -> None:
    """The same numbers on both targets."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<m and 0<=j<n }",
        """
        mean[i] = sum(j, philox4x32_f32(i, j, 0, 0, 7, 9)[2])/n
        word[i] = threefry2x64(i, 0, 1, 2)[0]
        """,
        silenced_warnings=QUIET,
    )
    _, (mean, word) = knl.executor(target)(m=3, n=1000)
    _, (other, others) = knl.executor("opencl" if target == "c" else "c")(m=3, n=1000)
    assert (mean.dtype, word.dtype) == (np.float32, np.uint64)
    np.testing.assert_array_equal(mean, other)
    np.testing.assert_array_equal(word, others)
    assert np.all(np.abs(mean - 0.5) < 4 / np.sqrt(12 * 1000))
    assert len(set(word)) == 3


@BOTH
def test_rules_whose_arguments_are_called_as_inames_are(target: str) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "f(i) := i*a[i]\ng(x) := f(x) + f(x + 1) + i\nout[i] = g$one(i) + sum(j, g$two(j))",
        [pg.GlobalArg("a", np.float64, "n + m + 1"), "..."],
        assumptions="n >= 0 and m >= 0",
        silenced_warnings=QUIET,
    )
    a = RNG.normal(size=12)
    f = np.arange(12) * a
    i = np.arange(5)
    expected = f[:5] + f[1:6] + i + (f[:6] + f[1:7]).sum() + 6 * i
    for variant in (knl, pg.expand_subst(knl)):
        assert pg.parse_kernel(str(variant)) == variant
        _, (out,) = variant.executor(target)(a=a, n=5, m=6)
        np.testing.assert_allclose(out, expected)


@BOTH
def test_a_derivative_by_sympy(target: str) -> None:
    x, i = sympy.symbols("x i")
    derivative = sympy.diff(sympy.exp(-(x**2)) * sympy.cos(3 * x), x)
    left, right = sympy.IndexedBase("d")[i], derivative.subs(x, sympy.IndexedBase("a")[i])
    knl = pg.make_kernel("{ [i]: 0<=i<n }", [(pg.from_sympy(left), pg.from_sympy(right))])
    a = RNG.normal(size=9)
    _, (d,) = knl.executor(target)(a=a)
    expected = -np.exp(-(a**2)) * (2 * a * np.cos(3 * a) + 3 * np.sin(3 * a))
    np.testing.assert_allclose(d, expected)
