"""Substitution rules: names for expressions, such as ``f(x) := x*a[x]``."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.cached import cached_property
from polygen.ir.expression import Expression
from polygen.source import SourceLocation


@dataclass(frozen=True)
class SubstitutionRule:
    """``name(arguments) := expression``: what an invocation of the rule stands for.

    Attributes:
        name: what invocations call it.
        arguments: names that invocations give values to.
        inames: the other names to which invocations give values: those of the inames that the
            expression mentions, sorted.  An iname that a reduction in the expression runs over
            is not among them.
        expression: may invoke other rules.
        location: where the user wrote it; not part of its value.
    """

    name: str
    arguments: tuple[str, ...]
    inames: tuple[str, ...]
    expression: Expression
    location: SourceLocation | None = field(default=None, compare=False)

    @cached_property
    def invocations(self) -> tuple[ex.Invocation, ...]:
        """Its invocations of other substitution rules."""
        return tuple(invocations(self.expression))

    def values(self, use: ex.Invocation) -> dict[str, Expression]:
        """Return what an invocation puts in place of the arguments and inames."""
        names = (*self.arguments, *self.inames)
        return dict(zip(names, (*use.arguments, *use.values), strict=True))

    def with_values(self, values: Mapping[str, Expression]) -> SubstitutionRule:
        """Return the rule with variables of the kernel replaced."""
        own = {*self.arguments, *self.inames}
        others = {name: value for name, value in values.items() if name not in own}
        return replace(self, expression=walk.substitute(self.expression, others))


Rules: TypeAlias = Mapping[str, SubstitutionRule]


def expand(node: Expression, rules: Rules) -> Expression:
    """Return `node` with the invocations of `rules` replaced by what they stand for.

    Other invocations are kept.  The rules must not invoke each other in a circle.
    """

    def inlined(part: ex.Invocation) -> Expression:
        if part.rule not in rules:
            return part
        found = rules[part.rule]
        if len(part.arguments) != len(found.arguments) or part.inames != found.inames:
            raise InternalError(f"an invocation does not fit its rule: {part!r}")
        return walk.substitute(expand(found.expression, rules), found.values(part))

    return rewrite_invocations(node, inlined) if rules else node


def rewrite_invocations(
    node: Expression, rule: Callable[[ex.Invocation], Expression]
) -> Expression:
    """Apply `rule` to every invocation in `node`, innermost first."""
    if ex.Invocation not in walk.classes(node):
        return node
    parts = [
        part if type(part) in walk.LEAVES else rewrite_invocations(part, rule)
        for part in walk.parts(node)
    ]
    new = walk.rebuild(node, tuple(parts))
    return rule(new) if isinstance(new, ex.Invocation) else new


def used_rules(uses: Iterable[ex.Invocation], rules: Rules) -> frozenset[str]:
    """Return the names of the rules that are invoked, through other rules too."""
    found: set[str] = set()
    pending = {use.rule for use in uses}
    while new := pending & rules.keys() - found:
        found |= new
        pending = {use.rule for name in new for use in rules[name].invocations}
    return frozenset(found)


def rules_mentioning(rules: Rules, name: str) -> dict[str, SubstitutionRule]:
    """Return those of the rules that mention a variable, themselves or through others."""
    return {
        rule.name: rule
        for rule in rules.values()
        if name not in rule.arguments
        and name in walk.free_variables(expand(rule.expression, rules))
    }


def invocations(node: Expression) -> list[ex.Invocation]:
    """Return the invocations in `node`, outermost first."""
    if ex.Invocation not in walk.classes(node):
        return []
    found = [node] if isinstance(node, ex.Invocation) else []
    for part in walk.parts(node):
        if type(part) not in walk.LEAVES:
            found += invocations(part)
    return found
