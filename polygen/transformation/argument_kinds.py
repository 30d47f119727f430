"""Annotations of transformations' arguments: inames, names, tags, instructions."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Annotated, Any, TypeAlias, cast, get_args

from polygen.errors import InvalidArgument, NameTaken
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_name
from polygen.ir.public import classes_of, in_words, is_a
from polygen.ir.tags import InameTag, parse_tag
from polygen.language.within import matching, one_id
from polygen.source import caller_location


@dataclass(frozen=True)
class Kind:
    """The kind of an argument: its annotation, and how values are checked.

    Attributes:
        what: how an error names it.
        check: takes the kernel and the value; returns False, or raises, if it will not do.
    """

    what: str
    check: Callable[[Kernel, Any], bool]


def is_iname(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` names an iname; raise UnknownIname if it is another name."""
    if not isinstance(value, str):
        return False
    kernel.check_iname(value)
    return True


def to_names(value: str | Sequence[str] | AbstractSet[str]) -> tuple[str, ...]:
    """Return the names that a text with commas, a sequence, or a set lists."""
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(","))
    return tuple(sorted(value) if isinstance(value, AbstractSet) else value)


def are_inames(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` lists inames; raise UnknownIname if it lists another name."""
    if not isinstance(value, str | Sequence):
        return False
    given = cast("str | Sequence[str]", value)
    return all(is_iname(kernel, name) for name in to_names(given))


def to_functions(value: Iterable[Callable[..., Any]]) -> tuple[Callable[..., Any], ...]:
    """Return functions as a tuple; raise InvalidArgument if something else is among them."""
    found = tuple(value)
    for each in found:
        if not callable(each):
            raise InvalidArgument(
                f"{each!r} is no function",
                where=caller_location(),
                remedy="pass functions in a list",
            )
    return found


def is_one_of(names: Collection[str]) -> Callable[[Kernel, Any], bool]:
    """Return what tells whether a value is one of some names: odd values are not compared."""
    return lambda _, value: isinstance(value, str) and value in names


def is_name(_kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` could be a name."""
    return isinstance(value, str) and value.isascii() and value.isidentifier()


def is_new_name(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` is a text; raise if it cannot be a new name."""
    if not isinstance(value, str):
        return False
    check_name(value)
    if value in kernel.names:
        raise NameTaken(
            f"kernel '{kernel.name}' already has a '{value}'",
            where=caller_location(),
            remedy=f"'{kernel.new_name(value)}' is free",
        )
    return True


def are_texts(value: Any) -> bool:
    """Tell whether `value` is a text, or a sequence of texts."""
    if not isinstance(value, str | Sequence):
        return False
    return all(isinstance(v, str) for v in cast("Sequence[object]", value))


def _is_within(kernel: Kernel, value: Any) -> bool:
    return are_texts(value) and bool(matching(kernel, value))


def is_instruction(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` means one instruction; raise if it means none, or several."""
    return isinstance(value, str) and bool(one_id(kernel, value))


def is_tag(_kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` is a tag; raise MalformedTag if it is a text that stands for none."""
    if isinstance(value, str):
        parse_tag(value)
        return True
    return isinstance(value, get_args(InameTag))


def is_positive(_kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` is a number of iterations that can be counted, at least 1."""
    return isinstance(value, int) and not isinstance(value, bool) and 0 < value < 2**63


Iname: TypeAlias = Annotated[str, Kind("the name of an iname", is_iname)]
Inames: TypeAlias = Annotated[
    str | Sequence[str] | AbstractSet[str], Kind("inames: 'i, j' or a sequence of them", are_inames)
]
Name: TypeAlias = Annotated[str, Kind("a name: letters, digits and underscores", is_name)]
NewName: TypeAlias = Annotated[str, Kind("a name that is not used yet", is_new_name)]
Names: TypeAlias = Annotated[
    str | Sequence[str], Kind("names: 'i, j' or a sequence of them", lambda _, v: are_texts(v))
]
Within: TypeAlias = Annotated[
    str | Sequence[str],
    Kind("ids of instructions, patterns of ids, or a sequence of these", _is_within),
]
InsnId: TypeAlias = Annotated[
    str, Kind("the id of an instruction: 'load' or 'id:load'", is_instruction)
]
Tag: TypeAlias = Annotated[str | InameTag, Kind("an iname tag such as 'g.0' or 'unr'", is_tag)]
PositiveInt: TypeAlias = Annotated[int, Kind("a positive integer below 2**63", is_positive)]


def to_id(kernel: Kernel, value: str) -> str:
    """Return the id of the instruction that an argument of kind `InsnId` means."""
    return one_id(kernel, value)


def to_tag(tag: str | InameTag) -> InameTag:
    """Return the tag that an argument of kind `Tag` stands for."""
    return parse_tag(tag) if isinstance(tag, str) else tag


_PLAIN: dict[object, Kind] = {
    bool: Kind("True or False", lambda _, v: isinstance(v, bool)),
    int: Kind("an integer", lambda _, v: isinstance(v, int) and not isinstance(v, bool)),
    str: Kind("a string", lambda _, v: isinstance(v, str)),
}


def kind_of(annotation: object) -> Kind | None:
    """Return the check that an annotation asks for; ``X | None`` asks for that of ``X``."""
    for candidate in (annotation, *(a for a in get_args(annotation) if a is not type(None))):
        if candidate in _PLAIN:
            return _PLAIN[candidate]
        found = [m for m in getattr(candidate, "__metadata__", ()) if isinstance(m, Kind)]
        if found:
            return found[0]
    classes = classes_of(annotation)
    if not classes:
        return None
    return Kind(f"a {' or a '.join(in_words(classes))}", lambda _, v: is_a(v, classes))
