"""Substitution rules: which calls invoke one, and which inames each mentions."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import NameTaken
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES
from polygen.ir.kernel import Kernel
from polygen.ir.names import check_name
from polygen.ir.show import show_rule
from polygen.ir.substitution import Rules, SubstitutionRule, expand, invocations
from polygen.ir.verify_rules import check_circles, check_invocation
from polygen.language.operations import operation_names
from polygen.language.reductions import resolve_reductions
from polygen.language.statement import Statement
from polygen.source import caller_location, written_at


def make_rules(
    parsed: Iterable[SubstitutionRule], inames: Collection[str], others: Collection[str] = ()
) -> dict[str, SubstitutionRule]:
    """Return the rules by their names, each with the inames that it mentions.

    Parameters:
        parsed: rules as the parser returns them.
        inames: those of the kernel.
        others: names in rules that inames had before they were replaced.

    Raises:
        NameTaken: if two have one name, or if it is that of a function.
        RuleCycle: if a rule is part of itself.
        UserError: if one invokes what is no rule, or reduces over what is no iname.
    """
    drafts: dict[str, SubstitutionRule] = {}
    for rule in parsed:
        _check_name(rule, drafts)
        drafts[rule.name] = replace(rule, location=rule.location or caller_location())
    marked = {
        name: replace(rule, expression=_marked(rule.expression, drafts))
        for name, rule in drafts.items()
    }
    check_circles(marked.values())
    needs = {n: {u.rule for u in invocations(r.expression)} for n, r in marked.items()}
    done: dict[str, SubstitutionRule] = {}
    for name in graphlib.TopologicalSorter(needs).static_order():
        if name in marked:
            with written_at(marked[name].location):
                done[name] = _finished(marked[name], done, inames, others)
    return {name: done[name] for name in drafts}  # in the order in which they were written


def make_rule(
    name: str, arguments: tuple[str, ...], expression: Expression, kernel: Kernel
) -> SubstitutionRule:
    """Return a rule to be added to a kernel: what it invokes are the rules that are there.

    Parameters:
        name: not used in the kernel yet.
        arguments: the names that invocations will give values to.
        expression: as the parser returns it.
        kernel: has the inames and rules that the expression may mention.

    Raises:
        NameTaken, ReservedName, UnknownRule, WrongArity, UnknownIname: if something is wrong.
    """
    rule = SubstitutionRule(name, arguments, (), expression, caller_location())
    _check_name(rule, kernel.rules)
    rule = replace(rule, expression=_marked(expression, kernel.rules))
    # Names that inames had once are names in rules.
    others = {iname for r in kernel.substitutions for iname in r.inames}
    return _finished(rule, kernel.rules, kernel.inames, others)


def _check_name(rule: SubstitutionRule, others: Collection[str]) -> None:
    for name in (rule.name, *rule.arguments):
        check_name(name)
    what = None
    if rule.name in others:
        what = "two rules have this name"
    elif rule.name in FUNCTIONS or rule.name in FETCHES or rule.name in operation_names():
        what = "a function has this name"
    if what is not None:
        raise NameTaken(
            f"'{rule.name}' cannot be this rule's name: {what}",
            where=caller_location(),
            excerpt=show_rule(rule),
            remedy=f"give the rule another name, such as '{rule.name}_'",
        )


def _finished(
    rule: SubstitutionRule,
    done: Rules,
    inames: Collection[str],
    others: Collection[str],
) -> SubstitutionRule:
    rule = _uncapturing(rule, done)
    text = show_rule(rule)
    body = _filled(rule.expression, done, text)
    (body,) = resolve_reductions(
        Statement((ex.Variable(rule.name),), (body,), line=text),
        frozenset(inames).difference(rule.arguments),
    ).values
    mentioned = walk.free_variables(body).difference(rule.arguments)
    return replace(
        rule, expression=body, inames=tuple(sorted(mentioned.intersection({*inames, *others})))
    )


def _uncapturing(rule: SubstitutionRule, done: Rules) -> SubstitutionRule:
    """Return the rule with other names for arguments that rules which it invokes mention.

    There, such a name is that of an iname or a variable of the kernel.
    """
    mentioned = NO_NAMES
    for use in invocations(rule.expression):
        found = done.get(use.rule)
        if found is not None:
            meant = walk.free_variables(expand(found.expression, done))
            said = {n for n, v in zip(use.inames, use.values, strict=True) if v != ex.Variable(n)}
            mentioned |= meant.difference(found.arguments, said)  # n=n is not shown
    taken = {*rule.arguments, *walk.free_variables(rule.expression), *mentioned}
    names: dict[str, str] = {}
    for name in rule.arguments:
        new, count = name, 0
        while new in mentioned or (count and new in taken):
            new, count = f"{name}_{count}", count + 1
        taken.add(new)
        names[name] = new
    values = {name: ex.Variable(new) for name, new in names.items() if new != name}
    return replace(
        rule,
        arguments=tuple([names[name] for name in rule.arguments]),
        expression=walk.substitute(rule.expression, values),
    )


def resolve_rules(statement: Statement, rules: Rules) -> Statement:
    """Return `statement` with the calls that invoke a rule as such, complete.

    Raises:
        UnknownRule, WrongArity, UnknownName: if one does not fit its rule.
    """
    if not rules and not any(ex.Invocation in walk.classes(e) for e in statement.expressions):
        return statement
    text = statement.text
    return mapped(statement, lambda node: resolve_invocations(node, rules, text))


def resolve_invocations(node: Expression, rules: Rules, text: str) -> Expression:
    """Return an expression with the calls that invoke a rule as such; errors show `text`."""
    return _filled(_marked(node, rules), rules, text)


def resolved_and_expanded(node: Expression, rules: Rules, text: str) -> Expression:
    """Return what an expression stands for, as it was parsed; errors show `text`."""
    return expand(resolve_invocations(node, rules, text), rules)


def mapped(statement: Statement, rule: Callable[[Expression], Expression]) -> Statement:
    """Return `statement` with `rule` applied to what is written, its value and its conditions."""
    return replace(
        statement,
        assignees=tuple(
            [a if isinstance(a, ex.Variable) else rule(a) for a in statement.assignees]
        ),
        values=tuple([rule(value) for value in statement.values]),
        predicates=tuple([rule(p) for p in statement.predicates]),
    )


def expand_rules(statement: Statement, rules: Rules) -> Statement:
    """Return `statement` with what the rules that it invokes stand for."""
    return mapped(statement, lambda node: expand(node, rules))


def _marked(node: Expression, rules: Rules) -> Expression:
    """Return `node` with the calls of rules as invocations; one without arguments may be named."""

    def rule(part: Expression) -> Expression:
        if isinstance(part, ex.Call) and ex.name_of(part.function) in rules:
            return ex.Invocation(ex.name_of(part.function), None, part.parameters, (), ())
        if isinstance(part, ex.Variable) and part.name in bare:
            return ex.Invocation(part.name, None, (), (), ())
        if isinstance(part, ex.Subscript) and isinstance(part.aggregate, ex.Invocation):
            return ex.Subscript(ex.Variable(part.aggregate.rule), part.index)  # it is no array
        return part

    bare = {name for name, found in rules.items() if not found.arguments}

    return walk.rewrite(node, rule)


def _filled(node: Expression, rules: Rules, text: str) -> Expression:
    """Return `node` with all inames of the rules that it invokes said to be what they are."""

    def rule(part: Expression) -> Expression:
        if not isinstance(part, ex.Invocation):
            return part
        found = rules.get(part.rule)
        if found is not None:
            said = dict(zip(part.inames, part.values, strict=True))
            values = {i: said.pop(i, ex.Variable(i)) for i in found.inames} | said
            part = replace(part, inames=tuple(values), values=tuple(values.values()))
        check_invocation(part, rules, text, caller_location())
        return part

    return walk.rewrite(node, rule)
