"""Arguments of the methods of `polygen.Builder`: places, names, targets, values."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeAlias, cast

from polygen.errors import InvalidArgument, MalformedInstruction, NameTaken
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.public import is_a
from polygen.ir.show_expression import show_expression
from polygen.language.handles import Handle, Loop
from polygen.language.statement import Statement
from polygen.language.trees import readable_alone
from polygen.source import SourceLocation, caller_location

Name: TypeAlias = str | ex.Variable | Handle
Names: TypeAlias = Name | Iterable[Name]
# Ids of instructions, each perhaps with a relation between its instances and those after it.
Before: TypeAlias = Names | Mapping[Name, str | None]
Operand: TypeAlias = Expression | Handle | Callable[[Loop], Any]  # of a reduction
Place: TypeAlias = SourceLocation | tuple[Any, ...] | None


def place_of(location: object) -> SourceLocation | None:
    """Return a place that may have been given as a tuple.

    Raises:
        InvalidArgument: if it is none.
    """
    if location is None or isinstance(location, SourceLocation):
        return location
    kinds = (str, int, int, int)
    given = several(location)
    fits = 2 <= len(given) <= 4 and all(
        isinstance(part, kind) or (part is None and at > 1)
        for at, (part, kind) in enumerate(zip(given, kinds, strict=False))
    )
    if not fits:
        raise InvalidArgument(
            f"location={location!r} is no place in a file",
            where=caller_location(),
            remedy="pass (file, line), or (file, line, column, end)",
        )
    made: Any = SourceLocation
    return cast("SourceLocation", made(*given))


def taken(name: str) -> NameTaken:
    """Return the error that says that a name is in use."""
    return NameTaken(
        f"the builder has something called '{name}' already",
        where=caller_location(),
        remedy="use what stands for it, or another name; temporaries and loops get names of their "
        "own",
    )


def is_argument(variable: Argument | TemporaryVariable) -> bool:
    """Tell whether the caller passes a variable."""
    return not isinstance(variable, TemporaryVariable)


def condition_of(conditions: tuple[Any, ...]) -> Expression | None:
    """Return one condition for several that all have to hold; None for none."""
    return all_of([*map(readable_alone, conditions)]) if conditions else None


def all_of(conditions: Sequence[Expression]) -> Expression:
    """Return the condition that holds where several do."""
    return ex.LogicalAnd(tuple(conditions)) if len(conditions) > 1 else conditions[0]


def reduced_in(said: Statement) -> frozenset[str]:
    """Return the inames over which an instruction reduces."""
    return NO_NAMES.union(*map(walk.reduction_inames, said.values))


def several(given: object) -> tuple[object, ...]:
    """Return what is given, which is one or a tuple of several, as a tuple."""
    return (*cast("Iterable[object]", given),) if isinstance(given, tuple) else (given,)


def target_of(node: Any) -> Expression:
    """Return what is assigned to, in the form that the language has."""
    target = readable_alone(node)
    if not isinstance(target, ex.Variable | ex.Subscript | ex.SubArrayRef):
        raise InvalidArgument(
            f"{show_expression(target)} cannot be assigned to",
            where=caller_location(),
            remedy="pass a variable, an element of an array, or a part of one for a kernel that is "
            "called",
        )
    return target


def values_of(value: Any, count: int) -> tuple[Expression, ...]:
    """Return a value for each of the targets: the results of one call, if that is what it is."""
    if isinstance(value, tuple):
        values = tuple(map(readable_alone, several(cast("object", value))))
        if len(values) != count:
            raise MalformedInstruction(
                f"{len(values)} values are assigned to {count} targets",
                where=caller_location(),
                remedy="pass as many values as targets",
            )
        return values
    whole = readable_alone(value)
    return (whole,) if count < 2 else tuple([ex.Component(whole, n) for n in range(count)])


def prefix_of(
    targets: tuple[Expression, ...], value: Any, functions: Mapping[str, object]
) -> str | None:
    """Return how the id of a call of a kernel begins, as `make_kernel` lets it begin.

    Parameters:
        targets: what the instruction assigns to.
        value: what it assigns.
        functions: those that the builder knows.
    """
    if not isinstance(value, ex.Call):
        return None
    name, parts = ex.name_of(value.function), (*targets, *value.parameters)
    is_call = isinstance(functions.get(name), Kernel)
    return name if is_call or any(isinstance(p, ex.SubArrayRef) for p in parts) else None


def words_of(names: Names) -> tuple[str, ...]:
    """Return names, given as one or several texts or variables, as texts."""
    if isinstance(names, str | ex.Variable | Handle):
        return (word_of(names),)
    if not is_a(names, (Iterable,)):
        raise _no_name(names)
    return tuple([word_of(name) for name in names])


def word_of(name: Name) -> str:
    """Return a name, given as a text or as what stands for it, as a text."""
    if isinstance(name, Loop):
        return name.iname
    if isinstance(name, ex.Variable | Handle):
        return name.name
    if not isinstance(cast("object", name), str):
        raise _no_name(name)
    return name


def options_of(
    *,
    id: str | None = None,  # noqa: A002  (as options call it)
    within: Names | None = None,
    after: Before = (),
    when: Any = (),
    tags: Iterable[str] = (),
) -> dict[str, Any]:
    """Return the options that all instructions have, as `Said` has them.

    Raises:
        InvalidArgument: if one is no such option.
        MalformedInstruction: if there is something in a condition that polygen does not have.
    """
    return {
        "id": id_of(id),
        "inames": None if within is None else frozenset(words_of(within)),
        "predicates": tuple(map(readable_alone, several(when))),
        "tags": frozenset(words_of((tags,) if isinstance(tags, str) else tags)),
        **before_of(after),
    }


def before_of(after: Before) -> dict[str, Any]:
    """Return the options that say what comes before an instruction, as `Said` has them."""
    pairs = pairs_of(after)
    return {
        "dependencies": tuple([name for name, said in pairs if said is None and name != "*"]),
        "exhaustive": ("*", None) in pairs,
        "related": tuple([(name, said) for name, said in pairs if said is not None]),
    }


def pairs_of(given: Names | Mapping[Name, Any]) -> tuple[tuple[str, Any], ...]:
    """Return names, each with what a dictionary says of it, or None."""
    if isinstance(given, Mapping):
        said_of = cast("Mapping[Name, Any]", given)
        return tuple([(word_of(name), said) for name, said in said_of.items()])
    return tuple([(name, None) for name in words_of(given)])


def id_of(given: str | None) -> str | None:
    """Return an id that an instruction may have, or None.

    Raises:
        InvalidArgument: if it is no identifier.
    """
    return None if given is None else _identifier(given, "the id of an instruction")


def c_name_of(given: str) -> str:
    """Return a name that text in the target's language may have.

    Raises:
        InvalidArgument: if it is no identifier.
    """
    return _identifier(given, "a name in C")


def _identifier(given: str, what: str) -> str:
    if given.isascii() and given.isidentifier():
        return given
    raise InvalidArgument(
        f"'{given}' cannot be {what}",
        where=caller_location(),
        remedy="use letters, digits and underscores",
    )


def _no_name(given: object) -> InvalidArgument:
    return InvalidArgument(
        f"{given!r} is no name",
        where=caller_location(),
        remedy="pass a text, a loop or a variable, or several of these",
    )
