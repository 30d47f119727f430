"""Finds what two kernels do not compute alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Protocol

import islpy as isl

from polygen.analysis.dataflow.comparison_context import Context
from polygen.analysis.pairs.instance_pairs import witness
from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.ir.instruction import Assigning, Assignment
from polygen.ir.show_expression import show_expression

# Reads all arrays after everything else.
END = Assignment("__end", ex.Variable("__end"), 0)


@dataclass(frozen=True)
class At:
    """An instance: an instruction, and where its inames are in the witness.

    Attributes:
        insn_id: the instruction; None stands for what was there before the kernel.
        names: for each iname, the name of its value in the witness.
    """

    insn_id: str | None
    names: Mapping[str, str]


@dataclass(frozen=True)
class Difference:
    """Something that the new kernel does not compute as the old one does.

    Attributes:
        insn_id: the instruction that computes something else, or `END`'s.
        name: the variable whose value is another, if it is one.
        what: what is wrong, where it is not that a value comes from elsewhere.
        certain: whether this is so for certain; otherwise it cannot be decided.
        reader: the instance that sees another value.
        before: where the value came from.
        now: where it comes from after the step.
        point: the values of all names for which this is so.
    """

    insn_id: str
    name: str | None = None
    what: str = ""
    certain: bool = True
    reader: At | None = None
    before: At | None = None
    now: At | None = None
    point: Mapping[str, int] | None = None

    @property
    def is_work(self) -> bool:
        """Whether an expression is another, not only what its values come from."""
        return self.certain and self.reader is None


class Comparing(Protocol):
    """The protocol of `Matcher` (room `values`), which compares expressions of two kernels."""

    def match(self, old: Expression, new: Expression, at: Context) -> Difference | None:
        """Return how the values of two expressions differ, or None if they do not."""


def undecided(insn: Assigning, name: str | None, what: str) -> Difference:
    """Return that nobody can tell whether an instruction computes the same."""
    return Difference(insn.id, name, what=what, certain=False)


def other_work(old: Expression, new: Expression, at: Context, bad: isl.Set) -> Difference:
    """Return that an expression is another at some points."""
    return work_at(old, new, at, witness(bad))


def work_at(old: Expression, new: Expression, at: Context, point: Mapping[str, int]) -> Difference:
    """Return that an expression is another at one point."""
    if at.old.insn is END:
        name = ex.name_of(old)
        what = f"'{name}' would end with {show_expression(new)}, which is something else"
        return Difference(END.id, name, what, point=point)
    if at.new.insn is END:
        name = ex.name_of(new)
        what = f"'{name}' would not end with {show_expression(old)} any more"
        return Difference(END.id, name, what, point=point)
    what = f"it would compute {show_expression(new)} instead of {show_expression(old)}"
    return Difference(at.old.insn.id, what=what, point=point)
