"""How assignments for all lanes at once are printed: elements next to each other as vectors."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.parts import part_name
from polygen.targets.core import Printer
from polygen.targets.logic import index_text, print_subscript
from polygen.targets.term import ATOM, UNARY, Term


def print_lanes(p: Printer, node: ex.Subscript, at: DType) -> Term:
    """Print the elements of all lanes, a vector; what all have in common as ever."""
    assert p.lanes is not None
    if p.lanes[0] not in walk.free_variables(node):
        return print_subscript(p, node, at)
    dtype = p.names.dtypes[ex.name_of(node)]
    vector = _whole_vector(p, node)
    if vector is not None:
        return Term(vector, ATOM, dtype, dtype)
    form = p.target.load_aligned if _is_aligned(p, node) else p.target.load_vector
    return Term(form.format(*_pointed(p, node)), UNARY, dtype, dtype)


def assigned_lanes(p: Printer, node: ex.Subscript, value: Term) -> str:
    """Return the assignment of a vector to the elements of all lanes."""
    vector = _whole_vector(p, node)
    if vector is None:
        form = p.target.store_aligned if _is_aligned(p, node) else p.target.store_vector
        return form.format(*_pointed(p, node), value.text)
    if value.split is not None and value.split[0] == vector:
        return f"{vector} {value.split[1]}= {value.split[2].text}"
    return f"{vector} = {value.text}"


def _whole_vector(p: Printer, node: ex.Subscript) -> str | None:
    """Return what an array of vectors has for all lanes; None for any other array."""
    offset, *chosen = ex.index_tuple(node)
    name = ex.name_of(node)
    choice = p.names.choices.get(name)
    if choice is None or not chosen:
        return None
    numbers = [chosen[position] for position in choice.arrays]
    part = part_name(name, tuple([n for n in numbers if isinstance(n, int)]))
    p.uses.names.add(part)
    return (
        part if choice.alone else f"{part}[{index_text(p, ex.Subscript(node.aggregate, offset))}]"
    )


def _pointed(p: Printer, node: ex.Subscript) -> tuple[str, int, str, str]:
    """Return where the elements of all lanes begin, how many there are, and the vector's type.

    Also what the declaration of a pointer to the array begins with, where that is known.
    """
    assert p.lanes is not None
    count, name = p.lanes[1], ex.name_of(node)
    first = _first_lane(p, node)
    p.uses.names.add(name)
    at = name
    if first:
        index = first[0] if len(first) == 1 else ex.sum_of(*first)
        at = f"{name} + {index_text(p, ex.Subscript(node.aggregate, index))}"
    _, space = p.names.alignments.get(name, (1, AddressSpace.GLOBAL))
    return at, count, p.vector_type(p.names.dtypes[name], count), p.target.qualifiers[space]


def _first_lane(p: Printer, node: ex.Subscript) -> tuple[Expression, ...]:
    """Return the terms of the subscript of the first lane."""
    assert p.lanes is not None
    terms = node.index.children if isinstance(node.index, ex.Sum) else (node.index,)
    return tuple([term for term in terms if term != ex.Variable(p.lanes[0])])


def _is_aligned(p: Printer, node: ex.Subscript) -> bool:
    """Tell whether the elements of all lanes begin at a multiple of their size."""
    assert p.lanes is not None
    count, name = p.lanes[1], ex.name_of(node)
    size = count * p.names.dtypes[name].itemsize
    begins, _ = p.names.alignments.get(name, (1, AddressSpace.GLOBAL))
    return (
        bool(p.target.load_aligned)
        and begins % size == 0
        and all(_is_multiple(term, count) for term in _first_lane(p, node))
    )


def _is_multiple(node: Expression, count: int) -> bool:
    """Tell whether an integer is certainly a multiple of a number."""
    if isinstance(node, int):
        return node % count == 0
    if isinstance(node, ex.Sum):
        return all(_is_multiple(child, count) for child in node.children)
    return isinstance(node, ex.Product) and any(_is_multiple(c, count) for c in node.children)
