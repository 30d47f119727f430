"""A value of the type of every name, found from the arguments of a call."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from polygen.ir import expression as ex
from polygen.ir import walk
from polygen.ir.array import GlobalArg, TemporaryVariable
from polygen.ir.instruction import KernelCall
from polygen.ir.kernel import Kernel
from polygen.ir.layout import layout_expressions
from tests.oracle.calls import given
from tests.oracle.evaluate import (
    Count,
    OracleError,
    Sampler,
    Value,
    as_read,
    common_type,
    integer,
)

ENOUGH = 10  # more iterations than any loop has here that a condition ends


def size_names(kernel: Kernel) -> frozenset[str]:
    """Return the scalar arguments that count something: Python's integers, for types."""
    found: set[str] = set()
    for domain in (*kernel.domains, kernel.assumptions):
        found.update(domain.parameters)
    for arg in (*kernel.arguments, *kernel.temporaries):
        if isinstance(arg, GlobalArg | TemporaryVariable):
            for extent in (*(arg.shape or ()), *layout_expressions(arg)):
                found |= walk.free_variables(extent)
    for size in kernel.derived_sizes:
        found = found.union(*map(walk.free_variables, size.factors))
    for insn in kernel.instructions:
        if isinstance(insn, KernelCall) and insn.callee is not None:
            found |= _counted_by(insn)
        nodes = (p for node in (*insn.assignees, *insn.reads) for p in walk.subexpressions(node))
        for part in nodes:
            if isinstance(part, ex.Subscript):
                found = found.union(*map(walk.free_variables, ex.index_tuple(part)))
    scalars = {a.name for a in kernel.arguments if not isinstance(a, GlobalArg)}
    return frozenset(found & scalars)


def size_values(kernel: Kernel, arguments: Mapping[str, Any]) -> dict[str, int]:
    """Return the value of each size, and of each product of sizes that has a name."""
    values = {n: int(arguments[n]) for n in size_names(kernel) if n in arguments}
    for size in kernel.derived_sizes:
        if size.is_open:
            values[size.name] = ENOUGH
            continue
        values[size.name] = prod(max(0, integer(factor, values)) for factor in size.factors)
    return values


def _counted_by(call: KernelCall) -> frozenset[str]:
    """Return what the sizes of a kernel that is called depend on."""
    numbers = given(call).scalars
    counted = (walk.free_variables(numbers[n]) for n in size_names(call.callee))
    return frozenset[str]().union(*counted)


def samples_of(kernel: Kernel, arguments: Mapping[str, Any]) -> dict[str, Value]:
    """Return a value of each variable's type; for inames and sizes, a count.

    A temporary without a declared type gets what is written to it first; an integer without a
    type of its own is an int32.
    """
    samples: dict[str, Value] = dict.fromkeys((*kernel.inames, *size_names(kernel)), Count(1))
    samples.update(dict.fromkeys([size.name for size in kernel.derived_sizes], Count(1)))
    for name, value in arguments.items():
        if name not in samples:
            samples[name] = as_read(np.asarray(value).dtype.type(1))
    unknown = {t.name for t in kernel.temporaries}
    for t in kernel.temporaries:
        if t.dtype is not None:
            samples[t.name] = as_read(t.dtype.type(1))
            unknown.discard(t.name)
    while unknown:
        found = {name: s for name in unknown if (s := _written(kernel, name, samples)) is not None}
        if not found:
            raise OracleError(f"the types of {sorted(unknown)} are not known")
        samples.update(found)
        unknown -= found.keys()
    return samples


def _written(kernel: Kernel, name: str, samples: Mapping[str, Value]) -> Value | None:
    values: list[Value] = []
    for writer in kernel.writers.get(name, ()):
        for value in (v for target, v in writer.pairs if ex.name_of(target) == name):
            try:
                with np.errstate(all="ignore"):
                    values.append(Sampler(samples).value(value))
            except OracleError:  # needs what is not known yet, perhaps itself
                continue
    if not values:
        return None
    dtype = common_type(*values)
    if dtype is None:
        whole = all(isinstance(v, int) for v in values)
        dtype = np.dtype(
            np.int32 if whole and isinstance(kernel.variables[name], TemporaryVariable) else float
        )
    return dtype.type(1)
