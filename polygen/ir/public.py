"""What is true of all functions that users call: arguments of the wrong kind are refused."""

from __future__ import annotations

import functools
import inspect
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

from polygen.errors import InvalidArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir.cached import cached_property
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
        return function(*args, **kwargs)

    return checked


_Made = TypeVar("_Made")


def public_class(kind: type[_Made]) -> type[_Made]:
    """Return a dataclass so that making an object of it refuses arguments that it does not have.

    Raises:
        InvalidArgument: (making an object does) if a call does not fit.
    """
    make: Callable[..., None] = vars(kind)["__init__"]
    signature = inspect.signature(make)

    @functools.wraps(make)
    def checked(self: object, *args: Any, **kwargs: Any) -> None:
        try:
            make(self, *args, **kwargs)
        except TypeError as error:
            if _fits(signature, (self, *args), kwargs):
                raise
            raise _not_made(type(self).__name__, signature, error, kwargs) from None

    type.__setattr__(kind, "__init__", checked)
    return kind


def _fits(signature: inspect.Signature, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> bool:
    try:
        signature.bind(*args, **kwargs)
    except TypeError:
        return False
    return True


def _not_made(
    name: str, signature: inspect.Signature, error: TypeError, kwargs: Mapping[str, Any]
) -> InvalidArgument:
    """Return the error for a call that does not fit a class."""
    parameters = list(signature.parameters.values())[1:]
    needed = [p.name for p in parameters if p.default is p.empty]
    names = [p.name for p in parameters]
    shown = ", ".join([*needed, *[f"{n}=..." for n in names if n not in needed]])
    for given in kwargs:
        if given not in names:
            return InvalidArgument(
                f"{name} has no argument '{given}'",
                where=caller_location(),
                remedy=f"{did_you_mean(given, names)}; it is {name}({shown})",
            )
    return InvalidArgument(
        f"{name} cannot be made like this: {str(error).partition('() ')[2]}",
        where=caller_location(),
        remedy=f"it is {name}({shown})",
    )


class _Interface:
    def __init__(self, function: Callable[..., object], left_out: frozenset[str]) -> None:
        self._function = function
        self._left_out = left_out
        self._name = function.__qualname__.removesuffix(".__init__")
        self._signature = inspect.signature(function)
        parameters = self._signature.parameters.values()
        by_position = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
        self._positional = [p.name for p in parameters if p.kind in by_position]
        self._needed = {p.name for p in parameters if p.default is p.empty}

    @cached_property
    def _allowed(self) -> dict[str, tuple[type, ...]]:
        """The classes that arguments may be of, for those of which annotations say all."""
        # The type of expressions mentions classes by names.
        hints = get_type_hints(self._function, localns=vars(ex))
        parameters = self._signature.parameters.values()
        plain = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
        found = {
            name: classes_of(hints[name])
            for name in plain
            if name in hints and name not in self._left_out
        }
        return {name: classes for name, classes in found.items() if classes}

    def check(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> None:
        given: Mapping[str, Any] = dict(zip(self._positional, args, strict=False))
        if kwargs or len(given) < len(args) or not self._needed <= given.keys():
            try:  # which takes ten times as long
                given = self._signature.bind(*args, **kwargs).arguments
            except TypeError as error:
                raise self._does_not_fit(error, kwargs) from None
        for name, classes in self._allowed.items():
            if name in given and not is_a(given[name], classes):
                raise no_such(self._name, name, given[name], classes)

    def _does_not_fit(self, error: TypeError, kwargs: Mapping[str, Any]) -> InvalidArgument:
        parameters = self._signature.parameters
        for name in kwargs:
            if name not in parameters:
                return InvalidArgument(
                    f"{self._name} has no argument '{name}'",
                    where=caller_location(),
                    remedy=did_you_mean(name, parameters.keys() - {"self"}),
                )
        return InvalidArgument(
            f"{self._name} cannot be called like this: {error}",
            where=caller_location(),
            remedy=f"it is {self._name}{self._signature}",
        )


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
