"""Conditions that data decides once for a whole run, as parameters: a proof by cases.

``idx[4] > 1`` holds in all instances or in none, if nothing writes ``idx``.  With a parameter in
its place, which may have any value, a kernel stands for both cases, and sets say exactly what is
done in either.  What is true of two such kernels for all values of the parameters is true of the
two kernels, whatever the data is; that they read what these conditions read is left out.
"""

from __future__ import annotations

import numpy as np

from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.isl_affine import condition_set
from polygen.analysis.integers.known_facts import is_never_written
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import ValueArg
from polygen.ir.expression import Expression
from polygen.ir.instruction import identical
from polygen.ir.kernel import Kernel


def with_cases(old: Kernel, new: Kernel) -> tuple[Kernel, Kernel] | None:
    """Return two kernels with parameters in place of conditions that data decides for a whole run.

    None if there are no such conditions.

    Parameters:
        old: a kernel.
        new: another one, with the same arguments, and the same tables of constants.
    """
    cases = _Cases(old, new)
    both = tuple(cases.put_into(kernel) for kernel in (old, new))
    if not cases.names:
        return None
    scalars = [ValueArg(name, dtype=np.dtype(np.int64)) for name in cases.names]
    before, after = (k.copy(arguments=(*k.arguments, *scalars)) for k in both)
    return before, after


class _Cases:
    """Gives each condition a name.

    Attributes:
        names: of the parameters, each with the condition that it stands for.
    """

    def __init__(self, old: Kernel, new: Kernel) -> None:
        self._both = old, new
        self._integers = integer_parameters(old) & integer_parameters(new)
        self.names: dict[str, Expression] = {}

    def put_into(self, kernel: Kernel) -> Kernel:
        """Return a kernel with parameters in place of conditions."""
        insns = (insn.map_expressions(self._with_choices) for insn in kernel.instructions)
        return kernel.copy(
            instructions=tuple(
                [i.copy(predicates=tuple(map(self._condition, i.predicates))) for i in insns]
            )
        )

    def _with_choices(self, node: Expression) -> Expression:
        """Return an expression with parameters in place of what its ``if(c, a, b)`` ask."""
        if ex.If not in walk.classes(node):
            return node
        return walk.rewrite(node, self._choice)

    def _choice(self, node: Expression) -> Expression:
        if not isinstance(node, ex.If):
            return node
        condition, *others = walk.parts(node)
        return walk.rebuild(node, (self._condition(condition), *others))

    def _condition(self, node: Expression) -> Expression:
        if isinstance(node, ex.LogicalAnd | ex.LogicalOr | ex.LogicalNot):
            return walk.rebuild(node, tuple(map(self._condition, walk.parts(node))))
        if not self._is_stable(node) or condition_set(node, self._integers) is not None:
            return node
        return ex.Comparison(ex.Variable(self._name(node)), ">", 0)

    def _is_stable(self, node: Expression) -> bool:
        """Tell whether a condition has one value in all instances of both kernels."""
        if walk.reductions(node):
            return False
        return all(self._is_constant(name) for name in walk.free_variables(node))

    def _is_constant(self, name: str) -> bool:
        return all(
            isinstance(kernel.variables.get(name), ValueArg) or is_never_written(kernel, name)
            for kernel in self._both
        )

    def _name(self, condition: Expression) -> str:
        for name, known in self.names.items():
            if identical(known, condition):
                return name
        old, new = self._both
        name = old.new_name("case", {*new.names, *self.names})
        self.names[name] = condition
        return name
