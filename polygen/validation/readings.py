"""The terms of the kernel at a statement of the program, and those of the program.

An element's term is the array, its offset, and the constant subscripts along axes tagged ``vec``
and ``sep``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import reduce

from polygen.errors import WrongStatement, WrongStorage
from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace, GlobalArg, ImageArg, TemporaryVariable, ValueArg
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.tags import HardwareTag, LocalTag
from polygen.lower.program import Loop
from polygen.validation.faults import fault
from polygen.validation.frames import Frame, Read, Role, Storage
from polygen.validation.layouts import Layouts
from polygen.validation.polynomial import (
    Polynomial,
    constant,
    divided,
    number,
    of_atom,
    plus,
    scaled,
    times,
)
from polygen.validation.terms import ELEMENT, VARIABLE, Term, Terms, key


def _one_of(values: Mapping[str, range], lane: Callable[[str], Polynomial]) -> Polynomial:
    """Return the number of a lane among all of several inames', the last one fastest."""
    number: Polynomial = {}
    for iname, numbers in values.items():
        index = plus(lane(iname), constant(-numbers.start))
        number = plus(scaled(number, len(numbers)), index)
    return number


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
