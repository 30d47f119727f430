"""`polygen.affine_map_inames`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias, cast

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.rearrangement.iname_bijection import was
from polygen.errors import InvalidArgument
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.language.parser import parse_expression
from polygen.proof import Rearranged
from polygen.source import caller_location
from polygen.transformation import Inames, Kind, Names, is_new_name, to_names, transformation
from polygen.transforms.loops.iname_equations import map_where
from polygen.transforms.loops.map_domain import mapped

Side: TypeAlias = int | str | ex.ExpressionNode
Equation: TypeAlias = str | tuple[Side, Side]


def _is_side(value: object) -> bool:
    return isinstance(value, int | str | ex.ExpressionNode) and not isinstance(value, bool)


def _is_equation(value: Any) -> bool:
    if isinstance(value, str):
        return value.count("=") == 1
    if not isinstance(value, tuple):
        return False
    sides = cast("tuple[object, ...]", value)
    return len(sides) == 2 and all(map(_is_side, sides))


def _are_equations(_kernel: Kernel, value: Any) -> bool:
    if isinstance(value, str):
        return _is_equation(value)
    return isinstance(value, list | tuple) and all(map(_is_equation, cast("Sequence[Any]", value)))


Equations = Annotated[
    str | Sequence[Equation],
    Kind("equations: texts such as 'p = i + j', or pairs of expressions", _are_equations),
]


@transformation
def affine_map_inames(
    kernel: Kernel, old_inames: Inames, new_inames: Names, equations: Equations
) -> Rearranged:
    """Replace inames by others, of which equations say what they are.

    It is `map_domain`, with equations instead of a map.

    Kind: order and storage.

    Requires:
        1. The new names are not used yet.
        2. The equations are affine in inames, old, new and others, and in scalar arguments.
        3. What holds for the map of a `map_domain`: each point becomes one point, no two the same,
           and so on.

    Parameters:
        old_inames: ``"i, j"``, or a sequence; they are gone afterwards.
        new_inames: the names of those that come instead.
        equations: texts such as ``"p = i + j"``, or pairs of sides: texts, integers, expressions.
            Other inames that these mention stay what they are.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "b[i] = 2*a[i]", name="twice")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.affine_map_inames(knl, "i", "r", ["r = n - 1 - i"])
        >>> print(pg.generate_code(knl, "c"))
        void twice(float const *restrict a, float *restrict b, int const n)
        {
            for (int r = 0; r < n; ++r)
                b[n - 1 - r] = 2.0f * a[n - 1 - r];
        }

    Raises:
        UnknownIname: if the kernel has no such iname.
        NameTaken, ReservedName: if 1 does not hold.
        InvalidArgument, MalformedExpression: if 2 does not hold, or if there is no equation.
        MapNotTotal, MapNotInjective, MapNotAffine, MapMixesInames, MapLosesInstances: if 3 does
            not hold.
        TagConflict: if an old iname is tagged otherwise than ``for``.

    Source: Loo.py's transformation of this name.
    """
    olds, news = to_names(old_inames), to_names(new_inames)
    for names in (olds, news):
        if len(set(names)) < len(names):
            raise InvalidArgument(
                f"affine_map_inames: {', '.join(names)} names an iname twice",
                where=caller_location(),
                remedy="name each once",
            )
    for name in news:
        is_new_name(kernel, name)
    given = [equations] if isinstance(equations, str) else equations
    if not given:
        raise InvalidArgument(
            "affine_map_inames: there is no equation",
            where=caller_location(),
            remedy="say what each new iname is",
        )
    sides = [_sides(equation) for equation in given]
    mentioned = NO_NAMES.union(*(walk.free_variables(s) for both in sides for s in both))
    others = [i for i in kernel.inames if i in mentioned and i not in {*olds, *news}]
    known = {*olds, *others, *news, *kernel.parameters}
    olds, news = (*olds, *others), (*news, *others)
    stay = [ex.Comparison(ex.Variable(i), "==", ex.Variable(was(i))) for i in others]
    conditions = [_condition(e, s, olds, known) for e, s in zip(given, sides, strict=True)]
    return mapped(kernel, map_where(olds, news, [*conditions, *stay]))


def _sides(equation: Equation) -> list[Expression]:
    sides = equation.split("=") if isinstance(equation, str) else equation
    return [parse_expression(s) if isinstance(s, str) else s for s in sides]


def _condition(
    equation: Equation, sides: Sequence[Expression], olds: Sequence[str], known: set[str]
) -> Expression:
    """Return an equation as a condition, old inames being named as `was` says."""
    if any(linear_form(side, known) is None for side in sides):
        raise InvalidArgument(
            f"affine_map_inames: the equation {equation!r} is not affine in the inames and scalar "
            "arguments",
            where=caller_location(),
            remedy="write sums and integer multiples, // and % by integers, of the old inames, the "
            "new ones and scalar arguments",
        )
    marked = {i: ex.Variable(was(i)) for i in olds}
    left, right = (walk.substitute(side, marked) for side in sides)
    return ex.Comparison(left, "==", right)
