"""A switch for debugging: answers that are kept are found again at random, and compared.

`polygen.ir.remembered` keeps answers under keys, which have to say all that an answer depends on.
A key that leaves something out gives one kernel the answer of another.  With this switch, an answer
that is found under its key is computed again, as often as asked for, and has to be the same.

    POLYGEN_RECOMPUTE=0.05 pytest tests/proof     # one answer in twenty
    with recomputing(0.05): ...
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, is_dataclass
from random import Random
from types import FunctionType
from typing import Any, cast

import numpy as np

from polygen.errors import InternalError


@dataclass
class Doubt:
    """The probability with which kept answers are recomputed.

    Attributes:
        share: of the answers that are asked for again, the part that is found again.
        random: chooses them, in each run the same ones.
    """

    share: float = 0.0
    random: Random = field(default_factory=lambda: Random(0))  # noqa: S311  (no secret)

    def check(self, key: tuple[Any, ...], kept: Any, find: Callable[[], Any]) -> None:
        """Find an answer again, by chance, and compare it with the one that is kept.

        Raises:
            InternalError: if it is another one.
        """
        if self.random.random() >= self.share:
            return
        share, self.share = self.share, 0.0  # what this one rests on has turns of its own
        try:
            again = find()
        finally:
            self.share = share
        if not is_same(kept, again):
            function, *rest = key
            name = getattr(function, "__qualname__", function)
            raise InternalError(
                f"{getattr(function, '__module__', '')}.{name} kept an answer under a key that "
                f"does not say all that it depends on: {tuple(rest)!r}\n  kept: {kept!r}\n  "
                f"found again: {again!r}"
            )


DOUBT = Doubt(float(os.environ.get("POLYGEN_RECOMPUTE") or 0))


@contextmanager
def recomputing(share: float, seed: int = 0) -> Generator[None]:
    """Doubt kept answers meanwhile.

    Parameters:
        share: 1 for all of them.
        seed: decides which ones, if not all.
    """
    before = DOUBT.share, DOUBT.random
    DOUBT.share, DOUBT.random = share, Random(seed)  # noqa: S311  (no secret)
    try:
        yield
    finally:
        DOUBT.share, DOUBT.random = before


def is_same(one: Any, other: Any) -> bool:
    """Tell whether two answers are equal: isl's sets by their elements, the rest part by part."""
    if one is other:
        return True
    kind = cast("type[object]", type(one))
    if kind is not type(other):
        return False
    for known, compare in _COMPARED:
        if known(one):
            return compare(one, other)
    compares_itself = vars(object)["__eq__"] is not getattr(kind, "__eq__", None)
    if not compares_itself and hasattr(one, "__dict__"):
        return is_same(vars(one), vars(other))
    return bool(one == other)


def _are_in_turn(one: Any, other: Any) -> bool:
    return len(one) == len(other) and all(map(is_same, one, other))


def _are_mapped_alike(one: Mapping[Any, Any], other: Mapping[Any, Any]) -> bool:
    return one.keys() == other.keys() and all(is_same(one[k], other[k]) for k in one)


def _have_same_fields(one: Any, other: Any) -> bool:
    names = [f.name for f in fields(one) if f.compare]
    return all(is_same(getattr(one, name), getattr(other, name)) for name in names)


def _are_one_set(one: Any, other: Any) -> bool:
    equal = getattr(one, "is_equal", None) or getattr(one, "plain_is_equal", None)
    return bool(equal(other)) if equal is not None else str(one) == str(other)


def _are_one_function(one: FunctionType, other: FunctionType) -> bool:
    cells = [[c.cell_contents for c in f.__closure__ or ()] for f in (one, other)]
    return one.__code__ is other.__code__ and is_same(*cells)


_COMPARED: tuple[tuple[Callable[[Any], bool], Callable[[Any, Any], bool]], ...] = (
    (lambda x: isinstance(x, tuple | list), _are_in_turn),
    (lambda x: isinstance(x, Mapping), cast("Any", _are_mapped_alike)),
    (lambda x: type(x).__module__.startswith("islpy"), _are_one_set),
    (lambda x: isinstance(x, np.ndarray), np.array_equal),
    (lambda x: isinstance(x, FunctionType), _are_one_function),
    (is_dataclass, _have_same_fields),
)
