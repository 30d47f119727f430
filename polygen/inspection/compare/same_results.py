"""Compares arrays up to rounding, and finds where they differ."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.ir.dtype import DType, computed_in, facts, is_integer


def tolerance(dtype: DType) -> float:
    """Return how far apart numbers may be: what reassociating a sum explains.

    It is the type's epsilon to the power 0.6: 7e-5 for float32, 4e-10 for float64; 0 for integers.
    """
    return float(facts(dtype).epsilon ** 0.6)


def is_same(found: Any, expected: Any) -> tuple[bool, str]:
    """Tell whether each element is what it should be, and else how many are not, and the first.

    An element may be off by the tolerance, relative to its size plus the root mean square of all.
    NaN is the same as NaN, and an infinity as itself.
    """
    allowed = tolerance(expected.dtype)
    right, other = _wide(expected), _wide(found)
    with np.errstate(all="ignore"):
        bad = ~((right == other) | (np.isnan(right) & np.isnan(other)))
        if allowed and bad.any():
            sizes = np.where(np.isfinite(right), np.abs(right), 0)
            scale = np.sqrt(np.mean(sizes**2))
            bad &= ~(np.abs(other - right) <= allowed * (sizes + scale))
        if not bad.any():
            return True, ""
        error = np.linalg.norm(np.ravel(other - right)) / np.linalg.norm(np.ravel(right))
    first = tuple(int(i) for i in np.argwhere(bad)[0])
    return False, (
        f"{np.count_nonzero(bad)} of {bad.size} elements differ; "
        f"[{', '.join(map(str, first))}] is {found[first]}, and should be {expected[first]}; "
        f"the relative error is {error:.1e}"
    )


def _wide(values: Any) -> Any:
    """Return numbers in a type in which they can be compared."""
    kind = computed_in(values.dtype)
    if is_integer(kind):
        return values
    return values.astype(np.complex128 if kind.kind == "c" else np.float64)
