"""Reductions that users define."""

from __future__ import annotations

from typing import cast

from polygen.analysis.typing.functions import FUNCTIONS, check_call
from polygen.errors import InvalidArgument, MalformedExpression, NameTaken, UnknownName
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.atomicity import WORDS
from polygen.ir.dtype import dtype_name, to_dtype
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES
from polygen.ir.names import check_name
from polygen.ir.operation import Definition, Number, Special
from polygen.ir.public import public
from polygen.ir.reduction import BUILT_IN
from polygen.language.operations import add_operation
from polygen.language.parser import parse_expression
from polygen.source import caller_location

CLAIMS = ("associative", "commutative")


@public
def register_reduction(
    name: str,
    combined: str,
    identity: object,
    *,
    arguments: tuple[str, str] = ("a", "b"),
    associative: bool = False,
    commutative: bool = False,
) -> None:
    """Let kernels that are made from now on reduce with an operation of your own.

    ``name(j, x)`` starts from the identity, and makes of it and the first value of ``x`` one, of
    that and the second value one, and so on.  ``name(x, y)`` with values, the first of which is no
    iname, is what it makes of these two; and ``a[i] = name(a[i], x)  {atomic}`` is an atomic
    update if the operation is both associative and commutative.  The definition becomes part of
    each kernel that uses it, and is printed with it.

    Parameters:
        name: what instructions call it.
        combined: what the operation makes of two values, as in ``"a*b % 7"``.
        identity: a number that changes no value that it is combined with; or a dictionary, with
            such a number for each type.
        arguments: the names of the two values in `combined`: what was made so far, and the next.
        associative: whether ``(a o b) o c`` is ``a o (b o c)``.  This is believed, and printed.
        commutative: whether ``a o b`` is ``b o a``.  This is believed, and printed.  Only with both
            claims may steps change the order in which values are combined, and updates by this
            operation be atomic.

    Raises:
        NameTaken: if a function, or another reduction, has this name.
        MalformedExpression: if `combined` is no expression.
        UnknownName: if `combined` mentions something else than the arguments.
        UnknownFunction, WrongArity: if `combined` calls what is no function, or wrongly.
        InvalidArgument: if the identity is no number, or an argument is not used.

    Source: Loo.py's ``register_reduction_parser``.

    >>> import numpy as np
    >>> import polygen as pg
    >>> pg.register_reduction("xor_all", "a ^ b", 0, associative=True, commutative=True)
    >>> knl = pg.make_kernel("{ [j]: 0<=j<n }", "out[0] = xor_all(j, x[j])")
    >>> evt, (out,) = knl(x=np.array([1, 2, 7]))
    >>> out
    array([4])
    """
    claims = tuple(c for c, said in zip(CLAIMS, (associative, commutative), strict=True) if said)
    operation = make_operation(name, arguments, parse_expression(combined), identity, claims)
    if not add_operation(operation):
        raise NameTaken(
            f"another reduction is registered as '{name}'",
            where=caller_location(),
            remedy="give this one another name",
        )


def make_operation(
    name: str,
    arguments: tuple[str, ...],
    combined: Expression,
    identity: object,
    claims: tuple[str, ...],
) -> Special:
    """Return the operation that a user defines.

    Parameters and errors are those of `register_reduction`.
    """
    for each in (name, *arguments):
        check_name(each)
    if (
        name in BUILT_IN or name in FUNCTIONS or name in FETCHES or name in WORDS
    ):  # those that are no reserved names
        raise NameTaken(
            f"'{name}' cannot be the name of a reduction: "
            + ("it is a word of {atomic=...}" if name in WORDS else "a function has this name"),
            where=caller_location(),
            remedy=f"give the reduction another name, such as '{name}_'",
        )
    if len(arguments) != 2 or arguments[0] == arguments[1]:
        raise InvalidArgument(
            f"the reduction '{name}' has the arguments {', '.join(arguments)}; it combines two",
            where=caller_location(),
            remedy="name two: arguments=('a', 'b')",
        )
    mentioned = walk.free_variables(combined)
    for argument in arguments:
        if argument not in mentioned:
            raise InvalidArgument(
                f"the reduction '{name}' makes nothing of '{argument}'",
                where=caller_location(),
                remedy="combine both of the arguments",
            )
    if unknown := sorted(mentioned.difference(arguments)):
        raise UnknownName(
            f"the reduction '{name}' mentions '{unknown[0]}', which is none of its arguments",
            where=caller_location(),
            remedy=f"its arguments are {' and '.join(arguments)}",
        )
    if any(isinstance(e, ex.Reduction | ex.Subscript) for e in walk.subexpressions(combined)):
        raise MalformedExpression(
            f"the reduction '{name}' is defined by a subscript or by another reduction",
            where=caller_location(),
            remedy="combine two numbers",
        )
    for part in walk.subexpressions(combined):
        if isinstance(part, ex.Call):
            check_call(part)
    first, second = arguments
    definition = Definition((first, second), combined, _identity(name, identity), claims)
    return Special(name, None, definition)


def _identity(name: str, identity: object) -> Number | tuple[tuple[str, Number], ...]:
    if isinstance(identity, dict):
        by_type = cast("dict[object, object]", identity)
        found = {dtype_name(to_dtype(t)): _number(name, v) for t, v in by_type.items()}
        return tuple(sorted(found.items()))
    return _number(name, identity)


def _number(name: str, value: object) -> Number:
    if not isinstance(value, bool | int | float):
        raise InvalidArgument(
            f"the identity of the reduction '{name}' is {value!r}, which is no number",
            where=caller_location(),
            remedy="pass a number, or a dictionary from types to numbers",
        )
    return value
