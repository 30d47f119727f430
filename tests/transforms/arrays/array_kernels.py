"""Kernels whose arrays the steps of this room change."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

import polygen as pg
from polygen.ir.kernel import Kernel
from tests.oracle.cases import Step, agree_in_arrays, same

Numbers = NDArray[Any]


def transposed() -> Kernel:
    """Return a kernel that turns a matrix."""
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<m }",
        "out[j, i] = 2*a[i, j] + j",
        [pg.GlobalArg("a", "float64", "n, m"), pg.GlobalArg("out", "float64", "m, n"), "..."],
        loop_priority="i, j",
    )


def two_tiles(**space: Any) -> Kernel:
    """Return a kernel that turns a short and a long part of rows, each by way of a temporary."""
    return pg.make_kernel(
        ["{ [o]: 0<=o<n }", "{ [i, j]: 0<=i,j<4 }", "{ [p, q]: 0<=p,q<6 }"],
        """
        s[i] = a[o, i]         {id=s, inames=o:i}
        b[o, j] = 2*s[3 - j]   {id=b}
        t[p] = a[o, p] + 1     {id=t, inames=o:p}
        c[o, q] = t[5 - q]     {id=c}
        """,
        [
            pg.TemporaryVariable("s", "float64", 4, **space),
            pg.TemporaryVariable("t", "float64", 6, **space),
            pg.GlobalArg("a", "float64", "n, 6"),
            "...",
        ],
    )


def chain(text: str) -> Kernel:
    """Return a loop of some instructions over an array `a`."""
    return pg.make_kernel("{ [i]: 0<=i<n }", text, [pg.GlobalArg("a", "float64", "n"), "..."])


def blocks(a: Numbers, count: int) -> Numbers:
    """Return what `split_array_dim` wants for an array of one axis."""
    return np.pad(a, (0, -len(a) % count)).reshape(-1, count)


def stencil() -> Kernel:
    """Return a kernel that reads two neighbours."""
    return pg.make_kernel(
        "{ [i]: 0<=i<n }",
        "out[i] = a[i] + 2*a[i + 1]",
        [pg.GlobalArg("a", "float64", "n + 1"), pg.GlobalArg("out", "float64", "n"), "..."],
    )


def plane() -> Kernel:
    """Return a kernel that turns a tile, and its second half, by way of a temporary."""
    return pg.make_kernel(
        "{ [b, i, j, k, l]: 0<=b<n and 0<=i,k<6 and 0<=j,l<4 }",
        "t[i, j] = a[b, i, j]  {id=load} \n out[b, l, k] = t[5 - k, l] + t[k, 3 - l]",
        [
            pg.TemporaryVariable("t", "float64", (6, 4), dim_names="p, q"),
            pg.GlobalArg("a", "float64", "n, 6, 4"),
            "...",
        ],
        loop_priority=("b, i, j", "b, k, l"),
    )


def counted() -> Kernel:
    """Return a kernel that adds up values where data says, in a table that it reads elsewhere."""
    lines = """
    t[p, q] = p - q                                 {id=z, inames=p:q}
    t[i % 2, b[i]] = t[i % 2, b[i]] + a[i]          {id=u, inames=i, dep=z}
    s[q] = 10*q                                     {id=s, inames=q}
    out[j] = t[j % 2, b[j]] + s[b[n - 1 - j]]       {id=o, inames=j, dep=u:s}
    """
    return pg.make_kernel(
        ["{ [i, j]: 0<=i,j<n }", "{ [p, q]: 0<=p<2 and 0<=q<3 }"],
        lines,
        [
            pg.TemporaryVariable("t", "float64", (2, 3)),
            pg.TemporaryVariable("s", "float64", 3),
            pg.GlobalArg("a", "float64", "n"),
            pg.GlobalArg("b", "int32", "n"),
            "...",
        ],
        silenced_warnings=("AmbiguousNesting", "ComputedAnew"),
    )


def tagged(tags: str, shape: str = "n, 6") -> Kernel:
    """Return a kernel that fills a matrix whose axes have tags."""
    return pg.make_kernel(
        "{ [i, j]: 0<=i<n and 0<=j<6 }",
        "a[i, j] = i + j",
        [pg.GlobalArg("a", "float32", shape, dim_tags=tags, dim_names="p, q"), "..."],
        loop_priority="i, j",
    )


def tiles_become_one(step: Step) -> None:
    """Check what a step makes of `two_tiles` that leaves one temporary."""
    old = two_tiles()
    new = step(old)
    assert len(new.temporaries) == 1
    assert new.arguments == old.arguments
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(old, new.history) == new
    pg.check_well_formed(new)
    agree_in_arrays(old, [{"n": n} for n in (0, 1, 3)], same, step)
    for target in ("c", "opencl"):
        for n in (0, 1, 5, 8):
            a = np.random.default_rng(n).random((n, 6))
            _, (b, c) = new.executor(target)(a=a, n=n)
            np.testing.assert_array_equal(b, 2 * a[:, 3::-1])
            np.testing.assert_array_equal(c, a[:, ::-1] + 1)
