"""Functions that call routines of numerical libraries: which there are, and what may be called."""

from __future__ import annotations

from typing import Any

import numpy as np

from polygen.analysis.typing.call_arguments import given_by
from polygen.errors import InternalError, LibraryInParallel, LibraryNotPossible, TypeNotFound
from polygen.ir import expression as ex
from polygen.ir.array import GlobalArg
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.library_call import LibraryCall
from polygen.ir.verify import excerpt
from polygen.language.routine_table import ROUTINES
from polygen.lower.program import LibraryFunction

_TYPES = ("float32", "float64", "complex64", "complex128")


def library_functions(kernel: Kernel) -> tuple[LibraryFunction, ...]:
    """Return the functions of a lowered kernel that call libraries, each once."""
    found: dict[str, LibraryFunction] = {}
    for insn in kernel.instructions:
        if not isinstance(insn, LibraryCall) or insn.callee is None:
            continue
        callee: Kernel = insn.callee
        arrays = [a for a in callee.arguments if isinstance(a, GlobalArg)]
        dtype = next(a.dtype for a in arrays if a.dtype is not None and a.dtype.name in _TYPES)
        found[callee.name] = LibraryFunction(
            callee.name, callee.arguments, insn.function, insn.options, dtype
        )
    return tuple(found.values())


def number_type(routine: str, element_type: DType) -> DType:
    """Return the type of the numbers of a routine, such as ``alpha``."""
    if ROUTINES[routine].has_real_numbers and element_type.kind == "c":
        return np.dtype(f"f{element_type.itemsize // 2}")
    return element_type


def checked_library_call(kernel: Kernel, typed: Kernel, call: LibraryCall) -> DType:
    """Check a call of a library; return the type of the elements of its arrays.

    Parameters:
        kernel: has the call.
        typed: the same with types.
        call: knows its sizes.

    Raises:
        LibraryInParallel: if it stands in a loop whose iterations are in no order.
        LibraryNotPossible: if the library has not its types.
    """
    where: dict[str, Any] = {"where": call.location, "excerpt": excerpt(kernel, call.id)}
    for iname in sorted(call.within_inames):
        tag = kernel.tags.get(iname)
        if tag is not None and str(tag) != "for":
            raise LibraryInParallel(
                f"the call '{call.id}' of {call.function} stands in the loop of '{iname}', which "
                f"is tagged {tag}; a library is called by the host, once at a time",
                **where,
                remedy=f"leave '{iname}' a loop: untag_inames(kernel, '{iname}'); or take the "
                f"call out of it",
            )
    if call.callee is None:
        raise InternalError(f"the call '{call.id}' does not know its sizes")
    integers = {a.name for a in call.callee.arguments if a.dtype is not None}
    types: dict[str, DType] = {}
    for name, part in given_by(call).arrays.items():
        array = ex.name_of(part)
        dtype = typed.array(array).dtype
        if dtype is None:
            raise TypeNotFound(f"'{array}' has no type", **where)
        if name not in integers:
            types[array] = dtype
    first, *others = types.items()
    wrong = "" if first[1].name in _TYPES else f"{call.function} of {first[1].name}"
    for name, dtype in others:
        if dtype != first[1]:
            wrong = f"{call.function} of '{first[0]}', {first[1].name}, and '{name}', {dtype.name}"
    if wrong:
        raise LibraryNotPossible(
            f"the call '{call.id}' would be {wrong}: libraries have {', '.join(_TYPES)}, and one "
            "of them for all arrays of a call",
            **where,
            remedy="convert an array first, in an instruction of its own",
        )
    return first[1]
