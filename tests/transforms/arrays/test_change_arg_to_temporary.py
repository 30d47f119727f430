"""`change_arg_to_temporary`: what a kernel computes for itself alone."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UninitializedRead, UnknownArgument
from polygen.ir.array import AddressSpace
from polygen.ir.kernel import Kernel
from tests.oracle.cases import kernel
from tests.oracle.compare import check_arrays, make_arguments, typed

SIZES = ((0, 0), (1, 3), (5, 1), (8, 4), (9, 2))


def rows() -> Kernel:
    """Return a kernel that keeps sums of rows, and what they add up to."""
    return kernel(
        ["{ [i,j]: 0<=i<n and 0<=j<m }", "{ [k]: 0<=k<n }"],
        """
        s[i] = sum(j, a[i,j])  {id=rows}
        out[0] = sum(k, s[k])  {id=all, dep=rows}
        """,
        pg.GlobalArg("a", "float64", "n, m"),
        pg.GlobalArg("s", "float64", "n"),
        pg.GlobalArg("out", "float64", 1),
    )


def small() -> Kernel:
    return kernel(
        "{ [i,j,l]: 0<=i<n and 0<=j,l<4 }",
        "t[j] = a[i,j]  {id=t, inames=i:j}\nout[i,l] = t[3-l]  {id=out, dep=t}",
        pg.GlobalArg("a", "float64", "n, 4"),
        pg.GlobalArg("t", "float64", 4),
        pg.GlobalArg("out", "float64", "n, 4"),
        loop_priority=["i, j", "i, l"],
    )


def test_what_it_makes() -> None:
    new = pg.change_arg_to_temporary(rows(), "s")
    assert [a.name for a in new.arguments] == ["a", "out", "m", "n"]
    (s,) = new.temporaries
    assert s.address_space is AddressSpace.GLOBAL
    assert (s.shape, s.dtype) == (rows().array("s").shape, np.dtype("float64"))
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(new.original or new, new.history) == new


def test_a_constant_size_is_in_the_narrowest_space() -> None:
    new = pg.change_arg_to_temporary(small(), "t")
    assert pg.address_spaces(new) == {"t": AddressSpace.PRIVATE}


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_results_stay(target: str) -> None:
    for n, m in SIZES:
        a = np.random.default_rng(n).integers(-9, 9, size=(n, m)).astype(np.float64)
        _, (out,) = pg.change_arg_to_temporary(rows(), "s").executor(target)(a=a, n=n, m=m)
        assert out[0] == a.sum()
        b = np.random.default_rng(n).random((n, 4))
        _, (out,) = pg.change_arg_to_temporary(small(), ["t"]).executor(target)(a=b, n=n)
        np.testing.assert_array_equal(out, b[:, ::-1])


def test_as_the_kernel_means_it() -> None:
    for n, m in SIZES:
        arguments = make_arguments(rows(), {"n": n, "m": m})
        old = typed(rows(), arguments)
        new = pg.change_arg_to_temporary(old, "s")
        arguments.pop("s")
        check_arrays(new, arguments, [lambda k: k])
        _, (out,) = new(**arguments)
        assert out[0] == arguments["a"].sum()


READ_FIRST = "b[i] = a[i]*t[i]  {id=b, dep=*}\nt[i] = b[i]  {dep=b}"


@pytest.mark.parametrize(
    ("text", "name", "kind", "what"),
    [
        ("t[i] = t[i] + 1", "t", UninitializedRead, "t"),
        (READ_FIRST, "t", UninitializedRead, "t"),
        ("b[i] = t[i]", "t", InvalidArgument, "'t' is written by nothing"),
        ("b[i] = n", "n", InvalidArgument, "'n', which is not arrays"),
        ("<> t = n\nb[i] = t", "t", InvalidArgument, "'t' is no array that a call passes"),
        ("b[i] = n", "bb", UnknownArgument, "did you mean 'b'"),
    ],
)
def test_refused(text: str, name: str, kind: type[Exception], what: str) -> None:
    knl = kernel("{ [i]: 0<=i<n }", text)
    with pytest.raises(kind, match=what):
        pg.change_arg_to_temporary(knl, name)


def test_what_may_overlap_is_no_temporary() -> None:
    data: Any = pg.GlobalArg("b", None, "n", may_alias=True)
    knl = kernel("{ [i]: 0<=i<n }", "b[i] = a[i]", data)
    with pytest.raises(InvalidArgument, match="'b' may overlap other arguments"):
        pg.change_arg_to_temporary(knl, "b")
