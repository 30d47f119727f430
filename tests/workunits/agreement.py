"""Runs a dispatch as plain Python and compiled, and compares."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import polygen.workunits as pk

SPACES = (pk.Debug, pk.Serial)


def agree(
    run: Callable[[pk.ExecutionSpace], Any],
    expected: Any,
    spaces: Sequence[pk.ExecutionSpace] = SPACES,
    rtol: float = 1e-12,
) -> None:
    """Check that a dispatch gives the same in all spaces.

    Parameters:
        run: returns what a dispatch computes in a space.
        expected: what it is to be.
        spaces: the spaces.
        rtol: how far values may be apart.
    """
    for space in spaces:
        found = run(space)
        np.testing.assert_allclose(np.asarray(found), expected, rtol, 1e-14, err_msg=space.value)
