"""Types for the arguments of two kernels that are called alike."""

from __future__ import annotations

from polygen.analysis.integers.integer_parameters import integer_parameters
from polygen.errors import KernelsDiffer
from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, ValueArg
from polygen.ir.kernel import Kernel
from polygen.source import caller_location
from polygen.transforms.kernels.add_dtypes import add_dtypes
from polygen.transforms.kernels.infer_unknown_types import infer_unknown_types

_NUMBERS, _WHOLE = "float64", "int32"


def with_common_types(first: Kernel, second: Kernel) -> tuple[Kernel, Kernel, dict[str, str]]:
    """Return two kernels whose arguments have types, and the types that had to be chosen.

    What one of them declares is declared for both; for what neither tells, numbers are float64, and
    subscripts and bounds int32.

    Raises:
        KernelsDiffer: if an argument has two types.
        UserError: if there are no such types.
    """
    kernels = first, second
    chosen: dict[str, str] = {}
    for chooses in (False, True):
        inferred = _inferred(kernels[0]), _inferred(kernels[1])
        known = _known(*inferred)
        chosen = _chosen(inferred, known) if chooses else {}
        kernels = _declared(kernels[0], known | chosen), _declared(kernels[1], known | chosen)
    # Temporaries stay as they are: of what type nobody declares is as wide as it has to be.
    known = _known(*(infer_unknown_types(kernel) for kernel in kernels))
    return _declared(kernels[0], known), _declared(kernels[1], known), chosen


def _inferred(kernel: Kernel) -> Kernel:
    return infer_unknown_types(kernel, expect_completion=False)


def _known(first: Kernel, second: Kernel) -> dict[str, str]:
    """Return the types of arguments that one kernel knows, or both alike."""
    found: dict[str, str] = {}
    for kernel in (first, second):
        for arg in kernel.arguments:
            if arg.dtype is None:
                continue
            if found.setdefault(arg.name, arg.dtype.name) != arg.dtype.name:
                raise KernelsDiffer(
                    f"'{arg.name}' has the type {found[arg.name]} in kernel '{first.name}', and "
                    f"{arg.dtype.name} in kernel '{second.name}'",
                    where=caller_location(),
                    remedy="declare it, or what is read, alike: add_dtypes",
                )
    return found


def _chosen(kernels: tuple[Kernel, Kernel], known: dict[str, str]) -> dict[str, str]:
    """Return types for arguments that are read, of which nothing tells the type."""
    found: dict[str, str] = {}
    for kernel in kernels:
        whole = _subscripts(kernel)
        read = frozenset(name for insn in kernel.expanded.instructions for name in insn.read_names)
        for arg in kernel.arguments:
            if arg.name in known or arg.name in found or arg.dtype is not None:
                continue
            if isinstance(arg, ValueArg) and arg.name in integer_parameters(kernel):
                continue  # a size: whether it needs 64 bits does not matter here
            if isinstance(arg, GlobalArg) and arg.name not in read:
                continue  # it has the type of what is written
            found[arg.name] = _WHOLE if arg.name in whole else _NUMBERS
    return found


def _subscripts(kernel: Kernel) -> frozenset[str]:
    """Return the names of what subscripts and the bounds of loops are computed from."""
    kernel = kernel.expanded
    found = {name for domain in kernel.domains for name in domain.parameters}
    for insn in kernel.instructions:
        for access in insn.accesses:
            for index in ex.index_of(access):
                found |= walk.free_variables(index)
    pending = list(found)
    while pending:
        for writer in kernel.writers.get(pending.pop(), ()):
            new = writer.read_names - found
            found |= new
            pending += new
    return frozenset(found)


def _declared(kernel: Kernel, types: dict[str, str]) -> Kernel:
    wanted = {a.name: types[a.name] for a in kernel.arguments if a.name in types}
    return add_dtypes(kernel, wanted) if wanted else kernel
