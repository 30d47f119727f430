"""The option `fix_sizes`: code for the sizes of a call."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import AssumptionViolated, SizeMismatch


def fixed(knl: pg.Kernel, **options: Any) -> pg.Kernel:
    return pg.set_options(knl, fix_sizes=True, write_code=True, **options)


def test_sizes_are_numbers(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i<n and 0<=j<m }",
        "u[i] = sum(j, a[i,j])*n {id=u}\nout[i] = u[i] - s {dep=u}",
        [pg.TemporaryVariable("u", shape="n", address_space=pg.AddressSpace.GLOBAL), "..."],
    )
    knl = pg.split_iname(knl, "i", 4, outer_tag="g.0", inner_tag="l.0")
    run = fixed(knl).executor(target)
    for n, m in ((5, 3), (0, 3), (4, 1), (3, 0)):
        a = np.random.default_rng(n).standard_normal((n, m))
        for s in (0.5, 2.0):  # what is no size stays an argument
            np.testing.assert_allclose(run(a=a, s=s)[1][0], a.sum(axis=1) * n - s, rtol=1e-12)
        head = re.search(r"polygen_kernel\w*\(.*?\)", capsys.readouterr().out, re.DOTALL)
        assert head is not None  # one source for each combination
        assert not re.search(r"\b[nm]\b", head.group())
        run(a=a[::-1], s=1.0)
        run(a=a, s=3.0)
        capsys.readouterr()
    run(a=np.zeros((5, 3)), s=1.0)
    assert capsys.readouterr().out == ""


def test_what_is_wrong_is_said() -> None:
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i] + b[i]", assumptions="n mod 4 = 0")
    knl = pg.split_iname(fixed(knl), "i", 4, outer_tag="g.0", inner_tag="l.0")
    for run in (knl, pg.set_options(knl, fix_sizes=False)):
        with pytest.raises(AssumptionViolated, match="that do not hold for n = 6"):
            run(a=np.zeros(6), b=np.zeros(6))
        with pytest.raises(SizeMismatch, match="n = 8 follows from the shape of 'a'"):
            run(a=np.zeros(8), b=np.zeros(4))
        np.testing.assert_array_equal(run(a=np.ones(8), b=np.ones(8))[1][0], np.full(8, 2.0))


def test_sizes_that_are_passed_or_computed() -> None:
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<m }", "out[i,j] = (10*i + j)*k")
    knl = fixed(pg.join_inames(knl, ["i", "j"], "ij"))
    for n, m in ((2, 3), (0, 4), (3, 1)):
        _, (out,) = knl(n=n, m=m, k=3)
        np.testing.assert_array_equal(out, 3 * np.add.outer(10 * np.arange(n), np.arange(m)))


def test_the_latest_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("polygen.runtime.executor._MOST_VARIANTS", 2)
    run = fixed(pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*i")).executor("c")
    for n in (1, 2, 3, 1, 2):
        np.testing.assert_array_equal(run(n=n)[1][0], 2 * np.arange(n))
    kept = [dict(key.sizes) for key in run._variants]
    assert kept == [{"n": 2}, {"n": 3}]


def test_scans_of_one_element() -> None:
    """Whether a reduction is a scan does not depend on the sizes of a call."""
    knl = pg.make_kernel("{ [i,j]: 0<=i<n and 0<=j<=i }", "out[i] = sum(j, a[j])")
    run = fixed(knl, force_scan=True)
    for n in (1, 3):
        np.testing.assert_array_equal(run(a=np.ones(n))[1][0], np.arange(1.0, n + 1))
