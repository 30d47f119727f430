"""The part of a conjunction of facts that is about some of the names in it, in few constraints.

    0 <= n1 <= n and 0 <= n2 <= n and ... and 0 <= n99 <= n      about n1 and n: 0 <= n1 <= n

Of a kernel with a hundred sizes, a set that mentions three should not carry what is known of the
others: all that isl does with it gets dearer.  Names are taken away one by one (Fourier and
Motzkin), as long as that makes no more constraints and is exact for integers; others stay.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache
from typing import TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import LinearForm, Term
from polygen.analysis.integers.constraint_forms import constraint_forms
from polygen.ir.kernel import Kernel
from polygen.ir.remembered import per_kernel

Fact: TypeAlias = tuple[LinearForm, bool]  # what is not negative; or 0, if that is true

_FEW = 12  # parameters: to leave some out is no gain


class ProjectedFacts:
    """Facts that hold together, each of them affine.

    Parameters:
        facts: the facts.
    """

    def __init__(self, facts: Iterable[Fact]) -> None:
        self._facts = list(facts)
        self._known: dict[frozenset[str], frozenset[Fact]] = {}

    def about(self, names: frozenset[str]) -> frozenset[Fact]:
        """Return what is known of some names: others are mentioned where it takes these to say."""
        if names not in self._known:
            self._known[names] = _Elimination(self._facts, names).run()
        return self._known[names]


class _Elimination:
    def __init__(self, facts: Iterable[Fact], kept: frozenset[str]) -> None:
        self._facts: dict[Term, set[Fact]] = {}
        self._kept = kept
        self._found: set[Fact] = set()
        for fact in facts:
            self._add(fact)

    def run(self) -> frozenset[Fact]:
        others = [name for name in self._facts if name not in self._kept]
        count = -1
        while count != len(others):
            count = len(others)
            others = [name for name in others if not self._eliminate(name)]
        return frozenset(self._found)

    def _eliminate(self, name: Term) -> bool:
        """Take a name away, if that is exact and makes no more facts; tell whether it did."""
        facts = self._facts.get(name)
        if not facts or any(is_equality for _, is_equality in facts):
            return False
        lower = [form for form, _ in facts if form.terms[name] > 0]
        upper = [form for form, _ in facts if form.terms[name] < 0]
        if lower and upper:
            one = [side for side in (lower, upper) if len(side) == 1]
            if not any(abs(side[0].terms[name]) == 1 for side in one):
                return False
        for fact in list(facts):
            self._remove(fact)
        for low in lower:
            for high in upper:
                self._add((low * -high.terms[name] + high * low.terms[name], False))
        return True

    def _add(self, fact: Fact) -> None:
        form, is_equality = fact
        if form.is_constant and not is_equality and form.constant >= 0:
            return
        self._found.add(fact)
        for name in form.terms:
            self._facts.setdefault(name, set()).add(fact)

    def _remove(self, fact: Fact) -> None:
        self._found.discard(fact)
        for name in fact[0].terms:
            self._facts[name].discard(fact)


@per_kernel
def projected_assumptions(kernel: Kernel) -> ProjectedFacts | None:
    """Return the assumptions of a kernel, if they are of many parameters, and no alternatives."""
    known = kernel.assumptions.flat
    if known.dim(isl.dim_type.param) <= _FEW or known.n_basic_set() != 1:
        return None
    (piece,) = known.get_basic_sets()
    if piece.dim(isl.dim_type.div):
        return None
    return ProjectedFacts([(c.form, c.is_equality) for c in constraint_forms(piece)])


@lru_cache(maxsize=4096)
def set_of_facts(facts: frozenset[Fact]) -> isl.Set:
    """Return the flat set in which facts hold."""
    names = sorted({name for form, _ in facts for name in form.names()})
    conditions = [
        " + ".join([*(f"{c}*{t}" for t, c in form.terms.items()), str(form.constant)])
        + (" = 0" if is_equality else " >= 0")
        for form, is_equality in facts
    ]
    return isl.Set(f"[{', '.join(names)}] -> {{ : {' and '.join(conditions)} }}")
