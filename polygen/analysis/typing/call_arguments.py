"""Arguments of calls of kernels: expressions for numbers, parts of arrays for arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from polygen.analysis.typing.functions import FUNCTIONS
from polygen.errors import (
    MalformedInstruction,
    NameTaken,
    TypeMismatch,
    UnknownFunction,
    UserError,
    WrongArity,
)
from polygen.ir import expression as ex
from polygen.ir.array import Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.dtype import DType
from polygen.ir.empty import NO_NAMES
from polygen.ir.expression import Expression
from polygen.ir.fetches import FETCHES
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.names import check_function_name
from polygen.ir.remembered import per_kernel
from polygen.ir.show import called_kernels
from polygen.ir.show_expression import show_expression
from polygen.ir.verify import excerpt

Refuse: TypeAlias = Callable[[type[UserError], str], UserError]
REMEDY = "pass scalars and arrays that are read as arguments, assign those that are written"


@dataclass(frozen=True)
class Given:
    """The arguments of one call, by the names of the called kernel.

    Attributes:
        scalars: the numbers.
        arrays: the parts of arrays.
    """

    scalars: Mapping[str, Expression]
    arrays: Mapping[str, ex.SubArrayRef]


@per_kernel
def inputs(kernel: Kernel) -> tuple[Argument, ...]:
    """Return what a call of a kernel passes: numbers, and arrays that are read, in order."""
    instructions = kernel.expanded.instructions
    read = NO_NAMES.union(*(insn.read_names for insn in instructions))
    return tuple([a for a in kernel.arguments if isinstance(a, ValueArg) or a.name in read])


@per_kernel
def outputs(kernel: Kernel) -> tuple[GlobalArg, ...]:
    """Return what a call of a kernel assigns to: arrays that are written, in order."""
    arrays = (a for a in kernel.arguments if isinstance(a, GlobalArg))
    return tuple([a for a in arrays if a.name in kernel.expanded.writers])


def checked(call: KernelCall, callee: Kernel, refuse: Refuse) -> KernelCall:
    """Return a call that knows its kernel, with a part of an array wherever that takes one.

    Parameters:
        call: names the kernel.
        callee: what is called.
        refuse: makes the error.

    Raises:
        WrongArity: if it has another number of arguments or results than the kernel.
        MalformedInstruction: if one of them is of another form than the kernel's.
    """
    read, written = inputs(callee), outputs(callee)
    call = _with_sides(call, callee)
    for what, wanted, given in (
        ("argument", read, call.arguments),
        ("assignee", written, call.results),
    ):
        if len(wanted) != len(given):
            names = ", ".join(a.name for a in wanted)
            raise refuse(
                WrongArity,
                f"kernel '{callee.name}' takes {len(wanted)} {what}"
                f"{'' if len(wanted) == 1 else 's'} ({names}), and is given {len(given)}",
            )
    new = call.copy(
        callee=callee,
        arguments=tuple(
            [_fitting(a, n, refuse) for a, n in zip(read, call.arguments, strict=True)]
        ),
        results=tuple([_fitting(a, n, refuse) for a, n in zip(written, call.results, strict=True)]),
    )
    parts = dict(zip((a.name for a in read), new.arguments, strict=True))
    for argument, part in zip(written, new.results, strict=True):
        if parts.setdefault(argument.name, part) != part:
            raise refuse(
                MalformedInstruction,
                f"'{argument.name}' is read and written, and is given two parts of arrays",
            )
    return new


def _with_sides(call: KernelCall, callee: Kernel) -> KernelCall:
    """Return a call with what is written on the left, if all of it stands among the arguments.

    It does in a call that assigns nothing: then it gives all arguments, in order.
    """
    parts = tuple([a for a in call.arguments if isinstance(a, ex.SubArrayRef)])
    fits = len(call.arguments) == len(inputs(callee)) and len(call.results) == len(outputs(callee))
    if fits or parts != call.results or len(call.arguments) != len(callee.arguments):
        return call
    given = {a.name: node for a, node in zip(callee.arguments, call.arguments, strict=True)}
    return call.copy(
        arguments=tuple([given[a.name] for a in inputs(callee)]),
        results=tuple([given[a.name] for a in outputs(callee)]),
    )


def _fitting(argument: Argument, node: Expression, refuse: Refuse) -> Expression:
    """Return what an argument is given: an array alone becomes all of its elements."""
    if isinstance(argument, ValueArg):
        if isinstance(node, ex.SubArrayRef):
            raise refuse(
                MalformedInstruction, f"'{argument.name}' is a number, and is given an array"
            )
        return node
    rank = len(argument.shape or ())
    if rank == 0 and isinstance(node, ex.Variable | ex.Subscript):
        return ex.SubArrayRef((), node)
    if isinstance(node, ex.Variable):
        names = tuple([f"_{axis}" for axis in range(rank)])
        return ex.SubArrayRef(names, ex.element(node, tuple(map(ex.Variable, names))))
    if not isinstance(node, ex.SubArrayRef):
        raise refuse(
            MalformedInstruction,
            f"'{argument.name}' is an array, and is given '{show_expression(node)}'",
        )
    if len(node.swept_inames) != rank:
        raise refuse(
            MalformedInstruction,
            f"'{argument.name}' has {rank} axes, and is given '{show_expression(node)}', which "
            f"has {len(node.swept_inames)}",
        )
    return node


def given_by(call: KernelCall) -> Given:
    """Return what a call that knows its kernel gives to the arguments of that."""
    assert call.callee is not None
    parts = [
        *zip(inputs(call.callee), call.arguments, strict=True),
        *zip(outputs(call.callee), call.results, strict=True),
    ]
    arrays = {a.name: p for a, p in parts if isinstance(p, ex.SubArrayRef)}
    return Given({a.name: p for a, p in parts if a.name not in arrays}, arrays)


def refusal(kernel: Kernel, call: KernelCall) -> Refuse:
    """Return what makes errors that show a call in its kernel."""

    def refuse(kind: type[UserError], what: str) -> UserError:
        return kind(what, where=call.location, excerpt=excerpt(kernel, call.id), remedy=REMEDY)

    return refuse


def linked(kernel: Kernel, kernels: Mapping[str, Kernel]) -> Kernel:
    """Return a kernel whose calls know what they call, as far as that is among `kernels`.

    Raises:
        WrongArity, MalformedInstruction: if a call does not fit what it calls.
    """
    calls = [call for call in kernel.calls if not isinstance(call, LibraryCall)]
    if all(call.callee == kernels.get(call.function, call.callee) for call in calls):
        return kernel
    for name in kernels:
        _check_name(kernel, name)
    kernels = {name: callee.copy(name=name) for name, callee in kernels.items()}
    kernel = kernel.copy(
        instructions=tuple(
            [
                checked(insn, kernels[insn.function], refusal(kernel, insn))
                if isinstance(insn, KernelCall)
                and not isinstance(insn, LibraryCall)
                and insn.function in kernels
                else insn
                for insn in kernel.instructions
            ]
        )
    )
    _check_names(kernel)
    _check_arrays(kernel)
    return with_declared_types(kernel)


def with_declared_types(kernel: Kernel) -> Kernel:
    """Return a kernel whose arrays have the types that kernels declare which get parts of them.

    Raises:
        TypeMismatch: if they are declared with other types.
    """
    found: dict[str, DType] = {}
    for call in kernel.calls:
        for part, dtype in declared_types(call):
            known = kernel.array(ex.name_of(part)).dtype or found.get(ex.name_of(part))
            check_part_type(kernel, call, part, known, dtype)
            found[ex.name_of(part)] = dtype
    if all(kernel.variables[name].dtype is not None for name in found):
        return kernel
    return kernel.copy(
        arguments=tuple([_with_type(a, found) for a in kernel.arguments]),
        temporaries=tuple([_with_type(t, found) for t in kernel.temporaries]),
    )


_Variable = TypeVar("_Variable", Argument, TemporaryVariable)


def _with_type(variable: _Variable, found: Mapping[str, DType]) -> _Variable:
    if variable.dtype is None and variable.name in found:
        return replace(variable, dtype=found[variable.name])
    return variable


def declared_types(call: KernelCall) -> Iterator[tuple[ex.SubArrayRef, DType]]:
    """Yield the parts that a call gives to arrays of a declared type, each with that type."""
    if call.callee is None:
        return
    for name, part in given_by(call).arrays.items():
        dtype = call.callee.array(name).dtype
        if dtype is not None:
            yield part, dtype


def check_part_type(
    kernel: Kernel, call: KernelCall, part: ex.SubArrayRef, known: DType | None, dtype: DType
) -> None:
    """Check that part of an array of a type may be given to an array of a declared one.

    Raises:
        TypeMismatch: if it may not.
    """
    if known is None or known == dtype:
        return
    raise TypeMismatch(
        f"the call '{call.id}' gives kernel '{call.function}' '{show_expression(part)}', of type "
        f"'{known.name}', for an array of type '{dtype.name}'",
        where=call.location,
        excerpt=excerpt(kernel, call.id),
        remedy="declare it without a type where the kernel is made, or pass an array of this type",
    )


def _check_name(kernel: Kernel, name: str) -> None:
    """Check that a kernel that is called has a name that nothing else has."""
    check_function_name(name)
    if (
        name in FUNCTIONS
        or name in FETCHES
        or name in kernel.variables
        or name in kernel.home_domains
    ):
        raise NameTaken(
            f"'{name}' is a kernel, and something else in kernel '{kernel.name}'",
            where=kernel.location,
            remedy=f"give one of them another name, such as '{name}_'",
        )


def _check_names(kernel: Kernel) -> None:
    """Check that the kernels in a kernel have names of their own."""
    found: dict[str, Kernel] = {}
    for call in kernel.calls:
        if call.callee is None or isinstance(call, LibraryCall):
            continue
        for name, callee in (*called_kernels(call.callee).items(), (call.function, call.callee)):
            if found.setdefault(name, callee) != callee or name == kernel.name:
                raise NameTaken(
                    f"there are two kernels '{name}' in kernel '{kernel.name}'",
                    where=call.location,
                    excerpt=excerpt(kernel, call.id),
                    remedy="give one of them another name",
                )


def _check_arrays(kernel: Kernel) -> None:
    """Check that no number is given for an array, not for one without axes either."""
    for call in kernel.calls:
        if call.callee is None:
            continue
        for name, part in given_by(call).arrays.items():
            given = ex.name_of(part)
            if isinstance(kernel.variables.get(given), ValueArg) or given in kernel.home_domains:
                raise refusal(kernel, call)(
                    MalformedInstruction, f"'{name}' is an array, and is given '{given}', a number"
                )


def unknown_kernels(kernel: Kernel) -> frozenset[str]:
    """Return the names of the kernels that it calls, also through others, and nobody knows."""
    known = (kernel, *called_kernels(kernel).values())
    return frozenset(call.function for k in known for call in k.calls if call.callee is None)


def check_known(kernel: Kernel) -> None:
    """Check that it is known which kernels one calls.

    Raises:
        UnknownFunction: if it is not.
    """
    if unknown := sorted(unknown_kernels(kernel)):
        raise UnknownFunction(
            f"kernel '{kernel.name}' calls '{unknown[0]}', and nothing says what that is",
            where=kernel.location,
            remedy=f"merge it with a kernel of that name: merge([kernel, {unknown[0]}])",
        )


def functions_of(kernel: Kernel) -> Iterator[Kernel]:
    """Yield what the functions are made of that a kernel calls; those first that others call."""
    found: dict[Kernel, None] = {}
    for insn in kernel.instructions:
        if isinstance(insn, LibraryCall):
            continue
        if isinstance(insn, KernelCall) and insn.parts and insn.callee is not None:
            found |= dict.fromkeys((*functions_of(insn.callee), insn.callee))
    yield from found
