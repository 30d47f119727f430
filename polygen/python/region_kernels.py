"""The kernels of a block: one for each condition on sizes under which its loops are parallel.

    for i in range(n): a[i + k] = a[i] + b[i]      k >= n, k = 0: parallel; k < 0: with the old
                                                   values; else one iteration after the other

Conditions are found once, when the block is compiled; a call evaluates them, which takes about a
microsecond, and a kernel is scheduled and compiled when the first call needs it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polygen.errors import EndlessLoop, ProofLimit
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.kernel import Kernel
from polygen.schedules.variants import Variant, Variants, variants

Schedule = Callable[[Kernel, Mapping[str, int]], Kernel]
Runner = Callable[[Kernel], Callable[[dict[str, Any]], object]]


class RegionKernels:
    """The kernels of a block, by the sizes that each is for.

    Parameters:
        plain: the kernel as the statements say it.
        schedule: what schedules a kernel for sizes; None to leave it as it is.
        runner: what returns a function that runs a kernel with a dictionary of arguments.
        sizes: the sizes of the first call.

    Attributes:
        plain: the kernel as the statements say it.
        variants: what there is for which sizes; None if sizes decide nothing.
        first: the kernel of the first call, as it is run.
        run: runs the kernel for the sizes among its arguments.
    """

    def __init__(
        self, plain: Kernel, schedule: Schedule | None, runner: Runner, sizes: Mapping[str, int]
    ) -> None:
        self.plain = plain
        self._schedule, self._runner = schedule, runner
        self._made: dict[int, tuple[Kernel, Callable[[dict[str, Any]], object]]] = {}
        self.variants = None if schedule is None else _variants(plain)
        if self.variants is None:
            self.first, self.run = self._scheduled(plain, sizes)
        else:
            self.first, _ = self._of(self.variants.among(sizes), sizes)
            self.run = self._run_variant

    @property
    def scheduled(self) -> list[tuple[Variant | None, Kernel]]:
        """The kernels so far, as they are run, with what each is for."""
        if self.variants is None:
            return [(None, self.first)]
        return [(v, self._made[id(v)][0]) for v in self.variants if id(v) in self._made]

    def _run_variant(self, arguments: dict[str, Any]) -> object:
        assert self.variants is not None
        variant = self.variants.among(arguments)
        found = self._made.get(id(variant))
        return (found or self._of(variant, arguments))[1](arguments)

    def _of(
        self, variant: Variant, sizes: Mapping[str, Any]
    ) -> tuple[Kernel, Callable[[dict[str, Any]], object]]:
        if id(variant) not in self._made:
            known = {n: v for n, v in sizes.items() if n in self.plain.parameters}
            self._made[id(variant)] = self._scheduled(variant.kernel, known)
        return self._made[id(variant)]

    def _scheduled(
        self, kernel: Kernel, sizes: Mapping[str, int]
    ) -> tuple[Kernel, Callable[[dict[str, Any]], object]]:
        made = kernel if self._schedule is None else self._schedule(kernel, sizes)
        return made, self._runner(made)


def _variants(kernel: Kernel) -> Variants | None:
    """Return the variants of a kernel; None if sizes do not decide what is parallel."""
    if not _subscripts_have_sizes(kernel):
        return None
    try:
        found = variants(kernel)
    except (ProofLimit, EndlessLoop):  # no size says where a loop that a condition ends does
        return None
    return found if len(found) > 1 else None


def _subscripts_have_sizes(kernel: Kernel) -> bool:
    """Tell whether a size moves what is touched of an array that is written."""
    sizes = frozenset(kernel.parameters)
    return any(
        not sizes.isdisjoint(walk.free_variables(index))
        for insn in kernel.instructions
        for access in insn.accesses
        if isinstance(access, ex.Subscript) and ex.name_of(access) in kernel.writers
        for index in ex.index_tuple(access)
    )
