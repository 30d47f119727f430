"""Checks substitution rules and their invocations."""

from __future__ import annotations

import graphlib
from collections.abc import Collection, Mapping

from polygen.errors import (
    MalformedKernel,
    RuleCycle,
    UnknownName,
    UnknownRule,
    UserError,
    WrongArity,
    did_you_mean,
)
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.show import show_instruction, show_rule
from polygen.ir.show_expression import show_expression
from polygen.ir.substitution import SubstitutionRule, expand


def check_rules(kernel: Kernel) -> None:
    """Check the substitution rules of a kernel, and all invocations of them.

    Raises:
        UserError: the subclass that says what does not fit.
    """
    for rule in kernel.substitutions:
        _check_names(kernel, rule)
    uses: list[tuple[ex.Invocation, Instruction | SubstitutionRule]] = []  # and what they stand in
    for rule in kernel.substitutions:
        uses += [(use, rule) for use in rule.invocations]
    for insn in kernel.instructions:
        uses += [(use, insn) for use in insn.invocations]
    for use, place in uses:
        if _does_not_fit(use, kernel.rules):
            check_invocation(use, kernel.rules, _text(kernel, place), place.location)
    if kernel.substitutions:
        check_circles(kernel.substitutions)
    for use, place in uses:
        _check_capture(use, kernel, place)


def _text(kernel: Kernel, place: Instruction | SubstitutionRule) -> str:
    if isinstance(place, SubstitutionRule):
        return show_rule(place)
    return show_instruction(place, kernel.inames)


def _does_not_fit(use: ex.Invocation, rules: Mapping[str, SubstitutionRule]) -> bool:
    rule = rules.get(use.rule)
    return (
        rule is None or len(use.arguments) != len(rule.arguments) or {*use.inames} != {*rule.inames}
    )


def _check_names(kernel: Kernel, rule: SubstitutionRule) -> None:
    own = (*rule.arguments, *rule.inames)
    known = {*own, *kernel.variables}
    reduced = walk.reduction_inames(rule.expression)
    if len(set(own)) < len(own):
        name = next(n for n in own if own.count(n) > 1)
        raise _malformed(rule, f"rule '{rule.name}' has two arguments '{name}'", "rename one")
    for name in sorted(walk.free_variables(rule.expression) - known):
        raise UnknownName(
            f"rule '{rule.name}' mentions '{name}', which is no argument of it, no iname, and no "
            "variable of the kernel",
            where=rule.location,
            excerpt=show_rule(rule),
            remedy=did_you_mean(name, known),
        )
    for iname in sorted(reduced):
        kernel.check_iname(iname)
        if iname in own:
            raise _malformed(
                rule,
                f"rule '{rule.name}' reduces over '{iname}', which has a value in it already",
                "use another iname for the reduction",
            )


def _malformed(rule: SubstitutionRule, what: str, remedy: str) -> MalformedKernel:
    return MalformedKernel(what, where=rule.location, excerpt=show_rule(rule), remedy=remedy)


def check_invocation(
    use: ex.Invocation, rules: Mapping[str, SubstitutionRule], text: str, where: object
) -> None:
    """Check that a rule is there and has as many arguments as an invocation gives it.

    Parameters:
        use: the invocation.
        rules: those of the kernel.
        text: what the invocation stands in.
        where: where that was written.

    Raises:
        UnknownRule, WrongArity, UnknownName: if it is not so.
    """

    def refusal(kind: type[UserError], what: str, remedy: str) -> UserError:
        return kind(what, where=where, excerpt=text, remedy=remedy)

    rule = rules.get(use.rule)
    if rule is None:
        raise refusal(UnknownRule, f"there is no rule '{use.rule}'", did_you_mean(use.rule, rules))
    if len(use.arguments) != len(rule.arguments):
        raise refusal(
            WrongArity,
            f"'{show_expression(use)}' gives {len(use.arguments)} arguments to rule '{rule.name}', "
            f"which takes {len(rule.arguments)}",
            f"it is defined by {show_rule(rule)}",
        )
    for name in sorted({*use.inames} ^ {*rule.inames}):
        raise refusal(
            UnknownName,
            f"'{show_expression(use)}' says what '{name}' is, which is no iname in rule "
            f"'{rule.name}'"
            if name in use.inames
            else f"'{show_expression(use)}' does not say what '{name}' is in rule '{rule.name}'",
            f"it is defined by {show_rule(rule)}",
        )


def check_circles(rules: Collection[SubstitutionRule]) -> None:
    """Check that no rule invokes itself, through others or at once.

    Raises:
        RuleCycle: if one does.
    """
    graph = {rule.name: {use.rule for use in rule.invocations} for rule in rules}
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        circle: list[str] = error.args[1]
        raise RuleCycle(
            "these rules would never end: " + " is part of ".join(f"'{n}'" for n in circle),
            where=next(rule.location for rule in rules if rule.name in circle),
            excerpt="\n".join(show_rule(rule) for rule in rules if rule.name in circle),
            remedy="a rule stands for an expression, so it cannot be defined by itself",
        ) from None


def _check_capture(
    use: ex.Invocation, kernel: Kernel, place: Instruction | SubstitutionRule
) -> None:
    """Check that nothing an invocation gives means something else inside the rule."""
    rule = kernel.rules[use.rule]
    reductions = walk.reductions(expand(rule.expression, kernel.rules))
    if not reductions:
        return
    given = {
        name: walk.free_variables(expand(value, kernel.rules))
        | walk.reduction_inames(expand(value, kernel.rules))
        for name, value in rule.values(use).items()
    }
    for reduction in reductions:
        for name in sorted(given.keys() & walk.free_variables(reduction.operand)):
            if both := sorted(given[name].intersection(reduction.inames)):
                raise MalformedKernel(
                    f"'{show_expression(use)}' gives '{both[0]}' to rule '{rule.name}', which "
                    "reduces over that iname",
                    where=place.location,
                    excerpt=_text(kernel, place),
                    remedy="use another iname in the rule's reduction",
                )
