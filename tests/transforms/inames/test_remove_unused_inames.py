"""`remove_unused_inames`: what nothing is within goes, what it says of others stays."""

from __future__ import annotations

from typing import Any

import pytest

import polygen as pg
from polygen.errors import InvalidArgument, UnknownIname
from polygen.ir.domain import parse_domain
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, kernel
from tests.transforms.numpy_runs import numpy_agrees

ALONG = kernel("{ [i,j]: 0<=i<n and 2*j<=i<=2*j }", "out[i] = 2*a[i]", loop_priority="j, i")
CHAIN = kernel(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<n }", "{ [k]: 0<=k<j }"], "out[i] = a[i]")
SUM = kernel("{ [i,j,k]: 0<=i,j,k<n }", "f(x) := sum(k, x*k)\nout[i] = sum(j, a[j])")

CASES: list[tuple[Kernel, str | list[str] | None, list[str]]] = [
    (ALONG, None, ["[n] -> { [i]: 0<=i<n and i mod 2 = 0 }"]),
    (CHAIN, None, ["[n] -> { [i]: 0<=i<n }"]),
    (CHAIN, "k", ["[n] -> { [i]: 0<=i<n }", "[n] -> { [j]: 0<=j<n }"]),
    (CHAIN, ["k", "j"], ["[n] -> { [i]: 0<=i<n }"]),
]


@pytest.mark.parametrize(("knl", "inames", "domains"), CASES)
def test_what_is_left(knl: Kernel, inames: Any, domains: list[str]) -> None:
    new = pg.remove_unused_inames(knl, inames)
    wanted = [parse_domain(d) for d in domains]
    assert [d.inames for d in new.domains] == [d.inames for d in wanted]
    for found, domain in zip(new.domains, wanted, strict=True):
        assert found.flat.is_equal(domain.flat)
    assert pg.replay(knl, new.history) == new
    assert pg.parse_kernel(str(new)) == new
    agree(knl, [{"n": n} for n in (0, 1, 5, 8)], lambda k: pg.remove_unused_inames(k, inames))


def test_priorities_and_tags_go_too() -> None:
    new = pg.remove_unused_inames(pg.tag_inames(ALONG, {"j": "unr"}))
    assert (new.priorities, dict(new.tags)) == ((), {})


def test_what_is_used_stays() -> None:
    assert pg.remove_unused_inames(ALONG, "i") is ALONG
    assert pg.remove_unused_inames(CHAIN, "j") is CHAIN  # the bounds of k mention it
    assert pg.remove_unused_inames(SUM) is SUM


def test_numpy_agrees() -> None:
    knl = kernel("{ [i,j]: 0<=i<n and i<=j<n }", "out[i] = 2*a[i]")
    numpy_agrees(knl, pg.remove_unused_inames, lambda a: {"out": 2 * a})


@pytest.mark.parametrize(
    ("inames", "kind", "text"),
    [("i, x", UnknownIname, "no iname 'x'"), (3, InvalidArgument, "inames=3, which is not inames")],
)
def test_refused(inames: Any, kind: type[pg.UserError], text: str) -> None:
    with pytest.raises(kind, match=text):
        pg.remove_unused_inames(ALONG, inames)
