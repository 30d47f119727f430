"""Sizes that a call does not pass are found from the shapes of the arrays that it does."""

from __future__ import annotations

import enum
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from polygen.analysis.access.domains import domain_of, with_surrounding
from polygen.analysis.integers.affine_forms import linear_form
from polygen.errors import MissingArgument, SizeMismatch, WrongShape, WrongStrides
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.domain import project_out
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, element_strides, layout_expressions, show_tags
from polygen.ir.remembered import per_kernel
from polygen.ir.show import show_tuple
from polygen.ir.show_expression import show_expression
from polygen.ir.sizes import products
from polygen.ir.tags import LocalTag
from polygen.lower.bounds import constant_bounds
from polygen.runtime.arrays.array_extents import extent_of
from polygen.runtime.arrays.array_facts import ArrayInfo
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.source import caller_location


@per_kernel
def size_names(kernel: Kernel) -> frozenset[str]:
    """Return the scalar arguments that loops, shapes or strides depend on."""
    found: set[str] = set(kernel.assumptions.parameters)
    for domain in kernel.domains:
        found.update(domain.parameters)
    for arg in kernel.arguments:
        if isinstance(arg, GlobalArg):
            for expression in (*(arg.shape or ()), *layout_expressions(arg)):
                found |= walk.free_variables(expression)
    for size in kernel.derived_sizes:
        found |= size.names
    for temporary in kernel.temporaries:
        found = found.union(*map(walk.free_variables, temporary.shape))
    return frozenset(a.name for a in kernel.arguments if isinstance(a, ValueArg)) & found


def fixed_sizes(kernel: Kernel) -> frozenset[str]:
    """Return the scalar arguments that are numbers in the code for a call."""
    options = kernel.options
    fixed = options.fix_sizes or (options.fix_group_sizes and _has_open_groups(kernel))
    return size_names(kernel) if fixed else frozenset()


@per_kernel
def _has_open_groups(kernel: Kernel) -> bool:
    """Tell whether sizes decide how many work items a group has."""
    items = [iname for iname, tag in kernel.tags.items() if isinstance(tag, LocalTag)]
    return any(not _is_constant(kernel, iname) for iname in items)


def _is_constant(kernel: Kernel, iname: str) -> bool:
    around = with_surrounding(kernel, (iname,))
    values = project_out(domain_of(kernel, around), sorted(around - {iname}))
    return constant_bounds(iname, values) is not None


class What(enum.Enum):
    """The property of an array that an equation is about; earlier ones are solved first."""

    SHAPE = "shape"
    STRIDES = "strides"
    OFFSET = "offset"


@dataclass(frozen=True, slots=True)
class _Equation:
    """An equation between an expression and the value of an array's axis.

    Attributes:
        what: what it is about.
        binding: whether it has to hold.  A stride along an axis with a single subscript need not.
    """

    arg: GlobalArg
    array: ArrayInfo
    expression: Expression
    value: int
    what: What = What.SHAPE
    binding: bool = True


def find_sizes(
    kernel: Kernel, arrays: Mapping[str, ArrayInfo], given: Mapping[str, int], check: bool = True
) -> dict[str, int]:
    """Return the value of each size of a kernel, derived ones too.

    Parameters:
        kernel: the kernel.
        arrays: the arrays that were passed.
        given: the sizes that were passed.
        check: whether all shapes and strides have to be right.

    Raises:
        MissingArgument: if a size was not passed and does not follow from the arrays.
        WrongShape: if an array does not have the shape that the kernel says.
        WrongStrides: if an array does not have the strides that the kernel says.
        SizeMismatch: if two arguments say different things of one size.
    """
    values = dict(given)
    origins = {name: f"{name} = {value} was passed" for name, value in given.items()}
    equations = list(_equations(kernel, arrays))
    for equation in sorted(equations, key=lambda e: (not e.binding, list(What).index(e.what))):
        _solve(equation, values, origins)
    # An equation of two unknowns may have only one left now.
    for equation in equations:
        _solve(equation, values, origins)
    for name in sorted(size_names(kernel) - values.keys()):
        raise MissingArgument(
            f"kernel '{kernel.name}' needs a value of '{name}', which does not follow from the "
            "shapes of the arrays that were passed",
            where=caller_location(),
            remedy=f"pass {name}=...",
        )
    for size in products(kernel.derived_sizes):
        values[size.name] = value_of(size.value, values)
    if check:
        for equation in equations:
            if equation.binding and _value(kernel, equation, values) != equation.value:
                raise _mismatch(equation, values, origins)
    return values


def _value(kernel: Kernel, equation: _Equation, values: Mapping[str, int]) -> int:
    if equation.what is What.SHAPE:
        return extent_of(kernel, equation.expression, values)
    return value_of(equation.expression, values)


def _equations(kernel: Kernel, arrays: Mapping[str, ArrayInfo]) -> Iterator[_Equation]:
    for arg in passed_arguments(kernel):
        if not isinstance(arg, GlobalArg) or arg.name not in arrays or arg.shape is None:
            continue
        array = arrays[arg.name]
        if len(array.shape) != len(arg.shape):
            raise WrongShape(
                f"argument '{arg.name}' has shape {array.shape}: {len(array.shape)} axes, where "
                f"kernel '{kernel.name}' has {len(arg.shape)}: {show_tuple(arg.shape)}",
                where=caller_location(),
                remedy="reshape it: array.reshape(...)",
            )
        for expression, extent in zip(arg.shape, array.shape, strict=True):
            yield _Equation(arg, array, expression, extent)
        yield from _layout_equations(arg, array)


def _layout_equations(arg: GlobalArg, array: ArrayInfo) -> Iterator[_Equation]:
    empty = 0 in array.shape
    strides = element_strides(arg) or ()
    for expression, stride, extent in zip(strides, array.strides, array.shape, strict=False):
        if expression is not None and not isinstance(expression, Auto):
            binding = extent > 1 and not empty
            yield _Equation(arg, array, expression, stride, What.STRIDES, binding)
    # What is before NumPy's arrays, nobody knows.
    if array.in_buffer and arg.offset != 0 and not isinstance(arg.offset, Auto):
        yield _Equation(arg, array, arg.offset, array.offset, What.OFFSET, not empty)


def _solve(equation: _Equation, values: dict[str, int], origins: dict[str, str]) -> None:
    """Find the value of the only unknown of an equation, if there is only one."""
    unknown = walk.free_variables(equation.expression) - values.keys()
    if len(unknown) != 1:
        return
    (name,) = unknown
    node = _decisive(walk.substitute(equation.expression, values), equation.value)
    found = _solution(node, name, equation.value)
    if found is None:
        return
    value, is_exact = found
    if not is_exact and equation.binding:
        raise _no_solution(equation, name)
    values[name] = value
    origins[name] = f"{name} = {value} follows from {_says(equation)}"


def _solution(node: Expression, name: str, value: int) -> tuple[int, bool] | None:
    """Return for which value of a name an expression has a value, and whether it has it then.

    It is linear in the name, or has one power of it, of which the root is not negative: ``n*n``.
    """
    form = linear_form(node)
    if form is not None and list(form.terms) == [name]:
        found, rest = divmod(value - form.constant, form.terms[name])
        return found, not rest
    parts = node.children if isinstance(node, ex.Sum) else (node,)
    constant = sum(part for part in parts if isinstance(part, int))
    powers = [part for part in parts if isinstance(part, ex.Product)]
    if len(powers) != 1 or len(powers) + sum(isinstance(p, int) for p in parts) < len(parts):
        return None
    factors = _flat(powers[0])
    number = prod(f for f in factors if isinstance(f, int))
    roots = [f for f in factors if not isinstance(f, int)]
    if not number or any(f != ex.Variable(name) for f in roots):
        return None
    power, rest = divmod(value - constant, number)
    root = _root(max(power, 0), len(roots))
    return root, not rest and root ** len(roots) == power


def _flat(node: Expression) -> list[Expression]:
    """Return the factors of a product, of those that are products as well."""
    if not isinstance(node, ex.Product):
        return [node]
    return [factor for child in node.children for factor in _flat(child)]


def _root(number: int, degree: int) -> int:
    """Return the largest integer of which a power is at most a number that is not negative."""
    low, high = 0, number + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if middle**degree <= number else (low, middle)
    return low


def _decisive(node: Expression, value: int) -> Expression:
    """Return what has a value if `node` has it: of a maximum, what is not a smaller number."""
    if not isinstance(node, ex.Max | ex.Min):
        return node
    forms = [linear_form(child) for child in node.children]
    numbers = [form.constant for form in forms if form is not None and form.is_constant]
    others = [
        c for c, f in zip(node.children, forms, strict=True) if f is None or not f.is_constant
    ]
    less = all(n < value for n in numbers)
    more = all(n > value for n in numbers)
    if len(others) == 1 and (less if isinstance(node, ex.Max) else more):
        return others[0]
    return node


def _says(equation: _Equation) -> str:
    arg, array = equation.arg, equation.array
    if equation.what is What.OFFSET:
        return (
            f"the offset of '{arg.name}', {show_expression(equation.expression)} = {array.offset}"
        )
    actual = array.strides if equation.what is What.STRIDES else array.shape
    shown = show_tuple(_declared(equation))
    return f"the {equation.what.value} of '{arg.name}', {shown} = {actual}"


def _declared(equation: _Equation) -> tuple[Expression, ...]:
    """Return the shape or the strides that are declared; the offset as one of one."""
    if equation.what is What.SHAPE:
        return equation.arg.shape or ()
    if equation.what is What.OFFSET:
        return (equation.expression,)
    strides = element_strides(equation.arg) or ()
    return tuple([_ANY if isinstance(s, Auto) or s is None else s for s in strides])


_ANY = ex.Variable("any")


def _no_solution(equation: _Equation, name: str) -> WrongShape | WrongStrides:
    kind = WrongShape if equation.what is What.SHAPE else WrongStrides
    return kind(
        f"{_says(equation)}, cannot be: no integer '{name}' makes "
        f"{show_expression(equation.expression)} equal to {equation.value}",
        where=caller_location(),
    )


def _mismatch(
    equation: _Equation, values: Mapping[str, int], origins: Mapping[str, str]
) -> SizeMismatch | WrongShape | WrongStrides:
    arg, array = equation.arg, equation.array
    declared = _declared(equation)
    names = sorted(walk.free_variables(equation.expression))
    if equation.what is What.STRIDES:  # all of them are shown
        names = sorted(NO_NAMES.union(*map(walk.free_variables, declared)) - {"any"})
    shown = [str(e) if e == _ANY else str(value_of(e, values)) for e in declared]
    if equation.what is What.OFFSET:
        message = (
            f"argument '{arg.name}' begins {array.offset} elements into its buffer; it has to "
            f"begin {shown[0]} elements into it"
        )
    else:
        actual = array.shape if equation.what is What.SHAPE else array.strides
        what = "shape" if equation.what is What.SHAPE else "strides, in elements,"
        expected = f"({', '.join(shown)}{',' * (len(shown) == 1)})"
        message = f"argument '{arg.name}' has the {what} {actual}; it has to be {expected}"
    if names:
        message += f" = {show_tuple(declared)}, as " + ", and ".join(origins[n] for n in names)
    if equation.what is not What.SHAPE:
        tags = "" if arg.dim_tags is None else show_tags(arg.dim_tags)
        remedy = f"pass an array with the layout '{tags}', or leave the layout to the call"
        return WrongStrides(message, where=caller_location(), remedy=remedy)
    from_others = any(f"of '{arg.name}'" not in origins[n] for n in names)
    kind = SizeMismatch if from_others else WrongShape
    remedy = "pass arrays that fit together"
    if from_others and isinstance(equation.expression, ex.Variable):
        remedy += (
            f"; if the sizes may differ, declare GlobalArg('{arg.name}', shape=...) with sizes of "
            "its own"
        )
    return kind(message, where=caller_location(), remedy=remedy)
