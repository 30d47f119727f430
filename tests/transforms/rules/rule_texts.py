"""What tests of rules have in common."""

from __future__ import annotations

from polygen.ir.kernel import Kernel
from polygen.ir.show import show_rule
from polygen.ir.show_expression import show_expression

ONE = "{ [i]: 0<=i<n }"
TWO = (ONE, "{ [j]: 0<=j<n }")


def texts_of(knl: Kernel) -> list[str]:
    """Return the rules, and what is computed."""
    rules = [show_rule(rule) for rule in knl.substitutions]
    return [*rules, *(show_expression(insn.values[0]) for insn in knl.assignments)]
