"""What comes before reductions are shared: work that is done along with them."""

from __future__ import annotations

from collections.abc import Sequence

from polygen.errors import ProducerNeeded
from polygen.ir.kernel import Kernel
from polygen.transforms.propagate_reduction import propagate_reduction


def with_producers(kernel: Kernel, ids: Sequence[str]) -> Kernel:
    """Return the kernel in which reductions compute what they read, where that can be.

    What something else needs, too, stays in memory.
    """
    for name in ids:
        try:
            kernel = propagate_reduction(kernel, name)
        except ProducerNeeded:
            continue
    return kernel
