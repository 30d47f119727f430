"""`polygen.variants`: a kernel for each condition under which loops carry nothing.

    for i: a[i + k] = a[i] + b[i]

becomes three kernels, tried in this order: one that assumes k >= n or k = 0, in which i may be
parallel; one that assumes -n < k < 0 and reads a copy of what a held, in which it may be, too; and
the kernel as it was.  Conditions are found once; a call evaluates them in microseconds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeAlias, overload

import islpy as isl

from polygen.analysis.dataflow.carried_conditions import (
    LoopConditions,
    carried_conditions,
    sizes_with_iterations,
)
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.integers.size_conditions import SizeCondition
from polygen.analysis.order.instance_order import order_of
from polygen.errors import ProofLimit
from polygen.inspection.order.legal_steps import is_legal
from polygen.inspection.order.parallelism import parallel_inames
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.tags import is_parallel
from polygen.transforms.copies.add_prefetch import add_prefetch
from polygen.transforms.kernels.assume import assume


@dataclass(frozen=True)
class Variant:
    """A kernel for some sizes and scalars.

    Attributes:
        when: the sizes and scalars that it is for; the last of several is for all that are left.
        kernel: the kernel, which assumes that.
        parallel: the inames whose loops carry nothing there, but do for other sizes.
        copied: the arrays of which it reads a copy of the old values.
        made_for: the sizes that its schedule was made for, by name, if it is one by size.
    """

    when: SizeCondition
    kernel: Kernel
    parallel: tuple[str, ...] = ()
    copied: tuple[str, ...] = ()
    made_for: tuple[tuple[str, int], ...] = ()

    def __str__(self) -> str:
        if self.made_for:
            sizes = ", ".join(f"{name} = {size}" for name, size in self.made_for)
            return f"{'otherwise' if self.when.is_always else f'if {self.when}'}: for {sizes}"
        if not self.parallel:
            return "otherwise: as it is"
        copies = f", with the old values of {' and '.join(self.copied)}" if self.copied else ""
        return f"if {self.when}: {', '.join(self.parallel)} parallel{copies}"


class Variants(Sequence[Variant]):
    """Kernels that compute the same, each for some sizes; the first whose condition holds is taken.

    It prints as a list.  Called with the arguments of the kernel, it calls the one that fits.
    """

    def __init__(self, variants: Sequence[Variant]) -> None:
        self._variants = tuple(variants)
        self._asked = tuple([(v.when.predicate, v) for v in self._variants[:-1]])
        asked = NO_NAMES.union(*(v.when.names for v in self._variants[:-1]))
        sizes: dict[str, list[tuple[str, int]]] = {}
        for size, array, axis in _sizes(self._variants[-1].kernel):
            sizes.setdefault(size, []).append((array, axis))
        self._places = tuple([(name, tuple(sizes.get(name, ()))) for name in sorted(asked)])

    @overload
    def __getitem__(self, index: int) -> Variant: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Variant]: ...
    def __getitem__(self, index: int | slice) -> Variant | Sequence[Variant]:
        return self._variants[index]

    def __iter__(self) -> Iterator[Variant]:
        return iter(self._variants)

    def __len__(self) -> int:
        return len(self._variants)

    def among(self, values: Mapping[str, int]) -> Variant:
        """Return the first variant whose condition holds for values of sizes and scalars.

        Parameters:
            values: by name; others may be among them.

        Raises:
            MissingArgument: if a value is missing that a condition mentions.
        """
        try:
            for holds, variant in self._asked:
                if holds(values):
                    return variant
        except KeyError:
            return next(v for v in self._variants if v.when.among(values))
        return self._variants[-1]

    def pick(self, **values: int) -> Variant:
        """Return the variant for these sizes and scalars: `among`, with keywords."""
        return self.among(values)

    def map(self, step: Callable[..., Kernel], *args: Any, **kwargs: Any) -> Variants:
        """Return the variants after a step, which each kernel takes: ``variants.map(optimize)``.

        Parameters:
            step: a transformation, or a function that takes several.
            args, kwargs: its arguments.
        """
        return Variants([replace(v, kernel=step(v.kernel, *args, **kwargs)) for v in self])

    def __call__(self, **arguments: Any) -> Any:
        """Call the kernel that fits the sizes of the arguments; they are passed on as they are."""
        values = dict[str, int]()
        for name, places in self._places:
            if name in arguments:
                values[name] = int(arguments[name])
                continue
            for array, axis in places:
                if array in arguments:
                    values[name] = int(arguments[array].shape[axis])
                    break
        return self.among(values).kernel(**arguments)

    def __str__(self) -> str:
        return "\n".join(map(str, self._variants))

    def __repr__(self) -> str:
        return f"Variants({'; '.join(map(str, self._variants))})"


def _sizes(kernel: Kernel) -> Iterator[tuple[str, str, int]]:
    """Yield sizes with an array and the axis of it whose extent they are."""
    for array in kernel.arguments:
        for axis, extent in enumerate(array.shape or () if isinstance(array, GlobalArg) else ()):
            if isinstance(extent, ex.Variable):
                yield ex.name_of(extent), array.name, axis


@public
def variants(kernel: Kernel, most: int = 8) -> Variants:
    """Return a kernel for each condition on sizes and scalars under which loops carry nothing.

    Each assumes its condition, so that steps on it are proved with what it says: `optimize` and
    `tag_inames` find its loops parallel.  Where a loop carries nothing but anti-dependences, the
    variant first copies what its iterations read of the array, and they read the copy.  The last
    variant is the kernel as it is.  Conditions that allow but a few iterations make none.

    Parameters:
        kernel: the kernel, with loops in their order.
        most: how many variants there may be, at least one; conditions of further loops are not
            told apart.

    Returns:
        The variants, in the order in which a call tries them.

    Raises:
        NoLoopNest, DependencyCycle: if there is no order at all.
        ProofLimit: if isl has more to do than is reasonable.

    >>> import numpy as np
    >>> import polygen as pg
    >>> knl = pg.make_kernel(
    ...     "{ [i]: 0<=i<n }", "a[i + k + s] = a[i + s] + b[i]",
    ...     [pg.GlobalArg("a", np.float64, shape="m"), pg.GlobalArg("b", np.float64), "..."],
    ...     assumptions="0<=s and 0<=s+k and s+n<=m and s+k+n<=m", target="c",
    ... )
    >>> found = pg.variants(knl)
    >>> print(found)
    if k + n <= 0 or n <= k or k == 0: i parallel
    if k + n >= 1 and k <= -1: i parallel, with the old values of a
    otherwise: as it is
    >>> print(found.pick(n=100, k=-1, s=1, m=101))
    if k + n >= 1 and k <= -1: i parallel, with the old values of a
    >>> fast = found.map(pg.optimize)
    >>> a = np.arange(8.0)
    >>> _ = fast(a=a, b=np.ones(4), k=1, s=0)
    >>> a
    array([0., 1., 2., 3., 4., 5., 6., 7.])

    Source: Jacob, Trinder and Singer, Python Programmers Have GPUs Too (2019), which makes the
    variant of a call when it is called.
    """
    rows = carried_conditions(kernel)
    cells = [_Cell(known_parameters(kernel))]
    for iname in _loops(kernel):
        split = [new for cell in cells for new in _told_apart(kernel, rows[iname], cell)]
        if len(split) <= most:
            cells = split
    made = [variant for cell in cells if (variant := _variant(kernel, cell)) is not None]
    return Variants([*made, Variant(_everything(kernel), kernel)])


_Readers: TypeAlias = Mapping[str, tuple[str, ...]]


@dataclass(frozen=True)
class _Cell:
    """Some sizes, and what is true of loops there.

    Attributes:
        allowed: the sizes.
        parallel: the loops that carry nothing, and those that do not if they read copies.
        copied: the latter, each with the arrays and the instructions that read these.
    """

    allowed: isl.Set
    parallel: tuple[str, ...] = ()
    copied: tuple[tuple[str, _Readers], ...] = ()


def _loops(kernel: Kernel) -> list[str]:
    reduced = NO_NAMES.union(*(insn.reduction_inames for insn in kernel.instructions))
    return [i for i in kernel.inames if i not in reduced and not is_parallel(kernel.tags.get(i))]


_FEW = 32  # iterations that are no reason for a variant


def _told_apart(kernel: Kernel, row: LoopConditions, cell: _Cell) -> list[_Cell]:
    """Return the parts of a cell in which a loop carries nothing, or does with old values only."""
    many = sizes_with_iterations(kernel, row.iname, _FEW)
    if row.parallel.is_always:
        return [cell]
    left, found = cell.allowed, list[_Cell]()
    nothing: _Readers = {}
    for condition, arrays in ((row.parallel, nothing), (row.with_old_values, row.overwritten)):
        part = left.intersect(condition.allowed)
        if part.is_disjoint(many):
            continue
        copied = ((row.iname, arrays),) if arrays else ()
        found.append(_Cell(part, (*cell.parallel, row.iname), (*cell.copied, *copied)))
        left = left.subtract(condition.allowed)
    return [*found, replace(cell, allowed=left)] if found else [cell]


def _everything(kernel: Kernel) -> SizeCondition:
    known = known_parameters(kernel)
    return SizeCondition(known, known)


def _variant(kernel: Kernel, cell: _Cell) -> Variant | None:
    """Return the variant of a cell; None if there is none that has more in parallel."""
    when = SizeCondition(cell.allowed, known_parameters(kernel))
    if not cell.parallel or when.is_never:
        return None
    made = kernel if when.is_always else assume(kernel, when.text)
    parallel = list(cell.parallel)
    copied: dict[str, None] = {}
    for iname, arrays in cell.copied:
        with_copies = _with_old_values(made, iname, arrays)
        if with_copies is None:
            parallel.remove(iname)
            continue
        made = with_copies
        copied |= dict.fromkeys(arrays)
    return Variant(when, made, tuple(parallel), tuple(copied)) if parallel else None


def _with_old_values(kernel: Kernel, iname: str, arrays: _Readers) -> Kernel | None:
    """Return a kernel whose loop reads copies, made before it, of what was in arrays.

    None if that is not proved, or the loop carries something still.
    """
    loops = order_of(kernel).loops
    around = [loops(kernel.instructions[n].id) for n in kernel.numbers_of_loops[iname]]
    swept = dict.fromkeys(i for nest in around for i in nest[nest.index(iname) :])
    for array, readers in arrays.items():
        step = is_legal(
            kernel,
            add_prefetch,
            array,
            tuple(swept),
            default_tag=None,
            temporary_address_space=AddressSpace.GLOBAL,
            within=" or ".join(f"id:{reader}" for reader in readers),
        )
        if not step or step.kernel is None:
            return None
        kernel = step.kernel
    try:
        return kernel if parallel_inames(kernel)[iname].parallel else None
    except ProofLimit:
        return None
