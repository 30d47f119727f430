"""Several steps in a row: `apply` for steps that are written down, `replay` for recorded ones."""

from __future__ import annotations

import functools
import inspect
import pkgutil
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from importlib import import_module
from types import FunctionType
from typing import Any, TypeAlias, TypeVar, cast, get_type_hints

from polygen import transforms
from polygen.errors import InvalidArgument, UserError, did_you_mean
from polygen.ir.kernel import Kernel, Step
from polygen.ir.public import classes_of, no_such, public
from polygen.language.programs import TranslationUnit
from polygen.source import caller_location

WrittenStep: TypeAlias = Sequence[Any]
_Whole = TypeVar("_Whole", bound=Kernel | TranslationUnit)
_PREFIX = f"{transforms.__name__}."


@public
def apply(kernel: _Whole, steps: Iterable[WrittenStep]) -> _Whole:
    """Take steps that are written down as data, one after the other: for searches and files.

    A step is a tuple or a list: the name of a transformation, and then its arguments without the
    kernel.  A dictionary at the end holds arguments by name, unless the call needs it as an
    argument by position (as ``("tag_inames", {"i": "g.0"})`` does); an empty one after that
    settles it in any case.  A function in the place of the name is a transformation, or a recipe,
    of one's own.  What `find_schedule` returns is of this form.

    Each step is checked, proved and recorded as if it were called: see `Kernel.history`.

    Parameters:
        kernel: a kernel, or a program with one entry point.
        steps: the steps; none give the same kernel back.

    Returns:
        What the last step returns.

    Raises:
        InvalidArgument: if a step has not this form, or there is no transformation of that name.
        UserError: what the step raises; the message begins with its number and name.

    >>> import polygen as pg
    >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = 2*a[i]")
    >>> knl = pg.apply(knl, [
    ...     ("split_iname", "i", 16, {"outer_tag": "g.0"}),
    ...     ("tag_inames", {"i_inner": "l.0"}),
    ... ])
    >>> [f"{iname}: {tag}" for iname, tag in knl.tags.items()]
    ['i_outer: g.0', 'i_inner: l.0']
    >>> pg.apply(knl, [("assume", "n >= 1"), ("reverse", "j")])
    Traceback (most recent call last):
        ...
    polygen.errors.UnknownIname: step 2 of 2, reverse: kernel 'polygen_kernel' has no iname 'j'
    ...
    """
    written = _listed(steps)
    for number, step in enumerate(written, start=1):
        place = f"step {number} of {len(written)}"
        function, arguments = _taken_apart(step, place)
        name = _name(function)
        with _named(f"{place}, {name}"):
            args, kwargs = _by_kind(function, arguments)
            _check_call(function, args, kwargs)
            new = function(kernel, *args, **kwargs)
        if not isinstance(new, type(kernel)):
            raise _malformed(f"{place}, {name}: it returned {new!r}, which is no kernel")
        kernel = new
    return kernel


@public
def replay(original: _Whole, history: Iterable[Step]) -> _Whole:
    """Apply recorded steps to a kernel, one after the other.

    For every kernel, ``replay(knl.original, knl.history) == knl``; on another kernel, the same
    steps are a recipe.

    Parameters:
        original: the kernel to start from, or a program with one entry point.
        history: the steps, as `Kernel.history` has them.

    Raises:
        UserError: if a step does not apply to the kernel that it meets; the message begins with its
            number and name.
    """
    kernel = original
    steps = tuple(history)
    _check_steps(steps)
    for number, step in enumerate(steps, start=1):
        with _named(f"step {number} of {len(steps)}, {step.name}"):
            kernel = cast("Any", step.apply)(kernel, **dict(step.arguments))
    return kernel


def _check_steps(steps: Sequence[object]) -> None:
    for step in steps:
        if not isinstance(step, Step):
            raise no_such("replay", "step", step, (Step,))


@contextmanager
def _named(step: str) -> Generator[None]:
    """Let errors begin with what step they are about."""
    try:
        yield
    except UserError as error:
        raise error.inside(step) from error


def _listed(steps: object) -> list[object]:
    # A single step in the place of several is the usual slip.
    if isinstance(steps, str | Mapping) or _is_step(steps):
        raise _malformed(f"apply was given steps={steps!r}, which is no list of steps")
    return list(cast("Iterable[object]", steps))


def _is_step(value: object) -> bool:
    """Tell whether a value is a tuple or a list that begins with a name or a function."""
    if not isinstance(value, tuple | list):
        return False
    parts = cast("Sequence[object]", value)
    return bool(parts) and (isinstance(parts[0], str) or callable(parts[0]))


def _taken_apart(step: object, place: str) -> tuple[Callable[..., object], list[Any]]:
    if not _is_step(step):
        raise _malformed(f"{place} is {step!r}, which does not begin with a name or a function")
    first, *arguments = cast("Sequence[Any]", step)
    if not isinstance(first, str):
        return first, arguments
    known = _transformations()
    if first not in known:
        raise InvalidArgument(
            f"{place}: there is no transformation '{first}'",
            where=caller_location(),
            remedy=did_you_mean(first, known) + "; one of your own is given as a function",
        )
    return getattr(import_module(known[first]), first), arguments


@functools.cache
def _transformations() -> Mapping[str, str]:
    """Return the module of each transformation, by name: of files in rooms, those offered."""
    offered = frozenset(import_module("polygen").__all__)  # it imports this module
    modules = [module.name for module in pkgutil.walk_packages(transforms.__path__, _PREFIX)]
    by_name = {module.rpartition(".")[2]: module for module in modules}
    return {name: module for name, module in by_name.items() if name in offered}


def _by_kind(
    function: Callable[..., object], arguments: Sequence[Any]
) -> tuple[Sequence[Any], Mapping[str, Any]]:
    """Return the arguments by position, and those by name."""
    if not arguments or not _is_by_name(function, arguments[:-1], arguments[-1]):
        return arguments, {}
    return arguments[:-1], arguments[-1]


def _check_call(
    function: Callable[..., object], args: Sequence[Any], kwargs: Mapping[str, Any]
) -> None:
    """Check that arguments fit a recipe; transformations do so themselves.

    Raises:
        InvalidArgument: if they do not.
    """
    if hasattr(function, "__wrapped__"):
        return
    try:
        inspect.signature(function).bind(None, *args, **kwargs)
    except (TypeError, ValueError) as error:
        raise _malformed(f"it cannot be called like this: {error}") from None


def _is_by_name(function: Callable[..., object], before: Sequence[Any], last: object) -> bool:
    """Tell whether the last of the arguments is a dictionary of arguments by name."""
    if not isinstance(last, dict):
        return False
    names = cast("dict[object, Any]", last)
    if not all(isinstance(name, str) for name in names):
        return False
    signature = inspect.signature(function)
    named: dict[str, Any] = {str(n): v for n, v in names.items() if n != "unsafe"}
    try:
        signature.bind(None, *before, **named)
    except TypeError:
        # Neither: then what is said of the names is of more use, if no dictionary fits here.
        return not _takes_a_dictionary(function, signature, 1 + len(before))
    return True


def _takes_a_dictionary(
    function: Callable[..., object], signature: inspect.Signature, position: int
) -> bool:
    parameters = [
        p for p in signature.parameters.values() if p.kind not in (p.KEYWORD_ONLY, p.VAR_KEYWORD)
    ]
    if any(p.kind is p.VAR_POSITIONAL for p in parameters):
        return True
    if position >= len(parameters):
        return False
    hints = get_type_hints(inspect.unwrap(function))
    classes = classes_of(hints.get(parameters[position].name, object))
    return not classes or any(issubclass(dict, kind) for kind in classes)


def _name(function: Callable[..., object]) -> str:
    return function.__name__ if isinstance(function, FunctionType) else repr(function)


def _malformed(what: str) -> InvalidArgument:
    return InvalidArgument(
        what,
        where=caller_location(),
        remedy='a step is a tuple, ("split_iname", "i", 16, {"outer_tag": "g.0"}); several are a '
        "list of these",
    )
