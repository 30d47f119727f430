"""Atomic updates of numbers of every type, and what NumPy makes of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import pytest

import polygen as pg
from polygen.ir.dtype import to_dtype
from polygen.ir.kernel import Kernel
from tests.operators import TYPES
from tests.properties.together import run_together

FEW, MANY = 5, 700  # elements, and updates
# What is updated, how, NumPy's function of two numbers, and the types that have it.
UPDATES: Mapping[str, tuple[str, Callable[[Any, Any], Any], str]] = {
    "total": ("total[at[i]] + v[i]", np.add, "iufc"),
    "scaled": ("scaled[at[i]]*w[i]", np.multiply, "iufc"),
    "low": ("min(low[at[i]], v[i])", np.minimum, "iuf"),
    "high": ("max(v[i], high[at[i]])", np.maximum, "iuf"),
    "bits": ("bits[at[i]] ^ v[i]", np.bitwise_xor, "iu"),
    "some": ("some[at[i]] or v[i]", np.logical_or, "b"),
    "every": ("every[at[i]] and w[i]", np.logical_and, "b"),
}
ATOMIC = tuple(name for name in TYPES if name != "complex128")  # which no device swaps at once


def _of(name: str) -> dict[str, Any]:
    kind = "f" if name == "bfloat16" else to_dtype(name).kind
    return {target: update for target, update in UPDATES.items() if kind in update[2]}


def kernel(name: str) -> Kernel:
    """Return a kernel of all updates that a type has: of arguments."""
    lines = [f"{target}[at[i]] = {value}  {{atomic}}" for target, (value, *_) in _of(name).items()]
    dtype = to_dtype(name)
    given: list[Any] = [pg.GlobalArg(target, dtype, FEW) for target in _of(name)]
    given += [pg.GlobalArg("v, w", dtype, MANY), pg.GlobalArg("at", np.int32, MANY), "..."]
    knl = pg.make_kernel(f"{{ [i]: 0<=i<{MANY} }}", "\n".join(lines), given)
    return pg.split_iname(knl, "i", 50, outer_tag="g.0", inner_tag="l.0")


def arrays(name: str) -> dict[str, Any]:
    """Return what a kernel is called with: sums and products that are exact in any order."""
    dtype, rng = to_dtype(name), np.random.default_rng(7)
    v: Any = np.where(rng.random(MANY) < 0.1, 1, 0).astype(dtype)
    if dtype.kind in "fV":
        v[rng.integers(0, MANY, 9)] = -1
        v[17], v[18] = np.inf, -0.0
    w = np.where(rng.random(MANY) < 0.004, 2 * (dtype.kind != "b"), 1).astype(dtype)
    at = rng.integers(0, FEW, MANY).astype(np.int32)
    if dtype.kind in "fV":
        v[np.flatnonzero(at == 4)[5]] = np.nan
    return {"v": v, "w": w, "at": at, **{target: np.ones(FEW, dtype) for target in _of(name)}}


def _expected(name: str) -> dict[str, Any]:
    given, found = arrays(name), dict[str, Any]()
    if name == "bfloat16":  # which NumPy does not know
        given |= {each: given[each].astype(np.float32) for each in "vw"}
    v, w, at = (given[each] for each in ("v", "w", "at"))
    for target, (text, function, _) in _of(name).items():
        values = np.ones(FEW, v.dtype)
        with np.errstate(invalid="ignore"):  # NumPy warns of NaN
            function.at(values, at, w if "w[i]" in text else v)
        found[target] = values
    return found


def check(target: str, patch: pytest.MonkeyPatch, types: Sequence[str] = ATOMIC) -> None:
    """Compare atomic updates with NumPy."""
    kernels = [(kernel(name), arrays(name)) for name in types]
    for name, found in zip(types, run_together(kernels, target, patch, ()), strict=True):
        assert found is not None
        for each, values in _expected(name).items():
            got = found[each].astype(values.dtype)
            np.testing.assert_array_equal(got, values, err_msg=f"{name} {each}")
