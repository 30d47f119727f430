"""`optimize_reductions` on histograms and sums by labels: copies where they pay, and in order."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import MissingArgument, NotOptimized
from tests.few import few

SMALL = pg.Limits(1e11, 1e12, 3, items_per_unit=512, items_per_group=256, local_bytes=4096)
RANDOM = np.random.default_rng(5)


def histogram(bins: Any = 64, dtype: str = "int32", **options: Any) -> pg.Kernel:
    data = [
        pg.GlobalArg("h", dtype, bins),
        pg.GlobalArg("bin", "int32", "n"),
        pg.GlobalArg("w", dtype, "n"),
    ]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "h[bin[i]] += w[i]  {atomic}", [*data, "..."])
    return pg.set_options(knl, **options)


def by_label(labels: Any, columns: int, **options: Any) -> pg.Kernel:
    data = [
        pg.GlobalArg("h", "float32", (labels, columns)),
        pg.GlobalArg("bin", "int32", "n"),
        pg.GlobalArg("w", "float32", ("n", columns)),
    ]
    knl = pg.make_kernel(
        f"{{ [i,j]: 0<=i<n and 0<=j<{columns} }}", "h[bin[i],j] += w[i,j]  {atomic}", [*data, "..."]
    )
    return pg.set_options(knl, **options)


def optimized(knl: pg.Kernel, n: int = 1 << 20, **sizes: int) -> pg.Kernel:
    return pg.optimize_reductions(knl, SMALL, sizes={"n": n, **sizes})


def scopes(knl: pg.Kernel) -> list[str]:
    """Return where copies are."""
    steps = [step for step in knl.history if step.name == "privatize_atomics"]
    return [dict(step.arguments)["temporary_scope"] for step in steps]


IN_ORDER: dict[str, Any] = {"deterministic": True}
CASES: dict[str, tuple[pg.Kernel, list[str]]] = {
    "in local memory": (histogram(), ["local"]),
    "too large": (histogram(4096), []),
    "of any size": (histogram("m"), []),
    "rows": (by_label(5, 20), ["local"]),
    "integers are exact": (histogram(**IN_ORDER), ["local"]),
    "in order": (histogram(64, "float32", **IN_ORDER), ["global"]),
    "rows in order": (by_label(5, 20, **IN_ORDER), ["global"]),
}


@few(3, "name", CASES)
def test_where_copies_are_and_what_comes_of_them(name: str) -> None:
    knl, expected = CASES[name]
    new = optimized(knl, m=64)
    assert scopes(new) == expected
    assert any(str(tag) == "l.0" for tag in new.tags.values())
    pg.generate_code(new, "cuda")
    _agrees(new, 5_001)


def _agrees(knl: pg.Kernel, n: int) -> None:
    """Compare with NumPy: whole numbers, so that sums are the same in any order."""
    shape = [size if isinstance(size, int) else 64 for size in knl.array("h").shape or ()]
    w = RANDOM.integers(-8, 9, (n, *shape[1:])).astype(knl.array("w").dtype)
    bins = RANDOM.integers(0, shape[0], n).astype(np.int32)
    wanted = np.ones(shape, w.dtype)
    np.add.at(wanted, bins, w)
    (found,) = knl.executor("c")(h=np.ones(shape, w.dtype), bin=bins, w=w)[1]
    np.testing.assert_array_equal(found, wanted, strict=True)


@pytest.mark.more
def test_for_processors() -> None:
    """Threads have parts, of a length that sizes decide; few updates are left alone."""
    for made in (histogram(), histogram(dtype="float32", **IN_ORDER)):
        knl = made.copy(target="c")
        assert scopes(optimized(knl)) == ["global"]
        assert optimized(knl, 1000) is knl
        _agrees(optimized(knl), 70_001)


def test_left_as_it_is() -> None:
    few = histogram(64, "float32", **IN_ORDER)
    with pytest.warns(NotOptimized, match="too few updates for copies of 'h'"):
        assert optimized(few, 1000) is few
    data = [pg.GlobalArg("h", "int32", 64), pg.GlobalArg("bin", "int32", "n"), "..."]
    plain = pg.make_kernel("{ [i]: 0<=i<n }", "h[bin[i]] += 1", data)
    with pytest.warns(NotOptimized, match="it is not {atomic}, so that its order counts"):
        assert optimized(plain) is plain
    with pytest.raises(MissingArgument, match="'m'"):
        optimized(histogram("m"))


def test_beside_other_reductions() -> None:
    data = [pg.GlobalArg("h", "int32", 64), pg.GlobalArg("bin", "int32", "n"), "..."]
    knl = pg.make_kernel(
        "{ [i,j]: 0<=i,j<n }", "h[bin[i]] += 1  {atomic}\nlast[0] = max(j, bin[j])", data
    )
    knl = optimized(knl)
    assert {"privatize_atomics", "parallelize_reduction"} <= {step.name for step in knl.history}
    bins = RANDOM.integers(0, 60, 5_001).astype(np.int32)
    found, last = knl.executor("c")(h=np.zeros(64, np.int32), bin=bins)[1]
    np.testing.assert_array_equal(found, np.bincount(bins, minlength=64))
    assert last == bins.max()
