"""Calls of many compiled functions, whose kernels are compiled as few C sources.

A call is made up to where a kernel is to be compiled, which is put off; all sources are compiled as
one; then all calls are made again, on new copies of their arguments: until all have ended.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pytest

from polygen.runtime.backends.c.c_compiler import load_library
from polygen.runtime.backends.opencl.opencl_driver import build, default_context
from tests.jit.agreement import Outcome, outcome
from tests.properties.together import own_helpers

_LOAD = "polygen.runtime.backends.c.c_function.load_library"
_BUILD = "polygen.runtime.backends.opencl.opencl_backend.build"
Call: TypeAlias = "tuple[Callable[..., Any], Sequence[Any]]"


class _PutOffError(BaseException):
    """A source is there, and is compiled later: nothing on the way catches this."""


def outcomes(
    calls: Sequence[Call], patch: pytest.MonkeyPatch, target: str = "c"
) -> list[Outcome | Exception]:
    """Return what each call leaves, or the error that it raises.

    Parameters:
        calls: functions, as `pg.jit` returns them, no two of one name, and their arguments.
        patch: restores what is put in the compiler's place.
        target: the one that they were compiled for: ``"c"`` or ``"opencl"``.
    """
    libraries: dict[tuple[str, ...], Any] = {}
    wanted: dict[tuple[str, ...], list[str]] = {}

    def load(source: str, options: tuple[str, ...] = (), *_: Any) -> Any:
        if (source, *options) not in libraries:
            wanted[source, *options] = list(options)
            raise _PutOffError
        return libraries[source, *options]

    found: dict[int, Outcome | Exception] = {}
    while len(found) < len(calls):
        wanted.clear()
        with patch.context() as patched:
            if target == "c":
                patched.setattr(_LOAD, load)
            else:
                patched.setattr(_BUILD, lambda _context, *rest: load(*rest))
            for number, (function, arguments) in enumerate(calls):
                if number not in found:
                    _try(found, number, function, arguments)
        _compile(list(wanted), libraries, target)
    return [found[number] for number in range(len(calls))]


def _try(
    found: dict[int, Outcome | Exception],
    number: int,
    function: Callable[..., Any],
    arguments: Sequence[Any],
) -> None:
    try:
        found[number] = outcome(function, arguments)
    except _PutOffError:
        return
    except Exception as error:  # what is raised instead of a result is looked at
        found[number] = error


def _compile(
    keys: Sequence[tuple[str, ...]],
    libraries: dict[tuple[str, ...], Any],
    target: str,
    part: int = 40,
) -> None:
    """Compile sources with the same options together, and keep the library for each."""
    by_options: dict[tuple[str, ...], list[tuple[str, ...]]] = defaultdict(list)
    for key in keys:
        by_options[key[1:]].append(key)
    for options, alike in by_options.items():
        for some in (alike[at : at + part] for at in range(0, len(alike), part)):
            text = "\n".join(own_helpers(key[0], number) for number, key in enumerate(some))
            if target == "c":
                library = load_library(text, options)
            else:
                library = build(default_context(), text, options)
            libraries.update(dict.fromkeys(some, library))
