"""`share_rows`: groups of work items share rows, and keep them in registers."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, Reassociated, UnknownInstruction, UserError
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.operators import check
from tests.oracle.cases import agree, kernel

SOFTMAX = ["most", "total", "y"]


def softmax(m: int, dtype: str = "float32") -> Kernel:
    """Return a softmax of rows of this length."""
    knl = kernel(
        "{ [i,j,k,l]: 0<=i<n and 0<=j,k,l<m }",
        """
        power(at) := exp(x[i, at] - most)
        <> most = max(j, x[i,j])     {id=most}
        <> total = sum(k, power(k))  {id=total}
        y[i,l] = power(l)/total      {id=y}
        """,
        pg.GlobalArg("x, y", dtype, "n, m", alignment=16),
    )
    return pg.fix_parameters(knl, m=m)


def squares(m: int, n: str = "n") -> Kernel:
    """Return sums of rows, and of squares of what is left without the mean."""
    knl = kernel(
        f"{{ [i,j,k,l]: 0<=i<{n} and 0<=j,k,l<m }}",
        """
        <> mean = sum(j, x[i,j])            {id=mean}
        <> spread = sum(k, (x[i,k] - mean)**2)  {id=spread}
        y[i,l] = x[i,l]*spread + w[l]       {id=y}
        """,
        pg.GlobalArg("x", shape=f"{n}, m"),
    )
    return pg.fix_parameters(knl, m=m)


@few(
    3,
    ("m", "threads", "lanes", "across", "keep"),
    [
        (1, 4, 4, 1, "power, x"),
        (7, 4, 4, 1, "x, power"),
        (16, 4, 4, 2, "power, x"),
        (13, 4, 2, 3, "power"),
        (33, 8, 1, 1, "x"),
        (33, 1, 8, 1, ()),
    ],
)
def test_as_numpy(m: int, threads: int, lanes: int, across: int, keep: str) -> None:
    knl = pg.share_rows(softmax(m), SOFTMAX, threads=threads, lanes=lanes, across=across, keep=keep)
    for n in (0, 1, 5):
        x = np.random.default_rng(n).standard_normal((n, m)).astype(np.float32)
        powers = np.exp(x.astype(float) - x.max(axis=1, keepdims=True)) if n else x
        _, (y,) = knl(x=x)
        np.testing.assert_allclose(y, powers / powers.sum(axis=1, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize(
    ("m", "lanes", "across", "blocks"), [(5, 2, 1, 1), (8, 2, 2, 1), (3, 4, 1, 1), (11, 1, 1, 3)]
)
def test_each_instance_once(m: int, lanes: int, across: int, blocks: int) -> None:
    agree(
        squares(m),
        [{"n": n} for n in (0, 1, 3)],
        lambda k: pg.share_rows(
            k,
            ["mean", "spread", "y"],
            threads=2,
            lanes=lanes,
            across=across,
            blocks=blocks,
            keep="x",
        ),
    )


@pytest.mark.parametrize(("m", "lanes"), [(24, 2), (11, 2)])
def test_rows_that_are_not_kept(m: int, lanes: int) -> None:
    def anew(knl: Kernel) -> Kernel:
        ids = ["mean", "spread", "y"]
        return pg.share_rows(knl, ids, threads=2, lanes=lanes, ahead=2, keep="x")

    agree(squares(m), [{"n": n} for n in (0, 1, 3)], anew)


def test_steps_read_some_vectors_at_a_time() -> None:
    knl = pg.share_rows(softmax(65536), SOFTMAX, threads=512, lanes=4, ahead=4, keep="x")
    source = pg.generate_code(knl, "cuda").source
    body = source[source.index('extern "C"') :]
    assert len(re.findall(r"pg_vector<float, 4> const \*\) \(x \+", body)) == 3 * 4
    assert len(re.findall(r"for \(int \w+_step = 0; \w+ < 8;", body)) == 3


def test_a_row_is_read_once_in_vectors() -> None:
    knl = pg.share_rows(softmax(1024), SOFTMAX, threads=128, lanes=4, keep="power, x")
    source = pg.generate_code(knl, "cuda").source
    body = source[source.index('extern "C"') :]
    assert len(re.findall(r"pg_vector<float, 4> const \*\) \(x \+", body)) == 1024 // 128 // 4
    assert body.count("expf") == 1024 // 128
    assert body.count("__syncthreads") == 4


def test_no_loop_around() -> None:
    knl = kernel(
        "{ [j,k]: 0<=j,k<21 }",
        "<> most = max(j, x[j])  {id=most}\ny[k] = if(x[k] == most, -1, x[k])  {id=y}",
    )
    knl = pg.share_rows(knl, ["most", "y"], threads=4, lanes=2, keep="x")
    x = np.random.default_rng(1).integers(-9, 9, 21)
    np.testing.assert_array_equal(knl(x=x)[1][0], np.where(x == x.max(), -1, x))


def test_a_reduction_of_two_results() -> None:
    knl = kernel(
        "{ [j,k]: 0<=j,k<21 }",
        """
        <> v, <> at = argmax(j, x[j], j)  {id=v}
        y[k] = if(k == at, -1, x[k] - v)  {id=y}
        """,
    )
    knl = pg.share_rows(knl, ["v", "y"], threads=4, lanes=2, keep="x")
    x = np.random.default_rng(1).integers(-9, 9, 21)
    expected = x - x.max()
    expected[x.argmax()] = -1
    np.testing.assert_array_equal(knl(x=x)[1][0], expected)


def shared(knl: Kernel) -> Kernel:
    ids = [insn.id for insn in knl.instructions]
    return pg.share_rows(pg.fuse_reductions(knl, ids), ids, threads=8, lanes=2)


@pytest.mark.more
def test_operations_and_types(monkeypatch: pytest.MonkeyPatch) -> None:
    check([(shared, 45)], "c", monkeypatch, ("float16", "int8"))


def test_one_pass_for_two_sums() -> None:
    knl = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j<9 and 0<=k<9 }",
        """
        <> s = sum(j, x[i,j])        {id=s}
        <> q = sum(j, x[i,j]**2)     {id=q}
        y[i,k] = q*x[i,k] - s        {id=y}
        """,
    )
    agree(
        knl,
        [{"n": 2}],
        lambda k: pg.share_rows(k, ["s", "q", "y"], threads=2, lanes=2, keep="x"),
    )


def refused(error: type[UserError], text: str, knl: Kernel, *ids: str, **options: Any) -> None:
    with pytest.raises(error, match=text):
        pg.share_rows(knl, list(ids), **options)


def test_what_is_refused() -> None:
    knl = squares(8)
    refused(UnknownInstruction, "none", knl, "mean", "none")
    refused(InvalidArgument, "no instruction uses elements of 'w'", knl, "mean", keep="w")
    refused(
        InvalidArgument,
        "there is no loop over rows",
        pg.tag_inames(knl, {"i": "g.0"}),
        "mean",
        "y",
        across=2,
    )
    free = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<m }",
        "<> s = sum(j, x[i,j])  {id=s}\ny[i,k] = s*x[i,k]  {id=y}",
    )
    refused(InvalidArgument, "rows have one length, which is constant", free, "s", "y")
    both = kernel(
        "{ [i,j,k]: 0<=i<n and 0<=j,k<8 }",
        "y[i,k] = sum(j, x[i,j])  {id=y}\nz[i] = 0  {id=z}",
    )
    refused(InvalidArgument, "'y' does not go along a row: .* it has j and k", both, "y", "z")
    refused(InvalidArgument, "'z' does not go along a row: .* it has none", both, "z")
    strict = pg.set_options(squares(8), allow_reassociation=False)
    refused(Reassociated, "another order", strict, "mean", "spread", "y", threads=2)
