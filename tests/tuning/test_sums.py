"""Sums as `optimize_reductions` makes them are as exact as NumPy's, which adds up pairwise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.errors import NotVectorized
from polygen.ir.kernel import Kernel
from tests.few import few

Draw = Callable[[Any, tuple[int, ...]], Any]
DRAWS: dict[str, Draw] = {
    "one tenth": lambda _, shape: np.full(shape, 0.1),
    "all alike": lambda rng, shape: np.full(shape, rng.uniform(0.05, 1)),
    "uniform": lambda rng, shape: rng.random(shape),
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "signs in turn": lambda rng, shape: (
        (1 + rng.random(shape)) * (1 - 2 * (np.arange(shape[-1]) % 2))
    ),
}
DEVICES = ("c", "gpu")


def sums(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, device: str) -> Any:
    """Return what runs sums over some axes, optimised for a device, on the processor."""
    inames = [f"i{axis}" for axis in range(len(shape))]
    kept = [name for axis, name in enumerate(inames) if axis not in axes]
    over = [inames[axis] for axis in axes]
    bounds = " and ".join(f"0<={i}<{n}" for i, n in zip(inames, shape, strict=True))
    result = [n for axis, n in enumerate(shape) if axis not in axes] or [1]
    knl = pg.make_kernel(
        f"{{ [{', '.join(inames)}]: {bounds} }}",
        f"s[{', '.join(kept) or 0}] = sum(({', '.join(over)}), a[{', '.join(inames)}])",
        [pg.GlobalArg("a", dtype, shape), pg.GlobalArg("s", dtype, tuple(result))],
    )
    return optimized(knl, device).executor("c")


def optimized(knl: Kernel, device: str) -> Kernel:
    knl = pg.set_options(knl, silenced_warnings=[NotVectorized.__name__])
    knl = knl.copy(target="c") if device == "c" else knl
    return pg.optimize_reductions(knl, pg.Limits.named("H200"))


def errors(run: Any, draw: Draw, shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> Any:
    """Return how wrong ours are, and NumPy's: as shares of all sizes added up, in roundings."""
    found: list[tuple[float, float]] = []
    wide: Any = np.clongdouble if dtype.startswith("complex") else np.longdouble
    for seed in range(6):
        a = draw(np.random.default_rng(seed), shape).astype(dtype)
        exact = a.astype(wide).sum(axes)
        scale = np.abs(a).astype(np.longdouble).sum(axes) * np.finfo(dtype).eps / 2
        ours = run(a=a)[1][0].reshape(exact.shape)
        each = [np.abs(s.astype(wide) - exact) / scale for s in (ours, a.sum(axes))]
        found.append((float((each[0] ** 2).mean()), float((each[1] ** 2).mean())))
    return np.sqrt(np.mean(found, 0))


def check(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, device: str) -> None:
    """Check that errors are no larger than NumPy's but for what is left to chance.

    That is a unit in the last place: what the last rounding, and those of one block, may make.
    """
    run = sums(shape, axes, dtype, device)
    for name, draw in DRAWS.items():
        ours, theirs = errors(run, draw, shape, axes, dtype)
        assert ours <= 1.25 * theirs + 2, (name, ours, theirs)


CASES = [
    ((2**17 + 1,), (0,), "float32"),
    ((70, 10_007), (1,), "float32"),
    ((5_003, 30), (0,), "float32"),
    ((9_001,), (0,), "complex64"),
]


@few(2, ("shape", "axes", "dtype"), CASES)
def test_as_exact_as_numpy(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str) -> None:
    check(shape, axes, dtype, "c")


def more_cases() -> Iterator[tuple[tuple[int, ...], tuple[int, ...], str]]:
    for dtype in ("float16", "float32", "float64", "complex64"):
        for n in (2**10, 1_025, 4_099, 2**14, 40_013):
            yield (n,), (0,), dtype
        for axes in ((0,), (1,), (2,), (0, 1), (1, 2), (0, 2), (0, 1, 2)):
            yield (20, 31, 53), axes, dtype
    for dtype in ("float32", "float64", "complex64"):
        yield (2**20 + 7,), (0,), dtype
    for shape in ((3, 100_003), (100_003, 3), (257, 1_031), (1_031, 257)):
        yield from ((shape, (axis,), "float32") for axis in (0, 1))
    yield (2**24,), (0,), "float32"
    yield (2**26 + 1,), (0,), "float32"


@pytest.mark.deep
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize(("shape", "axes", "dtype"), [*more_cases()])
def test_more(shape: tuple[int, ...], axes: tuple[int, ...], dtype: str, device: str) -> None:
    check(shape, axes, dtype, device)


# Domain, text, and what NumPy does, of x[n] and y[n].
MORE: dict[str, tuple[str, Callable[[Any, Any], Any]]] = {
    "mean": ("s[0] = sum(i, x[i])/{n}", lambda x, _: x.mean()),
    "norm": ("s[0] = sqrt(sum(i, x[i]**2))", lambda x, _: np.sqrt((x * x).sum())),
    "dot": ("s[0] = sum(i, x[i]*y[i])", lambda x, y: (x * y).sum()),
    "variance": (
        "<> mean = sum(i, x[i])/{n}\ns[0] = sum(j, (x[j] - mean)**2)/{n}",
        lambda x, _: x.var(),
    ),
}


@pytest.mark.deep
@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("name", MORE)
def test_what_is_made_of_sums(name: str, device: str) -> None:
    text, right = MORE[name]
    for n in (1_000, 40_013, 2**20 + 1):
        arrays = [pg.GlobalArg(array, "float32", (n,)) for array in "xy"][: 1 + ("y[" in text)]
        inames = "i,j" if "sum(j" in text else "i"
        knl = pg.make_kernel(
            f"{{ [{inames}]: 0<={inames}<{n} }}", text.format(n=n), [*arrays, "..."]
        )
        run = optimized(knl, device).executor("c")
        for draw in DRAWS.values():
            x, y = (draw(np.random.default_rng(k), (n,)).astype(np.float32) for k in (1, 2))
            given = {"x": x, "y": y} if "y[" in text else {"x": x}
            exact = right(x.astype(np.longdouble), y.astype(np.longdouble))
            size = np.abs(right(np.abs(x).astype(np.longdouble), np.abs(y).astype(np.longdouble)))
            ours, theirs = (
                abs(float(s) - exact) / (size or 1) * 2.0**24
                for s in (run(**given)[1][0][0], right(x, y))
            )
            if name != "variance" or size > 1e-3:  # of what is all alike, none is left
                assert ours <= 1.25 * theirs + 4, (draw, n, ours, theirs)


def test_a_long_sum_says_that_it_loses_digits() -> None:
    """In the text of a kernel as it was written: a comment, which is no part of the kernel."""
    for n, dtype, told in ((2**24, "float32", True), (2**24, "float64", False), (99, "float32", 0)):
        array = pg.GlobalArg("a", dtype, (n,))
        knl = pg.make_kernel(f"{{ [i]: 0<=i<{n} }}", "s[0] = sum(i, a[i])", [array, "..."])
        text = str(knl)
        assert ("lose digits; optimize_reductions adds up blocks" in text) == bool(told)
        assert pg.parse_kernel(text) == knl
        assert "lose digits" not in str(optimized(knl, "c"))
        assert "lose digits" not in str(optimized(knl, "gpu"))
