"""`double_buffer`: what the next iteration needs is computed in this one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import polygen as pg
from polygen.errors import (
    CannotProve,
    IllegalStep,
    InvalidArgument,
    NotBufferable,
    UnknownIname,
    UserError,
    VerbatimNotPossible,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import agree_in_arrays, barriers, kernel, lowered

SIZES = (0, 1, 2, 7, 16, 33)
_Numbers = NDArray[np.float64]


def array(name: str, shape: Any) -> pg.GlobalArg:
    return pg.GlobalArg(name, "float64", shape)


def same_as_numpy(knl: Kernel, expected: Callable[[_Numbers], _Numbers], axes: int = 1) -> None:
    """Check a kernel with an input `a`, of `n` elements along each axis, and an output `out`."""
    assert pg.parse_kernel(str(knl)) == knl
    assert knl.original is not None
    assert pg.replay(knl.original, knl.history) == knl
    pg.check_well_formed(knl)
    for n in SIZES:
        a = np.random.default_rng(n).random((n,) * axes)
        for target in ("c", "opencl"):
            _, found = knl.executor(target)(a=a, n=n)
            np.testing.assert_allclose(found[-1], expected(a), rtol=1e-12)


def product(tile: int = 8) -> Kernel:
    """Return a tiled product of two matrices, each tile prefetched."""
    knl = kernel(
        ["{ [i, j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<l }"],
        "c[i, j] = sum(k, a[i, k] * b[k, j])",
    )
    knl = pg.split_iname(knl, "i", tile, outer_tag="g.1", inner_tag="l.1")
    knl = pg.split_iname(knl, "j", tile, outer_tag="g.0", inner_tag="l.0")
    knl = pg.split_iname(knl, "k", tile)
    knl = pg.add_prefetch(knl, "a", ["i_inner", "k_inner"])
    return pg.add_prefetch(knl, "b", ["k_inner", "j_inner"])


@few(1, "whole", [False, True])
def test_a_product_of_tiles(whole: bool) -> None:
    knl = product()
    if whole:
        knl = pg.assume(knl, "n mod 8 = 0 and m mod 8 = 0 and l mod 8 = 0")
    new = pg.double_buffer(knl, "a_fetch, b_fetch", "k_outer")
    # one before the loop, and one instead of two in it
    assert (len(barriers(lowered(knl))), len(barriers(lowered(new)))) == (2, 2)
    assert [t.shape for t in new.temporaries] == [(2, 8, 8)] * 2
    assert pg.parse_kernel(str(new)) == new
    sizes = [(n, n, n) for n in ((0, 8, 24) if whole else (0, 1, 7, 8, 9, 17))]
    for n, m, l in (*sizes, (16, 8, 32), *([] if whole else [(3, 19, 5), (9, 1, 40), (5, 6, 0)])):  # noqa: E741
        a, b = (np.random.default_rng(n).integers(-9, 9, s) * 1.0 for s in ((n, l), (l, m)))
        for target in ("c", "opencl"):
            _, (c,) = new.executor(target)(a=a, b=b)
            np.testing.assert_array_equal(c, a @ b)


def test_both_halves_in_one_iteration() -> None:
    """Unrolled by two, it is known in each copy of the body which halves are meant."""
    knl = pg.add_dtypes(product(), {"a, b": "float64"})
    new = pg.double_buffer(knl, "a_fetch, b_fetch", "k_outer")
    new = pg.tag_inames(pg.split_iname(new, "k_outer", 2), {"k_outer_inner": "unr"})
    assert ("k_outer_outer", "k_outer_inner") in new.priorities
    body = str(pg.generate_code(new, "opencl")).partition("for (int k_outer_outer")[2]
    assert body
    assert "% 2" not in body
    assert "k_outer_outer + 0" not in body  # what asks for another tile is simple, too
    for n in (0, 1, 8, 17, 33):
        a, b = np.random.default_rng(n).integers(-9, 9, (2, n, n)) * 1.0
        for target in ("c", "opencl"):
            _, (c,) = new.executor(target)(a=a, b=b)
            np.testing.assert_array_equal(c, a @ b)


def test_the_code_of_whole_tiles() -> None:
    """All loads stand under one condition, that there is a next tile."""
    knl = pg.make_kernel(
        "{ [g, k, j]: 0<=g<n and 0<=k<m and 0<=j<16 }",
        "out[g, j] = sum(k, a[g, k, 15 - j]*b[k, 15 - j])",
        [pg.GlobalArg("a", "float32", "n, m, 16"), pg.GlobalArg("b", "float32", "m, 16"), "..."],
    )
    knl = pg.tag_inames(knl, {"g": "g.0", "j": "l.0"})
    knl = pg.add_prefetch(pg.add_prefetch(knl, "a", "j"), "b", "j")
    code = str(pg.generate_code(pg.double_buffer(knl, "a_fetch, b_fetch", "k"), "opencl"))
    assert code.count("if (k + 1 < m)") == 1
    assert code.count("if (m >= 1)") == 1
    assert code.count("barrier(") == 2


def table(a: _Numbers) -> _Numbers:
    return np.asarray(a[:, :, np.newaxis] + (15.0 - np.arange(16)))


def rows() -> Kernel:
    """Return a kernel that computes `table`, row by row."""
    knl = kernel(
        "{ [g, k, j]: 0<=g<n and 0<=k<n and 0<=j<16 }",
        "f(x, y, z) := a[x, y] + z \n out[g, k, j] = f(g, k, 15 - j)",
        array("a", "n, n"),
        array("out", "n, n, 16"),
        loop_priority="g, k, j",
    )
    return pg.precompute(knl, "f", "j", default_tag=None, precompute_inames="i")


def test_values_of_a_rule() -> None:
    new = pg.double_buffer(rows(), "f_0", "k")
    same_as_numpy(new, table, 2)
    agree_in_arrays(
        rows(), [{"n": n} for n in (0, 1, 3)], lambda k: pg.double_buffer(k, "f_0", "k")
    )
    parallel = pg.split_iname(new, "g", 4, outer_tag="g.0", inner_tag="l.0")
    same_as_numpy(parallel, table, 2)


def test_a_loop_that_is_unrolled() -> None:
    knl = kernel(
        "{ [i, k]: 0<=i<n and 0<=k<5 }", "<> t = a[i] + k\nout[i, k] = t*t", array("a", "n")
    )
    knl = pg.add_dtypes(knl, {"t": "float64"})
    tags = {"k": "unr", "i": "g.0"}
    for new in (
        pg.tag_inames(pg.double_buffer(knl, "t", "k"), tags),
        pg.double_buffer(pg.tag_inames(knl, tags), "t", "k"),
    ):
        same_as_numpy(new, lambda a: (a[:, np.newaxis] + np.arange(5)) ** 2)
        assert "if (" not in str(pg.generate_code(new, "opencl"))  # copies know if there is a next


def triangle() -> Kernel:
    return kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: i<=k<n }"],
        """
        out[i] = 0             {id=zero}
        <> t = a[k]*i          {id=t}
        out[i] = out[i] + t    {dep=t:zero}
        """,
        array("a", "n"),
        array("out", "n"),
        loop_priority="i, k",
    )


def test_scalars_in_a_loop_that_begins_anywhere() -> None:
    new = pg.double_buffer(triangle(), "t", "k")
    text = str(new)
    assert "t[(k + 1) % 2] = a[k + 1]*i  {id=t_next, if=k + 1 < n" in text
    assert "t[i % 2] = a[i]*i  {id=t_first" in text
    assert [t.shape for t in new.temporaries] == [(2,)]
    same_as_numpy(new, lambda a: np.cumsum(a[::-1])[::-1] * np.arange(len(a)))
    agree_in_arrays(
        triangle(), [{"n": n} for n in (0, 1, 4)], lambda k: pg.double_buffer(k, "t", "k")
    )


def test_tiles_that_begin_where_an_outer_loop_says() -> None:
    knl = kernel(
        "{ [g, k, j]: 0<=g<n and g<=k<n and 0<=j<3 }",
        "out[g, k, j] = a[g, k, 2 - j] + a[g, k, j]",
        array("a", "n, n, 3"),
        array("out", "n, n, 3"),
        loop_priority="g, k, j",
    )
    knl = pg.split_iname(pg.tag_inames(knl, {"g": "g.0", "j": "l.0"}), "k", 4)
    knl = pg.add_prefetch(knl, "a", "k_inner, j", temporary_name="t", default_tag=None)
    new = pg.double_buffer(knl, "t", "k_outer")
    for n in SIZES:
        a = np.random.default_rng(n).random((n, n, 3))
        g, k, _ = np.indices(a.shape)
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(a=a, n=n, out=np.zeros_like(a))
            np.testing.assert_array_equal(out, np.where(k >= g, a[:, :, ::-1] + a, 0))


def chain() -> Kernel:
    return kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n }"],
        """
        f(x) := x*t
        <float64> s = 2*a[k]     {id=s, if=k % 3 < 2, inames=i:k}
        <float64> t = if(k % 3 < 2, s, 1) + i   {id=t, dep=s}
        out[i, k] = f(k)
        """,
        array("a", "n"),
        array("out", "n, n"),
        loop_priority="i, k",
    )


@pytest.mark.parametrize("names", ["s, t", "t, s", "s", "t"])
def test_one_from_another(names: str) -> None:
    def expected(a: _Numbers) -> _Numbers:
        i, k = np.indices((len(a), len(a)))
        return np.asarray(k * (np.where(k % 3 < 2, 2 * a[k], 1) + i), np.float64)

    if names == "t":
        with pytest.raises(UserError):
            pg.double_buffer(chain(), names, "k")
    else:
        same_as_numpy(pg.double_buffer(chain(), names, "k"), expected)


def test_several_writers() -> None:
    """Vectors and what is left of them, of tiles that are prefetched."""
    knl = kernel(
        "{ [g, k, j]: 0<=g<n and 0<=k<n and 0<=j<n }",
        "out[g, k, j] = a[k, j] + a[k, j + 1]",
        pg.GlobalArg("a", "float32", "n, n + 1"),
        pg.GlobalArg("out", "float32", "n, n, n"),
        loop_priority="g, k, j",
    )
    knl = pg.split_iname(pg.tag_inames(knl, {"g": "g.0"}), "j", 6, outer_tag="g.1", inner_tag="l.0")
    knl = pg.add_prefetch(knl, "a", "j_inner", vector_width=4, temporary_name="t")
    assert len(knl.writers["t"]) == 2
    new = pg.double_buffer(knl, "t", "k")
    assert len(new.writers["t"]) == 4
    for n in SIZES:
        a = np.random.default_rng(n).random((n, n + 1)).astype(np.float32)
        wanted = np.broadcast_to(a[:, :-1] + a[:, 1:], (n, n, n))
        for target in ("c", "opencl"):
            _, (out,) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(out, wanted)
    sums = kernel(
        "{ [k]: 0<=k<n }",
        "s = a[k] {id=s}\ns = s + k {id=u, dep=s, inames=k}\nout[k] = 2*s {dep=u}",
        array("a", "n"),
        pg.TemporaryVariable("s", "float64"),
    )
    same_as_numpy(pg.double_buffer(sums, "s", "k"), lambda a: 2 * (a + np.arange(len(a))))


def test_layouts_and_programs() -> None:
    knl = kernel(
        ["{ [g, k]: 0<=g,k<n }", "{ [i, j]: 0<=i<3 and 0<=j<4 }", "{ [p, q]: 0<=p<3 and 0<=q<4 }"],
        """
        t[i, j] = a[g]*i + j*k    {id=t, inames=g:k:i:j}
        out[g, k, p, q] = t[2 - p, q]
        """,
        array("a", "n"),
        array("out", "n, n, 3, 4"),
        pg.TemporaryVariable("t", "float64", (3, 4), dim_tags="N0, N1", dim_names="x, y"),
        loop_priority="g, k",
    )
    new = pg.double_buffer(knl, "t", "k")
    assert ", ".join(map(str, new.array("t").dim_tags or ())) == "N2, N0, N1"
    program = pg.double_buffer(pg.merge([knl]), ["t"], "k")
    assert program.default_entrypoint == new

    def expected(a: _Numbers) -> _Numbers:
        g, k, p, q = np.indices((len(a), len(a), 3, 4))
        return np.asarray(a[g] * (2 - p) + q * k)

    same_as_numpy(new, expected)


def sparse(domain: str) -> Kernel:
    """Return a product with a matrix in rows, of which data says how long they are."""
    return kernel(
        ["{ [i]: 0<=i<n }", domain],
        """
        <int32> start = first[i]       {id=start}
        <int32> count = first[i + 1] - start    {id=count}
        <float64> t = x[at[start + j]]    {id=t, dep=start:count, inames=i:j}
        y[i] = y[i] + a[start + j]*t      {dep=t:start:count, inames=i:j}
        """,
        pg.GlobalArg("first", "int32", "n + 1"),
        pg.GlobalArg("at", "int32", "nnz"),
        *[array("a", "nnz"), array("x", "m"), array("y", "n")],
    )


def test_loops_as_long_as_data_says() -> None:
    knl = sparse("{ [j]: 0<=j<count }")
    with pytest.raises(CannotProve, match="which elements are touched depends on data"):
        pg.double_buffer(knl, "t", "j")
    unsafe: Any = pg.double_buffer
    new: Kernel = unsafe(knl, "t", "j", unsafe=True)
    rng = np.random.default_rng(3)
    for n in (1, 7, 20):
        dense = rng.random((n, 9)) * (rng.random((n, 9)) < 0.4)
        _, columns = np.nonzero(dense)
        first = np.concatenate([[0], np.cumsum((dense != 0).sum(axis=1))]).astype(np.int32)
        x = rng.random(9)
        for target in ("c", "opencl"):
            _, (y,) = new.executor(target)(
                first=first, at=columns.astype(np.int32), a=dense[dense != 0], x=x, y=np.zeros(n)
            )
            np.testing.assert_allclose(y, dense @ x)
    with pytest.raises(NotBufferable, match="does not begin at one affine function of loops"):
        pg.double_buffer(sparse("{ [j]: start<=j<count }"), "t", "j")


def test_what_an_iteration_changes_cannot_be_read_ahead_of_it() -> None:
    knl = kernel(
        "{ [k]: 1<=k<n }",
        "<> t = 2*a[k-1]  {id=t, dep=*}\na[k] = t + 1  {dep=t}",
        array("a", "n"),
    )
    with pytest.raises(IllegalStep):
        pg.double_buffer(knl, "t", "k")
    index = kernel(
        "{ [k]: 0<=k<n }",
        "<int32> p = at[k]  {id=p}\n<float64> t = a[p]  {id=t, dep=p}\nout[k] = t",
        pg.GlobalArg("at", "int32", "n"),
        array("a", "n"),
    )
    with pytest.raises(UserError, match=r"'p'|of 't'|'t_first'"):
        pg.double_buffer(index, "t", "k")


@pytest.mark.parametrize(
    ("text", "names", "error", "message"),
    [
        ("<> t = a[k]\nout[k] = t", "t, k", UserError, "'k'"),
        ("<> t = a[k]\nout[k] = t", "out", InvalidArgument, "not temporaries"),
        ("s, p = frexp(a[k]) {id=s}\nout[k] = s + p {dep=s}", "s", NotBufferable,
         "'s' is not written by plain assignments, each with one assignee"),
        ("s = a[k] {id=s}\nout[k] = s {dep=s}\nout[0] = s {id=o, dep=s, inames=}", "s",
         NotBufferable, "'o' uses 's' outside of the loop of 'k'"),
        ('s = a[k] {id=s}\n... code(k) "out[k] = s;" reads(s) writes(out[k]) {inames=k, dep=s}',
         "s", VerbatimNotPossible, "touches 's'"),
    ],
)  # fmt: skip
def test_refused(text: str, names: str, error: type[UserError], message: str) -> None:
    data = [pg.TemporaryVariable("s", "float64")] if "s = " in text else []
    if "frexp" in text:
        data = [pg.TemporaryVariable("s", "float64"), pg.TemporaryVariable("p", "int32")]
    with pg.without_proofs():
        knl = kernel("{ [k]: 0<=k<n }", text, array("a", "n"), array("out", "n"), *data)
    with pytest.raises(error, match=message):
        pg.double_buffer(knl, names, "k")


def test_what_is_said_of_waiting() -> None:
    knl = kernel(
        "{ [k]: 0<=k<n }",
        "<float64> t = a[k]  {id=t}\nout[k] = t  {id=out, nosync=t@any}",
        array("a", "n"),
    )
    new = pg.double_buffer(knl, "t", "k")
    assert new.instruction("out").no_sync_with == {("t_first", "any"), ("t_next", "any")}
    some = kernel(
        "{ [k]: 0<=k<n }",
        "<float64> t = a[k]  {id=t}\nout[k] = t  {id=out, dep=t[{ [k] -> [k'] : k' = k }]}",
        array("a", "n"),
    )
    with pytest.raises(NotBufferable, match="of 'out' is said which of its instances come after"):
        pg.double_buffer(some, "t", "k")


def test_loops_that_do_not_do() -> None:
    knl = kernel(
        ["{ [i]: 0<=i<n }", "{ [k]: 0<=k<n and i-3<=k }"],
        "<> t = a[k]\nout[i, k] = t",
        array("a", "n"),
        loop_priority="i, k",
    )
    with pytest.raises(UnknownIname, match="no iname 'q'"):
        pg.double_buffer(knl, "t", "q")
    with pytest.raises(NotBufferable, match=r"'i' is tagged g\.0: it has no next iteration"):
        pg.double_buffer(pg.tag_inames(knl, {"i": "g.0"}), "t", "i")
    with pytest.raises(NotBufferable, match="does not begin at one affine function"):
        pg.double_buffer(knl, "t", "k")
    bound = kernel(
        ["{ [k]: 0<=k<n }", "{ [j]: 0<=j<stop }"],
        "<int32> stop = last[k]\nout[k] = sum(j, a[j, k])",
        pg.GlobalArg("last", "int32", "n"),
        array("a", "1000, n"),
    )
    with pytest.raises(NotBufferable, match="'stop' is the bound of a loop"):
        pg.double_buffer(bound, "stop", "k")
