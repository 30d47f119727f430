"""Counts how often one access has to ask the banks of local memory.

Local memory is in banks: neighbouring words are in neighbouring ones, and a bank has one word for
all that ask at the same time.  Work items ask together that have consecutive numbers in their
group: as many as together ask for a word from each bank.  Those of one access that want different
words of one bank *conflict*, and have to wait for each other.

What subscripts have to do with the work item is looked at number by number.  What the loops outside
add to all of them alike moves the words to other banks, and together: it does not matter.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import gcd
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from polygen.analysis.access.accesses import Reference, references_by_name
from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, combine, linear_form
from polygen.analysis.integers.moving_box import TileAxis, tile_axis
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array
from polygen.ir.domain import unflatten
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import element_strides
from polygen.ir.show_expression import show_expression
from polygen.ir.tags import LocalTag, VectorTag

_Numbers: TypeAlias = NDArray[np.int64]
_ITEM = "__item"  # names of users do not begin so
_MOST_CASES = 1024  # of remainders of what is outside, which subscripts may have


@dataclass(frozen=True)
class Banks:
    """The banks of local memory.

    Attributes:
        count: how many there are.
        width: how many bytes a word of one has.
    """

    count: int
    width: int


@dataclass(frozen=True)
class BankConflicts:
    """The bank conflicts of one access of a local temporary.

    Attributes:
        insn_id: the instruction.
        access: what it reads or writes, as in ``t[i, k]``.
        is_write: whether it is written.
        ways: how many words of one bank are asked for at a time, at most: 1 where nobody waits;
            None where data, or verbatim C, decides.
    """

    insn_id: str
    access: str
    is_write: bool
    ways: int | None


def conflicts_of(kernel: Kernel, array: Array, banks: Banks) -> tuple[BankConflicts, ...]:
    """Return how each access of a local temporary meets the banks.

    Parameters:
        kernel: without rules, with an axis or a loop for each iname.
        array: the temporary, of a known type, with a tag for each axis.
        banks: the banks.
    """
    group = _group(kernel, array.name)
    found: dict[tuple[str, str, bool], BankConflicts] = {}
    for reference in references_by_name(kernel).get(array.name, ()):
        access = show_expression(ex.element(ex.Variable(array.name), reference.index))
        key = reference.insn.id, access, reference.is_write
        if key not in found:
            found[key] = BankConflicts(*key, _ways(kernel, reference, array, group, banks))
    return tuple(found.values())


def _group(kernel: Kernel, name: str) -> tuple[int, int, int]:
    """Return how many work items a group has along each axis where a temporary is used.

    Instructions that share what lives no longer than a launch are in one launch.
    """
    users = {i.id: i.read_names.union(i.written_names) for i in kernel.assignments}
    own = {t.name for t in kernel.temporaries if not _is_global(kernel, t.name)}
    names, insns = {name}, set[str]()
    while found := {i for i in users.keys() - insns if not names.isdisjoint(users[i])}:
        insns |= found
        names = names.union(*[users[i] & own for i in found])
    within = NO_NAMES.union(*[kernel.instruction(i).within_inames for i in insns])
    sizes = [1, 1, 1]
    for iname in within:
        tag = kernel.tags.get(iname)
        if isinstance(tag, LocalTag) and (axis := _values(kernel, iname)) is not None:
            sizes[tag.axis] = max(sizes[tag.axis], _length(axis))
    return sizes[0], sizes[1], sizes[2]


def _is_global(kernel: Kernel, name: str) -> bool:
    return kernel.address_space(name) is AddressSpace.GLOBAL


def _values(kernel: Kernel, iname: str) -> TileAxis | None:
    """Return the values of an iname, if there is a constant number of them."""
    values = domain_of(kernel, with_surrounding(kernel, (iname,)))
    return tile_axis(unflatten(values, (iname,)))


def _length(axis: TileAxis) -> int:
    return (axis.extent - 1) * axis.stride + 1


# --- one access


@dataclass(frozen=True)
class _Items:
    """The work items of a group, in their order.

    Attributes:
        numbers: along each axis, under the name of that axis.
        active: which of them execute an instruction.
        inames: its inames on the axes, in terms of these names.
    """

    numbers: Mapping[str, _Numbers]
    active: NDArray[np.bool_]
    inames: Mapping[str, Expression]


def _items(kernel: Kernel, reference: Reference, group: Sequence[int]) -> _Items | None:
    """Return the work items that make an access; None if an axis has no constant length."""
    number = np.arange(group[0] * group[1] * group[2])
    steps = (1, group[0], group[0] * group[1])
    numbers = {f"{_ITEM}{k}": number // steps[k] % group[k] for k in range(3)}
    # What all share is written by the first work item along an axis that an instruction lacks.
    once = any(
        kernel.address_space(n) is not AddressSpace.PRIVATE for n in reference.insn.written_names
    )
    active = np.full(number.shape, fill_value=True)
    inames: dict[str, Expression] = {}
    for k, (name, along) in enumerate(numbers.items()):
        tag = LocalTag(k)
        iname = next((i for i in reference.inames if kernel.tags.get(i) == tag), None)
        if iname is None:
            active &= along == 0 if once else True
            continue
        axis = _values(kernel, iname)
        if axis is None:
            return None
        inames[iname] = (axis.base + LinearForm.of_name(name)).expression()
        active &= (along < _length(axis)) & (along % axis.stride == 0)
    return _Items(numbers, active, inames)


def _ways(
    kernel: Kernel, reference: Reference, array: Array, group: Sequence[int], banks: Banks
) -> int | None:
    """Return how many words of one bank an access asks for at a time; None if data decides."""
    items = None if reference.vague else _items(kernel, reference, group)
    if items is None:
        return None
    known = {*kernel.inames, *kernel.parameters, *items.numbers}
    parts: list[tuple[LinearForm, int]] = []
    for index, stride in zip(reference.index, element_strides(array) or (), strict=True):
        form = linear_form(walk.substitute(index, items.inames), known)
        if form is None:
            return None
        if isinstance(stride, int):  # each subscript along an axis tagged ``sep`` is an array
            parts.append((form, stride))
    total, length = _in_vectors(kernel, reference, combine(parts))
    cases = list(islice(_cases(total, items.numbers), _MOST_CASES + 1))
    if len(cases) > _MOST_CASES:
        return None
    size = array.dtype.itemsize if array.dtype else banks.width
    in_word = max(1, banks.width // size)
    sizes = size, length * size
    return max(
        _most((offset + shift)[items.active], np.flatnonzero(items.active), sizes, banks)
        for offset, step in cases
        for shift in range(0, in_word, gcd(step, in_word))
    )


def _in_vectors(kernel: Kernel, reference: Reference, offset: LinearForm) -> tuple[LinearForm, int]:
    """Return where what a work item touches at once begins, and how many elements that are."""
    for lane in reference.inames:
        if isinstance(kernel.tags.get(lane), VectorTag) and offset.terms.get(lane) == 1:
            axis = _values(kernel, lane)
            if axis is not None and axis.base == LinearForm():
                return offset - LinearForm.of_name(lane), axis.extent
    return offset, 1


def _cases(form: LinearForm, numbers: Mapping[str, _Numbers]) -> Iterator[tuple[_Numbers, int]]:
    """Yield what values a form may have for the work items.

    Each comes with a number of which any multiple may be added to all of them.
    """
    count = len(next(iter(numbers.values())))
    own = np.full(count, form.constant)
    step = 0
    floors: list[list[tuple[_Numbers, int]]] = []
    for term, factor in form.terms.items():
        names = {term} if isinstance(term, str) else term.numerator.names()
        if numbers.keys().isdisjoint(names):
            step = gcd(step, factor)
        elif isinstance(term, str):
            own = own + factor * numbers[term]
        else:
            some = islice(_floors(term, numbers), _MOST_CASES + 1)
            floors.append([(factor * value, factor * more) for value, more in some])
    for chosen in product(*floors):
        yield sum((value for value, _ in chosen), own), gcd(step, *(more for _, more in chosen))


def _floors(term: FloorTerm, numbers: Mapping[str, _Numbers]) -> Iterator[tuple[_Numbers, int]]:
    """Yield what values a floor may have, as `_cases` does."""
    divisor = term.divisor
    for value, step in _cases(term.numerator, numbers):
        for rest in range(0, divisor, gcd(step, divisor)):
            yield (value + rest) // divisor, 1 if step % divisor else step // divisor


def _most(offsets: _Numbers, items: _Numbers, sizes: tuple[int, int], banks: Banks) -> int:
    """Return how many words of one bank are asked for at a time, at most.

    Parameters:
        offsets: of the elements that work items touch, in elements.
        items: the numbers of these work items.
        sizes: the bytes of an element, and of all that a work item touches at once.
        banks: the banks.
    """
    if not len(items):
        return 1
    size, all_of_it = sizes
    each = -(-all_of_it // banks.width)  # words of a work item
    together = max(1, banks.count // each)
    words = (offsets * size // banks.width)[:, np.newaxis] + np.arange(each)
    first = words.min()
    span = words.max() - first + 1
    asked = np.unique((items // together * span)[:, np.newaxis] + words - first)
    times, bank = asked // span, (asked % span + first) % banks.count
    return int(np.bincount(times * banks.count + bank).max())
