"""Names in the second of two instances."""

from __future__ import annotations

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel

OTHER = "'"  # no name in a kernel has one


def in_other(kernel: Kernel, value: Expression) -> Expression:
    """Return the value that an expression of inames has in the second instance."""
    names = [n for n in walk.free_variables(value) if n not in kernel.variables]
    return walk.substitute(value, {n: ex.Variable(n + OTHER) for n in names})
