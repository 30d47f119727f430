"""Compares integer expressions whose normal forms differ: by isl, where they are affine.

``i % 97 // 3 // 2`` and ``i % 97 // 6`` are the same, and need not be written alike as polynomials
with floors.  That is rare, and isl takes its time: normal forms are compared first.
"""

from __future__ import annotations

from typing import Any

from polygen.analysis.integers.isl_affine import to_aff
from polygen.validation.polynomial import (
    Floor,
    Monomial,
    Polynomial,
    floor_divided,
    linear_form,
    plus,
    times,
)


def is_same(found: Any, wanted: Any) -> bool:
    """Tell whether two terms (`terms.key`) have the same value, whatever that of their names."""
    if found == wanted:
        return True
    kind = found.__class__
    if kind is not wanted.__class__:
        return False
    if kind is frozenset:
        return _is_zero(_with_names(plus(dict(found), dict(wanted), -1), {}))
    if kind is not tuple or len(found) != len(wanted):
        return False
    return all(map(is_same, found, wanted))


def _with_names(value: Polynomial, names: dict[Any, str]) -> Polynomial:
    """Return a polynomial with a name in the place of each atom that is neither name nor floor."""
    result: Polynomial = {}
    for monomial, coefficient in value.items():
        product: Polynomial = {(): coefficient}
        for atom in monomial:
            product = times(product, _named(atom, names))
        result = plus(result, product)
    return result


def _named(atom: Any, names: dict[Any, str]) -> Polynomial:
    if isinstance(atom, str):
        return {(atom,): 1}
    if isinstance(atom, Floor):
        return floor_divided(_with_names(dict(atom.numerator), names), atom.divisor)
    return {(names.setdefault(atom, f"<{len(names)}>"),): 1}


def _is_zero(value: Polynomial) -> bool:
    """Tell whether a polynomial is 0 for all values, one name after the other factored out."""
    longest: Monomial = max(value, key=len, default=())
    if len(longest) > 1:
        return any(_is_zero_by(value, atom) for atom in longest if isinstance(atom, str))
    if any(not _is_affine(atom) for monomial in value for atom in monomial):
        return False
    aff = to_aff(linear_form(value))
    return bool(aff.ne_set(aff.scale_val(0)).is_empty())


def _is_zero_by(value: Polynomial, name: str) -> bool:
    with_it: Polynomial = {}
    without: Polynomial = {}
    for monomial, coefficient in value.items():
        if name in monomial:
            at = monomial.index(name)
            with_it[*monomial[:at], *monomial[at + 1 :]] = coefficient
        else:
            without[monomial] = coefficient
    return _is_zero(with_it) and _is_zero(without)


def _is_affine(atom: Any) -> bool:
    if isinstance(atom, str):
        return True
    inner: list[Monomial] = [monomial for monomial, _ in atom.numerator]
    return all(len(m) <= 1 and all(map(_is_affine, m)) for m in inner)
