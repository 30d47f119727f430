"""`polygen.extract_subst`."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated

from polygen.analysis.integers.unification import replace_matches
from polygen.errors import InvalidArgument, NothingMatches
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_rule
from polygen.ir.substitution import SubstitutionRule
from polygen.language.parser import parse_invocation
from polygen.language.rules import make_rule
from polygen.language.within import matching
from polygen.source import caller_location
from polygen.transformation import Kind, Names, NewName, Within, to_names, transformation

Template = Annotated[
    str | ex.ExpressionNode,
    Kind("an expression", lambda _, value: isinstance(value, str | ex.ExpressionNode)),
]


@transformation
def extract_subst(
    kernel: Kernel,
    subst_name: NewName,
    template: Template,
    parameters: Names = (),
    within: Within | None = None,
) -> Kernel:
    """Make a substitution rule of all expressions of one form.

    What is written is no expression: of ``a[i] = a[i-1]`` the template ``a[x]`` matches the right
    side.  Expressions match that are written alike; ``a[i+1]`` does not match ``a[1+i]``.

    Kind: expression rewrite.

    Requires:
        1. The name is not used yet.
        2. The template mentions each parameter.
        3. Something matches the template.

    Parameters:
        subst_name: the name of the rule.
        template: an expression, as text or as a node.
        parameters: the names in it that stand for any expression: the arguments of the rule.
        within: the instructions to look at: an id, a pattern, or several of these; if not given,
            all of them, and the other rules.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = a[i+1] - a[i]", name="difference")
        >>> knl = pg.extract_subst(knl, "read", "a[x]", "x")
        >>> text = str(knl)
        >>> print(text[text.index("SUBSTITUTION") :])
        SUBSTITUTION RULES:
        read(x) := a[x]
        ---------------------------------------------------------------------------
        INSTRUCTIONS:
        [i] out[i] = read(i + 1) - read(i)  {id=insn}
        ---------------------------------------------------------------------------

    Raises:
        NameTaken, ReservedName: if 1 does not hold.
        InvalidArgument: if 2 does not hold.
        NothingMatches: if 3 does not hold.
        MalformedExpression: if the template is no expression.

    Source: Loo.py's transformation of this name.
    """
    names = to_names(parameters) if parameters else ()
    body = parse_invocation(template) if isinstance(template, str) else template
    rule = make_rule(subst_name, names, body, kernel)
    _check_parameters(rule)
    ids = {insn.id for insn in matching(kernel, within)}
    new = kernel.copy(
        instructions=tuple(
            insn.map_reads(lambda e: _extracted(e, rule)) if insn.id in ids else insn
            for insn in kernel.instructions
        ),
        substitutions=tuple(
            _in_rule(other, rule) if within is None else other for other in kernel.substitutions
        ),
    )
    if new is kernel:
        raise NothingMatches(
            f"extract_subst: nothing in kernel '{kernel.name}' has the form of {show_rule(rule)}",
            where=caller_location(),
            remedy="expressions match that are written as the template is; print(kernel) shows how",
        )
    return new.copy(substitutions=(*new.substitutions, rule))


def _check_parameters(rule: SubstitutionRule) -> None:
    for name in rule.arguments:
        if name not in walk.free_variables(rule.expression):
            raise InvalidArgument(
                f"extract_subst: the template does not mention its parameter '{name}'",
                where=caller_location(),
                excerpt=show_rule(rule),
                remedy="leave the parameter out",
            )


def _extracted(node: Expression, rule: SubstitutionRule) -> Expression:
    def invocation(values: dict[str, Expression]) -> Expression:
        arguments = tuple(values[name] for name in rule.arguments)
        inames = tuple(ex.Variable(iname) for iname in rule.inames)
        return ex.Invocation(rule.name, None, arguments, rule.inames, inames)

    return replace_matches(node, rule.expression, rule.arguments, invocation)


def _in_rule(other: SubstitutionRule, rule: SubstitutionRule) -> SubstitutionRule:
    """Return another rule with what matches replaced."""
    mentioned = walk.free_variables(rule.expression).difference(rule.arguments)
    if not mentioned.isdisjoint(other.arguments):
        return other  # there, the name means something else
    return replace(other, expression=_extracted(other.expression, rule))
