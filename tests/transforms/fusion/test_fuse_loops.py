"""`fuse_loops`."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import (
    DomainsDiffer,
    IllegalStep,
    InvalidArgument,
    LoopsOfOneInstruction,
    NotFusible,
    TagConflict,
    UnknownIname,
)
from polygen.ir.kernel import Kernel
from tests.few import few
from tests.oracle.cases import Step, agree, kernel, loops, lowered
from tests.transforms.numpy_runs import numpy_agrees

SIZES = [{"n": n} for n in (1, 2, 3, 5, 8)]


def two(domains: str, second: str, *data: Any, first: str = "b[i] = 2*a[i]") -> Kernel:
    """Return two loops, the second after the first."""
    return kernel(domains, f"{first}  {{id=s, dep=*}}\n{second}  {{id=u, dep=*s}}", *data)


ALIKE = two("{ [i,j]: 0<=i,j<n }", "c[j] = b[j] + j")
BACK = two("{ [i,j]: 0<=i<n and 0<=j<n-1 }", "c[j] = b[j+1] - b[j]")
SHORT = two("{ [i,j]: 0<=i<n and 2<=j<n-1 }", "c[j] = b[j]")
FAR = two("{ [i,j]: 0<=i<n and 0<=j<n-7 }", "c[j] = b[j+7]")
MIRRORED = two("{ [i,j]: 0<=i,j<n }", "c[j] = b[n-1-j]")
LONGER = two("{ [i,j]: 0<=i<n and 0<=j<m }", "c[j] = 2*a[j]", first="b[i] = 2*x[i]")
PLANES = kernel(
    ["{ [t]: 0<=t<3 }", "{ [i,k]: 0<=i<n and 0<=k<=i }", "{ [j,l]: 0<=j<n-1 and 0<=l<n }"],
    "b[t,i,k] = a[i] + k  {id=s, dep=*}\nc[t,j,l] = b[t,j+1,0]*l  {id=u, dep=*s}\n"
    "d[t,j] = b[t,j,0]  {id=v, dep=*s}",
    loop_priority=("t, i, k", "t, j, l"),
)


def fused(by: int | None = None, first: str = "i", second: str = "j") -> Step:
    """Return the step that fuses."""
    return lambda knl: pg.fuse_loops(knl, first, second, by)


def nest(knl: Kernel) -> list[str]:
    """Return the loops that are generated, in order."""
    return [loop.iname for loop in loops(lowered(knl))]


@pytest.mark.parametrize(
    ("knl", "by", "values"),
    [
        (ALIKE, 0, "0 <= i < n"),
        (BACK, 1, "0 <= i < n"),
        (SHORT, 0, "0 <= i < n"),
        (LONGER, 0, None),
        (PLANES, 1, None),
    ],
    ids=["alike", "back", "short", "longer", "planes"],
)
def test_the_least_shift(knl: Kernel, by: int, values: str | None) -> None:
    new = pg.fuse_loops(knl, "i", "j")
    assert new == pg.fuse_loops(knl, "i", "j", by)
    assert "j" not in new.inames
    assert nest(new).count("i") == 1
    assert [step.name for step in new.history] == ["fuse_loops"]
    assert pg.replay(knl, new.history) == new
    if values is not None:
        assert new.home_domains["i"].text.endswith(f"{{ [i] : {values} }}")


@few(2, "knl", [ALIKE, BACK, SHORT, PLANES], ids=["alike", "back", "short", "planes"])
def test_it_computes_the_same(knl: Kernel) -> None:
    agree(knl, SIZES, fused(), fused(2), fused(3))
    agree(knl, SIZES, lambda k: pg.peel(pg.fuse_loops(k, "i", "j"), "i", 1, 1))


def test_loops_of_other_lengths() -> None:
    agree(LONGER, [{"n": n, "m": m} for n, m in ((1, 1), (4, 2), (2, 5))], fused(), fused(-1))


def test_numpy_agrees() -> None:
    numpy_agrees(
        two("{ [i,j]: 0<=i<n and 0<=j<n }", "c[j] = b[j]*a[n-1-j]"),
        fused(),
        lambda a: {"b": 2 * a, "c": 2 * a * a[::-1]},
    )


def test_numpy_agrees_with_a_shift() -> None:
    new = pg.fuse_loops(BACK, "i", "j")
    for target in ("c", "opencl"):
        run = new.executor(target)
        for n in (1, 2, 7, 8, 9):
            a = np.random.default_rng(n).random(n)
            _, (b, c) = run(a=a, b=np.empty(n))
            np.testing.assert_allclose(b, 2 * a)
            np.testing.assert_allclose(c, np.diff(2 * a), atol=1e-12)


TWICE = kernel(
    "{ [t,i,j,p,q]: 0<=t<2 and 1<=i,j,p,q<n-1 }",
    """
    b[i,j] = a[i-1,j] + a[i,j+1]  {id=update, dep=*, inames=t:i:j}
    a[p,q] = b[p,q]               {id=copy, dep=update, inames=t:p:q}
    """,
    pg.GlobalArg("a, b", shape="n, n"),
    loop_priority="t, i, j",
)


def test_loops_in_fused_loops() -> None:
    """What guards the first fusion stays inside of what the second one makes: no warning."""
    knl = pg.prioritize_loops(TWICE, "t, p, q")

    def fused(k: Kernel) -> Kernel:
        return pg.fuse_loops(pg.fuse_loops(k, "i", "p"), "j", "q", by=1)

    def jammed(k: Kernel) -> Kernel:
        return pg.unroll_and_jam(fused(k), "i", 2)

    assert set(fused(knl).inames) == {"t", "i", "i_once", "p_once", "j", "j_once", "q_once"}
    agree(knl, [{"n": n} for n in (2, 3, 5)], jammed)


def coupled(bounds: str, *more: str, priority: str = "p, q") -> Kernel:
    """Return a loop, and two of one domain, of which the inner one may be fused with the first."""
    arrays = [pg.GlobalArg("b", shape="n + m"), pg.GlobalArg("c, d", shape="n, n + m")]
    lines = ["b[i] = 2*a[i]  {id=s, dep=*}", "c[p,q] = b[q] + p  {id=u, dep=*s}", *more]
    domains = ["{ [i]: 0<=i<n }", f"{{ [p,q]: {bounds} }}"]
    return kernel(domains, "\n".join(lines), *arrays, loop_priority=priority, assumptions="m >= 0")


@pytest.mark.parametrize("priority", ["p, q", "q, p"])
@few(
    2,
    "bounds",
    [
        "0<=p<n and 0<=q<m and (p + q) mod 2 = 0",
        "0<=p<n and p<=q<m",
        "1<=p<n and 0<=q<p and q<m",
        "0<=p<n and p - 1 <= q <= p + 1 and 0<=q<m",
    ],
)
def test_a_loop_around_one_of_the_two_comes_inside(bounds: str, priority: str) -> None:
    knl = coupled(bounds, priority=priority)
    new = pg.fuse_loops(knl, "i", "q", 0)
    inames = [insn.within_inames for insn in new.instructions]
    assert all("i" in each and "q" not in each for each in inames)
    sizes = [{"n": n, "m": m} for n, m in ((1, 1), (2, 5), (5, 2), (4, 4))]
    agree(knl, sizes, fused(0, second="q"), fused(1, second="q"))
    agree(knl, sizes, fused(0, first="q", second="i"))


AROUND = coupled("0<=p<n and 0<=q<m and p<=q", "d[p,0] = 3*p  {id=v, dep=*}")
NEEDED = kernel(
    ["{ [i]: 0<=i<n }", "{ [p]: 0<=p<n }", "{ [q]: 0<=q<=p }"],
    "b[i] = 2*a[i]  {id=s, dep=*}\nc[p,q] = b[q]  {id=u, dep=*s}",
)
CARRIED = kernel(
    ["{ [i]: 0<=i<n }", "{ [p,q]: 1<=p<n and p<=q<n }"],
    "b[i] = 2*a[i]  {id=s, dep=*}\ne[p,q] = e[p-1,q+1] + b[q]  {id=u, dep=*s}",
    pg.GlobalArg("e", shape="n, n+1"),
    loop_priority="p, q",
)


BOTH = kernel("{ [i,j]: 0<=i,j<n }", "b[i,j] = 0.0")
BOUNDS = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }"], "b[i] = 0.0  {id=s}\nc[i,j] = 0.0  {id=u}")
UNUSED = kernel(["{ [i]: 0<=i<n }", "{ [k]: 0<=k<=i }", "{ [j]: 0<=j<=k }"], "b[i] = 0.0")
TOGETHER = kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "b[i] = 0.0")
BETWEEN = kernel(
    "{ [i,j,k]: 0<=i,j,k<n }",
    "b[i] = 2*a[i]  {id=s, dep=*}\nx[0] = sum(k, b[k])  {id=u, dep=*s}\n"
    "c[j] = x[0]  {id=v, dep=*u}",
)


@pytest.mark.parametrize(
    ("knl", "given", "kind", "text"),
    [
        (BACK, ("i", "j", 0), IllegalStep, "would change what kernel"),
        (FAR, ("i", "j"), IllegalStep, "would change what kernel"),
        (MIRRORED, ("i", "j"), IllegalStep, "would change what kernel"),
        (BETWEEN, ("i", "j"), NotFusible, "'j' cannot be fused with 'i': then"),
        (BOTH, ("i", "j"), LoopsOfOneInstruction, "for each pair of their values"),
        (BOUNDS, ("i", "j"), LoopsOfOneInstruction, "for each pair of their values"),
        (UNUSED, ("i", "k"), DomainsDiffer, "'k' cannot be fused with 'i'"),
        (UNUSED, ("j", "i"), DomainsDiffer, "the bounds of one need the other"),
        (TOGETHER, ("i", "j", 1), DomainsDiffer, "one domain has both"),
        (AROUND, ("i", "q"), NotFusible, "'p' has to be around 'q', and is not around all"),
        (AROUND, ("q", "i"), NotFusible, "'p' has to be around 'q', and is not around all"),
        (NEEDED, ("i", "q"), NotFusible, "'p' has to be around 'q', and is not around all"),
        (CARRIED, ("i", "q", 0), IllegalStep, "would change what kernel"),
        (ALIKE, ("i", "k"), UnknownIname, "no iname 'k'"),
        (ALIKE, ("i", "i"), InvalidArgument, "'i' is named twice"),
        (ALIKE, ("i", "j", True), InvalidArgument, "by=True, which is not an integer"),
        (pg.tag_inames(ALIKE, "i: g.0"), ("i", "j"), TagConflict, "tagged g.0 and for"),
    ],
)
def test_refused(knl: Kernel, given: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind) as caught:
        pg.fuse_loops(knl, *given)
    assert text in str(caught.value).replace("for and g.0", "g.0 and for")


def test_loops_on_an_axis_over_fewer_values() -> None:
    knl = kernel(
        "{ [i,k]: 0<=i<n and 0<=k<n-1 }", "b[i] = 2*i\nc[k] = 3*k", pg.GlobalArg("c", shape="n")
    )
    knl = pg.fuse_loops(pg.tag_inames(knl, {"i": "g.0", "k": "g.0"}), "i", "k")
    _, (c, b) = knl.executor("c")(c=np.ones(5, np.int64))
    np.testing.assert_array_equal(b, [0, 2, 4, 6, 8])
    np.testing.assert_array_equal(c, [0, 3, 6, 9, 1])
