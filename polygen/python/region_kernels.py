"""The kernels of a block, by conditions on sizes and by their magnitudes.

    for i in range(n): a[i + k] = a[i] + b[i]      k >= n, k = 0: parallel; k < 0: with the old
                                                   values; else one iteration after the other

Conditions are found once, when the block is compiled; a call evaluates them, which takes about a
microsecond.  A kernel is scheduled and compiled when the first call needs it.  What is best for ten
iterations is not for a million: a call with sizes of another magnitude has a schedule of its own.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import known_parameters
from polygen.errors import EndlessLoop, ProofLimit, UnknownName
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.python.repeated_sizes import with_repeated_sizes
from polygen.schedules.variants import Variant, Variants, variants
from polygen.transforms.kernels.assume import assume

Schedule = Callable[[Kernel, Mapping[str, int]], Kernel]
Runner = Callable[[Kernel], Callable[[dict[str, Any]], object]]
_Magnitudes: TypeAlias = tuple[int, ...]

# Between sizes of two magnitudes.  Schedules know that a size is not negative, if that of their
# call is none; of 128 on, products are packed.
_BOUNDS = (0, 64, 128, 1 << 12, 1 << 18)
_MOST = 8  # schedules of a variant: further calls have the one for the sizes that are most alike


def magnitudes_of(kernel: Kernel, sizes: Mapping[str, int]) -> Mapping[str, int]:
    """Return the magnitudes of the sizes of loops: calls that agree in them have one schedule.

    Parameters:
        kernel: the kernel.
        sizes: the integers of a call.
    """
    looped = NO_NAMES.union(*(domain.parameters for domain in kernel.domains))
    return {name: bisect(_BOUNDS, sizes[name]) for name in sorted(looped.intersection(sizes))}


@dataclass(frozen=True, eq=False)
class Scheduled:
    """A kernel as it is run.

    Attributes:
        variant: what it is a schedule of; None if sizes do not decide what is parallel.
        sizes: those of the call that it was scheduled for.
        kernel: the kernel.
        run: runs it with a dictionary of arguments.
    """

    variant: Variant | None
    sizes: Mapping[str, int]
    kernel: Kernel
    run: Callable[[dict[str, Any]], object]


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
        self._integers = tuple(name for name in plain.parameters if name in sizes)
        self._sizes = () if schedule is None else tuple(magnitudes_of(plain, sizes))
        self._made: dict[int, dict[_Magnitudes, Scheduled]] = {}  # by variants' ids
        self.variants = None if schedule is None else _variants(plain)
        first = self._of(sizes)
        self.first = first.kernel
        self.run = self._run if self.variants is not None or self._sizes else first.run

    @property
    def scheduled(self) -> list[Scheduled]:
        """The kernels so far, as they are run, with what each is for."""
        wanted = [None] if self.variants is None else list(self.variants)
        return [one for v in wanted for one in dict.fromkeys(self._made.get(id(v), {}).values())]

    def of(self, values: Mapping[str, Any]) -> Kernel:
        """Return the kernel of a call, as it is run.

        Parameters:
            values: its arguments, or the integers among these.
        """
        return self._of(values).kernel

    def _run(self, arguments: dict[str, Any]) -> object:
        return self._of(arguments).run(arguments)

    def _of(self, values: Mapping[str, Any]) -> Scheduled:
        """Return the kernel for a call."""
        variant = None if self.variants is None else self.variants.among(values)
        made = self._made.setdefault(id(variant), {})
        magnitudes = tuple([bisect(_BOUNDS, values[name]) for name in self._sizes])
        if magnitudes not in made:
            signs = tuple(map(bool, magnitudes))
            alike = [other for other in made if tuple(map(bool, other)) == signs]
            nearest = min(alike, key=lambda other: _distance(other, magnitudes), default=None)
            if nearest is not None and len(set(made.values())) >= _MOST:
                made[magnitudes] = made[nearest]
            else:
                made[magnitudes] = self._scheduled(variant, values)
        return made[magnitudes]

    def _scheduled(self, variant: Variant | None, values: Mapping[str, Any]) -> Scheduled:
        kernel = self.plain if variant is None else variant.kernel
        if self._schedule is not None:
            kernel = _never_negative(kernel, [n for n in self._sizes if values[n] >= 0])
            kernel = self._schedule(kernel, {name: values[name] for name in self._integers})
        sizes = {name: values[name] for name in self._sizes}
        run = self._runner(kernel)
        if self._schedule is not None:
            run = with_repeated_sizes(kernel, run, self._runner, sizes)
        return Scheduled(variant, sizes, kernel, run)


def _never_negative(kernel: Kernel, sizes: Sequence[str]) -> Kernel:
    """Return the kernel of calls for which sizes of loops are at least 0."""
    known = known_parameters(kernel)
    new: list[str] = []
    for name in sizes:
        condition = condition_set(ex.Comparison(ex.Variable(name), ">=", 0))
        if condition is not None and not known.is_subset(condition):
            new.append(f"{name} >= 0")
    return assume(kernel, " and ".join(new)) if new else kernel


def _distance(one: _Magnitudes, other: _Magnitudes) -> int:
    return sum(abs(a - b) for a, b in zip(one, other, strict=True))


def _variants(kernel: Kernel) -> Variants | None:
    """Return the variants of a kernel; None if sizes do not decide what is parallel."""
    if not _subscripts_have_sizes(kernel):
        return None
    try:
        found = variants(kernel)
    except (ProofLimit, EndlessLoop):  # no size says where a loop that a condition ends does
        return None
    except UnknownName:  # sizes for which such a loop never runs leave its end without a use
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
