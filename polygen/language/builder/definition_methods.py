"""Definitions of a `polygen.Builder`: substitution rules, and functions that are called."""

from __future__ import annotations

from typing import Any

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.callables import ScalarCallable
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.names import usable_name
from polygen.ir.public import public, public_but
from polygen.ir.substitution import SubstitutionRule
from polygen.language.builder.builder_arguments import Names, Place, words_of
from polygen.language.builder.called_handles import FunctionHandle, RuleHandle
from polygen.language.builder.draft import Draft, of_builder
from polygen.language.builder.open_blocks import place_here
from polygen.language.handles import Computed, Handle
from polygen.language.trees import readable_alone


class DefinitionMethods(Draft):
    """The methods of `Builder` that define what is called."""

    @public_but("arguments")
    @of_builder
    def rule(
        self, like: str, arguments: Names, expression: Any, *, location: Place = None
    ) -> RuleHandle:
        r"""Define a substitution rule, and return what invokes it: ``f(x) := x*a[x]`` in text.

        Parameters:
            like: its name, if that is free.
            arguments: the names of its arguments.
            expression: what it stands for: a function of its arguments, or a tree that mentions
                them by their names.  Loops in it are those around an invocation.
            location: its place.

        Raises:
            MalformedInstruction: if there is something in it that polygen does not have.
            ReservedName: if an argument has a name that no variable may have.

        >>> import polygen as pg
        >>> b = pg.Builder()
        >>> n = b.size("n")
        >>> x, y = b.array("x", "float64", (n,)), b.array("y", "float64", (n,))
        >>> near = b.rule("near", "at", lambda at: x[at - 1] + x[at + 1])
        >>> with b.loop("i", 2, n - 2) as i:
        ...     y[i] = near(i - 1) - near(i + 1)
        >>> print(str(b.kernel()).partition("INSTRUCTIONS:\n")[2].partition("\n---")[0])
        [i] y[i] = near(i - 1) - near(i + 1)  {id=insn}
        """
        with self._at(location):
            names = words_of(arguments)
            given: Any = expression
            if callable(given) and not isinstance(given, ex.ExpressionNode | Handle):  # trees are
                names = self._own_names(names)
                given = given(*[Computed(ex.Variable(name)) for name in names])
            body: Expression = readable_alone(given)
            self._mentioned |= walk.free_variables(body).difference(names)
            name = self.name(like)
            self._rules.append(SubstitutionRule(name, names, (), body, place_here()))
            return RuleHandle(name)

    def _own_names(self, names: tuple[str, ...]) -> tuple[str, ...]:
        """Return names of arguments that mean nothing else so far."""
        found: list[str] = []
        for like in names:
            word = usable_name(like)
            name, count = word, 0
            while name in self._owned or name in self._mentioned or name in found:
                name, count = f"{word}_{count}", count + 1
            found.append(name)
        return tuple(found)

    @public
    @of_builder
    def function(
        self, like: str, meaning: Kernel | ScalarCallable, *, location: Place = None
    ) -> FunctionHandle:
        """Let the kernel call a function of yours, or another kernel; return what calls it.

        Parameters:
            like: its name, if that is free.
            meaning: a kernel, as `make_function` or another builder makes it; or C code.
            location: its place.

        >>> import numpy as np
        >>> import polygen as pg
        >>> inner = pg.Builder()
        >>> m = inner.size("m")
        >>> row, twice = inner.array("row", None, (m,)), inner.array("twice", None, (m,))
        >>> with inner.loop("k", 0, m) as k:
        ...     twice[k] = 2*row[k]
        >>> b = pg.Builder()
        >>> n = b.size("n")
        >>> x, y = b.array("x", "float64", (n, n)), b.array("y", "float64", (n, n))
        >>> double = b.function("double", inner.kernel())
        >>> with b.loop("i", 0, n) as i:
        ...     b.assign(b.part("j", lambda j: y[i, j]), double(n, b.part("j", lambda j: x[j, i])))
        'double_'
        >>> event, (result,) = b.kernel()(x=np.array([[1.0, 2], [3, 4]]))
        >>> print(result)
        [[2. 6.]
         [4. 8.]]
        """
        with self._at(location):
            name = self.name(like)
            self._functions[name] = meaning
            return FunctionHandle(name)
