"""The Makefile beside a kernel: what compiles it, and a program that runs it."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from math import prod

import islpy as isl

from polygen.analysis.integers.isl_affine import to_val
from polygen.emission.host_kernel import HostKernel
from polygen.emission.templates import filled
from polygen.ir.domain import flat_names
from polygen.runtime.arrays.expression_values import value_of
from polygen.runtime.backends.c.c_compiler import FLAGS

_PARAM = isl.dim_type.param
_NOT_HERE = ("-std=c11", "-fPIC", "-shared", "-fopenmp")
_TRIED = (256, 1024, 100, 64, 32, 16, 8, 4, 2, 1)
_MANY = 2**24  # elements, for a program that is run to see that it does
_WARNINGS = "-Wall -Wextra"


def makefile(kernel: HostKernel) -> str:
    """Return the text of the Makefile."""
    calls_libraries = bool(kernel.program.loop_program.libraries)
    values = {
        "name": kernel.name,
        "flags": " ".join([f for f in FLAGS if f not in _NOT_HERE]),
        "options": _build_options(kernel),
        "arguments": _arguments(kernel),
        "warnings": _WARNINGS,
        "libraries": " $(LIBRARIES)" if calls_libraries else "",
        "named": ["LIBRARIES ?= -llapack -lblas"] if calls_libraries else [],
    }
    return filled(f"Makefile_{kernel.target}", values)


def _build_options(kernel: HostKernel) -> str:
    """Return the options of the compiler, each one word of a shell's, as make passes it on."""
    options = kernel.program.compiler_options
    return "".join(f" {shlex.quote(option).replace('$', '$$')}" for option in options)


def _arguments(kernel: HostKernel) -> str:
    """Return numbers for all that has to be passed, with which the kernel can run."""
    sizes = _sizes(kernel)
    words = [f"{s.name}={sizes[s.name] if s.is_size else 2}" for s in kernel.scalars]
    return " ".join(words)


def _sizes(kernel: HostKernel) -> dict[str, int]:
    """Return sizes that the kernel's assumptions allow: all the same, if that can be."""
    allowed = kernel.kernel.assumptions.flat
    names = flat_names(allowed)
    for value in _TRIED:
        sizes = dict.fromkeys([size.name for size in kernel.sizes], value)
        if _with_values(allowed, {name: sizes[name] for name in names}).is_empty():
            continue
        shapes = [array.shape for array in (*kernel.arrays, *kernel.temporaries)]
        if all(prod(value_of(e, sizes) for e in shape) <= _MANY for shape in shapes):
            return sizes
    found = {size.name: _TRIED[0] for size in kernel.sizes}
    for name in names:  # a point of the set, one coordinate after the other
        place = allowed.find_dim_by_name(_PARAM, name)
        found[name] = allowed.sample_point().get_coordinate_val(_PARAM, place).to_python()
        allowed = _with_values(allowed, {name: found[name]})
    return found


def _with_values(allowed: isl.Set, values: Mapping[str, int]) -> isl.Set:
    for name, value in values.items():
        place = allowed.find_dim_by_name(_PARAM, name)
        allowed = allowed.fix_val(_PARAM, place, to_val(value))
    return allowed
