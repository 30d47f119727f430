"""Measuring candidates: with what, where, and what is kept."""

from __future__ import annotations

from collections.abc import Iterator
from math import inf
from pathlib import Path

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NoDevice, OutOfMemory
from polygen.tuning.measure import Bench, fastest, kept_on_disk


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("POLYGEN_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("POLYGEN_NO_CACHE", raising=False)


def sums(target: str | None = "c") -> pg.Kernel:
    knl = pg.make_kernel(
        "{ [i,r]: 0<=i<n and 0<=r<m }", "b[i] = sum(r, a[i] + r)", target=target, name="sums"
    )
    return pg.add_dtypes(knl, {"a": np.float64})


def test_more_work_takes_longer() -> None:
    few, many = (pg.fix_parameters(sums(), m=m) for m in (1, 100_000))
    bench = Bench(few, {"n": 10}, "c")
    assert bench.arguments["a"].shape == (10,)
    assert 0 < 5 * bench.seconds(few, 0.01) < bench.seconds(many, 0.01) < inf


def test_what_cannot_be_called_takes_for_ever_and_says_why() -> None:
    bench = Bench(sums(), {"n": 10, "m": 3}, "c")
    other = sums(target="opencl")
    assert bench.seconds(other, 0.01) == inf
    assert "has the target 'opencl', and was to run on 'c'" in bench.failed[other].what
    assert sums() not in bench.failed


def test_arrays_that_are_too_large() -> None:
    bench = Bench(sums(), {"n": 10**13, "m": 1}, "c")
    with pytest.raises(OutOfMemory) as caught:
        _ = bench.arguments
    assert "'sums' cannot be measured with arrays of 1.6e+05 GB together" in caught.value.what
    assert "smaller sizes" in str(caught.value.remedy)


def test_what_was_measured_is_kept_for_the_kernel_its_sizes_and_what_else_counts() -> None:
    times = iter(range(100))

    def found(knl: pg.Kernel, n: int, about: str, least: int = 0) -> int:
        bench = Bench(knl, {"n": n, "m": 1}, "c")
        number: int = kept_on_disk(bench, [about], lambda: next(times), lambda old: old >= least)
        return number

    knl = sums()
    assert [found(knl, 5, "x"), found(knl, 5, "x")] == [0, 0]
    assert [found(knl, 6, "x"), found(knl, 5, "y")] == [1, 2]
    assert found(pg.set_options(knl, contract="off"), 5, "x") == 3
    assert found(knl, 5, "x") == 0
    assert [found(knl, 5, "x", least=4), found(knl, 5, "x", least=4)] == [4, 4]


def test_fastest() -> None:
    knl = sums()
    made: list[int] = []

    def make(k: int) -> pg.Kernel:
        made.append(k)
        return pg.fix_parameters(knl, m=[50_000, 200, 100_000][k])

    few = pg.fix_parameters(knl, m=1)
    assert fastest(few, ["many", "few", "more"], make, {"n": 8}) == 1
    assert fastest(few, ["many", "few", "more"], make, {"n": 8}) == 1
    assert made == [0, 1, 2]


def test_a_kernel_for_a_device_is_measured_there(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(_: object) -> Iterator[None]:
        raise NoDevice("no GPU here")

    monkeypatch.setattr("polygen.tuning.measure.measured_device", none)
    with pytest.raises(NoDevice, match="no GPU here"):
        fastest(sums(target="cuda"), ["one"], lambda _: sums(), {"n": 8, "m": 1})
