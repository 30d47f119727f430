"""Finds accesses of all lanes at once: neighbouring elements, and vectors in an array."""

from __future__ import annotations

from collections.abc import Mapping
from functools import reduce
from math import gcd
from operator import mul
from typing import cast

from polygen.ir import expression as ex
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import DType, is_bfloat16
from polygen.ir.expression import Expression
from polygen.ir.parts import part_name
from polygen.lower.vectorize import is_next_to_each_other
from polygen.targets.expressions.logic_rules import index_text
from polygen.targets.expressions.typed_terms import ATOM, EQUALITY, UNARY, Lanes, Term, promoted
from polygen.targets.lanes.lane_printer import LanePrinter, in_lane
from polygen.targets.languages.target import BOOL, FLOAT16, FLOAT32, INT32, UINT8


def print_lanes(p: LanePrinter, node: ex.Subscript, at: DType) -> Term:
    """Print the elements of all lanes: a vector."""
    if not is_at_once(p, node):
        return p.one_by_one(node, at)
    dtype, held = p.names.dtypes[ex.name_of(node)], _held(p, node)
    vector = _whole_vector(p, node)
    if vector is not None:
        found = Lanes(vector, ATOM, dtype, held)
    elif held == FLOAT16 and p.target.load_halves:
        found = Lanes(p.target.load_halves.format(*_pointed(p, node)), ATOM, dtype, FLOAT32)
    else:
        form = p.target.load_aligned if _is_aligned(p, node) else p.target.load_vector
        found = Lanes(form.format(*_pointed(p, node)), UNARY, dtype, held)
    wide = promoted(held)
    if found.c_type != wide:
        found = Lanes(p.convert_lanes(found, wide), ATOM, dtype, wide)
    return Lanes(f"{found.text} != 0", EQUALITY, BOOL, INT32) if dtype == BOOL else found


def assigned_lanes(p: LanePrinter, node: ex.Subscript, term: Term) -> str:
    """Return the assignment of a value to the elements of all lanes."""
    dtype, held = p.names.dtypes[ex.name_of(node)], _held(p, node)
    value = p.spread(p.truth(term) if dtype == BOOL else term)
    if ex.name_of(node) in p.names.wide:
        value = p.spread(p.exact(value))
    if held == FLOAT16 and p.target.store_halves:
        return p.target.store_halves.format(*_pointed(p, node), value.text)
    value = p.spread(p.element(value, held))
    vector = _whole_vector(p, node)
    if vector is None:
        form = p.target.store_aligned if _is_aligned(p, node) else p.target.store_vector
        return form.format(*_pointed(p, node), value.text)
    if value.split is not None and value.split[0] == vector:
        return f"{vector} {value.split[1]}= {value.split[2].text}"
    return f"{vector} = {value.text}"


def copied_lanes(p: LanePrinter, target: ex.Subscript, value: Expression) -> str | None:
    """Return the assignment of halves as they are; None if it is none, or is not that simple."""
    if not isinstance(value, ex.Subscript) or p.target.load_halves:
        return None
    nodes = target, value
    plain = all(is_at_once(p, n) and ex.name_of(n) not in p.names.choices for n in nodes)
    if not plain or any(_held(p, node) != FLOAT16 for node in nodes):
        return None
    load = p.target.load_aligned if _is_aligned(p, value) else p.target.load_vector
    store = p.target.store_aligned if _is_aligned(p, target) else p.target.store_vector
    return store.format(*_pointed(p, target), load.format(*_pointed(p, value)))


def is_at_once(p: LanePrinter, node: ex.Subscript, *, as_bits: bool = False) -> bool:
    """Tell whether the elements of all lanes are a vector, or next to each other in an array.

    Parameters:
        p: prints expressions of lanes.
        node: the element of a lane.
        as_bits: whether they are moved as they are, not computed with.
    """
    name, (offset, *chosen) = ex.name_of(node), ex.index_tuple(node)
    if name in p.names.images or (is_bfloat16(p.names.dtypes[name]) and not as_bits):
        return False
    if not chosen:
        return is_next_to_each_other(offset, p.iname)
    choice = p.names.choices[name]
    others = [c for position, c in enumerate(chosen) if position != choice.component]
    if choice.component is None:
        return is_next_to_each_other(offset, p.iname) and not any(map(p.varies, others))
    return (
        chosen[choice.component] == ex.Variable(p.iname)
        and choice.length == p.count
        and not any(map(p.varies, (offset, *others)))
    )


def _held(p: LanePrinter, node: ex.Subscript) -> DType:
    """Return the type of the elements of an array, as they are in memory."""
    name = ex.name_of(node)
    dtype = p.names.dtypes[name]
    if dtype == FLOAT16 and name not in p.names.stored:
        return FLOAT32
    if name in p.names.wide:
        return promoted(dtype)
    return UINT8 if dtype == BOOL else dtype


def _whole_vector(p: LanePrinter, node: ex.Subscript) -> str | None:
    """Return what an array of vectors has for all lanes; None for any other array."""
    offset, *chosen = ex.index_tuple(node)
    name = ex.name_of(node)
    choice = p.names.choices.get(name)
    if choice is None or choice.component is None or not chosen:
        return None
    part = _part(p, node)
    p.uses.names.add(part)
    return (
        part if choice.alone else f"{part}[{index_text(p, ex.Subscript(node.aggregate, offset))}]"
    )


def _part(p: LanePrinter, node: ex.Subscript) -> str:
    """Return what the array, or the part of it, is called that constant subscripts choose."""
    name, (_, *chosen) = ex.name_of(node), ex.index_tuple(node)
    choice = p.names.choices.get(name)
    numbers = [chosen[position] for position in choice.arrays] if choice and chosen else []
    return part_name(name, tuple([n for n in numbers if isinstance(n, int)]))


def is_aligned(p: LanePrinter, node: ex.Subscript, width: int) -> bool:
    """Tell whether lanes are next to each other, each `width` at a multiple of their size."""
    at_once = is_at_once(p, node, as_bits=True)
    return at_once and _whole_vector(p, node) is None and _is_aligned(p, node, width)


def from_lane(
    p: LanePrinter, node: ex.Variable | ex.Subscript, lane: int
) -> ex.Variable | ex.Subscript:
    """Return the element of a lane."""
    if isinstance(node, ex.Variable):
        return node
    offset, *chosen = ex.index_tuple(node)
    if chosen or not is_next_to_each_other(offset, p.iname):
        return cast("ex.Subscript", in_lane(node, p.iname, lane))
    terms = [*_first_lane(node, p.iname), *((lane,) if lane else ())]
    index = ex.sum_of(*terms) if terms[1:] else (*terms, 0)[0]
    return ex.Subscript(node.aggregate, index)


def pointer_to_lanes(p: LanePrinter, node: ex.Subscript, width: int) -> str:
    """Return a pointer to an element of an array as to a vector that begins there."""
    part = _part(p, node)
    p.uses.names.add(part)
    index = index_text(p, ex.Subscript(node.aggregate, ex.index_tuple(node)[0]))
    return f"({p.vector_type(_held(p, node), width)} *) ({part} + {index})"


def _pointed(p: LanePrinter, node: ex.Subscript) -> tuple[str, int, str, str]:
    """Return where the elements of all lanes begin, how many there are, and the vector's type.

    Also what the declaration of a pointer to the array begins with, where that is known.
    """
    name, first = ex.name_of(node), _first_lane(node, p.iname)
    at = part = _part(p, node)
    p.uses.names.add(part)
    if first:
        index = first[0] if len(first) == 1 else ex.sum_of(*first)
        at = f"{part} + {index_text(p, ex.Subscript(node.aggregate, index))}"
    _, space = p.names.alignments.get(name, (1, AddressSpace.GLOBAL))
    return at, p.count, p.vector(_held(p, node)), p.target.qualifiers[space]


def _is_aligned(p: LanePrinter, node: ex.Subscript, width: int | None = None) -> bool:
    """Tell whether all lanes, or every so many, begin where such vectors have to."""
    width = width or p.count
    size = width * _held(p, node).itemsize
    size = min(size, p.target.most_aligned or size)
    begins, _ = p.names.alignments.get(ex.name_of(node), (1, AddressSpace.GLOBAL))
    return (
        bool(p.target.load_aligned)
        and begins % size == 0
        and begins_at_multiple(node, p.iname, width, p.names.multiples)
    )


def begins_at_multiple(
    node: ex.Subscript, iname: str, count: int, multiples: Mapping[str, int]
) -> bool:
    """Tell whether the subscript of the first lane is certainly a multiple of their number."""
    return all(_factor(term, multiples) % count == 0 for term in _first_lane(node, iname))


def _first_lane(node: ex.Subscript, iname: str) -> tuple[Expression, ...]:
    """Return the terms of the subscript of the first lane."""
    offset = ex.index_tuple(node)[0]
    terms = offset.children if isinstance(offset, ex.Sum) else (offset,)
    return tuple([term for term in terms if term != ex.Variable(iname)])


def _factor(node: Expression, multiples: Mapping[str, int]) -> int:
    """Return a number that an integer is certainly a multiple of."""
    if isinstance(node, int):
        return node
    if isinstance(node, ex.Variable):
        return multiples.get(node.name, 1)
    if not isinstance(node, ex.Sum | ex.Product):
        return 1
    combine = gcd if isinstance(node, ex.Sum) else mul
    return reduce(combine, [_factor(child, multiples) for child in node.children])
