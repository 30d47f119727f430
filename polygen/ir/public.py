"""The decorator of public functions, which refuses arguments of the wrong kind."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from numbers import Real
from typing import (
    Annotated,
    Any,
    ParamSpec,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

from polygen.errors import InvalidArgument, PolygenError
from polygen.ir import expression as ex
from polygen.ir.cached import cached_property
from polygen.ir.signature import Signature
from polygen.source import caller_location

_P = ParamSpec("_P")
_R = TypeVar("_R")


def public(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return `function` so that it refuses arguments that its annotations do not allow.

    Annotations count as far as they name classes; what is in a collection is left to the function.

    Raises:
        InvalidArgument: (the result does) if a call does not fit the function.
    """
    return _checked(function, frozenset())


def public_but(*names: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Return what `public` is for a function that looks at some arguments itself."""
    return lambda function: _checked(function, frozenset(names))


def _checked(function: Callable[_P, _R], left_out: frozenset[str]) -> Callable[_P, _R]:
    interface = _Interface(function, left_out)

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        interface.check(args, kwargs)
        try:
            return function(*args, **kwargs)
        except PolygenError as error:
            _show_as_written(error, (*args, *kwargs.values()))
            raise

    return checked


def in_users_names(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Return `function` so that its errors show names as the user wrote them.

    A kernel that it is given knows them, if these are others in code: `Kernel.names_in_errors`.
    """

    @functools.wraps(function)
    def speaking(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except PolygenError as error:
            _show_as_written(error, args)
            raise

    return speaking


def _show_as_written(error: PolygenError, given: Iterable[object]) -> None:
    for value in given:
        names: Mapping[str, str] | None = getattr(value, "names_in_errors", None)
        if names:
            error.with_names(names)


_Made = TypeVar("_Made")


def public_class(kind: type[_Made]) -> type[_Made]:
    """Return a dataclass so that making an object of it refuses arguments that it does not have.

    Raises:
        InvalidArgument: (making an object does) if a call does not fit.
    """
    make: Callable[..., None] = vars(kind)["__init__"]

    @functools.wraps(make)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            make(self, *args, **kwargs)
        except TypeError:
            Signature(make, skipped=1, name=type(self).__name__).by_name(args, kwargs)
            raise

    type.__setattr__(kind, "__init__", checked)
    return kind


class _Interface:
    def __init__(self, function: Callable[..., object], left_out: frozenset[str]) -> None:
        self._function = function
        self._left_out = left_out
        self._name = function.__qualname__.removesuffix(".__init__")
        self._signature = Signature(function, name=self._name)

    @cached_property
    def _allowed(self) -> dict[str, tuple[type, ...]]:
        """The classes that arguments may be of, for those of which annotations say all."""
        # The type of expressions mentions classes by names.
        hints = get_type_hints(self._function, localns=vars(ex))
        found = {
            name: classes_of(hints[name])
            for name in self._signature.parameters
            if name in hints and name not in self._left_out
        }
        return {name: classes for name, classes in found.items() if classes}

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        given = self._signature.by_name(args, kwargs)
        for name, classes in self._allowed.items():
            if name in given and not is_a(given[name], classes):
                raise no_such(self._name, name, given[name], classes)


def classes_of(hint: Any) -> tuple[type, ...]:
    """Return the classes that a value may be of, or nothing if an annotation does not say that."""
    if hint is None or hint is type(None):
        return (type(None),)
    if hint is float:
        return (Real,)  # whole numbers and NumPy's, too
    if isinstance(hint, TypeVar):
        several: list[Any] = list(hint.__constraints__) or [hint.__bound__ or object]
        return classes_of(Union[*several])
    if get_origin(hint) in (Union, types.UnionType):
        parts = [classes_of(part) for part in get_args(hint)]
        return tuple([c for part in parts for c in part]) if all(parts) else ()
    if get_origin(hint) is Annotated:
        return classes_of(get_args(hint)[0])
    origin = get_origin(hint) or hint
    return (origin,) if isinstance(origin, type) and origin not in (object, Any) else ()


def is_a(value: object, classes: tuple[type, ...]) -> bool:
    """Tell whether a value is of one of some classes, and does what these do.

    NumPy's arrays without axes are of the class of what can be iterated over, and refuse.
    """
    if not isinstance(value, classes):
        return False
    shape: object = getattr(cast("Any", value), "shape", None)
    return not (shape == () and hasattr(value, "__iter__"))


def no_such(
    function: str, name: str, value: object, classes: Sequence[type], remedy: str = ""
) -> InvalidArgument:
    """Return the error that says that an argument is of the wrong kind.

    Parameters:
        function: what was called.
        name: of the argument.
        value: what was given.
        classes: what it may be.
        remedy: what helps; if it is empty, what is usual.
    """
    kinds = in_words(classes)
    no = "neither True nor False" if kinds == [_TRUTH] else f"no {' and no '.join(kinds)}"
    return InvalidArgument(
        f"{function} was given {name}={_shown(value)}, which is {no}",
        where=caller_location(),
        remedy=remedy or _remedy(function, value, kinds),
    )


def _remedy(function: str, value: object, kinds: Sequence[str]) -> str:
    if "kernel" in kinds and hasattr(value, "with_kernel"):
        return f"take one of the program's kernels: {function}(program['name'], ...)"
    if "kernel" in kinds:
        more = "; programs are what merge and parse_program return" if "program" in kinds else ""
        return f"make a kernel: make_kernel(domains, instructions), or parse_kernel(text){more}"
    return f"see help(polygen.{function})"


_TRUTH = "True or False"
_WORDS = {
    "Kernel": "kernel",
    "TranslationUnit": "program",
    "str": "text",
    "int": "integer",
    "bool": _TRUTH,
    "Real": "number",
    **{c.__name__: "collection" for c in (Iterable, Sequence, tuple, list)},
    "Mapping": "dictionary",
    "Callable": "function",
}


def in_words(kinds: Iterable[type]) -> list[str]:
    """Return what users call classes, None left out."""
    named = [kind.__name__ for kind in kinds if kind is not type(None)]
    return list(dict.fromkeys(_WORDS.get(name, name) for name in named))


def _shown(value: object) -> str:
    """Return a value as text; of one that takes lines, the beginning."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:57]}..."
