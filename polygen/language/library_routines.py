"""The routines of numerical libraries: what each takes, and the kernel that computes the same.

    c = library("gemm", a, b, alpha=2, beta=1)

stands for a call of the kernel ``out[i, j] = alpha*sum(l, a[i, l]*b[l, j]) + beta*out[i, j]``,
with ``c`` for ``out``: analyses look at that.  `ROUTINES` says what there is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np

from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.kernel import Kernel
from polygen.language.make_kernel import make_kernel
from polygen.language.routine_table import ROUTINES, Form, Routine


@cache
def routine_kernel(form: Form) -> Kernel:
    """Return the kernel that computes what a routine does."""
    routine = ROUTINES[form.routine]
    text = _BODIES[form.routine](_Writer(form))
    numbers = [ValueArg(name) for name in (*routine.size_names(form), *form.numbers)]
    shapes = routine.shapes(form)
    arrays = [
        GlobalArg(name, np.int32 if name in routine.integers else None, shape=shapes[name])
        for name in form.arrays
    ]
    return make_kernel(
        text.domains,
        text.instructions,
        [*numbers, *arrays],
        name=form.routine,
        loop_priority=text.priority or None,
        silenced_warnings=("AmbiguousNesting",),
    )


@dataclass(frozen=True)
class _Body:
    """The text of a kernel.

    Attributes:
        domains: its loop domains.
        instructions: its instructions.
        priority: which loops are outside of which.
    """

    domains: Sequence[str]
    instructions: str
    priority: str = ""


@dataclass(frozen=True)
class _Writer:
    """Writes expressions of a form of a routine."""

    form: Form

    def is_transposed(self, option: str = "trans") -> bool:
        """Tell whether an array is taken with its axes exchanged."""
        return self.form.option(option) != "N"

    def operand(self, name: str, i: str, j: str, option: str = "trans") -> str:
        """Return an element of an array as an option says it is taken."""
        said = self.form.option(option)
        if said == "N":
            return f"{name}[{i}, {j}]"
        return f"conj({name}[{j}, {i}])" if said == "C" else f"{name}[{j}, {i}]"

    def number(self, name: str, value: str) -> str:
        """Return a value times a number that the call may give."""
        return f"{name}*{value}" if name in self.form.numbers else value

    def added(self, value: str, index: str) -> str:
        """Return a value and a multiple of what a result begins with."""
        value = self.number("alpha", value)
        if "beta" not in self.form.numbers:
            return value
        return f"{value} + beta*{self.form.begin('out')}[{index}]"


def _gemm(w: _Writer) -> _Body:
    product = f"{w.operand('a', 'i', 'l', 'trans_a')}*{w.operand('b', 'l', 'j', 'trans_b')}"
    value = w.added(f"sum(l, {product})", "i, j")
    return _Body(["{ [i, j]: 0<=i<m and 0<=j<n }", "{ [l]: 0<=l<k }"], f"out[i, j] = {value}")


def _gemv(w: _Writer) -> _Body:
    value = w.added(f"sum(l, {w.operand('a', 'i', 'l')}*x[l])", "i")
    rows, columns = ("n", "m") if w.is_transposed() else ("m", "n")
    return _Body([f"{{ [i]: 0<=i<{rows} }}", f"{{ [l]: 0<=l<{columns} }}"], f"out[i] = {value}")


_BODIES: Mapping[str, Callable[[_Writer], _Body]] = {"gemm": _gemm, "gemv": _gemv}
assert _BODIES.keys() == ROUTINES.keys()

__all__ = ["ROUTINES", "Form", "Routine", "routine_kernel"]
