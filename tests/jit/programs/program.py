"""A plain function of NumPy's, with arguments of several sizes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

SIZES = (0, 1, 2, 7, 12)


@dataclass(frozen=True)
class Program:
    """A function that users could have written, and what it is called with.

    Attributes:
        function: plain Python; it knows nothing of polygen.
        make: makes the arguments of a size.
        sizes: those for which NumPy has a result.
        roundings: by how many units in the last place of the largest element a result of floating
            point may differ.
        stays_python: pieces of the lines that say why statements stay Python's, as `explain` has
            them at the largest size; none, if all that is repeated is in kernels.
        is_validated: whether the program of loops can be compared with the kernel in the time that
            there is; a warning says so, where it cannot.
    """

    function: Callable[..., Any]
    make: Callable[[np.random.Generator, int], tuple[Any, ...]]
    sizes: tuple[int, ...] = SIZES
    roundings: float = 100.0
    stays_python: tuple[str, ...] = ()
    is_validated: bool = True

    @property
    def name(self) -> str:
        return f"{self.function.__module__.rpartition('.')[2]}.{self.function.__name__}"

    def arguments(self, size: int) -> tuple[Any, ...]:
        """Return new arguments; the same ones for the same size."""
        return self.make(np.random.default_rng(1000 + size), size)
