"""Between expressions and isl's affine functions and sets, both ways.

All functions and sets here are *flat* (see `polygen.ir.domain`): inames and parameters alike are
parameters, so that isl matches them by name.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from functools import lru_cache, reduce
from typing import Any, TypeAlias

import islpy as isl

from polygen.analysis.integers.affine_forms import FloorTerm, LinearForm, Term, combine, linear_form
from polygen.analysis.integers.function_definitions import meaning_of
from polygen.errors import InternalError
from polygen.ir import expression as ex
from polygen.ir.domain import intersection, universe
from polygen.ir.expression import Expression

_PARAM = isl.dim_type.param
_DIV = isl.dim_type.div
_IN = isl.dim_type.in_
_SET = isl.dim_type.set

# --- expressions to isl


@lru_cache(maxsize=1024)
def _zero(names: tuple[str, ...]) -> isl.Aff:
    space = isl.Space.create_from_names(isl.DEFAULT_CONTEXT, set=[], params=list(names)).params()
    return isl.Aff.zero_on_domain(isl.LocalSpace.from_space(space))


@lru_cache(maxsize=1024)  # isl takes ten times as long to make one
def to_val(number: int) -> isl.Val:
    """Return a number as isl's: it takes those of more than 64 bits as text."""
    return isl.Val(number if abs(number) < _LARGE else str(number))


_LARGE = 1 << 63


def to_aff(form: LinearForm) -> isl.Aff:
    """Return the flat isl function with the values of `form`."""
    return _aff(form, tuple(sorted(form.names())))


def _aff(form: LinearForm, names: tuple[str, ...]) -> isl.Aff:
    result = _zero(names)
    if form.constant:
        result = result.set_constant_val(to_val(form.constant))
    for term, coefficient in form.terms.items():
        if isinstance(term, str):
            result = result.set_coefficient_val(_PARAM, names.index(term), to_val(coefficient))
    for term, coefficient in form.terms.items():
        if isinstance(term, FloorTerm):
            floor = _aff(term.numerator, names).scale_down_val(to_val(term.divisor)).floor()
            result = result.add(floor.scale_val(to_val(coefficient)))
    return result


def is_negative_somewhere(flat: isl.Set, form: LinearForm) -> bool:
    """Tell whether a form may be less than 0 in a flat set: a linear program, and so cheap.

    Names that the set does not mention may be anything.  If the form has floors, True says
    nothing.
    """
    if form.is_constant and form.constant >= 0:
        return False
    values = isl.Set.from_params(flat)
    function = aff_on(values.get_space(), form)
    if function is None:
        return not flat.is_empty()
    return bool(values.min_val(function).is_neg())


def aff_on(space: isl.Space, form: LinearForm) -> isl.Aff | None:
    """Return the function with the values of a form on a space.

    None if the form has floors, or mentions what is no parameter of the space.
    """
    function = isl.Aff.zero_on_domain_space(space).set_constant_val(to_val(form.constant))
    for term, coefficient in form.terms.items():
        position = space.find_dim_by_name(_PARAM, term) if isinstance(term, str) else -1
        if position < 0:
            return None
        function = function.set_coefficient_val(_PARAM, position, to_val(coefficient))
    return function


def to_pw_aff(expr: Expression, names: Container[str] | None = None) -> isl.PwAff | None:
    """Return the flat isl function with the values of `expr`, or None if it is not affine.

    Beyond what `linear_form` takes: ``min``, ``max`` and ``if`` of affine parts, and functions
    that stand for these, sums and constant multiples of them.

    Parameters:
        expr: an integer expression.
        names: the names that may occur; None for all.
    """
    form = linear_form(expr, names)
    if form is not None:
        return isl.PwAff.from_aff(to_aff(form))
    rule = _PW_RULES.get(type(expr))
    return None if rule is None else rule(expr, names)


_Names: TypeAlias = Container[str] | None


def _fold(operation: Callable[[isl.PwAff, isl.PwAff], isl.PwAff]) -> Any:
    def rule(node: Any, names: _Names) -> isl.PwAff | None:
        parts: list[isl.PwAff] = []
        for child in node.children:
            part = to_pw_aff(child, names)
            if part is None:
                return None
            parts.append(part)
        return reduce(operation, parts)

    return rule


def _pw_product(node: Any, names: _Names) -> isl.PwAff | None:
    factor = 1
    result: isl.PwAff | None = None
    for child in node.children:
        form = linear_form(child, names)
        if form is not None and form.is_constant:
            factor *= form.constant
        elif result is not None or (result := to_pw_aff(child, names)) is None:
            return None
    if result is None:
        return None
    return result.scale_val(to_val(factor))


def _pw_quotient(node: Any, names: _Names) -> isl.PwAff | None:
    divisor = linear_form(node.denominator, names)
    if divisor is None or not divisor.is_constant or divisor.constant <= 0:
        return None
    result = to_pw_aff(node.numerator, names)
    if result is None:
        return None
    floor = result.scale_down_val(to_val(divisor.constant)).floor()
    if isinstance(node, ex.FloorDiv):
        return floor
    return result.sub(floor.scale_val(to_val(divisor.constant)))


def _pw_if(node: ex.If, names: _Names) -> isl.PwAff | None:
    condition = condition_set(node.condition, names)
    then, else_ = to_pw_aff(node.then, names), to_pw_aff(node.else_, names)
    if condition is None or then is None or else_ is None:
        return None
    return then.intersect_params(condition).union_add(
        else_.intersect_params(condition.complement())
    )


def _pw_call(node: ex.Call, names: _Names) -> isl.PwAff | None:
    meaning = meaning_of(node)
    return None if meaning is None else to_pw_aff(meaning, names)


_PW_RULES: dict[type, Callable[[Any, _Names], isl.PwAff | None]] = {
    ex.Sum: _fold(isl.PwAff.add),
    ex.Min: _fold(isl.PwAff.min),
    ex.Max: _fold(isl.PwAff.max),
    ex.Product: _pw_product,
    ex.FloorDiv: _pw_quotient,
    ex.Remainder: _pw_quotient,
    ex.If: _pw_if,
    ex.Call: _pw_call,
}

_COMPARISONS: dict[str, Callable[[isl.PwAff, isl.PwAff], isl.Set]] = {
    "==": isl.PwAff.eq_set,
    "!=": isl.PwAff.ne_set,
    "<": isl.PwAff.lt_set,
    "<=": isl.PwAff.le_set,
    ">": isl.PwAff.gt_set,
    ">=": isl.PwAff.ge_set,
}


def condition_set(expr: Expression, names: Container[str] | None = None) -> isl.Set | None:
    """Return the flat set where a condition holds, or None if it is not affine.

    Parameters:
        expr: comparisons of affine expressions, joined by ``and``, ``or`` and ``not``; ``isless``
            and its kin are such, too.
        names: the names that may occur; None for all.
    """
    if isinstance(expr, ex.Comparison):
        return _compared(expr, names)
    if isinstance(expr, ex.LogicalNot):
        inner = condition_set(expr.child, names)
        return None if inner is None else inner.complement()
    if isinstance(expr, ex.LogicalAnd | ex.LogicalOr):
        parts = [condition_set(child, names) for child in expr.children]
        known = [part for part in parts if part is not None]
        if len(known) < len(parts):
            return None
        join = intersection if isinstance(expr, ex.LogicalAnd) else isl.Set.union
        return reduce(join, known)
    if isinstance(expr, ex.Call):
        meaning = meaning_of(expr)
        return None if meaning is None else condition_set(meaning, names)
    if isinstance(expr, bool):
        return universe() if expr else universe().complement()
    return None


def _compared(expr: ex.Comparison, names: Container[str] | None) -> isl.Set | None:
    operator = str(expr.operator)
    forms = linear_form(expr.left, names), linear_form(expr.right, names)
    if forms[0] is not None and forms[1] is not None:
        difference = forms[0] - forms[1]
        if operator == "==":
            return to_aff(difference).zero_basic_set().to_set()
        if operator in _NEGATIVE:
            return to_aff(_NEGATIVE[operator](difference)).neg_basic_set().to_set()
    several = by_parts(expr)
    if isinstance(several, ex.LogicalAnd | ex.LogicalOr) and len(several.children) > _FEW:
        return condition_set(several, names)
    left, right = to_pw_aff(expr.left, names), to_pw_aff(expr.right, names)
    if left is None or right is None:
        return None
    return _COMPARISONS[operator](left, right)


_FEW = 4  # values: isl's maximum of n has up to 2**n pieces, where conditions on n have n


def by_parts(condition: Expression) -> Expression:
    """Return ``i < max(a, b)`` as ``i < a or i < b``, and so on; other conditions as they are."""
    if not isinstance(condition, ex.Comparison) or str(condition.operator) not in _MIRRORED:
        return condition
    left, operator, right = condition.left, str(condition.operator), condition.right
    if _alternatives(right) is None:
        left, operator, right = right, _MIRRORED[operator], left
    found = _alternatives(right)
    if found is None:
        return condition
    kind, values = found
    parts = tuple([by_parts(ex.Comparison(left, operator, value)) for value in values])
    is_any = (kind is ex.Max) == (operator in ("<", "<="))
    return ex.LogicalOr(parts) if is_any else ex.LogicalAnd(parts)


_MIRRORED = {"<": ">", "<=": ">=", ">": "<", ">=": "<="}


def _alternatives(value: Expression) -> tuple[type, tuple[Expression, ...]] | None:
    """Return the values of which one is the least or greatest; ``max(a, b) + c`` is such, too."""
    if isinstance(value, ex.Min | ex.Max):
        return type(value), value.children
    if not isinstance(value, ex.Sum):
        return None
    inner = [each for each in value.children if isinstance(each, ex.Min | ex.Max)]
    if len(inner) != 1:
        return None
    rest = [each for each in value.children if each is not inner[0]]
    return type(inner[0]), tuple([ex.sum_of(each, *rest) for each in inner[0].children])


# What is negative where ``difference < 0``, and so on: of integers.
_NEGATIVE: dict[str, Callable[[LinearForm], LinearForm]] = {
    "<": lambda d: d,
    "<=": lambda d: d - 1,
    ">": lambda d: d * -1,
    ">=": lambda d: d * -1 - 1,
}


# --- isl to expressions


def form_of_aff(aff: isl.Aff) -> LinearForm:
    """Return the normal form of a flat isl function whose values are integers.

    Where isl writes a fraction, its value is rounded down, which changes no integer.
    """
    denominator = aff.get_denominator_val()
    factor: int = denominator.to_python()
    if factor != 1:
        return form_of_aff(aff.scale_val(denominator)) // factor
    terms: dict[Term, int] = {}
    for kind in (_PARAM, _IN):
        for position in range(aff.dim(kind)):
            if coefficient := _coefficient(aff, kind, position):
                terms[aff.get_dim_name(kind, position) or ""] = coefficient
    parts = [(LinearForm(aff.get_constant_val().to_python(), terms), 1)]
    for position in range(aff.dim(_DIV)):
        if coefficient := _coefficient(aff, _DIV, position):
            # What isl gives is the fraction; the div is its floor, as a form's value is.
            parts.append((form_of_aff(aff.get_div(position)), coefficient))
    return combine(parts) if len(parts) > 1 else parts[0][0]


def _coefficient(aff: isl.Aff, kind: isl.dim_type, position: int) -> int:
    value: int = aff.get_coefficient_val(kind, position).to_python()
    return value


def pieces(pw_aff: isl.PwAff) -> list[tuple[isl.Set, isl.Aff]]:
    """Return the pieces of a function: where each applies, and what it is there."""
    found: list[tuple[isl.Set, isl.Aff]] = pw_aff.get_pieces()
    return found


def is_bounded(values: isl.Set, *, above: bool) -> bool:
    """Tell whether the values of a set of one dimension have a greatest, or else a least one.

    That is asked for each value of the parameters.  `dim_has_upper_bound` is about constraints: it
    takes ``x <= 2*k < n + x``, for some ``k``, for a bound of ``x``.
    """
    if above:
        found, half = values.dim_has_upper_bound(_SET, 0), isl.Set.lower_bound_val
    else:
        found, half = values.dim_has_lower_bound(_SET, 0), isl.Set.upper_bound_val
    if not found or not values.involves_locals():
        return bool(found)
    return bool(half(values, _SET, 0, isl.Val(0)).is_bounded())


def pw_aff_expression(pw_aff: isl.PwAff, context: isl.Set | None = None) -> Expression:
    """Return an expression with the values of `pw_aff` wherever it is defined.

    A single affine expression if one will do, else a ``min`` or ``max`` of some, else an ``if``.

    Parameters:
        pw_aff: a flat function with integer values, defined somewhere.
        context: a flat set of the values that matter; None for all.
    """
    if context is not None:
        pw_aff = pw_aff.intersect_params(context)
    found = pieces(pw_aff.coalesce())
    forms = list(dict.fromkeys(form_of_aff(aff) for _, aff in found))
    if not forms:
        raise InternalError("a function that is defined nowhere has no expression")
    if len(forms) == 1:
        return forms[0].expression()
    for form in forms:
        if _agree(isl.PwAff.from_aff(to_aff(form)), pw_aff):
            return form.expression()
    for operation, node in ((isl.PwAff.max, ex.Max), (isl.PwAff.min, ex.Min)):
        if needed := _extremum(operation, forms, pw_aff):
            return node(tuple([form.expression() for form in needed]))
    result = form_of_aff(found[-1][1]).expression()
    for domain, aff in reversed(found[:-1]):
        condition = set_condition(domain.gist_params(pw_aff.domain()))
        result = ex.If(condition, form_of_aff(aff).expression(), result)
    return result


def _agree(candidate: isl.PwAff, pw_aff: isl.PwAff) -> bool:
    """Whether the functions have equal values wherever the second is defined."""
    return bool(pw_aff.domain().is_subset(candidate.eq_set(pw_aff)))


def _extremum(
    operation: Callable[[isl.PwAff, isl.PwAff], isl.PwAff],
    forms: list[LinearForm],
    pw_aff: isl.PwAff,
) -> list[LinearForm]:
    """Return as few of `forms` as have `pw_aff` for their maximum (or minimum); [] if none do."""

    def fits(candidates: list[LinearForm]) -> bool:
        functions = [isl.PwAff.from_aff(to_aff(form)) for form in candidates]
        return _agree(reduce(operation, functions), pw_aff)

    if not fits(forms):
        return []
    for form in tuple(forms):
        fewer = [other for other in forms if other is not form]
        if fewer and fits(fewer):
            forms = fewer
    return sorted(forms, key=lambda form: str(form.expression()))


def set_condition(flat: isl.Set) -> Expression:
    """Return the condition that holds exactly in the flat set."""
    alternatives: list[Expression] = []
    for basic in flat.coalesce().compute_divs().get_basic_sets():
        conditions = [_constraint_condition(c) for c in basic.get_constraints()]
        if not conditions:
            return True
        alternatives.append(
            conditions[0] if len(conditions) == 1 else ex.LogicalAnd(tuple(conditions))
        )
    if not alternatives:
        return False
    return alternatives[0] if len(alternatives) == 1 else ex.LogicalOr(tuple(alternatives))


def _constraint_condition(constraint: isl.Constraint) -> Expression:
    return form_condition(form_of_aff(constraint.get_aff()), constraint.is_equality())


def form_condition(form: LinearForm, equality: bool = False) -> Expression:
    """Return ``form >= 0``, or ``form == 0``, as a comparison that reads well: ``i < n``."""
    if any(isinstance(term, FloorTerm) for term in form.terms):
        # Taking sides would tear remainders apart.
        if equality and _mostly_negative(form):
            form = -form
        return ex.Comparison(form.expression(), "==" if equality else ">=", 0)
    more = LinearForm(0, {t: c for t, c in form.terms.items() if c > 0})
    less = LinearForm(0, {t: -c for t, c in form.terms.items() if c < 0})
    constant = form.constant
    if equality:
        left, right = (more, less - constant) if more.terms else (less, more + constant)
        return ex.Comparison(left.expression(), "==", right.expression())
    if not less.terms:
        return ex.Comparison(more.expression(), ">=", -constant)
    if constant < 0 and more.terms:
        return ex.Comparison((less - constant - 1).expression(), "<", more.expression())
    return ex.Comparison(less.expression(), "<=", (more + constant).expression())


def _mostly_negative(form: LinearForm) -> bool:
    of_names = [c for term, c in form.terms.items() if isinstance(term, str)]
    return max(of_names or form.terms.values(), key=abs) < 0
