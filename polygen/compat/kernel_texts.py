"""What Loo.py takes in the texts and arguments of a kernel, in polygen's form."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import polygen as pg
from polygen.compat.arguments import DisplacedArray
from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.language.parser import parse_expression
from polygen.source import caller_location

# isl reads no further than the first brace that closes.
_SURPLUS = re.compile(r"([^{}]*\{[^{}]*\})[\s})\];]*")


def without_surplus(domains: Any) -> Any:
    """Return domains without braces too many at their ends: ``{[k]: 0<=k<n}}``."""
    if isinstance(domains, str):
        found = _SURPLUS.fullmatch(domains)
        return found[1] if found else domains
    if isinstance(domains, list | tuple):
        return [without_surplus(domain) for domain in cast("Sequence[Any]", domains)]
    return domains


def with_own_shapes(data: Sequence[Any], instructions: Any) -> list[Any]:
    """Return arguments with a shape for arrays that nothing mentions, and that have none.

    Such a one has one axis, of the extent of what is passed.
    """
    text = f"{instructions}"
    found: list[Any] = []
    extents: list[Any] = []
    for given in data:
        is_open = isinstance(given, pg.GlobalArg) and given.shape is None
        names = [name.strip() for name in given.name.split(",")] if is_open else []
        idle = [name for name in names if not re.search(rf"\b{name}\b", text)]
        if not idle:
            found.append(given)
            continue
        shapes = {name: (ex.Variable(f"{name}_len"),) if name in idle else None for name in names}
        found += [replace(given, name=name, shape=shape) for name, shape in shapes.items()]
        extents += [pg.ValueArg(f"{name}_len") for name in idle]
    return [*found, *extents]


def with_displaced(kernel: pg.Kernel, array: DisplacedArray) -> pg.Kernel:
    """Return a kernel with what is read and written of an array further back in it.

    Raises:
        InvalidArgument: if the array has several axes.
    """
    name, offset = array.name, parse_expression(str(array.offset))
    argument = next(a for a in kernel.arguments if a.name == name and isinstance(a, pg.GlobalArg))
    shape = argument.shape or ()
    if len(shape) != 1:
        raise InvalidArgument(
            f"'{name}' has offset={array.offset}, no shape, and not one axis",
            where=caller_location(),
            remedy="give its shape, and pass it as it begins: array[offset:]",
        )

    def moved(node: Expression) -> Expression:
        if not isinstance(node, ex.Subscript) or ex.name_of(node) != name:
            return node
        (index,) = ex.index_tuple(node)
        return ex.Subscript(ex.Variable(name), ex.sum_of(index, offset))

    def rewritten(node: Expression) -> Expression:
        return walk.rewrite(node, moved)

    longer = replace(argument, shape=(ex.sum_of(shape[0], offset),))
    return kernel.copy(
        arguments=tuple([longer if a is argument else a for a in kernel.arguments]),
        instructions=tuple([i.map_expressions(rewritten) for i in kernel.instructions]),
        substitutions=tuple(
            [replace(r, expression=rewritten(r.expression)) for r in kernel.substitutions]
        ),
    )
