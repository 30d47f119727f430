"""Kernels whose accesses are known to be sound, and what a step leaves as it was in them.

A kernel is *sound* if every access is inside its array, if reads of temporaries see what was
written before, and if any two instances that touch one element, one of them writing, are ordered
with the loops nested as they are; what data decides aside.  A step that is proved keeps that.
It is less than well formed: what is made within a step may leave open how loops are nested.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TypeAlias

from polygen.analysis.access.accesses import Reference, known_names, references_by_name
from polygen.analysis.access.domains import domain_temporaries, with_surrounding
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.values.unaffected_variables import Settled
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

_Where: TypeAlias = tuple[str, tuple[Expression, ...], frozenset[str], tuple[Expression, ...]]


def note_sound(kernel: Kernel) -> None:
    """Note that a kernel is known to be sound."""
    kernel.notes.sound = True


def is_sound(kernel: Kernel) -> bool:
    """Tell whether a kernel is known to be sound."""
    return kernel.notes.sound


def keeps_sound(old: Kernel, new: Kernel) -> bool:
    """Tell whether a step that is proved makes a sound kernel of a sound kernel."""
    reassociated = (k.options.allow_reassociation for k in (old, new))
    return is_sound(old) and set(old.claims) <= set(new.claims) and len({*reassociated}) == 1


def only_adds_types(old: Kernel, new: Kernel) -> bool:
    """Tell whether a kernel is another one that says more of the types of arrays, or as much."""
    mentioned = ("domains", "instructions", "substitutions", "tags", "priorities", "assumptions")
    if any(getattr(old, name) != getattr(new, name) for name in (*mentioned, "derived_sizes")):
        return False
    if list(old.variables) != list(new.variables):
        return False
    return all(map(_is_typed, old.variables.values(), new.variables.values()))


def _is_typed(before: object, after: object) -> bool:
    for kind in (GlobalArg, TemporaryVariable):
        if isinstance(before, kind) and isinstance(after, kind) and before.dtype is None:
            return replace(after, dtype=None) == before
    return before == after


@dataclass(frozen=True)
class Unchanged:
    """The parts of a kernel that are known to be as in a sound one.

    Attributes:
        variables: those that are touched as they were, and in the same order.
        references: what is mentioned in both kernels (see `where`), in the same loops, where data
            has no say in it.
    """

    variables: frozenset[str] = frozenset()
    references: frozenset[_Where] = frozenset()


NOTHING = Unchanged()


def where(reference: Reference) -> _Where:
    """Return what decides which elements of which variable a reference touches."""
    return reference.name, reference.index, reference.inames, reference.conditions


def unchanged(old: Kernel, new: Kernel, settled: Settled) -> Unchanged:
    """Return what is the same in the result of a step as in the kernel before.

    Parameters:
        old: the kernel before.
        new: the kernel after; it has the same arguments and assumptions.
        settled: which variables are touched as before.
    """
    if not keeps_sound(old, new) or integer_parameters(old) != integer_parameters(new):
        return NOTHING
    kept = [n for n, v in new.variables.items() if old.variables.get(n) == v]
    return Unchanged(
        frozenset(n for n in kept if n in new.writers and settled.holds(n)),
        frozenset(
            where(r)
            for name in kept
            for r in references_by_name(old).get(name, ())
            if _same_loops(old, new, r) and _is_free_of_data(old, r)
        ),
    )


def _is_free_of_data(kernel: Kernel, reference: Reference) -> bool:
    nodes = (*reference.index, *reference.conditions)
    names = NO_NAMES.union(*map(walk.free_variables, nodes))
    if reference.vague or not names <= known_names(kernel, reference):
        return False
    return not domain_temporaries(kernel, with_surrounding(kernel, reference.inames))


def _same_loops(old: Kernel, new: Kernel, reference: Reference) -> bool:
    inames = with_surrounding(old, reference.inames)
    return all(old.home_domains[i] is new.home_domains.get(i) for i in inames)
