"""What Loo.py's kernels offer, read from polygen's: attributes with Loo.py's names."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from polygen.ir.array import Argument, TemporaryVariable
from polygen.ir.instruction import Instruction
from polygen.ir.kernel import Kernel, fill_slot
from polygen.ir.tags import InameTag


def _args(kernel: Kernel) -> list[Argument]:
    return list(kernel.arguments)


def _arg_dict(kernel: Kernel) -> Mapping[str, Argument]:
    return {argument.name: argument for argument in kernel.arguments}


def _id_to_insn(kernel: Kernel) -> Mapping[str, Instruction]:
    return dict(kernel.instructions_by_id)


def _temporary_variables(kernel: Kernel) -> Mapping[str, TemporaryVariable]:
    return {temporary.name: temporary for temporary in kernel.temporaries}


def _all_inames(kernel: Kernel) -> Callable[[], frozenset[str]]:
    return lambda: frozenset(kernel.inames)


def _all_params(kernel: Kernel) -> Callable[[], frozenset[str]]:
    return lambda: frozenset(kernel.parameters)


def _iname_tags(kernel: Kernel) -> Callable[[str], frozenset[InameTag]]:
    def tags(iname: str) -> frozenset[InameTag]:
        kernel.check_iname(iname)
        return frozenset({kernel.tags[iname]} if iname in kernel.tags else ())

    return tags


def _written(kernel: Kernel) -> Callable[[], frozenset[str]]:
    return lambda: frozenset(n for insn in kernel.assignments for n in insn.written_names)


def _read(kernel: Kernel) -> Callable[[], frozenset[str]]:
    read = [name for insn in kernel.expanded.instructions for name in insn.read_names]
    return lambda: frozenset(kernel.variables).intersection(read)


ATTRIBUTES: Mapping[str, Callable[[Kernel], Any]] = {
    "all_inames": _all_inames,
    "all_params": _all_params,
    "arg_dict": _arg_dict,
    "args": _args,
    "get_read_variables": _read,
    "get_written_variables": _written,
    "id_to_insn": _id_to_insn,
    "iname_tags": _iname_tags,
    "temporary_variables": _temporary_variables,
}


def _attribute(kernel: Kernel, name: str) -> Any:
    if name not in ATTRIBUTES:
        raise AttributeError(f"a kernel has no attribute '{name}'", name=name, obj=kernel)
    return ATTRIBUTES[name](kernel)


def offer_attributes() -> None:
    """Let kernels have these attributes."""
    fill_slot("attribute", _attribute)
