"""The terms of the kernel at a statement of the program, and those of the program.

An element's term is the array, its offset, and the constant subscripts along axes tagged ``vec``
and ``sep``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import reduce

from polygen.analysis.domains import domain_of, with_surrounding
from polygen.analysis.inference import sizes
from polygen.errors import WrongStatement, WrongStorage
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, ImageArg, TemporaryVariable, ValueArg
from polygen.ir.cached import cached_property
from polygen.ir.domain import flat_names, project_out, unflatten
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Nested, Strided, Vector
from polygen.ir.tags import HardwareTag, LocalTag, is_lane
from polygen.lower.program import Loop
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Read, Role, Storage
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    divided,
    floor_divided,
    number,
    of_atom,
    plus,
    scaled,
    times,
)
from polygen.validation.terms import ELEMENT, VARIABLE, Term, Terms, key


class Layouts:
    """Where the elements of a kernel's arrays lie, and its sizes.

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


def _one_of(values: Mapping[str, range], lane: Callable[[str], Polynomial]) -> Polynomial:
    """Return the number of a lane among all of several inames', the last one fastest."""
    number: Polynomial = {}
    for iname, numbers in values.items():
        index = plus(lane(iname), constant(-numbers.start))
        number = plus(scaled(number, len(numbers)), index)
    return number


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


class KernelTerms(Terms):
    """Terms of the kernel where its inames have certain values.

    Parameters:
        layouts: of the kernel.
        values: of the inames, in terms of the program; those of reductions may be left out.
    """

    def __init__(self, layouts: Layouts, values: Mapping[str, Polynomial]) -> None:
        self._layouts = layouts
        self._values = values

    def counter(self, name: str) -> Polynomial | None:
        """Return the value of an iname or a size; None for any other variable."""
        found = self._values.get(name)
        if found is None and name in self._layouts.sizes:
            return of_atom(name)
        return found

    def scalar(self, name: str) -> Term:
        """Return the term of any other variable."""
        variable = self._layouts.kernel.variables.get(name)
        if isinstance(variable, GlobalArg):  # without axes
            return ELEMENT, name, key(self._layouts.start(name))
        lanes = self._layouts.lanes(self._values) if variable is None else None
        if lanes:  # each has an accumulator
            return ELEMENT, name, key(_one_of(lanes, self._values.__getitem__))
        return VARIABLE, name

    def element(self, node: ex.Subscript) -> Term:
        """Return the term of an element of an array."""
        name = ex.name_of(node)
        if isinstance(self._layouts.kernel.variables.get(name), ImageArg):
            return ELEMENT, name, *(key(self.index(i)) for i in ex.index_tuple(node))
        offset = self._layouts.start(name)
        chosen: list[Polynomial] = []
        strides = self._layouts.strides(name)
        for subscript, stride in zip(ex.index_tuple(node), strides, strict=True):
            if stride is None:
                chosen.append(self.index(subscript))
            else:
                offset = plus(offset, times(self.index(subscript), stride))
        return ELEMENT, name, key(offset), *map(key, chosen)


class ProgramTerms(Terms):
    """Terms of the program in a frame.

    Parameters:
        layouts: of the kernel.
        frame: says what names mean.
        items: of the loops over work items of the launch: the number of each.
    """

    def __init__(self, layouts: Layouts, frame: Frame, items: Mapping[HardwareTag, int]) -> None:
        self._layouts = layouts
        self._frame = frame
        self._items = items
        self._counters: dict[str, Polynomial | None] = {}

    def bound(self, iname: str) -> Polynomial | None:
        """Return the value of an iname, in terms of the loops around; None if it has none."""
        frame: Frame | None = self._frame
        while frame is not None:
            if iname in frame.bound:
                return of_atom(iname) if frame.bound[iname] is None else self.counter(iname)
            frame = frame.parent
        return None

    def counter(self, name: str) -> Polynomial | None:
        """Return the value of a loop's variable or a size; None for any other variable."""
        if name not in self._counters:
            self._counters[name] = self._counter(name)
        return self._counters[name]

    def _counter(self, name: str) -> Polynomial | None:
        try:
            meaning = self._frame.find(name)
        except KeyError:
            raise _out_of_scope(self._layouts.kernel, name) from None
        if meaning is None:
            return of_atom(name)
        if isinstance(meaning, ValueArg):
            return of_atom(name) if name in self._layouts.sizes else None
        if isinstance(meaning, GlobalArg | Storage | Read):
            return None
        return self.index(meaning)

    def stated(self, value: Expression) -> Polynomial:
        """Return what a statement says that an iname is, which no text mentions.

        So sizes have a meaning here, whether or not the launch has them as arguments.
        """
        own = ProgramTerms(self._layouts, self._frame, self._items)
        own._counters.update({name: of_atom(name) for name in self._layouts.sizes})
        return own.index(value)

    def alias(self, name: str) -> Expression | None:
        """Return the expression that a name is another name for; None if it is none."""
        for frame in self._frame.outwards():
            if name in frame.bound:
                meaning = frame.bound[name]
                if isinstance(meaning, GlobalArg | ValueArg | Storage | Read):
                    return None
                return meaning
        return None

    def scalar(self, name: str) -> Term:
        """Return the term of any other variable."""
        meaning = self._frame.find(name)
        if isinstance(meaning, Read):
            return self.value(meaning.node.element)
        if isinstance(meaning, Storage) and self.is_expanded(meaning):
            raise fault(
                WrongStorage,
                self._layouts.kernel,
                f"each work item has a '{name}' of its own, and it does not say which it means",
                *self._layouts.kernel.writers.get(name, ())[:1],
            )
        return VARIABLE, name

    def element(self, node: ex.Subscript) -> Term:
        """Return the term of an element of an array; of the item's own part if it has one."""
        name = ex.name_of(node)
        offset, *chosen = map(self.index, ex.index_tuple(node))
        try:
            meaning = self._frame.find(name)
        except KeyError:
            raise _out_of_scope(self._layouts.kernel, name) from None
        if isinstance(meaning, Storage) and self.is_expanded(meaning):
            offset, is_array = self._own(meaning, offset)
            if not is_array:
                return VARIABLE, name
        if isinstance(meaning, Storage) and name not in self._layouts.kernel.variables:
            # One of the accumulators of lanes, which may be the components of vectors.
            (component,) = chosen or ({},)
            return ELEMENT, name, key(plus(scaled(offset, meaning.node.vector or 1), component))
        return ELEMENT, name, key(offset), *map(key, chosen)

    def is_expanded(self, storage: Storage) -> bool:
        """Tell whether a variable has a part for each work item of the loops around regions."""
        return (
            bool(self._items)
            and storage.node.address_space is AddressSpace.PRIVATE
            and not any(isinstance(tag, LocalTag) for tag in storage.frame.axes)
        )

    def _own(self, storage: Storage, offset: Polynomial) -> tuple[Polynomial, bool]:
        """Return the offset in the item's own part of a variable, and whether that is an array."""
        name, total = storage.node.name, reduce(int.__mul__, self._items.values(), 1)
        variable = self._layouts.kernel.variables.get(name)
        if isinstance(variable, TemporaryVariable):
            is_array = variable.shape != ()
            count = number(self._layouts.count(name)) if is_array else 1
        else:  # an accumulator, or one for each lane
            count = (storage.node.extent or total) // total
            is_array = count > 1 or storage.node.vector is not None
        assert count is not None  # shapes of temporaries are constant
        item = self._item()
        if item is None:
            # Outside of the loops: what is the same for all items is read from any.
            at = number(offset)
            inside = at is not None and not is_array and 0 <= at < total
            item = constant(at or 0) if inside else {}
        own: Polynomial | None
        if storage.node.interleaved:
            own = divided(plus(offset, item, -1), total)
        else:
            own = plus(offset, scaled(item, count), -1)
        if own is None or (own and not is_array):
            raise fault(
                WrongStatement,
                self._layouts.kernel,
                f"a work item touches the '{name}' of another one",
                *self._layouts.kernel.writers.get(name, ())[:1],
            )
        return own, is_array

    def _item(self) -> Polynomial | None:
        """Return the number of the work item in its group, as OpenCL counts; None if outside."""
        item: Polynomial = {}
        for tag in sorted(self._items, key=lambda tag: -tag.axis):
            frame = self._frame.axes.get(tag)
            if frame is None or frame.name is None:
                return None
            index = plus(of_atom(frame.name), self.index(frame.first), -1)
            item = plus(scaled(item, self._items[tag]), index)
        return item


def items_of(layouts: Layouts, launch: Frame) -> dict[HardwareTag, int]:
    """Return how many work items the loops of a launch run over, along each axis; none on a grid.

    Raises:
        WrongStorage: if that is no number, or differs from loop to loop.
    """
    found: dict[HardwareTag, tuple[str | None, Expression, Expression]] = {}
    result: dict[HardwareTag, int] = {}
    for frame in launch.inside():
        if frame.role is not Role.ITEM or not isinstance(frame.node, Loop):
            continue
        tag = next(tag for tag, axis in frame.axes.items() if axis is frame)
        loop = frame.name, frame.first, frame.end
        terms = ProgramTerms(layouts, frame, {})
        count = number(plus(terms.index(frame.end), terms.index(frame.first), -1))
        if count is None or found.setdefault(tag, loop) != loop or frame.node.step != 1:
            raise fault(
                WrongStorage,
                layouts.kernel,
                f"its loops over the work items along {tag} differ, or have no constant number of "
                "iterations",
            )
        result[tag] = count
    return result


def _out_of_scope(kernel: Kernel, name: str) -> WrongStatement:
    return fault(WrongStatement, kernel, f"it mentions '{name}' where that stands for nothing")
