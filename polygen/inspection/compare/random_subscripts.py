"""Numbers in arrays that keep a kernel inside of its arrays, where data decides that.

Of ``t[3*x[i] + c]``, with ``0 <= c < 3`` and ``m`` elements of ``t``, an ``x`` below ``m // 3``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import islpy as isl
import numpy as np

from polygen.analysis.access.accesses import Reference, known_names
from polygen.analysis.access.domains import domain_of
from polygen.analysis.integers.isl_affine import condition_set, to_val
from polygen.analysis.integers.unknowns import Unknowns
from polygen.analysis.wellformed.check import obligations
from polygen.analysis.wellformed.obligations import INSIDE, ORDERED, Obligation
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.claims import Injective
from polygen.ir.domain import flat_names
from polygen.ir.dtype import integer_limits, is_integer
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.runtime.arrays.array_extents import extent_of

_PARAM = isl.dim_type.param
_MOST_ITERATIONS = 300  # of a loop whose length is data, but for one: past what uint8 holds


@dataclass(frozen=True)
class Numbers:
    """The range of an array that decides on subscripts or bounds.

    Attributes:
        low: the least number.
        high: the greatest.
        distinct: whether no two elements should be the same.
        ascending: whether they bound loops, and should not decrease.
        length: whether a loop has as many iterations.
    """

    low: int
    high: int
    distinct: bool = False
    ascending: bool = False
    length: bool = False

    def draw(self, rng: np.random.Generator, shape: tuple[int, ...]) -> np.ndarray:
        """Return random numbers from the whole range."""
        count = int(np.prod(shape))
        high = min(self.high, self.low + _MOST_ITERATIONS) if self.length else self.high
        if self.distinct and count <= high - self.low + 1 <= 2**24:
            values = self.low + rng.permutation(high - self.low + 1)[:count]
        else:
            values = rng.integers(self.low, high, size=count, endpoint=True)
        if count and high < self.high <= high + 2**16:
            values[rng.integers(count)] = self.high
        return (np.sort(values) if self.ascending else values).reshape(shape)


def numbers_for(kernel: Kernel, sizes: Mapping[str, int]) -> dict[str, Numbers]:
    """Return what arrays may hold that decide which elements are touched.

    Parameters:
        kernel: all types are known.
        sizes: the value of each size.
    """
    kernel = kernel.expanded
    found: dict[str, Numbers] = {}
    wanted = obligations(kernel)
    for obligation in wanted:
        if obligation.kind != INSIDE:
            continue
        for name, (low, high) in _Box(kernel, sizes, obligation).ranges().items():
            old = found.get(name, Numbers(low, high))
            least = max(low, old.low)
            found[name] = Numbers(least, max(min(high, old.high), least))
    return {name: _with_kind(kernel, name, f, wanted) for name, f in found.items()}


def _with_kind(kernel: Kernel, name: str, found: Numbers, wanted: Iterable[Obligation]) -> Numbers:
    """Return numbers of an array with what else should be true of them."""
    bounds = [
        [t for t in domain.parameters if _source(kernel, ex.Variable(t)) == name]
        for domain in kernel.domains
    ]
    apart = [r for o in wanted if o.kind == ORDERED for r in o.references]
    nodes = [part for r in apart for index in r.index for part in walk.subexpressions(index)]
    distinct = Injective(name) in kernel.claims or any(_source(kernel, n) == name for n in nodes)
    length = any(len(names) == 1 for names in bounds)
    return Numbers(found.low, found.high, distinct, any(bounds), length)


def _source(kernel: Kernel, node: Expression) -> str | None:
    """Return the array that a number is an element of, if it is passed."""
    if isinstance(node, ex.Subscript | ex.Variable):
        name = ex.name_of(node)
        variable = kernel.variables.get(name)
        if isinstance(variable, GlobalArg):
            return name
        writers = kernel.writers.get(name, ())
        if isinstance(variable, TemporaryVariable) and len(writers) == 1:
            values = [v for target, v in writers[0].pairs if ex.name_of(target) == name]
            return _source(kernel, values[0]) if len(values) == 1 else None
    return None


class _Box:
    """Finds how large the numbers may be that a subscript, or its loops, depend on."""

    def __init__(self, kernel: Kernel, sizes: Mapping[str, int], obligation: Obligation) -> None:
        self._kernel, self._sizes = kernel, sizes
        (self._reference,) = obligation.references
        assert obligation.axis is not None
        self._names: dict[str, list[str]] = {}  # the names that stand for elements of each array
        self._in_subscript: tuple[str, ...] = ()  # those of these that subscripts mention
        self._outside = self._instances_outside(self._reference, obligation.axis)

    def _instances_outside(self, reference: Reference, axis: int) -> isl.Set | None:
        """Return where the subscript is outside; None if nobody knows."""
        domain = domain_of(self._kernel, reference.inames)
        bounds = [n for n in flat_names(domain) if n in self._kernel.variables]
        bounds = [n for n in bounds if isinstance(self._kernel.variables[n], TemporaryVariable)]
        unknowns = Unknowns(known_names(self._kernel, reference).union(bounds))
        subscript = unknowns.function(reference.index[axis])
        for node, name in (*unknowns.names.items(), *((ex.Variable(b), b) for b in bounds)):
            source = _source(self._kernel, node)
            if source is None:
                return None
            self._names.setdefault(source, []).append(name)
        own = [_source(self._kernel, node) for node in unknowns.names]
        self._in_subscript = tuple([name for name in self._names if name in own])
        if subscript is None or not self._names:
            return None
        for condition in reference.conditions:
            holds = condition_set(condition, known_names(self._kernel, reference))
            domain = domain if holds is None else domain.intersect(holds)
        shape = self._kernel.array(reference.name).shape or ()
        extent = extent_of(self._kernel, shape[axis], self._sizes)
        last = subscript.scale_val(isl.Val(0)).add_constant_val(to_val(extent))
        low = subscript.lt_set(subscript.scale_val(isl.Val(0)))
        outside = low.union(subscript.ge_set(last)).intersect(domain)
        for name in flat_names(outside):
            if name in self._sizes:
                at = outside.find_dim_by_name(_PARAM, name)
                outside = outside.fix_val(_PARAM, at, to_val(self._sizes[name]))
        return outside

    def ranges(self) -> dict[str, tuple[int, int]]:
        """Return the least and the greatest number that each array may hold."""
        if self._outside is not None:
            # Subscripts first: where these are inside for all iterations, bounds do not matter.
            for arrays in dict.fromkeys((self._in_subscript, tuple(self._names))):
                found = self._of(arrays) if arrays else None
                if found is not None:
                    return found
        return dict.fromkeys(self._mentioned(), (0, 1))

    def _of(self, arrays: tuple[str, ...]) -> dict[str, tuple[int, int]] | None:
        """Return ranges of some arrays, whatever the others hold; None if there are none."""
        for low in _FIRST:
            if self._is_inside(dict.fromkeys(arrays, (low, low))):
                found = self._grown(arrays, low, 1)
                alone = any(least == most for least, most in found.values())
                return self._grown(arrays, low, len(arrays)) if alone else found
        return None

    def _mentioned(self) -> set[str]:
        nodes = (p for i in self._reference.index for p in walk.subexpressions(i))
        return set(self._names) | {s for n in nodes if (s := _source(self._kernel, n)) is not None}

    def _grown(self, arrays: tuple[str, ...], low: int, shared: int) -> dict[str, tuple[int, int]]:
        """Return ranges that grow one after the other, each to a part of what is left."""
        found = dict.fromkeys(arrays, (low, low))
        for position, name in enumerate(arrays):
            dtype = self._kernel.variables[name].dtype
            limit = _FAR if dtype is None or not is_integer(dtype) else integer_limits(dtype)[1]
            good, bad = low, min(limit, _FAR) + 1
            while bad - good > 1:
                middle = (good + bad) // 2
                inside = self._is_inside({**found, name: (low, middle)})
                good, bad = (middle, bad) if inside else (good, middle)
            found[name] = low, low + (good - low) // max(shared - position, 1)
        return found

    def _is_inside(self, box: Mapping[str, tuple[int, int]]) -> bool:
        """Tell whether nothing is outside while all numbers are in their ranges."""
        assert self._outside is not None
        left = self._outside
        for array, (low, high) in box.items():
            for name in self._names[array]:
                at = left.find_dim_by_name(_PARAM, name)
                if at >= 0:
                    left = left.lower_bound_val(_PARAM, at, to_val(low))
                    left = left.upper_bound_val(_PARAM, at, to_val(high))
        return bool(left.is_empty())


_FAR = 2**40
_FIRST = range(65)  # of ``t[x[i] - 3]``, x is at least 3
