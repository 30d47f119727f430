"""`polygen.fix_parameters`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import prod
from typing import Annotated, Any, cast

import islpy as isl
import numpy as np

from polygen.analysis.integers.affine_forms import linear_form
from polygen.analysis.integers.isl_affine import condition_set, to_val
from polygen.analysis.integers.known_facts import known_parameters
from polygen.analysis.typing.explicit_types import with_typed_sizes
from polygen.analysis.typing.inference import sizes
from polygen.errors import InvalidArgument, UnknownArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.domain import Domain, project_out, unflatten
from polygen.ir.dtype import is_integer
from polygen.ir.expression import Expression
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, map_stride
from polygen.ir.sizes import DerivedSize
from polygen.source import caller_location
from polygen.transformation import Kind, transformation

_PARAM = isl.dim_type.param


def _is_number(_kernel: Kernel, value: object) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


Number = Annotated[int | float | np.integer[Any] | np.floating[Any], Kind("a number", _is_number)]


@transformation(declared=True, says_more=True)
def fix_parameters(kernel: Kernel, /, **values: Number) -> Kernel:
    """Replace scalar arguments by constants.

    Kind: change of interface: the arguments are gone afterwards.  A size keeps its type where the
    types of what it stands beside are declared; where they are not, the number adapts to these.

    Requires:
        1. Each name is a scalar argument of the kernel, and what counts something is an integer.
        2. The values agree with the assumptions.

    Parameters:
        values: the value of each argument: ``n=128``, or ``alpha=0.5``, which keeps its type.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> print(pg.generate_code(pg.fix_parameters(knl, n=100), "c"))
        void polygen_kernel(float const *restrict a, float *restrict out)
        {
            for (int i = 0; i < 100; ++i)
                out[i] = 100.0f * a[i];
        }

    Raises:
        UnknownArgument: if there is no such scalar argument.
        InvalidArgument: if a value is no number, or no integer where 1 asks for one, or if 2 does
            not hold.
    """
    for name, value in values.items():
        _check_parameter(kernel, name, value)
    fractions = {n: _typed(kernel, n, v) for n, v in values.items() if not _counts(kernel, n)}
    counted = {n: int(v) for n, v in values.items() if n not in fractions}
    kernel, constants = _without_products(with_typed_sizes(kernel, counted), counted)
    constants |= fractions
    assumptions = _fix(kernel.assumptions, counted)
    if assumptions.set.is_empty():
        shown = ", ".join(f"{n} = {v}" for n, v in counted.items())
        raise InvalidArgument(
            f"{shown} contradicts what is assumed: {kernel.assumptions}",
            where=caller_location(),
            remedy="fix another value, or make the kernel with other assumptions",
        )

    def rewrite(node: Expression) -> Expression:
        return walk.substitute(node, constants)

    def fixed(array: Any) -> Any:
        return _fix_array(array, constants)

    return kernel.copy(
        domains=tuple(_fix(d, counted) for d in kernel.domains),
        instructions=tuple(
            [_fix_instruction(i.map_expressions(rewrite), counted) for i in kernel.instructions]
        ),
        substitutions=tuple(rule.with_values(constants) for rule in kernel.substitutions),
        arguments=tuple(
            fixed(a) if isinstance(a, GlobalArg) else a
            for a in kernel.arguments
            if a.name not in values
        ),
        temporaries=tuple(fixed(t) for t in kernel.temporaries),
        separations=tuple([rewrite(c) for c in kernel.separations]),
        assumptions=assumptions,
    )


def _counts(kernel: Kernel, name: str) -> bool:
    """Tell whether a scalar is an integer for certain: a size, or one of an integer type."""
    dtype = kernel.variables[name].dtype
    return name in sizes(kernel) or (dtype is not None and is_integer(dtype))


def _typed(kernel: Kernel, name: str, value: Any) -> Expression:
    """Return a number with the type of the argument that it replaces."""
    dtype = kernel.variables[name].dtype
    whole = isinstance(value, int | np.integer)
    number = int(cast("Any", value)) if whole else float(value)
    return number if dtype is None else ex.Call(ex.Variable(dtype.name), (number,))


def _without_products(
    kernel: Kernel, values: Mapping[str, int]
) -> tuple[Kernel, dict[str, Expression]]:
    """Return the kernel with the derived sizes that are none then as affine functions of others.

    Returns:
        The kernel, in which the values are not put in yet, and what stands for names.
    """
    found: dict[str, Expression] = dict(values)
    left: list[DerivedSize] = []
    domains = kernel.domains
    for size in kernel.derived_sizes:
        if size.is_open:
            left.append(size)
            continue
        fixed = size.with_values(found)
        factors = tuple(map(_folded, fixed.factors))
        numbers = [f for f in factors if isinstance(f, int)]
        others = [f for f in factors if not isinstance(f, int)]
        times = prod(max(0, n) for n in numbers)
        if others and (len(others) > 1 or not times):  # of 0*m, m is to stay a size
            left.append(replace(fixed, factors=factors))
            continue
        value = ex.product_of(times, *[ex.Max((f, 0)) for f in others])
        domains = tuple([_with_value(d, size.name, _folded(value)) for d in domains])
        negative = condition_set(ex.Comparison(_folded(ex.product_of(1, *others)), "<", 0))
        if negative is not None and known_parameters(kernel).is_disjoint(negative):
            value = ex.product_of(times, *others)
        found[size.name] = _folded(value)
    return kernel.copy(domains=domains, derived_sizes=tuple(left)), found


def _with_value(domain: Domain, name: str, value: Expression) -> Domain:
    """Return a domain with an affine function in place of a parameter."""
    if name not in domain.parameters:
        return domain
    equal = condition_set(ex.Comparison(ex.Variable(name), "==", value))
    assert equal is not None
    flat = project_out(domain.flat.intersect(equal), [name])
    return Domain(unflatten(flat, domain.inames).drop_unused_params())


def _check_parameter(kernel: Kernel, name: str, value: Any) -> None:
    argument = kernel.variables.get(name)
    scalars = [a.name for a in kernel.arguments if isinstance(a, ValueArg)]
    if not isinstance(argument, ValueArg) or name not in scalars:
        raise UnknownArgument(
            f"kernel '{kernel.name}' has no scalar argument '{name}'",
            where=caller_location(),
            remedy=did_you_mean(name, scalars),
        )
    if _counts(kernel, name) and not isinstance(value, int | np.integer):
        raise InvalidArgument(
            f"fix_parameters was given {name}={value!r}, which is not an integer: '{name}' is one",
            where=caller_location(),
            remedy="pass an integer",
        )


def _fix(domain: Domain, values: Mapping[str, int]) -> Domain:
    result = domain.set
    for name, value in values.items():
        position = result.find_dim_by_name(_PARAM, name)
        if position >= 0:
            result = result.fix_val(_PARAM, position, to_val(value))
            result = result.project_out(_PARAM, position, 1)
    return domain if result is domain.set else Domain(result)


def _fix_instruction(insn: Instruction, values: Mapping[str, int]) -> Instruction:
    relations = [replace(r, domain=_fix(r.domain, values)) for r in insn.happens_after]
    return insn.copy(happens_after=frozenset(relations))


def _fix_array(
    array: GlobalArg | TemporaryVariable, values: Mapping[str, Expression]
) -> GlobalArg | TemporaryVariable:
    def fix_all(items: tuple[Expression, ...] | None) -> tuple[Expression, ...] | None:
        if items is None:
            return None
        return tuple(_folded(walk.substitute(e, values)) for e in items)

    if isinstance(array, TemporaryVariable):
        return replace(array, shape=fix_all(array.shape) or ())
    tags, offset = array.dim_tags, array.offset
    if tags is not None:
        tags = tuple(
            [map_stride(tag, lambda e: _folded(walk.substitute(e, values))) for tag in tags]
        )
    if not isinstance(offset, Auto):
        offset = _folded(walk.substitute(offset, values))
    return replace(array, shape=fix_all(array.shape), dim_tags=tags, offset=offset)


def _folded(node: Expression) -> Expression:
    """Return an extent or stride with what is constant in it computed."""

    def rule(e: Expression) -> Expression:
        form = linear_form(e)
        return e if form is None else form.expression()

    return walk.rewrite(node, rule)
