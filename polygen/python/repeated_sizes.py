"""Sizes that calls repeat, as numbers in the code: short loops then have neither starts nor ends.

    for t in range(25): ... 23 elements a row ...       the third call with these sizes: code for
                                                        them; others have the code for all

A C compiler makes a loop over 23 elements of vectors and of what is left, with tests for lengths
that it does not know; where it knows them, a stencil over short rows takes three quarters of the
time.  That code is made once for each schedule, and takes a tenth of a second as a rule.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.inferred_sizes import size_names
from polygen.transforms.kernels.set_options import set_options

Run: TypeAlias = Callable[[dict[str, Any]], object]

_CALLS = 3  # with the same sizes, one after the other
_SHORT = 256  # iterations: of longer loops, starts and ends take no time
_MOST = 32  # instructions: of more, code takes long to make


def with_repeated_sizes(
    kernel: Kernel, run: Run, runner: Callable[[Kernel], Run], sizes: Mapping[str, int]
) -> Run:
    """Return what runs a kernel, also with code for the sizes that calls repeat.

    Parameters:
        kernel: the kernel, scheduled.
        run: runs it, for all sizes.
        runner: what returns such a function for a kernel.
        sizes: those of loops, in the first call.
    """
    is_short = any(size < _SHORT for size in sizes.values())
    if kernel.target != "c" or not is_short or len(kernel.instructions) > _MOST:
        return run
    if kernel.options.deterministic or kernel.options.fix_sizes:
        return run  # compilers add up other parts of sums where they know how many there are
    return _RepeatedSizes(kernel, run, runner)


class _RepeatedSizes:
    """Runs a kernel for all sizes, until some are repeated."""

    def __init__(self, kernel: Kernel, run: Run, runner: Callable[[Kernel], Run]) -> None:
        self._kernel, self._general, self._runner = kernel, run, runner
        self._names = tuple(sorted(size_names(kernel)))
        self._last: tuple[Any, ...] | None = None
        self._count = 0
        self._fixed: Run | None = None  # for the last sizes, which stay

    def __call__(self, arguments: dict[str, Any]) -> object:
        """Run the kernel."""
        sizes = tuple([arguments.get(name) for name in self._names])
        if self._fixed is not None:
            return (self._fixed if sizes == self._last else self._general)(arguments)
        self._count = self._count + 1 if sizes == self._last else 1
        self._last = sizes
        if self._count < _CALLS:
            return self._general(arguments)
        self._fixed = self._runner(set_options(self._kernel, fix_sizes=True))
        return self._fixed(arguments)
