"""A kernel as text: everything that determines its code, in a form that parses back."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import fields
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import (
    AddressSpace,
    Argument,
    Array,
    GlobalArg,
    ImageArg,
    TemporaryVariable,
)
from polygen.ir.atomicity import Atomicity
from polygen.ir.callables import user_function
from polygen.ir.dtype import DType
from polygen.ir.expression import Expression
from polygen.ir.fetches import name_of_fetch
from polygen.ir.instruction import (
    Assigning,
    Barrier,
    CInstruction,
    Instruction,
    KernelCall,
    MultiAssignment,
    NoOp,
)
from polygen.ir.kernel import Kernel
from polygen.ir.layout import Auto, DimTags, Strided, show_tags
from polygen.ir.library_call import LibraryCall, is_whole
from polygen.ir.operation import Special
from polygen.ir.options import Options
from polygen.ir.show_expression import show_expression
from polygen.ir.show_sums import show_long_sums
from polygen.ir.substitution import SubstitutionRule

RULE = "-" * 75


def show_tuple(items: Iterable[Expression]) -> str:
    """Return ``(n, m)`` for a shape or for strides."""
    return f"({', '.join(show_expression(i) for i in items)})"


def _type(dtype: DType | None) -> str:
    return f"type: {'<runtime>' if dtype is None else dtype.name}"


def show_argument(arg: Argument) -> str:
    """Return the line that describes an argument."""
    if not isinstance(arg, GlobalArg):
        return f"{arg.name}: ValueArg, {_type(arg.dtype)}"
    line = f"{arg.name}: {type(arg).__name__}, {_type(arg.dtype)}, shape: "
    line += "<unknown>" if arg.shape is None else show_tuple(arg.shape)
    if isinstance(arg, ImageArg):
        return line
    line += ", strides: <runtime>" if arg.dim_tags is None else _layout(arg.dim_tags)
    if arg.offset != 0:
        offset = "<auto>" if isinstance(arg.offset, Auto) else show_expression(arg.offset)
        line += f", offset: {offset}"
    return line + _dim_names(arg) + _alignment(arg) + (", may_alias" if arg.may_alias else "")


def _layout(tags: DimTags) -> str:
    strides = [t.stride for t in tags if isinstance(t, Strided) and not isinstance(t.stride, Auto)]
    if len(strides) == len(tags):
        return f", strides: {show_tuple(strides)}"
    return f', dim_tags: "{show_tags(tags)}"'


def _alignment(array: Array) -> str:
    return "" if array.alignment is None else f", alignment: {array.alignment}"


def _dim_names(array: Array) -> str:
    return "" if array.dim_names is None else f", dim_names: ({', '.join(array.dim_names)})"


def show_temporary(temporary: TemporaryVariable) -> str:
    """Return the line that describes a temporary."""
    line = f"{temporary.name}: {_type(temporary.dtype)}"
    if temporary.shape:
        line += f", shape: {show_tuple(temporary.shape)}"
    if temporary.dim_tags is not None:
        line += _layout(temporary.dim_tags)
    line += _dim_names(temporary) + _alignment(temporary)
    if temporary.address_space is not AddressSpace.PRIVATE:
        line += f", aspace: {temporary.address_space.value}"
    if temporary.shuffled:
        line += ", shuffled"
    if temporary.base_storage is not None:
        line += f", base_storage: {temporary.base_storage}"
    if temporary.initializer is not None:
        line += f", read_only, initializer: {show_elements(temporary.initializer)}"
    return line


def show_elements(array: np.ndarray[Any, Any]) -> str:
    """Return the elements of an array, row by row, each with the fewest digits that tell it."""
    return f"[{', '.join(map(str, array.ravel()))}]"


def show_instruction(
    insn: Instruction, iname_order: tuple[str, ...], *, exhaustive: bool = False
) -> str:
    """Return the line of an instruction: its inames, what it does, its options.

    Parameters:
        insn: the instruction.
        iname_order: the order in which inames are named.
        exhaustive: say that the dependencies are all there are, as `make_kernel` wants it.
    """
    inames = ", ".join(i for i in iname_order if i in insn.within_inames)
    options = [f"id={insn.id}"]
    before = [*insn.depends_on, *(f"{r.first}[{r}]" for r in insn.happens_after)]
    if before or exhaustive:
        options.append(f"dep={'*' * exhaustive}{':'.join(sorted(before))}")
    options += _rare_options(insn)
    options += [f"if={show_expression(p)}" for p in insn.predicates]
    if isinstance(insn, Assigning) and insn.atomicity is not None and not _is_said(insn):
        options.append(str(insn.atomicity))
    if isinstance(insn, Assigning) and insn.asynchronous:
        options.append("asynchronous")
    return f"[{inames}] {show_work(insn)}  {{{', '.join(options)}}}"


def _rare_options(insn: Instruction) -> list[str]:
    found: list[str] = []
    for name, values in (
        ("tags", insn.tags),
        ("groups", insn.groups),
        ("conflicts", insn.conflicts_with_groups),
        ("nosync", [f"{insn_id}@{scope}" for insn_id, scope in insn.no_sync_with]),
    ):
        if values:
            found.append(f"{name}={':'.join(sorted(values))}")
    return found + ([f"priority={insn.priority}"] if insn.priority else [])


def show_work(insn: Instruction) -> str:
    """Return what an instruction does, as the language writes it."""
    if isinstance(insn, CInstruction):
        return _verbatim(insn)
    if isinstance(insn, LibraryCall):
        return _library(insn)
    if isinstance(insn, KernelCall):
        results = ", ".join(map(show_expression, insn.results))
        return f"{results} = {insn.function}({', '.join(map(show_expression, insn.arguments))})"
    fetch = _fetch(insn)
    if fetch is not None:
        return fetch
    if isinstance(insn, Assigning):
        targets = ", ".join(map(show_expression, insn.assignees))
        return f"{targets} = {', '.join(map(show_expression, _written_values(insn)))}"
    return f"... {mark_of(insn)}"


def _fetch(insn: Instruction) -> str | None:
    """Return an update that returns the old value by its name; None if it has none."""
    if not isinstance(insn, MultiAssignment) or insn.atomicity is None:
        return None
    if len(insn.assignees) != 2:  # it is malformed, and shown in an error
        return None
    (old, target), (value, new) = insn.assignees, insn.values
    found = name_of_fetch(target, new) if value == target else None
    if found is None:
        return None
    shown = ", ".join(map(show_expression, (target, *found[1])))
    return f"{show_expression(old)} = {found[0]}({shown})"


def _is_said(insn: Assigning) -> bool:
    """Tell whether the name of a fetch says all of how an instruction is atomic."""
    return insn.atomicity == Atomicity() and _fetch(insn) is not None


def _verbatim(insn: CInstruction) -> str:
    names = [
        name if value == ex.Variable(name) else f"{name}={show_expression(value)}"
        for name, value in insn.iname_exprs
    ]
    text = f"... code({', '.join(names)}) {json.dumps(insn.code)}"
    if insn.read_variables:
        text += f" reads({', '.join(sorted(insn.read_variables))})"
    if insn.assignees:
        text += f" writes({', '.join(map(show_expression, insn.assignees))})"
    return text


def _library(call: LibraryCall) -> str:
    said = [
        f'"{call.function}"',
        *map(_part, call.operands()),
        *[f"{name}={show_expression(value)}" for name, value in call.numbers().items()],
        *[f'{name}="{word}"' for name, word in call.options],
    ]
    return f"{', '.join(map(_part, call.results))} = library({', '.join(said)})"


def _part(part: Expression) -> str:
    """Return part of an array; of all of it, the name."""
    return ex.name_of(part) if is_whole(part) else show_expression(part)


def _written_values(insn: Assigning) -> tuple[Expression, ...]:
    """Return what stands behind the ``=``: one call for all of its results."""
    first = insn.values[0]
    if isinstance(first, ex.Component):
        of_one = tuple([ex.Component(first.aggregate, n) for n in range(len(insn.values))])
        if len(of_one) > 1 and insn.values == of_one:
            return (first.aggregate,)
    return insn.values


def mark_of(insn: Instruction) -> str:
    """Return what stands behind ``...`` in an instruction that assigns nothing; else nothing."""
    if isinstance(insn, Barrier):
        return _BARRIERS[insn.scope]
    return "nop" if isinstance(insn, NoOp) else ""


_BARRIERS = {AddressSpace.LOCAL: "lbarrier", AddressSpace.GLOBAL: "gbarrier"}


def show_rule(rule: SubstitutionRule) -> str:
    """Return the line of a substitution rule."""
    return f"{rule.name}({', '.join(rule.arguments)}) := {show_expression(rule.expression)}"


def show_operation(operation: Special) -> str:
    """Return the line of a user's own reduction."""
    definition = operation.definition
    assert definition is not None  # or it would be no user's own
    identity = repr(definition.identity)
    if isinstance(definition.identity, tuple):
        identity = f"{{{', '.join(f'{t}: {value!r}' for t, value in definition.identity)}}}"
    line = f"{operation.name}({', '.join(definition.arguments)}) := "
    line += f"{show_expression(definition.combined)}, identity: {identity}"
    return line + (f", claimed: {', '.join(definition.claims)}" if definition.claims else "")


def _operations(kernel: Kernel) -> list[Special]:
    """Return the operations that users defined, and that a kernel uses."""
    nodes = [node for insn in kernel.instructions for node in insn.reads]
    nodes += [rule.expression for rule in kernel.substitutions]
    used = [r.operation for node in nodes for r in walk.reductions(node)]
    used += [
        insn.atomicity.operation
        for insn in kernel.instructions
        if isinstance(insn, Assigning) and insn.atomicity and insn.atomicity.operation
    ]
    found = {
        operation.name: Special(operation.name, None, operation.definition)
        for operation in used
        if isinstance(operation, Special) and operation.definition is not None
    }
    return [found[name] for name in sorted(found)]


def _functions(kernel: Kernel) -> list[str]:
    nodes = [node for insn in kernel.instructions for node in (*insn.assignees, *insn.reads)]
    nodes += [rule.expression for rule in kernel.substitutions]
    called = (user_function(part) for node in nodes for part in walk.subexpressions(node))
    found = {f.name: f.definition for f in called if f is not None}
    return [line for name in sorted(found) for line in found[name].lines(name)]


def _options(options: Options) -> list[str]:
    default = Options()
    return [
        f"{f.name}: {getattr(options, f.name)!r}"
        for f in fields(options)
        if getattr(options, f.name) != getattr(default, f.name)
    ]


def sections(kernel: Kernel) -> list[tuple[str, list[str]]]:
    """Return the parts of a kernel's text: a title and the lines of each, which may be none."""
    order = kernel.inames
    assumptions = kernel.assumptions
    known = [] if assumptions.set.plain_is_universe() else [assumptions.text]
    return [
        ("ARGUMENTS", [show_argument(a) for a in kernel.arguments]),
        ("TEMPORARIES", [show_temporary(t) for t in kernel.temporaries]),
        ("SIZES", [str(size) for size in kernel.derived_sizes]),
        ("DOMAINS", [d.text for d in kernel.domains]),
        ("ASSUMPTIONS", known),
        ("INAME TAGS", [f"{i}: {kernel.tags[i]}" for i in order if i in kernel.tags]),
        ("PRIORITIES", [", ".join(p) for p in kernel.priorities]),
        ("SEPARATIONS", [show_expression(c) for c in kernel.separations]),
        ("REDUCTIONS", [show_operation(o) for o in _operations(kernel)]),
        ("FUNCTIONS", _functions(kernel)),
        ("PREAMBLES", [f"{key} in {t}: {text!r}" for t, key, text in kernel.preambles]),
        ("SUBSTITUTION RULES", [show_rule(r) for r in kernel.substitutions]),
        ("INSTRUCTIONS", [t for i in kernel.instructions for t in _instruction(kernel, i, order)]),
        ("CLAIMS", [str(claim) for claim in kernel.claims]),
        ("OPTIONS", _options(kernel.options)),
        ("NAMES", _written_names(kernel)),
        ("LATER", [] if kernel.later is None else kernel.later.lines()),
    ]


def _written_names(kernel: Kernel) -> list[str]:
    """Return the lines of what the user calls names that are others in code."""
    names = kernel.names_in_errors.items()
    return [f"{name}: {json.dumps(called)}" for name, called in names if name != called]


def _instruction(kernel: Kernel, insn: Instruction, order: tuple[str, ...]) -> list[str]:
    """Return the text of an instruction, behind what there is to say of its sums."""
    return [*show_long_sums(kernel, insn), show_instruction(insn, order)]


def show_head(kernel: Kernel) -> list[str]:
    """Return the lines that a kernel's text begins with."""
    return [f"KERNEL: {kernel.name}"] + ([f"TARGET: {kernel.target}"] if kernel.target else [])


def show_kernels(kernels: Iterable[Kernel], lines: Iterable[str] = ()) -> str:
    """Return the texts of kernels, behind further lines."""
    shown = [RULE, *lines] if lines else []
    for kernel in kernels:
        shown += [RULE, *show_head(kernel)]
        for title, body in sections(kernel):
            if body:
                shown += [RULE, f"{title}:", *body]
    return "\n".join([*shown, RULE])


def show_kernel(kernel: Kernel) -> str:
    """Return the text of a kernel, and of those that it calls: what `print` shows."""
    return show_kernels((kernel, *reversed(called_kernels(kernel).values())))


def called_kernels(kernel: Kernel) -> dict[str, Kernel]:
    """Return the kernels that one calls, by name; behind those that they call themselves.

    What stands for a routine of a library is none of them.
    """
    found: dict[str, Kernel] = {}
    for call in kernel.calls:
        if call.callee is not None and not isinstance(call, LibraryCall):
            found |= called_kernels(call.callee)
            found[call.function] = call.callee
    return found
