"""`fix_parameters`: scalar arguments become numbers."""

from __future__ import annotations

import islpy as isl
import numpy as np
import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UnknownArgument
from polygen.ir.kernel import Kernel
from tests.oracle.cases import grid, kernel, split
from tests.oracle.compare import check, make_arguments, typed
from tests.oracle.trace import traced
from tests.transforms.refusals import refused

LINE = kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")

TWO = kernel("{ [i,j]: 0<=i<n and 0<=j<m and j<=i }", "out[i,j] = a[i,j]*m  {if=i < n-1}")


@pytest.mark.parametrize("target", ["c", "opencl"])
def test_scalars_that_are_no_sizes_keep_their_types(target: str) -> None:
    data = [pg.GlobalArg("a", "float32", "n"), pg.ValueArg("alpha", "float64"), "..."]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = alpha*a[i] + beta", data)
    knl = pg.add_dtypes(knl, {"beta": "float32"})
    fixed = pg.fix_parameters(knl, alpha=0.1, beta=np.float32(3), n=np.int64(7))
    assert [a.name for a in fixed.arguments] == ["a", "out"]
    a = np.arange(7, dtype=np.float32)
    _, (out,) = fixed.executor(target)(a=a)
    _, (same,) = knl.executor(target)(a=a, alpha=0.1, beta=3.0)
    assert out.dtype == same.dtype == np.float64
    np.testing.assert_array_equal(out, same)
    np.testing.assert_array_equal(out, 0.1 * a.astype(np.float64) + 3)


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 7), (8, 4)])
def test_fixed_domains_are_the_old_ones_at_these_values(n: int, m: int) -> None:
    new = pg.fix_parameters(TWO, n=n, m=m)
    for before, after in zip(TWO.domains, new.domains, strict=True):
        at = isl.Set(f"[n, m] -> {{ [i, j] : n = {n} and m = {m} }}")
        expected = before.set.intersect(at)
        assert after.parameters == ()
        assert expected.project_out(isl.dim_type.param, 0, 2).is_equal(after.set)
    assert [a.name for a in new.arguments] == ["a", "out"]


@pytest.mark.parametrize(("n", "m"), [(0, 3), (1, 1), (5, 7), (8, 4)])
def test_fixed_it_computes_the_same(n: int, m: int) -> None:
    arguments = make_arguments(TWO, {"n": n, "m": m})
    marked = traced(typed(TWO, arguments))
    one = pg.fix_parameters(marked.kernel, n=n)
    both = pg.fix_parameters(one, m=m)
    check(marked, arguments, [one, both, grid("i", 4)(both), split("j", 2, inner_tag="unr")(both)])


def test_refused_values() -> None:
    refused(
        UnknownArgument, "no scalar argument 'nn'.*did you mean 'n'", pg.fix_parameters, LINE, nn=4
    )
    refused(UnknownArgument, "no scalar argument 'a'", pg.fix_parameters, LINE, a=4)
    refused(InvalidArgument, "n=4.5, which is not an integer", pg.fix_parameters, LINE, n=4.5)
    refused(InvalidArgument, "n=True", pg.fix_parameters, LINE, n=True)
    knl = pg.assume(LINE, "n >= 1 and n mod 4 = 0")
    refused(InvalidArgument, "n='4', which is not a number", pg.fix_parameters, LINE, n="4")
    refused(InvalidArgument, "n = 6 contradicts what is assumed", pg.fix_parameters, knl, n=6)
    assert pg.fix_parameters(knl, n=8).assumptions.set.plain_is_universe()
    assert pg.fix_parameters(LINE) is LINE


def everywhere(n: str) -> Kernel:
    """Return a kernel that mentions a size wherever one can be."""
    return kernel(
        f"{{ [i]: 0<=i<{n} }}",
        f"""
        f(x) := {n}*x
        t[i] = f(a[i, {n} - 1])                                          {{id=p}}
        out[i] = t[i]  {{id=q, dep=p[{{ [i] -> [i'] : i'=i and i < {n} }}], if=i < {n}}}
        """,
        pg.GlobalArg("a", "float64", f"{n}, {n}", strides=f"1, {n}", offset=f"2*{n}"),
        pg.GlobalArg("out", "float64", f"min({n}, 8)*max({n}, 3)"),
        pg.TemporaryVariable("t", "float64", n, pg.AddressSpace.GLOBAL),
        **({"assumptions": "n >= 1"} if n == "n" else {}),
    )


def test_it_is_fixed_wherever_it_is() -> None:
    new = pg.fix_parameters(pg.index_set_split(everywhere("n"), "i < n - 1"), n=5)
    plain = pg.index_set_split(everywhere("5"), "i < 5 - 1")
    assert "n" not in new.names
    assert new.domains == plain.domains
    assert new.assumptions == plain.assumptions
    assert new.variable("t") == plain.variable("t")
    out, a = new.variable("out"), new.variable("a")
    assert isinstance(out, pg.GlobalArg)
    assert isinstance(a, pg.GlobalArg)
    assert (out.shape, a.shape, a.offset) == ((25,), (5, 5), 10)
    (relation,) = new.instruction("q").happens_after
    assert relation.domain.parameters == ()
    assert pg.parse_kernel(str(new)) == new
    assert pg.replay(pg.index_set_split(everywhere("n"), "i < n - 1"), new.history[-1:]) == new
