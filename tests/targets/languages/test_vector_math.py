"""glibc's functions of vectors: close to the true values, NaN and infinities where they belong."""

from __future__ import annotations

import math
import platform
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.runtime.backends.c.c_compiler import find_compiler

MOST = 4  # units in the last place, as glibc says; the reference has an error of its own
ONE = """acos acosh asin asinh atan atanh cbrt cos cosh erf erfc exp exp10 exp2 expm1 log log10
log1p log2 sin sinh tan tanh""".split()  # noqa: SIM905
TWO = ["atan2", "hypot", "pow"]
EDGES = [0.0, -0.0, np.inf, -np.inf, np.nan, 1.0, -1.0, 0.5, -0.5, 2.0, -3.0, 1e6, -1e6]


def arguments(dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(seed=5)
    limits = np.finfo(dtype)
    edges = np.array([*EDGES, limits.max, limits.tiny, limits.tiny / 8, -limits.tiny / 8], dtype)
    x, y = (pairs.ravel() for pairs in np.meshgrid(edges, edges))
    sizes = 10.0 ** rng.uniform(-8, 3, (2, 4000)) * rng.choice([-1, 1], (2, 4000))
    near = rng.normal(1, 0.1, (2, 400))
    a, b = (np.concatenate(parts) for parts in zip((x, y), sizes, near, strict=True))
    return a.astype(dtype), b.astype(dtype)


def kernel(dtype: Any, *options: str) -> pg.Kernel:
    lines = [f"o_{name}[i] = {name}(x[i])" for name in ONE]
    lines += [f"o_{name}[i] = {name}(x[i], y[i])" for name in TWO]
    knl = pg.make_kernel("{ [i]: 0<=i<n }", "\n".join(lines), target="c")
    knl = pg.distribute_loop(knl, "i")
    return pg.set_options(knl, return_dict=True, build_options=options)


def exact(name: str) -> Callable[..., Any]:
    """Return a function in a precision that is higher than that of the numbers, or the same."""
    if name == "exp10":
        return partial(np.power, np.longdouble(10))
    if name in ("erf", "erfc"):
        return np.vectorize(getattr(math, name), otypes=[np.float64])
    inverse = "arc" + name[1:] if name[0] == "a" else name
    return getattr(np, "power" if name == "pow" else inverse)  # type: ignore[no-any-return]


def errors(found: Any, wanted: Any) -> Any:
    """Return by how many units in the last place numbers are off."""
    rounded = wanted.astype(found.dtype)
    same = (found == rounded) | (np.isnan(found) & np.isnan(rounded))
    units = np.abs(found.astype(np.longdouble) - wanted) / np.spacing(np.abs(rounded))
    return np.where(same, 0, np.where(np.isfinite(rounded), units, np.inf))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_values(dtype: Any) -> None:
    x, y = arguments(dtype)
    _, found = kernel(dtype)(x=x, y=y)
    for name in ONE + TWO:
        given = [g.astype(np.longdouble) for g in (x, y)[: 1 + (name in TWO)]]
        with np.errstate(all="ignore"):
            wanted = np.asarray(exact(name)(*given))
            off = errors(found[f"o_{name}"], wanted)
        worst = int(off.argmax())
        assert off[worst] <= MOST + 1, (name, [g[worst] for g in given])
        signs = np.signbit(found[f"o_{name}"]) == np.signbit(wanted)
        assert signs[wanted == 0].all(), name


@pytest.mark.usefixtures("optimized")
def test_they_are_called() -> None:
    """And not if that is asked for: some numbers are then rounded in another way."""
    x, y = arguments(np.float64)
    several, single = (kernel(np.float64, *o)(x=x, y=y)[1] for o in ((), ("-DPG_SCALAR_MATH",)))
    differ = {n[2:] for n in several if not np.array_equal(several[n], single[n], equal_nan=True)}
    library, version = platform.libc_ver()
    recent = library == "glibc" and tuple(map(int, version.split("."))) >= (2, 35)
    expected = recent and platform.machine() == "x86_64" and "clang" not in find_compiler().identity
    assert (differ >= {"exp", "log", "sin", "tanh", "atan2"}) == expected
