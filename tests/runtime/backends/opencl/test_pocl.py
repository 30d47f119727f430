"""Programs that PoCL 3 miscompiles with its optimizations."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.kernel import Kernel
from polygen.runtime.backends.opencl.pocl import options_for
from tests.few import few

POCL = "Portable Computing Language"
PLAIN = "-cl-opt-disable"

pytestmark = pytest.mark.usefixtures("optimized")


def relaxed(slabs: tuple[int, int]) -> Kernel:
    """Return a stencil in tiles with a halo, those at the rim apart or not."""
    knl = pg.make_kernel(
        "{ [r,c]: 0<=r,c<n }",
        """
        <> mean = (u[r+1,c] + u[r+1,c+2] + u[r,c+1] + u[r+2,c+1])/4
        v[r,c] = u[r+1,c+1] + (mean - u[r+1,c+1] + s[r,c])/2
        """,
        [pg.GlobalArg("u", "float64", "n+2, n+2"), pg.GlobalArg("v, s", "float64", "n, n"), "..."],
    )
    knl = pg.split_iname(knl, "r", 16, outer_tag="g.1", inner_tag="l.1", slabs=slabs)
    knl = pg.split_iname(knl, "c", 16, outer_tag="g.0", inner_tag="l.0")
    return pg.add_prefetch(knl, "u", "r_inner, c_inner")


def summed(rows: int, tag: str) -> Kernel:
    """Return sums of a group, several in each iteration."""
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<3 }",
        "b[i] = sum(j, a[i,j])",
        [pg.GlobalArg("a", "float64", "n, 3"), "..."],
        assumptions="n >= 0",
    )
    knl = pg.split_iname(knl, "i", rows, inner_tag=tag)
    return pg.tag_inames(pg.prioritize_loops(knl, "i_outer, i_inner"), "j: l.0")


@few(3, "n", [1, 15, 16, 17, 37])
def test_rims_apart(n: int) -> None:
    u, s = np.random.default_rng(n).random((2, n + 2, n + 2))
    s = np.ascontiguousarray(s[:n, :n])
    mean = (u[1:-1, :-2] + u[1:-1, 2:] + u[:-2, 1:-1] + u[2:, 1:-1]) / 4
    right = u[1:-1, 1:-1] + (mean - u[1:-1, 1:-1] + s) / 2
    for target in ("c", "opencl"):
        _, (v,) = relaxed((0, 1)).executor(target)(u=u, s=s)
        np.testing.assert_allclose(v, right)


@pytest.mark.parametrize("n", [0, 1, 2, 7])
def test_copies_of_what_waits(n: int) -> None:
    a = np.random.default_rng(n).random((n, 3))
    for target in ("c", "opencl"):
        _, (b,) = summed(2, "unr").executor(target)(a=a)
        np.testing.assert_allclose(b, a.sum(1))


def options(knl: Kernel, platform: str, version: str) -> tuple[str, ...]:
    device: Any = SimpleNamespace(platform=SimpleNamespace(name=platform, version=version))
    return options_for(device, pg.lower_kernel(knl, "opencl"))


def test_where_it_is_needed() -> None:
    old, new = "OpenCL 3.0 PoCL 3.0-rc2  Linux, Release", "OpenCL 3.0 PoCL 6.0  Linux"
    apart, plain = relaxed((0, 1)), relaxed((0, 0))
    assert options(apart, POCL, old) == (PLAIN,)
    assert options(summed(2, "unr"), POCL, old) == (PLAIN,)
    assert options(plain, POCL, old) == options(summed(2, "g.0"), POCL, old) == ()
    assert options(apart, POCL, new) == options(apart, "NVIDIA CUDA", "OpenCL 3.0 CUDA") == ()
    own = pg.set_options(apart, build_options=["-cl-mad-enable"])
    assert options(own, POCL, old) == ("-cl-mad-enable", PLAIN)


def test_a_processor_that_pocl_does_not_know() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "y[i] = 13*x[i]", target="opencl")
    saying_so = [("0", "#error unknown target CPU 'generic'")]
    knl = pg.register_preamble_generators(knl, [lambda _info: saying_so])
    with pytest.raises(pg.errors.CompilationFailed, match=r"apt install pocl-opencl-icd") as caught:
        knl(x=np.ones(3))
    assert 'knl.executor("c")' in str(caught.value)
