"""Facts about sizes while a function is traced: known ones, and assumed ones.

A function is traced for arguments of certain sizes.  Where it matters how two sizes compare, these
arguments decide, and the answer becomes a guard of the variant: calls for which it does not hold
get another variant.  Loops are between their bounds, so a question about them becomes one about
sizes.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TypeAlias

from polygen.python.affine import Affine

Range: TypeAlias = tuple[Affine | None, Affine | None]


@dataclass
class SizeFacts:
    """Sizes, their values in the call that is traced, the ranges of loops, and guards.

    Attributes:
        values: the sizes of this call.
        extents: those sizes that are extents of arrays, which are at least 2.
        ranges: of loops, and of integers that data decides: the least and the largest value,
            None where it is not known.
        guards: forms that are at least 0 in all calls of this variant.
        given: forms that are at least 0 because a condition around says so.
    """

    values: dict[str, int] = field(default_factory=dict[str, int])
    extents: set[str] = field(default_factory=set[str])
    ranges: dict[str, Range] = field(default_factory=dict[str, Range])
    guards: dict[Affine, None] = field(default_factory=dict[Affine, None])
    given: list[Affine] = field(default_factory=list[Affine])

    def least(self, form: Affine) -> Affine | None:
        """Return a form in sizes that is at most `form`, wherever loops are; None if unknown."""
        for _ in range(100):
            form = form.without_quotients() if form.symbols() & set(self.ranges) else form
            loops = [s for s in form.symbols() if s in self.ranges]
            if not loops:
                return form if all(s in self.values for s in form.symbols()) else None
            # The innermost one: its bounds mention outer ones.
            order = list(self.ranges)
            name = max(loops, key=order.index)
            low, high = self.ranges[name]
            rising = form.replaced(name, Affine.of("?low"), Affine.of("?high")).symbols()
            if ("?low" in rising and low is None) or ("?high" in rising and high is None):
                return None
            form = form.replaced(name, low or Affine(), high or Affine())
        return None

    def is_never_negative(self, form: Affine) -> bool:
        """Tell whether a form is at least 0 in all iterations; the answer yes is a guard."""
        if self._always(form):
            return True
        return any(self._always(form.minus(known)) for known in self.given)

    def is_always_negative(self, form: Affine) -> bool:
        """Tell whether a form is below 0 in all iterations; the answer yes is a guard."""
        return self.is_never_negative(form.times(-1).minus(1))

    def _always(self, form: Affine) -> bool:
        least = self.least(form)
        if least is None or least.evaluate(self.values) < 0:
            return False
        self._add_guard(least)
        return True

    def _add_guard(self, form: Affine) -> None:
        lowest = form.constant
        for atom, factor in form.terms:
            if not (isinstance(atom, str) and atom in self.extents and factor > 0):
                break
            lowest += 2 * factor
        else:
            if lowest >= 0:
                return  # it holds for all extents
        self.guards[form] = None

    def holds(self, form: Affine) -> bool | None:
        """Tell whether a form in sizes is at least 0 in this call, and make that a guard."""
        if any(s not in self.values for s in form.symbols()):
            return None
        answer = form.evaluate(self.values) >= 0
        self._add_guard(form if answer else form.times(-1).minus(1))
        return answer

    def equal(self, one: Affine, other: Affine) -> bool | None:
        """Tell whether two forms in sizes are equal in this call, and make that a guard."""
        difference = one.minus(other)
        if difference.is_constant:
            return difference.constant == 0
        if any(s not in self.values for s in difference.symbols()):
            return None
        value = difference.evaluate(self.values)
        if value == 0:
            self._add_guard(difference)
            self._add_guard(difference.times(-1))
            return True
        self._add_guard((difference if value > 0 else difference.times(-1)).minus(1))
        return False

    def know(self, form: Affine) -> None:
        """Let a form be at least 0 from here on: the definition of a symbol in it says so."""
        self.given.insert(0, form)  # `assuming` takes its own from the end

    @contextmanager
    def assuming(self, forms: list[Affine]) -> Generator[None]:
        """Let forms be at least 0 while a block is traced."""
        self.given += forms
        try:
            yield
        finally:
            if forms:
                del self.given[-len(forms) :]
