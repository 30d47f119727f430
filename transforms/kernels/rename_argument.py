"""`polygen.rename_argument`."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Annotated, Any

import islpy as isl

from polygen.errors import InvalidArgument, NameTaken, UnknownArgument, did_you_mean
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import Argument, ValueArg
from polygen.ir.claims import Claim, Injective
from polygen.ir.domain import Domain, rename_dimension
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, map_stride
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Kind, is_new_name, transformation

_PARAM = isl.dim_type.param


def _is_argument(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, str):
        return False
    names = [a.name for a in kernel.arguments]
    if value not in names:
        raise UnknownArgument(
            f"kernel '{kernel.name}' has no argument '{value}'",
            where=caller_location(),
            remedy=did_you_mean(value, names),
        )
    return True


ArgumentName = Annotated[str, Kind("the name of an argument", _is_argument)]


@transformation(declared=True)
def rename_argument(
    kernel: Kernel, old_name: ArgumentName, new_name: str, existing_ok: bool = False
) -> Kernel:
    """Give an argument another name, wherever it is mentioned.

    Kind: change of interface.

    Requires:
        1. The new name is not used yet; or `existing_ok` is True, and both are names of scalar
           arguments, of one type if both types are known.
        2. No verbatim C uses the argument: there, its name is part of the text.

    Parameters:
        old_name: the name of an array or a scalar that a call passes.
        new_name: its name from now on.
        existing_ok: a scalar argument may get the name of another one.  Then the two are one: a
            call can only ask for what it could ask for with equal values.

    Before -> After:

        >>> import polygen as pg
        >>> knl = pg.make_kernel("{ [i]: 0<=i<n }", "out[i] = n*a[i]")
        >>> knl = pg.add_dtypes(knl, {"a": "float32"})
        >>> knl = pg.rename_argument(pg.rename_argument(knl, "n", "size"), "a", "values")
        >>> print(pg.generate_code(knl, "c"))
        void polygen_kernel(float const *restrict values, int const size, float *restrict out)
        {
            for (int i = 0; i < size; ++i)
                out[i] = size * values[i];
        }

    Raises:
        UnknownArgument: if the kernel has no such argument.
        NameTaken, ReservedName, InvalidArgument: if 1 does not hold.
        InvalidArgument: if 2 does not hold.

    Source: Loo.py's transformation of this name.
    """
    if old_name == new_name:
        return kernel
    if existing_ok and new_name in kernel.variables:
        _check_one(kernel, old_name, new_name)
    else:
        is_new_name(kernel, new_name)
    _check_free(kernel, old_name, new_name)
    values: dict[str, Expression] = {old_name: ex.Variable(new_name)}

    def renamed(node: Expression) -> Expression:
        return walk.substitute(node, values)

    def moved(domain: Domain) -> Domain:
        return _moved(domain, old_name, new_name)

    return kernel.copy(
        domains=tuple(map(moved, kernel.domains)),
        instructions=tuple([_instruction(i, renamed, moved) for i in kernel.instructions]),
        substitutions=tuple([rule.with_values(values) for rule in kernel.substitutions]),
        arguments=_arguments(kernel, old_name, new_name, renamed),
        temporaries=tuple([_laid_out(t, renamed) for t in kernel.temporaries]),
        derived_sizes=tuple([size.with_values(values) for size in kernel.derived_sizes]),
        separations=tuple(map(renamed, kernel.separations)),
        assumptions=moved(kernel.assumptions),
        claims=tuple([_claim(c, old_name, new_name) for c in kernel.claims]),
    )


# --- what is refused


def _check_one(kernel: Kernel, old: str, new: str) -> None:
    """Check that two arguments can become one."""
    first, second = kernel.variables[old], kernel.variables[new]
    why = ""
    if not (isinstance(first, ValueArg) and isinstance(second, ValueArg)):
        why = "only scalar arguments can become one"
    elif first.dtype != second.dtype and None not in (first.dtype, second.dtype):
        why = f"'{old}' is of type {first.dtype}, '{new}' of type {second.dtype}"
    if why:
        raise NameTaken(
            f"rename_argument: kernel '{kernel.name}' already has a '{new}': {why}",
            where=caller_location(),
            remedy=f"'{kernel.new_name(new)}' is free",
        )


def _check_free(kernel: Kernel, old: str, new: str) -> None:
    """Check that the name is nowhere in a text, and that the new one means nothing else."""
    for rule in kernel.substitutions:
        if new in rule.arguments:
            raise NameTaken(
                f"rename_argument: '{new}' is an argument of the rule '{rule.name}'",
                where=caller_location(),
                remedy=f"'{kernel.new_name(new)}' is free",
            )
    for insn in kernel.instructions:
        names = insn.read_names.union(insn.written_names)
        if isinstance(insn, CInstruction) and not names.isdisjoint((old, new)):
            raise InvalidArgument(
                f"rename_argument: verbatim C in instruction '{insn.id}' uses '{old}'"
                if old in names
                else f"rename_argument: verbatim C in instruction '{insn.id}' uses '{new}'",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy="give the argument its name where the kernel is made",
            )


# --- what is renamed


def _moved(domain: Domain, old: str, new: str) -> Domain:
    """Return a domain with a parameter renamed; if the new one is there, the two are equal."""
    if old not in domain.parameters:
        return domain
    if new not in domain.parameters:
        return Domain(rename_dimension(domain.set, old, new))
    one, other = (domain.set.find_dim_by_name(_PARAM, name) for name in (old, new))
    equal = domain.set.equate(_PARAM, one, _PARAM, other)
    return Domain(equal.project_out(_PARAM, one, 1))


def _instruction(
    insn: Instruction,
    renamed: Callable[[Expression], Expression],
    moved: Callable[[Domain], Domain],
) -> Instruction:
    relations = [replace(r, domain=moved(r.domain)) for r in insn.happens_after]
    return insn.map_expressions(renamed).copy(happens_after=frozenset(relations))


def _arguments(
    kernel: Kernel, old: str, new: str, renamed: Callable[[Expression], Expression]
) -> tuple[Argument, ...]:
    """Return the arguments; of two that become one, the one that has the name stays."""
    found: list[Any] = []
    for argument in kernel.arguments:
        if argument.name != old:
            found.append(_laid_out(argument, renamed))
        elif new not in kernel.variables:
            found.append(replace(_laid_out(argument, renamed), name=new))
    dtype = kernel.variables[old].dtype
    if new in kernel.variables and dtype is not None:
        found = [replace(a, dtype=dtype) if a.name == new else a for a in found]
    return tuple(found)


def _laid_out(variable: Any, renamed: Callable[[Expression], Expression]) -> Any:
    """Return an argument or temporary whose shape and layout have the new name."""
    if isinstance(variable, ValueArg):
        return variable
    changes: dict[str, Any] = {}
    if variable.shape is not None:
        changes["shape"] = tuple(map(renamed, variable.shape))
    if variable.dim_tags is not None:
        changes["dim_tags"] = tuple([map_stride(tag, renamed) for tag in variable.dim_tags])
    if not isinstance(getattr(variable, "offset", Auto.AUTO), Auto):
        changes["offset"] = renamed(variable.offset)
    return replace(variable, **changes)


def _claim(claim: Claim, old: str, new: str) -> Claim:
    return Injective(new) if claim == Injective(old) else claim
