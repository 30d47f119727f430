"""Layouts of a kernel's arrays, as the program has them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.typing.inference import sizes
from polygen.errors import WrongStorage
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Nested, Strided, Vector
from polygen.ir.tags import is_lane
from polygen.validation.faults import fault
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    floor_divided,
    of_atom,
    plus,
    scaled,
    times,
)
from polygen.validation.terms import ELEMENT, VARIABLE, Term, Terms, key


class Layouts:
    """The layouts of a kernel's arrays, and its sizes.

    Attributes:
        kernel: the kernel.
        sizes: its scalar arguments that count things.
        arrays: its variables that have elements.
    """

    def __init__(self, kernel: Kernel) -> None:
        self.kernel = kernel
        self.sizes = sizes(kernel)
        self.arrays = frozenset(
            name
            for name, v in kernel.variables.items()
            if isinstance(v, GlobalArg) or (isinstance(v, TemporaryVariable) and v.shape != ())
        )
        self._strides: dict[str, list[Polynomial | None]] = {}
        self._terms = _Sizes(self)

    def lanes(self, inames: Iterable[str]) -> Mapping[str, range]:
        """Return those of the inames that are lanes, each with its values, if there are several."""
        if not self._lanes:
            return {}
        known = frozenset(inames)
        values = {i: self._lane_values(i) for i in self._lanes if i in known}
        return {iname: numbers for iname, numbers in values.items() if len(numbers) > 1}

    @cached_property
    def _lanes(self) -> tuple[str, ...]:
        tags = self.kernel.tags
        return tuple([i for i in self.kernel.inames if is_lane(tags.get(i))])

    def _lane_values(self, iname: str) -> range:
        """Return all values that an iname may have; none if they are not between constants."""
        flat = domain_of(self.kernel, with_surrounding(self.kernel, (iname,)))
        others = [name for name in flat_names(flat) if name != iname]
        alone = unflatten(project_out(flat, others), [iname])
        least, most = alone.dim_min_val(0), alone.dim_max_val(0)
        if not (least.is_int() and most.is_int()):
            return range(0)
        return range(least.to_python(), most.to_python() + 1)

    def strides(self, name: str) -> list[Polynomial | None]:
        """Return the strides of an array, in elements or vectors.

        Those declared, or those of a row-major one; None along axes tagged ``vec`` and ``sep``.
        """
        found = self._strides.get(name)
        if found is None:
            found = self._strides[name] = self._found(name)
        return found

    def _found(self, name: str) -> list[Polynomial | None]:
        array = self.kernel.array(name)
        extents = self.extents(name)
        tags = array.dim_tags
        if tags is None:
            tags = tuple(map(Nested, reversed(range(len(extents)))))
        result: list[Polynomial | None] = [None] * len(extents)
        step = constant(1)
        for level in range(len(extents)):
            for axis, tag in enumerate(tags):
                if isinstance(tag, Nested) and tag.level == level:
                    result[axis] = step
                    step = times(step, _room(extents[axis], tag.pad_to))
        for axis, tag in enumerate(tags):
            if isinstance(tag, Strided):
                result[axis] = self._in_units(name, tag.stride)
        return result

    def _in_units(self, name: str, elements: Expression | Auto) -> Polynomial:
        """Return a number of elements as one of vectors, if the array consists of these."""
        assert not isinstance(elements, Auto)  # they became arguments
        array = self.kernel.array(name)
        lengths = [
            extent
            for extent, tag in zip(array.shape or (), array.dim_tags or (), strict=False)
            if isinstance(tag, Vector)
        ]
        size = 4 if lengths == [3] else lengths[0] if lengths else 1
        found = self._terms.index(elements)
        assert isinstance(size, int)  # vectors have constant lengths
        if any(factor % size for factor in found.values()):
            raise fault(WrongStorage, self.kernel, f"the layout of '{name}' cuts through vectors")
        return {monomial: factor // size for monomial, factor in found.items()}

    def start(self, name: str) -> Polynomial:
        """Return where the first element of an array is, in elements or vectors."""
        array = self.kernel.array(name)
        if not isinstance(array, GlobalArg) or array.offset == 0:
            return {}
        return self._in_units(name, array.offset)

    def extents(self, name: str) -> list[Polynomial]:
        """Return the extents of an array."""
        return [self._terms.index(extent) for extent in self.kernel.array(name).shape or ()]

    def count(self, name: str) -> Polynomial:
        """Return the number of elements, or vectors, that an array has room for; 1 for a scalar."""
        array = self.kernel.array(name)
        if array.dim_tags is None:
            return reduce(times, self.extents(name), constant(1))
        found = constant(1)
        if any(isinstance(tag, Strided) for tag in array.dim_tags):
            for extent, stride in zip(self.extents(name), self.strides(name), strict=True):
                if stride is not None:
                    found = plus(found, times(plus(extent, constant(1), -1), stride))
            return found
        for extent, tag in zip(self.extents(name), array.dim_tags, strict=True):
            if isinstance(tag, Nested):
                found = times(found, _room(extent, tag.pad_to))
        return found


def _room(extent: Polynomial, pad_to: int) -> Polynomial:
    """Return an extent rounded up to a multiple."""
    if pad_to == 1:
        return extent
    return scaled(floor_divided(plus(extent, constant(pad_to - 1)), pad_to), pad_to)


class _Sizes(Terms):
    """Expressions of parameters, such as extents."""

    def __init__(self, layouts: Layouts) -> None:
        self._layouts = layouts

    def counter(self, name: str) -> Polynomial | None:
        return of_atom(name)

    def scalar(self, name: str) -> Term:
        return VARIABLE, name

    def element(self, node: ex.Subscript) -> Term:
        return ELEMENT, ex.name_of(node), tuple(key(self.index(i)) for i in ex.index_tuple(node))
