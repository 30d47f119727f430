"""`join_domains`: loops whose bounds mention each other, in either order."""

from __future__ import annotations

import numpy as np
import pytest

import polygen as pg
from polygen.errors import DomainCycle, NotTheSame, UnknownIname
from polygen.ir.kernel import Kernel
from tests.oracle.cases import agree, prior, steps
from tests.oracle.cases import kernel as made
from tests.transforms.refusals import refused

TRIANGLE = ["{ [j]: 0<=j<n }", "{ [i]: j<=i<n }"]
SIZES = tuple({"n": n} for n in (0, 1, 2, 5))


def joined(knl: Kernel) -> Kernel:
    return pg.join_domains(knl, "j, i")


def test_loops_in_the_other_order() -> None:
    knl = made(TRIANGLE, "b[i,j] = i - 2*j + a[j]")
    agree(pg.add_dtypes(knl, {"a": "int32"}), SIZES, steps(joined, prior("i, j")))
    new = joined(knl)
    assert [d.inames for d in new.domains] == [("j", "i")]
    source = pg.generate_code(prior("i, j")(pg.add_dtypes(new, {"a": "int32"})), "c").source
    assert "j <= i; ++j" in source


def test_other_inames_stay() -> None:
    """What is around the inames, and what else their domains have, is as it was."""
    domains = ["{ [b,j,r]: 0<=b<4 and b<=j<n and 0<=r<3 }", "{ [i]: j<=i<n }"]
    knl = made(domains, "c[b,j,i] = i - 2*j + b\nd[b,r] = r")
    new = pg.join_domains(knl, "j, i")
    assert [d.inames for d in new.domains] == [("b",), ("r",), ("j", "i")]
    agree(knl, ({"n": n} for n in (4, 5)), joined, prior("b, i, j"))


def test_one_domain_is_the_same() -> None:
    knl = made("{ [i,j]: 0<=i<=j<n }", "b[i,j] = 1")
    assert pg.join_domains(knl, "i, j") is knl


def test_refusals() -> None:
    text = "b[j] = j\nc[i,j] = 1"
    knl = made(["{ [j]: 0<=j<n }", "{ [i]: j<i<n }"], text)
    refused(NotTheSame, "it leaves out iterations, or has new ones", joined, knl)
    refused(UnknownIname, "'h'", pg.join_domains, knl, "h, i")
    between = made(["{ [i]: 0<=i<n }", "{ [j]: 0<=j<=i }", "{ [k]: 0<=k<=j }"], "b[i,j,k] = 1")
    refused(DomainCycle, "", pg.join_domains, between, "i, k")
    np.testing.assert_array_equal(
        steps(lambda k: pg.join_domains(k, "i, j, k"), prior("k, j, i"))(between)
        .executor("c")(n=3)[1][0]
        .sum(),
        10,
    )


def test_reductions_keep_their_values() -> None:
    knl = made(TRIANGLE, "b[j] = sum(i, a[i])")
    knl = pg.add_dtypes(knl, {"a": "int32"})
    agree(knl, SIZES, joined)
    strict = made(["{ [j]: 0<=j<n }", "{ [i]: j<i<n }"], "b[j] = sum(i, a[i])")
    with pytest.raises(NotTheSame):  # of nothing, the sum is 0
        joined(pg.add_dtypes(strict, {"a": "int32"}))
