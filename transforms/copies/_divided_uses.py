"""Uses of a rule that give it ``e//m`` and ``e % m``, as uses of another one that give it ``e``.

The first are not affine.  With ``f(x, y) := a[x, y]``, the use ``f(ij//m, ij % m)`` is ``g(ij)`` if
``g(x) := a[x//m, x % m]``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from polygen.analysis.expansion.rule_uses import Use
from polygen.analysis.integers.affine_forms import LinearForm, linear_form
from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.analysis.integers.unknowns import is_by_size, without_whole_sizes
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.substitution import SubstitutionRule

_NUMBER = "__number"  # names of users do not begin so
_PART = "__part"

# For each name of a rule, what it is given in terms of what is divided; None where nothing is.
_Templates: TypeAlias = tuple[Expression | None, ...]


@dataclass(frozen=True)
class _Given:
    """The values that a use gives to the names of a rule.

    Attributes:
        templates: in terms of the numbers.
        numbers: what is divided by sizes.
        rests: what has to be added to each template.
    """

    templates: _Templates
    numbers: tuple[LinearForm, ...]
    rests: tuple[LinearForm, ...]


def in_terms_of_the_divided(
    kernel: Kernel, rule: SubstitutionRule, uses: Sequence[Use]
) -> tuple[SubstitutionRule, Mapping[ex.Invocation, ex.Invocation]] | None:
    """Return a rule that takes what uses of another one divide by sizes, and these uses of it.

    None if they divide nothing, or not all of them alike.
    """
    if not any(map(_divides, (value for use in uses for value in use.values))):
        return None
    sizes = integer_parameters(kernel)
    found = {use.node: _given(use, sizes) for use in uses}
    given = [each for each in found.values() if each is not None]
    if len(given) < len(found) or len({each.templates for each in given}) > 1:
        return None
    whole, values = _values(kernel, (*rule.arguments, *rule.inames), given)
    inames = tuple([name for name in rule.inames if name not in values])
    divided = SubstitutionRule(
        kernel.new_name(rule.name),
        tuple([name for name in whole if name not in inames]),
        inames,
        walk.substitute(rule.expression, values),
        rule.location,
    )

    def use_of_it(node: ex.Invocation, each: _Given) -> ex.Invocation:
        said = {name: value(node, each) for name, value in whole.items()}
        arguments = tuple([said[name] for name in divided.arguments])
        own = tuple([said[name] for name in inames])
        return ex.Invocation(divided.name, node.tag, arguments, inames, own)

    return divided, {node: use_of_it(node, each) for node, each in found.items() if each}


def _divides(value: Expression) -> bool:
    kinds = walk.classes(value)
    if ex.FloorDiv not in kinds and ex.Remainder not in kinds:
        return False
    return any(is_by_size(part) for part in walk.subexpressions(value))


def _given(use: Use, sizes: frozenset[str]) -> _Given | None:
    """Return what a use gives; None if that is no sum of quotients, remainders and the like."""
    numbers: dict[LinearForm, str] = {}
    parts: dict[Expression, str] = {}

    def part(node: Expression) -> Expression:
        if not is_by_size(node) or not walk.free_variables(node.denominator) <= sizes:
            return node
        node = without_whole_sizes(node)
        number = linear_form(node.numerator, use.inames | sizes)
        if number is not None:
            name = numbers.setdefault(number, f"{_NUMBER}{len(numbers)}")
            node = walk.rebuild(node, (ex.Variable(name), node.denominator))
        elif not walk.free_variables(node.numerator) <= sizes.union(parts.values()):
            return node
        return ex.Variable(parts.setdefault(node, f"{_PART}{len(parts)}"))

    templates: list[Expression | None] = []
    rests: list[LinearForm] = []
    for value in use.values:
        form = linear_form(walk.rewrite(value, part))
        if form is None:
            return None
        own = frozenset(parts.values())
        divided = {
            t: c
            for t, c in form.terms.items()
            if not own.isdisjoint((t,) if isinstance(t, str) else t.numerator.names())
        }
        template = LinearForm(0, divided)
        if not template.names() <= own | sizes:
            return None
        values: dict[str, Expression] = {}
        for node, name in parts.items():  # one may be part of a later one
            values[name] = walk.substitute(node, values)
        templates.append(walk.substitute(template.expression(), values) if divided else None)
        rests.append(form - template)
    return _Given(tuple(templates), tuple(numbers), tuple(rests))


_Whole: TypeAlias = Callable[[ex.Invocation, _Given], Expression]


def _values(
    kernel: Kernel, names: Sequence[str], given: Sequence[_Given]
) -> tuple[dict[str, _Whole], dict[str, Expression]]:
    """Return what the rule takes instead, and what the names are in terms of that.

    What is divided is called as the first name is to which it is given.
    """
    taken: dict[str, Expression] = {}
    whole: dict[str, _Whole] = {}
    values: dict[str, Expression] = {}
    for place, (name, template) in enumerate(zip(names, given[0].templates, strict=True)):
        if template is None:
            whole[name] = partial(_value, place=place)
            continue
        for number in sorted(walk.free_variables(template).difference(taken)):
            if number.startswith(_NUMBER):
                called = name if name not in whole else kernel.new_name(f"{name}_also", whole)
                taken[number] = ex.Variable(called)
                whole[called] = partial(_number, place=int(number.removeprefix(_NUMBER)))
        values[name] = walk.substitute(template, taken)
        if any(each.rests[place] != LinearForm() for each in given):
            rest = kernel.new_name(f"{name}_rest", whole)
            whole[rest] = partial(_rest, place=place)
            values[name] = ex.sum_of(values[name], ex.Variable(rest))
    return whole, values


def _value(use: ex.Invocation, _: _Given, place: int) -> Expression:
    return (*use.arguments, *use.values)[place]


def _number(_: ex.Invocation, given: _Given, place: int) -> Expression:
    return given.numbers[place].expression()


def _rest(_: ex.Invocation, given: _Given, place: int) -> Expression:
    return given.rests[place].expression()
