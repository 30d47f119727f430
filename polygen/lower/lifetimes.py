"""Lifetimes of temporaries."""

from __future__ import annotations

from polygen.analysis.pairs.iteration_local import apart, passes_nothing
from polygen.ir.kernel import Kernel


def carries(kernel: Kernel, name: str, loops: frozenset[str]) -> bool:
    """Tell whether a temporary may pass a value from one iteration of some loops to another.

    Parameters:
        kernel: with types known and without reductions.
        name: the temporary.
        loops: inames of loops around everything that touches it.
    """
    return apart(kernel, name, loops) != loops or not passes_nothing(kernel, name, loops)
