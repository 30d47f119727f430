"""Claims about pairs of values, proved by induction.

A *claim* is that two expressions have the same value at all pairs of instances of a set.  To prove
it, the values that go into both are compared, and so on.  Where that leads back to the two
expressions, at other instances, what is claimed may be used: each read sees a write that comes
before it, so what is used is about earlier instances.  Where it leads to instances of which
nothing is claimed, the claim is widened, and proved anew.

Source: S. Verdoolaege, G. Janssens, M. Bruynooghe, "Equivalence checking of static affine programs
using widening to handle recurrences", TOPLAS 34(3), 2012, sections 5 and 6.  There a proof that
fails ends; here it says of which pairs it holds, since a sum may be of parts in another order.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeAlias

import islpy as isl

from polygen.analysis.dataflow.comparison_context import executed
from polygen.analysis.dataflow.computed_difference import END
from polygen.analysis.equality.compared_values import Value, in_names, onto

_FIRST, _SECOND = "__a_", "__b_"
_MOST_PROOFS = 8  # of one claim, each about other pairs
_MOST_OPEN = 25  # claims that are used to prove each other

Key: TypeAlias = tuple[object, object]
Comparing: TypeAlias = Callable[[Value, Value, isl.Set], isl.Set]


class _WiderError(Exception):
    """A claim has to be made of more pairs."""

    def __init__(self, key: Key, pairs: isl.Set) -> None:
        super().__init__()
        self.key, self.pairs = key, pairs


@dataclass
class _Open:
    """A claim that is being proved.

    Attributes:
        pairs: of what it is made.
        used: whether it was used for itself.
        widened: how often it was widened.
    """

    pairs: isl.Set
    used: bool = False
    widened: int = 0


@dataclass
class Claims:
    """The claims that are being proved, and what came of others."""

    _open: dict[Key, _Open] = field(default_factory=dict[Key, _Open])
    _known: dict[Key, list[tuple[isl.Set, isl.Set]]] = field(
        default_factory=dict[Key, list[tuple[isl.Set, isl.Set]]]
    )
    _log: list[Key] = field(default_factory=list[Key])

    def holds(self, a: Value, b: Value, points: isl.Set, compare: Comparing) -> isl.Set:
        """Return those of some points at which two values are proved to be the same.

        Parameters:
            a: a value of the first kernel.
            b: one of the second.
            points: where they are compared.
            compare: finds where they are the same, by what goes into them.
        """
        names = _named(a, _FIRST), _named(b, _SECOND)
        own = {**_renaming(a, names[0]), **_renaming(b, names[1])}
        pairs = in_names(onto(points, a.names | b.names), own).coalesce()
        key = (a.key, b.key)
        back = {new: old for old, new in own.items()}
        found = self._found(key, pairs)
        if found is None:
            found = self._proved(key, (a.named(names[0]), b.named(names[1])), pairs, compare)
        return points.intersect(in_names(found, back))

    def _found(self, key: Key, pairs: isl.Set) -> isl.Set | None:
        """Return what is known of a claim, or may be used; None if it has to be proved."""
        for tried, held in self._known.get(key, ()):
            if pairs.is_subset(tried):
                return held
        claim = self._open.get(key)
        if claim is None:
            return None if len(self._open) < _MOST_OPEN else _nothing(pairs)
        if pairs.is_subset(claim.pairs):
            claim.used = True
            return claim.pairs
        raise _WiderError(key, pairs)

    def _proved(
        self, key: Key, values: tuple[Value, Value], pairs: isl.Set, compare: Comparing
    ) -> isl.Set:
        claim = _Open(pairs)
        for _ in range(_MOST_PROOFS):
            claim.used = False
            start = len(self._log)
            self._open[key] = claim
            try:
                held = compare(*values, claim.pairs).coalesce()
            except _WiderError as error:
                self._forget(start)
                if error.key != key:
                    raise
                claim.widened += 1
                claim.pairs = _wider(values, claim, error.pairs)
                continue
            finally:
                del self._open[key]
            if not claim.used or claim.pairs.is_subset(held):
                self._known.setdefault(key, []).append((claim.pairs, held))
                self._log.append(key)
                return held
            self._forget(start)
            claim.pairs = held
        return _nothing(pairs)

    def _forget(self, start: int) -> None:
        """Forget what was proved with the help of a claim that did not hold."""
        for key in self._log[start:]:
            self._known[key].pop()
        del self._log[start:]


def _nothing(pairs: isl.Set) -> isl.Set:
    return isl.Set.empty(pairs.get_space())


def _named(value: Value, prefix: str) -> dict[str, str]:
    return {iname: prefix + iname for iname in value.frame.names}


def _renaming(value: Value, names: dict[str, str]) -> dict[str, str]:
    return {old: names[iname] for iname, old in value.frame.names.items()}


def _wider(values: tuple[Value, Value], claim: _Open, more: isl.Set) -> isl.Set:
    """Return the pairs that a claim is made of next."""
    together = claim.pairs.union(more).coalesce()
    there = [
        onto(together, value.names) if value.frame.insn is END else executed(value.frame)[0]
        for value in values
    ]
    if claim.widened > _MOST_PROOFS // 2:
        return there[0].intersect(there[1])
    return together.affine_hull().to_set().intersect(there[0]).intersect(there[1]).union(together)
