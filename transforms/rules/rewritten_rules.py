"""Expressions rewritten in instructions and in the rules that these invoke, so that rules stay."""

from __future__ import annotations

import graphlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import TypeAlias

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import (
    SubstitutionRule,
    expand,
    invocations,
    rewrite_invocations,
    used_rules,
)

_Rewrite: TypeAlias = Callable[[Expression], Expression]
_Rules: TypeAlias = Mapping[str, SubstitutionRule]


def with_rules_rewritten(
    kernel: Kernel,
    ids: frozenset[str],
    names: Iterable[str],
    rewrite: _Rewrite,
    introduced: frozenset[str],
    taken: frozenset[str],
) -> Kernel:
    """Return the kernel with what instructions read rewritten, in rules that they invoke, too.

    A rule that other instructions invoke as well stays what it is for these; a copy of it is
    rewritten.  A rule to which invocations give another value for what `rewrite` means by an iname
    is expanded.

    Parameters:
        kernel: the kernel.
        ids: the instructions.
        names: the rules in which there is something to rewrite, through rules that they invoke too.
        rewrite: what is done to expressions.
        introduced: the names that stand in what `rewrite` looks for, and in what it returns.
        taken: names that are about to be in the kernel.
    """
    names = frozenset(names)
    if not names:
        return _mapped(kernel, ids, rewrite)
    kernel, names = _with_own_rules(kernel, ids, names, taken)
    lost = _given_otherwise(kernel, names, introduced)
    if lost:
        kernel = _mapped(kernel, ids, lambda e: expand(e, lost))
        kernel = kernel.copy(
            substitutions=tuple(
                [
                    replace(r, expression=expand(r.expression, lost)) if r.name in names else r
                    for r in kernel.substitutions
                ]
            )
        )
    rules = dict(kernel.rules)
    reached = _reaching(rules, names)
    for name in _in_order(rules, reached):
        rules[name] = _rewritten(_renamed(rules[name], introduced), rules, rewrite, kernel)
    changed = kernel.copy(substitutions=tuple(rules.values()))
    return _mapped(changed, ids, lambda e: _adapted(rewrite(e), rules))


def _mapped(kernel: Kernel, ids: frozenset[str], rewrite: _Rewrite) -> Kernel:
    def mapped(insn: Instruction) -> Instruction:
        return insn.map_reads(rewrite) if insn.id in ids else insn

    return kernel.copy(instructions=tuple([mapped(insn) for insn in kernel.instructions]))


def _reaching(rules: _Rules, names: Iterable[str]) -> frozenset[str]:
    """Return the rules that are among some, or invoke one of them, through others too."""
    wanted = frozenset(names)
    return frozenset(
        name
        for name, rule in rules.items()
        if name in wanted or not wanted.isdisjoint(used_rules(rule.invocations, rules))
    )


def _in_order(rules: _Rules, names: Iterable[str]) -> list[str]:
    """Return rules, each after those that it invokes."""
    wanted = frozenset(names)
    needs = {name: {use.rule for use in rules[name].invocations} & wanted for name in wanted}
    ordered = {name: sorted(needs[name]) for name in sorted(wanted)}
    return list(graphlib.TopologicalSorter(ordered).static_order())


def _with_own_rules(
    kernel: Kernel, ids: frozenset[str], names: frozenset[str], taken: frozenset[str]
) -> tuple[Kernel, frozenset[str]]:
    """Return the kernel in which no other instructions invoke the rules that some do.

    And what is called then what had some names.
    """
    reached = _reaching(kernel.rules, names)
    others = [u for insn in kernel.instructions if insn.id not in ids for u in insn.invocations]
    shared = used_rules(others, kernel.rules) & reached
    copies: dict[str, str] = {}
    for name in sorted(shared):
        copies[name] = kernel.new_name(name, taken.union(copies.values()))

    def renamed(node: Expression) -> Expression:
        return rewrite_invocations(node, lambda u: replace(u, rule=copies.get(u.rule, u.rule)))

    found: list[SubstitutionRule] = []
    for rule in kernel.substitutions:
        if rule.name not in reached or rule.name in shared:
            found.append(rule)
        if rule.name in reached:
            name = copies.get(rule.name, rule.name)
            found.append(replace(rule, name=name, expression=renamed(rule.expression)))
    new = _mapped(kernel.copy(substitutions=tuple(found)), ids, renamed)
    return new, frozenset(copies.get(name, name) for name in names)


def _given_otherwise(
    kernel: Kernel, names: Iterable[str], introduced: frozenset[str]
) -> dict[str, SubstitutionRule]:
    """Return the rules in which a name would mean something else than where they are invoked."""
    uses = [use for insn in kernel.instructions for use in insn.invocations]
    uses += [use for rule in kernel.substitutions for use in rule.invocations]
    reached = _reaching(kernel.rules, names)
    return {
        use.rule: kernel.rules[use.rule]
        for use in uses
        if use.rule in reached
        and any(
            iname in introduced and value != ex.Variable(iname)
            for iname, value in zip(use.inames, use.values, strict=True)
        )
    }


def _renamed(rule: SubstitutionRule, introduced: frozenset[str]) -> SubstitutionRule:
    """Return a rule with other names for arguments that would capture something."""
    taken = {*rule.arguments, *rule.inames, *walk.free_variables(rule.expression), *introduced}
    names: dict[str, str] = {}
    for name in rule.arguments:
        if name in introduced:
            count = next(c for c in range(len(taken) + 1) if f"{name}_{c}" not in taken)
            names[name] = f"{name}_{count}"
            taken.add(names[name])
    if not names:
        return rule
    return replace(
        rule,
        arguments=tuple([names.get(a, a) for a in rule.arguments]),
        expression=walk.substitute(rule.expression, {a: ex.Variable(n) for a, n in names.items()}),
    )


def _rewritten(
    rule: SubstitutionRule, rules: _Rules, rewrite: _Rewrite, kernel: Kernel
) -> SubstitutionRule:
    body = _adapted(rewrite(rule.expression), rules)
    known = {*kernel.home_domains, *rule.inames}
    known |= {iname for use in invocations(body) for iname in use.inames}
    mentioned = walk.free_variables(body).difference(rule.arguments).intersection(known)
    return replace(rule, expression=body, inames=tuple(sorted(mentioned)))


def _adapted(node: Expression, rules: _Rules) -> Expression:
    """Return an expression whose invocations say what inames are, of those that rules mention."""

    def adapted(use: ex.Invocation) -> Expression:
        rule = rules.get(use.rule)
        if rule is None or rule.inames == use.inames:
            return use
        said = dict(zip(use.inames, use.values, strict=True))
        values = tuple([said.get(iname, ex.Variable(iname)) for iname in rule.inames])
        return replace(use, inames=rule.inames, values=values)

    return rewrite_invocations(node, adapted)
