"""A kernel's code for certain types, layouts and widths of counters."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from polygen.errors import InternalError, WrongArgumentType
from polygen.ir.array import GlobalArg
from polygen.ir.cached import cached_property
from polygen.ir.dtype import DType
from polygen.ir.kernel import Kernel
from polygen.ir.parts import parts
from polygen.lower.hidden import HiddenArgument
from polygen.pipeline import build_as_called, build_program
from polygen.runtime.arrays.memory_layouts import with_layouts
from polygen.runtime.arrays.separate_arrays import passed_arguments
from polygen.runtime.calls.arguments import VariantKey
from polygen.source import caller_location
from polygen.targets.programs.program import Program
from polygen.transforms.kernels.fix_parameters import fix_parameters

# Generates the code of a kernel; given: the kernel, the same as it is called, target, indices.
Build: TypeAlias = Callable[[Kernel, Kernel, str, DType], Program]


@dataclass(frozen=True)
class Variant:
    """Generated code, and what it wants to be passed.

    Attributes:
        kernel: what it was made of, with all types.
        program: the code.
        hidden: scalar arguments after the kernel's own.
    """

    kernel: Kernel
    program: Program
    hidden: tuple[HiddenArgument, ...]

    @cached_property
    def dtypes(self) -> Mapping[str, DType]:
        """The type of each argument."""
        return {a.name: a.dtype for a in self.program.arguments if a.dtype is not None}

    @cached_property
    def kept(self) -> dict[str, Any]:
        """The objects that the target keeps with the code."""
        return {}


def make_variant(kernel: Kernel, key: VariantKey, build: Build = build_as_called) -> Variant:
    """Generate a kernel's code.

    Parameters:
        kernel: the kernel.
        key: what else its code depends on.
        build: generates it.
    """
    dtypes = _whole(kernel, dict(key.dtypes))
    arguments = tuple(
        replace(arg, dtype=dtypes[arg.name]) if arg.name in dtypes else arg
        for arg in kernel.arguments
    )
    typed = kernel.copy(arguments=arguments)
    if key.sizes:
        typed = _with_sizes(typed, key)
    placed, hidden = with_layouts(typed, dict(key.layouts), key.index_dtype)
    program = build(kernel, placed, key.target, key.index_dtype)
    expected = [arg.name for arg in passed_arguments(placed)]
    if [arg.name for arg in program.arguments[: len(expected)]] != expected:
        raise InternalError(f"the arguments of the code of '{kernel.name}' are not {expected}")
    if kernel.options.write_code:
        sys.stdout.write(f"{program.source.rstrip()}\n")
    return Variant(typed, program, hidden)


def _with_sizes(kernel: Kernel, key: VariantKey) -> Kernel:
    """Return a kernel with numbers for its sizes."""
    if kernel.options.force_scan:
        # Where sizes leave one iteration, nothing is carried: whether it is a scan shows before.
        build_program(kernel, key.target, key.index_dtype)
        kernel = kernel.copy(options=replace(kernel.options, force_scan=False))
    return fix_parameters(kernel, **dict(key.sizes))


def _whole(kernel: Kernel, dtypes: Mapping[str, DType]) -> dict[str, DType]:
    """Return the types of arguments from those of what is passed for them.

    Raises:
        WrongArgumentType: if the arrays that make up one are of several types.
    """
    found = dict(dtypes)
    for arg in kernel.arguments:
        if not isinstance(arg, GlobalArg) or arg.name in dtypes:
            continue
        of_parts = {p.name: dtypes[p.name] for p in parts(arg) if p.name in dtypes}
        if len(set(of_parts.values())) > 1:
            types = ", ".join(f"{name}: {dtype.name}" for name, dtype in of_parts.items())
            raise WrongArgumentType(
                f"the arrays that make up '{arg.name}' are of several types: {types}",
                where=caller_location(),
                remedy="pass arrays of one type",
            )
        if of_parts:
            found[arg.name] = next(iter(of_parts.values()))
    return found
