"""Caches of answers, kept with a kernel or shared by all kernels with equal parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

import islpy as isl

from polygen.ir.kernel import Kernel
from polygen.ir.recomputed import DOUBT

_P = ParamSpec("_P")
_T = TypeVar("_T")

_MOST_FACTS = 20_000
_MOST_SHARED = 2_000  # answers of one function
_MOST_PARAMETERS = 6  # of a set in a key
_NOTHING = object()  # in the place of an answer that is not known


def by_parts(kernel: Kernel, parts: tuple[Any, ...], find: Callable[[], _T]) -> _T:
    """Return what `find` returns, or did for this kernel or one that it was made from, or of.

    Parameters:
        kernel: the kernel.
        parts: what asks, and all that the answer depends on; hashable.
        find: finds the answer.
    """
    facts = kernel.facts
    known: Any = facts.get(parts, _NOTHING)
    if known is not _NOTHING:
        if DOUBT.share:
            DOUBT.check(parts, known, find)
        return known  # type: ignore[no-any-return]
    found = find()
    if len(facts) >= _MOST_FACTS:  # of a family of kernels, in a search
        facts.clear()
    facts[parts] = found
    return found


def tell(kernel: Kernel, function: Callable[[Kernel], _T], result: _T) -> None:
    """Let a function that `per_kernel` returned know its result for a kernel."""
    kernel.memo[function.__wrapped__, ()] = result  # type: ignore[attr-defined]


def answer_of(kernel: Kernel, function: Callable[[Kernel], _T]) -> _T | None:
    """Return what a function that `per_kernel` returned has found; None if nobody asked it."""
    found: _T | None = kernel.memo.get((function.__wrapped__, ()))  # type: ignore[attr-defined]
    return found


def per_kernel(
    function: Callable[Concatenate[Kernel, _P], _T],
) -> Callable[Concatenate[Kernel, _P], _T]:
    """Let a function of a kernel and hashable arguments keep its results with the kernel."""

    @wraps(function)
    def remembered(kernel: Kernel, /, *args: _P.args, **kwargs: _P.kwargs) -> _T:
        key = (function, args) if not kwargs else (function, args, *sorted(kwargs.items()))
        found: Any = kernel.memo.get(key, _NOTHING)
        if found is _NOTHING:
            found = kernel.memo[key] = function(kernel, *args, **kwargs)
        elif DOUBT.share:
            DOUBT.check(key, found, partial(function, kernel, *args, **kwargs))
        return found  # type: ignore[no-any-return]

    return remembered


class _Form:
    """A set of isl's as it is written: equal to those that have the same constraints.

    isl's sets are equal if they have the same elements, which is dear to find out where their
    hashes are the same by chance.

    Parameters:
        found: the set.
    """

    __slots__ = ("_hash", "found")

    def __init__(self, found: Any) -> None:
        self.found = found
        count = found.dim(isl.dim_type.param)
        names = [found.get_dim_name(isl.dim_type.param, position) for position in range(count)]
        self._hash = hash((hash(found), *names))  # isl's hash leaves names out

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, _Form) or type(self.found) is not type(other.found):
            return False
        return self.found is other.found or bool(self.found.plain_is_equal(other.found))


def _is_large(value: Any) -> bool:
    return hasattr(value, "plain_is_equal") and value.dim(isl.dim_type.param) > _MOST_PARAMETERS


def same_form(value: Any) -> Any:
    """Return what stands for a value in a key: of a set of isl's, its constraints count."""
    return _Form(value) if hasattr(value, "plain_is_equal") else value


def shared(function: Callable[_P, _T]) -> Callable[_P, _T]:
    """Let a function of sets keep its results for all kernels.

    Its parameters are all that an answer depends on, and hashable.  Sets are the same whatever the
    names of their dimensions: these must not matter, but those of parameters do.
    """
    known: dict[tuple[Any, ...], Any] = {}

    @wraps(function)
    def remembered(*args: _P.args, **kwargs: _P.kwargs) -> _T:
        if any(map(_is_large, args)):  # and hardly asked for again: a hash is dear
            return function(*args, **kwargs)
        key = tuple([same_form(arg) for arg in (*args, *kwargs.items())])
        found: Any = known.get(key, _NOTHING)
        if found is _NOTHING:
            found = function(*args, **kwargs)
            if len(known) >= _MOST_SHARED:  # the latest are likely to be asked for again
                known.clear()
            known[key] = found
        elif DOUBT.share:
            DOUBT.check((function, *key), found, partial(function, *args, **kwargs))
        return found  # type: ignore[no-any-return]

    return remembered
