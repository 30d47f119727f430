"""Handles of a `polygen.Builder` for what is called: functions, rules, routines of libraries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polygen.ir import expression as ex
from polygen.ir.expression import Expression
from polygen.language.handles import Computed, Handle, tree_of


@dataclass(frozen=True, slots=True)
class FunctionHandle:
    """Stands for a function, or for a kernel that is called: calls of it are values.

    Attributes:
        name: what the kernel calls it.
    """

    name: str

    def __call__(self, *arguments: Any) -> Handle:
        """Return what it makes of values."""
        return Computed(ex.Call(ex.Variable(self.name), tuple(map(tree_of, arguments))))


@dataclass(frozen=True, slots=True)
class RuleHandle:
    """Stands for a substitution rule: calls of it are what the rule stands for.

    Attributes:
        name: what the kernel calls it.
        tag: what tells some invocations from others, or None.
    """

    name: str
    tag: str | None = None

    def __call__(self, *arguments: Any, **inames: Any) -> Handle:
        """Return what it stands for.

        Parameters:
            arguments: values of its arguments.
            inames: values of inames that it mentions, where these are not what they are around.
        """
        given = tuple(map(tree_of, arguments))
        values = tuple(map(tree_of, inames.values()))
        return Computed(ex.Invocation(self.name, self.tag, given, tuple(inames), values))

    def tagged(self, tag: str) -> RuleHandle:
        """Return what makes invocations with a tag, as ``f$tag(x)`` is one."""
        return RuleHandle(self.name, tag)


@dataclass(frozen=True, slots=True, repr=False)
class LibraryValue:
    """The result of a routine of a library: `Builder.assign` takes it.

    Attributes:
        routine: its name.
        operands: the arrays that it is given.
        numbers: those that it is given, by name.
        options: what is said by words.
    """

    routine: str
    operands: tuple[Expression, ...]
    numbers: tuple[tuple[str, Expression], ...]
    options: tuple[tuple[str, str], ...]

    def __repr__(self) -> str:
        return f'what library("{self.routine}", ...) returns'
