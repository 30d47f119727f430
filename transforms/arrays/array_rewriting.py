"""Shared parts of steps on arrays: the chosen arrays, new declarations, new subscripts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Annotated, Any, TypeAlias, cast

from polygen.errors import AxisNotPossible, InvalidArgument, VerbatimNotPossible
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import AddressSpace, Array, GlobalArg, TemporaryVariable
from polygen.ir.expression import Expression
from polygen.ir.instruction import CInstruction, Instruction, KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, Nested
from polygen.ir.substitution import expand, rules_mentioning
from polygen.ir.verify import excerpt
from polygen.source import caller_location
from polygen.transformation import Kind, is_one_of, to_names

_SPACES = {space.value for space in AddressSpace}


def _is_space(kernel: Kernel, value: Any) -> bool:
    return isinstance(value, AddressSpace | Auto) or is_one_of(_SPACES)(kernel, value)


Space: TypeAlias = Annotated[
    AddressSpace | Auto | str,
    Kind("an AddressSpace, or 'private', 'local', 'global' or 'auto'", _is_space),
]


def to_space(given: Space) -> AddressSpace:
    """Return the address space that is meant."""
    return AddressSpace.AUTO if isinstance(given, Auto) else AddressSpace(given)


Index: TypeAlias = tuple[Expression, ...]


def is_array(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` names an array; raise UnknownArgument if it names nothing."""
    if not isinstance(value, str):
        return False
    return isinstance(kernel.variable(value), GlobalArg | TemporaryVariable)


def _are_arrays(kernel: Kernel, value: Any) -> bool:
    if not isinstance(value, str | list | tuple):
        return False
    given = to_names(cast("str | Sequence[str]", value))
    return bool(given) and all(is_array(kernel, name) for name in given)


def is_temporary(kernel: Kernel, value: Any) -> bool:
    """Tell whether `value` names a temporary; raise UnknownArgument if it names nothing."""
    return is_array(kernel, value) and isinstance(kernel.variable(value), TemporaryVariable)


def _are_temporaries(kernel: Kernel, value: Any) -> bool:
    return _are_arrays(kernel, value) and all(is_temporary(kernel, n) for n in to_names(value))


ArrayName: TypeAlias = Annotated[str, Kind("the name of an array", is_array)]
Arrays: TypeAlias = Annotated[
    str | Sequence[str], Kind("arrays: 'a, b' or a sequence of them", _are_arrays)
]
Temporaries: TypeAlias = Annotated[
    str | Sequence[str], Kind("temporaries: 's, t' or a sequence of them", _are_temporaries)
]
AxisNumber: TypeAlias = Annotated[
    int,
    Kind(
        "the number of an axis, from 0",
        lambda _, v: isinstance(v, int) and not isinstance(v, bool) and v >= 0,
    ),
]


def redeclared(kernel: Kernel, changed: Mapping[str, Array]) -> Kernel:
    """Return the kernel with other declarations of some of its arrays, by the old names."""

    def new(variable: Any) -> Any:
        return changed.get(variable.name, variable)

    return kernel.copy(
        arguments=tuple([new(a) for a in kernel.arguments]),
        temporaries=tuple([new(t) for t in kernel.temporaries]),
    )


def check_axis(kernel: Kernel, name: str, axis: int) -> None:
    """Check that an array has an axis of this number.

    Raises:
        AxisNotPossible: if it has not.
    """
    count = len(kernel.array(name).shape or ())
    if axis >= count:
        raise AxisNotPossible(
            f"'{name}' has {count} {'axis' if count == 1 else 'axes'}, and none of number {axis}",
            where=caller_location(),
            remedy="axes are counted from 0",
        )


def check_no_verbatim(kernel: Kernel, names: Iterable[str]) -> None:
    """Check that no verbatim C touches arrays whose elements are to lie in other places.

    Raises:
        VerbatimNotPossible: if some does: its text says where they lie.
    """
    for insn in kernel.instructions:
        if isinstance(insn, CInstruction):
            _check_verbatim(kernel, insn, frozenset(names))


def _check_verbatim(kernel: Kernel, insn: CInstruction, names: frozenset[str]) -> None:
    found = sorted(names.intersection(insn.read_names | set(insn.written_names)))
    if found:
        raise VerbatimNotPossible(
            f"the verbatim C of '{insn.id}' touches '{found[0]}', and says where its elements lie",
            where=caller_location(),
            excerpt=excerpt(kernel, insn.id),
            remedy="declare it as the text needs it, or write what that does as instructions",
        )


def several(step: str, given: str | Sequence[str], what: str, order: str) -> tuple[str, ...]:
    """Return the names that a step is given, of which there have to be two at least.

    Raises:
        InvalidArgument: if there are fewer, or one is named twice.
    """
    names = to_names(given)
    if len(names) < 2 or len(set(names)) < len(names):
        raise InvalidArgument(
            f"{step}: {', '.join(names)} is not several {what}, each once",
            where=caller_location(),
            remedy=f"name two or more, {order}",
        )
    return names


def check_rewritable(kernel: Kernel, names: Iterable[str], *, parts: bool = False) -> None:
    """Check that the subscripts of arrays are all there to be rewritten.

    Parameters:
        kernel: the kernel.
        names: the arrays.
        parts: whether parts of them may be given to kernels that are called.

    Raises:
        VerbatimNotPossible: if verbatim C touches one.
        AxisNotPossible: if a table of constants is among them, or part of one is given away.
    """
    given = frozenset(names)
    check_no_verbatim(kernel, given)
    for name in sorted(given):
        array = kernel.array(name)
        if isinstance(array, TemporaryVariable) and array.read_only:
            raise AxisNotPossible(
                f"'{name}' is a table of constants: its subscripts cannot change",
                where=caller_location(),
                remedy="declare the table with the other shape",
            )
    for insn in kernel.instructions:
        if isinstance(insn, KernelCall) and not parts:
            _check_call(kernel, insn, given)


def _check_call(kernel: Kernel, insn: KernelCall, names: frozenset[str]) -> None:
    for part in (*insn.results, *insn.arguments):
        if isinstance(part, ex.SubArrayRef) and ex.name_of(part.subscript) in names:
            raise AxisNotPossible(
                f"'{insn.id}' gives part of '{ex.name_of(part.subscript)}' to kernel "
                f"'{insn.function}', which would have other axes",
                where=caller_location(),
                excerpt=excerpt(kernel, insn.id),
                remedy=f"inline it first: inline_callable_kernel(kernel, '{insn.function}')",
            )


def with_subscripts(kernel: Kernel, changes: Mapping[str, Callable[[Index], Index]]) -> Kernel:
    """Return the kernel with other subscripts of some arrays, in rules as well."""

    def rule(node: Expression) -> Expression:
        if not isinstance(node, ex.Subscript) or ex.name_of(node) not in changes:
            return node
        return with_index(node, changes[ex.name_of(node)](ex.index_tuple(node)))

    def rewritten(insn: Instruction) -> Instruction:
        return insn.map_expressions(lambda e: walk.rewrite(e, rule))

    return kernel.copy(
        instructions=tuple([rewritten(insn) for insn in kernel.instructions]),
        substitutions=tuple(
            [replace(r, expression=walk.rewrite(r.expression, rule)) for r in kernel.substitutions]
        ),
    )


def without_rules_about(kernel: Kernel, names: Iterable[str]) -> Kernel:
    """Return the kernel without rules that mention some variables, but what they stand for."""
    rules = {n: r for name in names for n, r in rules_mentioning(kernel.rules, name).items()}
    if not rules:
        return kernel
    return kernel.copy(
        instructions=tuple(
            [insn.map_expressions(lambda e: expand(e, rules)) for insn in kernel.instructions]
        )
    ).without_unused(rules)


def with_names(kernel: Kernel, names: Mapping[str, str]) -> Kernel:
    """Return the kernel with other names of arrays and temporaries where these are used."""
    values = {old: ex.Variable(new) for old, new in names.items()}
    return kernel.copy(
        instructions=tuple(
            [
                insn.map_expressions(lambda e: walk.substitute(e, values))
                for insn in kernel.instructions
            ]
        ),
        substitutions=tuple([rule.with_values(values) for rule in kernel.substitutions]),
    )


def with_index(node: ex.Subscript, index: Index) -> ex.Subscript | ex.Variable:
    """Return the element of the same array with other subscripts; the scalar with none."""
    return ex.element(ex.Variable(ex.name_of(node)), index)


def nested_elsewhere(tag: object, level: Callable[[int], int]) -> Any:
    """Return a tag of an axis at another level, if it has one."""
    return replace(tag, level=level(tag.level)) if isinstance(tag, Nested) else tag
