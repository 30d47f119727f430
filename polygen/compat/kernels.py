"""Attributes of Loo.py's kernels, read from polygen's."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from polygen.compat._table import NOT_HERE
from polygen.compat.loopy_arguments import shown
from polygen.compat.parts import ATTRIBUTES_OF_INSTRUCTIONS, ATTRIBUTES_OF_PROGRAMS
from polygen.ir.array import AddressSpace, Argument, GlobalArg, TemporaryVariable, ValueArg
from polygen.ir.empty import NO_NAMES
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel
from polygen.ir.offered import no_attribute, offer
from polygen.ir.tags import InameTag
from polygen.language.programs import TranslationUnit

_Names: TypeAlias = Callable[[], frozenset[str]]
_Namer: TypeAlias = Callable[[str], str]
_Ids: TypeAlias = Callable[[], Mapping[str, frozenset[str]]]


def _args(kernel: Kernel) -> list[Argument]:
    return [shown(argument) for argument in kernel.arguments]


def _arg_dict(kernel: Kernel) -> Mapping[str, Argument]:
    return {argument.name: shown(argument) for argument in kernel.arguments}


def _id_to_insn(kernel: Kernel) -> Mapping[str, Instruction]:
    return dict(kernel.instructions_by_id)


def _temporary_variables(kernel: Kernel) -> Mapping[str, TemporaryVariable]:
    return {temporary.name: shown(temporary) for temporary in kernel.temporaries}


def _loop_priority(kernel: Kernel) -> frozenset[tuple[str, ...]]:
    return frozenset(kernel.priorities)


def _silenced_warnings(kernel: Kernel) -> frozenset[str]:
    return frozenset(kernel.options.silenced_warnings)


def _all_inames(kernel: Kernel) -> _Names:
    return lambda: frozenset(kernel.inames)


def _all_params(kernel: Kernel) -> _Names:
    """Return the parameters of domains."""
    inames = frozenset(kernel.inames)
    mentioned = NO_NAMES.union(*(domain.parameters for domain in kernel.domains))
    return lambda: mentioned - inames


def _all_variable_names(kernel: Kernel) -> _Names:
    return lambda: frozenset((*kernel.variables, *kernel.inames))


def _all_group_names(kernel: Kernel) -> _Names:
    both = [g for i in kernel.instructions for g in (*i.groups, *i.conflicts_with_groups)]
    return lambda: frozenset(both)


def _iname_tags(kernel: Kernel) -> Callable[[str], frozenset[InameTag]]:
    def tags(iname: str) -> frozenset[InameTag]:
        kernel.check_iname(iname)
        return frozenset({kernel.tags[iname]} if iname in kernel.tags else ())

    return tags


def _iname_tags_of_type(kernel: Kernel) -> Callable[..., frozenset[InameTag]]:
    tags = _iname_tags(kernel)

    def of_type(iname: str, kind: type) -> frozenset[InameTag]:
        return frozenset([tag for tag in tags(iname) if isinstance(tag, kind)])

    return of_type


def _iname_to_insns(kernel: Kernel) -> _Ids:
    def ids(iname: str) -> frozenset[str]:
        return frozenset([i.id for i in kernel.instructions if iname in i.within_inames])

    return lambda: {iname: ids(iname) for iname in kernel.inames}


def _insn_inames(kernel: Kernel) -> Callable[[Instruction | str], frozenset[str]]:
    def inames(insn: Instruction | str) -> frozenset[str]:
        return (kernel.instruction(insn) if isinstance(insn, str) else insn).within_inames

    return inames


def _written(kernel: Kernel) -> _Names:
    return lambda: frozenset(n for insn in kernel.assignments for n in insn.written_names)


def _read(kernel: Kernel) -> _Names:
    """Return what is read: inames and parameters of domains, too."""
    read = [name for insn in kernel.expanded.instructions for name in insn.read_names]
    known = frozenset((*kernel.variables, *kernel.inames)).intersection(read)
    return lambda: known | _all_params(kernel)()


def _reader_map(kernel: Kernel) -> _Ids:
    return lambda: _by_name(kernel, lambda insn: insn.read_names)


def _writer_map(kernel: Kernel) -> _Ids:
    return lambda: _by_name(kernel, lambda insn: insn.written_names)


def _by_name(kernel: Kernel, names: Callable[[Instruction], Any]) -> Mapping[str, frozenset[str]]:
    found: dict[str, set[str]] = {}
    for insn in kernel.expanded.instructions:
        for name in sorted(names(insn)):
            found.setdefault(name, set()).add(insn.id)
    return {name: frozenset(ids) for name, ids in found.items() if name in kernel.variables}


def _in_space(space: AddressSpace) -> Callable[[Kernel], _Names]:
    def names(kernel: Kernel) -> _Names:
        found = [t.name for t in kernel.temporaries if kernel.address_space(t.name) is space]
        if space is AddressSpace.GLOBAL:
            found += [a.name for a in kernel.arguments if isinstance(a, GlobalArg)]
        return lambda: frozenset(found)

    return names


def _non_iname_variable_names(kernel: Kernel) -> _Names:
    return lambda: frozenset(kernel.variables)


def _unwritten_value_args(kernel: Kernel) -> _Names:
    return lambda: frozenset([a.name for a in kernel.arguments if isinstance(a, ValueArg)])


def _depended_on(kernel: Kernel) -> _Ids:
    """Return what comes before each instruction, what it does not say itself included."""

    def before(insn_id: str) -> frozenset[str]:
        found: set[str] = set()
        waiting = [*kernel.instruction(insn_id).depends_on]
        while waiting:
            if (one := waiting.pop()) not in found:
                found.add(one)
                waiting += kernel.instruction(one).depends_on
        return frozenset(found)

    return lambda: {insn.id: before(insn.id) for insn in kernel.instructions}


def _namer(known: Callable[[Kernel], frozenset[str]]) -> Callable[[Kernel], Callable[[], _Namer]]:
    """Return a function of a kernel that makes names which are not used, each once."""

    def generator(kernel: Kernel) -> Callable[[], _Namer]:
        used = set(known(kernel))

        def name(like: str) -> str:
            found, count = like, 0
            while found in used:
                found, count = f"{like}_{count}", count + 1
            used.add(found)
            return found

        return lambda: name

    return generator


def _stringify(kernel: Kernel) -> Callable[..., str]:
    return lambda *_what: str(kernel)


def _self(kernel: Kernel) -> Kernel:
    return kernel


ATTRIBUTES: Mapping[str, Callable[[Any], Any]] = {
    "all_group_names": _all_group_names,
    "all_inames": _all_inames,
    "all_params": _all_params,
    "all_variable_names": _all_variable_names,
    "arg_dict": _arg_dict,
    "args": _args,
    "get_instruction_id_generator": _namer(lambda knl: frozenset(knl.instructions_by_id)),
    "get_read_variables": _read,
    "get_unwritten_value_args": _unwritten_value_args,
    "get_var_name_generator": _namer(lambda knl: frozenset(knl.names)),
    "get_written_variables": _written,
    "global_var_names": _in_space(AddressSpace.GLOBAL),
    "id_to_insn": _id_to_insn,
    "iname_tags": _iname_tags,
    "iname_tags_of_type": _iname_tags_of_type,
    "iname_to_insns": _iname_to_insns,
    "insn_inames": _insn_inames,
    "local_var_names": _in_space(AddressSpace.LOCAL),
    "loop_priority": _loop_priority,
    "non_iname_variable_names": _non_iname_variable_names,
    "reader_map": _reader_map,
    "recursive_insn_dep_map": _depended_on,
    "silenced_warnings": _silenced_warnings,
    "stringify": _stringify,
    "subkernel": _self,
    "temporary_variables": _temporary_variables,
    "writer_map": _writer_map,
}

_OF: tuple[tuple[type, Mapping[str, Callable[[Any], Any]]], ...] = (
    (Kernel, ATTRIBUTES),
    (Instruction, ATTRIBUTES_OF_INSTRUCTIONS),
    (TranslationUnit, ATTRIBUTES_OF_PROGRAMS),
)


def _attribute(owner: object, name: str) -> Any:
    for kind, attributes in _OF:
        if isinstance(owner, kind) and name in attributes:
            return attributes[name](owner)
    of_kernels = isinstance(owner, TranslationUnit) and (
        name in ATTRIBUTES or hasattr(Kernel, name) or name in Kernel.__match_args__
    )
    hint = "kernels have it: program['name'], or program.default_entrypoint" if of_kernels else ""
    raise no_attribute(owner, name, hint or NOT_HERE.get(f"knl.{name}", "see docs/porting.md"))


def offer_attributes() -> None:
    """Let kernels, instructions and programs have these attributes."""
    offer(_attribute)
