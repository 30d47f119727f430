"""Steps from a kernel to any other: the proof has to find out whether they compute the same."""

from __future__ import annotations

from polygen.ir.kernel import Kernel
from polygen.language.parse_kernel import parse_kernel
from polygen.transformation import transformation


@transformation
def become(kernel: Kernel, text: str) -> Kernel:
    """Become the kernel of a text."""
    new = parse_kernel(text)
    return kernel.copy(
        domains=new.domains,
        instructions=new.instructions,
        temporaries=new.temporaries,
        tags=new.tags,
    )


def exchange(before: Kernel, after: Kernel) -> Kernel:
    """Take the step from one kernel to another."""
    return become(before, str(after))
