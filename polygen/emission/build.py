"""`polygen.build`: a kernel as a shared library, with a module that needs NumPy alone."""

from __future__ import annotations

import ast
import builtins
import importlib
import keyword
import pprint
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from polygen.emission.c_library import c_library
from polygen.emission.header import header
from polygen.emission.host_kernel import (
    HostArray,
    HostKernel,
    HostScalar,
    host_kernel,
    linear_terms,
)
from polygen.emission.templates import shared_text
from polygen.errors import CannotEmit
from polygen.ir.dtype import dtype_name
from polygen.ir.kernel import Kernel
from polygen.ir.public import public
from polygen.ir.show_expression import show_expression
from polygen.language.programs import TranslationUnit
from polygen.runtime.backends.c.c_compiler import compiled_library

_COMMON = Path(__file__).with_name("library_module.py")


@public
def build(
    kernel: Kernel | TranslationUnit, folder: str | Path, libraries: Iterable[str] = ()
) -> Path:
    """Compile a kernel ahead of time: a shared library, and a module that calls it.

    The module, ``saxpy.py`` for a kernel ``saxpy``, needs NumPy and the library beside it,
    ``libsaxpy.so``; neither polygen nor a compiler.  It has one function, of the kernel's name,
    which takes arguments by name and returns a tuple of the arrays that are written.  Sizes follow
    from the arrays, as in calls of the kernel; arrays that are only written may be left out.  What
    does not fit (types, shapes, strides, overlap, assumptions) raises TypeError or ValueError.

    The library is compiled for this machine's processor, and with OpenMP.

    Parameters:
        kernel: the types of its inputs are known: see `polygen.add_dtypes`; of a program, the only
            entry point counts.
        folder: where the two files are written; it is made if it is not there.
        libraries: what the library is linked with, as the linker is told: ``["-lopenblas"]``, for a
            kernel that calls BLAS or LAPACK.

    Returns:
        The path of the module.

    Raises:
        CannotEmit: if the kernel takes images, numbers of type bfloat16, or arrays of more than
            eight axes; if it calls BLAS or LAPACK, and no libraries are named; or if its name is a
            keyword of Python's, or that of something that a module needs.
        NoCompiler, CompilationFailed: if there is no compiler, or it fails.
        TypeNotFound, NoLoopNest, ...: as `polygen.generate_code`, if there is no code.
        OSError: if the files cannot be written.
    """
    chosen = kernel.default_entrypoint if isinstance(kernel, TranslationUnit) else kernel
    found = host_kernel(chosen, "c")
    linked = _linked(found, libraries)
    _check(found)
    texts = {
        f"{found.name}.c": found.program.source,
        f"{found.name}_run.c": c_library(found),
        f"{found.name}.h": header(found),
        "polygen_geometry.h": shared_text("polygen_geometry.h"),
    }
    options = found.program.compiler_options
    functions = [f"{found.name}_{what}" for what in ("check", "message", "run")]
    library = compiled_library(texts, options, found.name, functions, linked)
    at = Path(folder)
    at.mkdir(parents=True, exist_ok=True)
    (at / f"lib{found.name}.so").write_bytes(library)
    path = at / f"{found.name}.py"
    path.write_text(_module(found), encoding="utf-8")
    return path


def _linked(kernel: HostKernel, libraries: Iterable[str]) -> tuple[str, ...]:
    """Return what the library is linked with."""
    found = (libraries,) if isinstance(libraries, str) else tuple(libraries)
    program = kernel.program.loop_program
    if program.libraries and not found:
        raise CannotEmit(
            f"kernel '{kernel.name}' calls {program.libraries[0].routine}, and no library is named "
            "that has it",
            where=kernel.kernel.location,
            remedy="name one, as the linker is told: build(kernel, folder, ['-lopenblas']); or "
            "['-llapack', '-lblas']",
        )
    return (*found, "-Wl,-z,defs") if program.libraries else found


def _check(kernel: HostKernel) -> None:
    if keyword.iskeyword(kernel.name):
        raise CannotEmit(
            f"no module can be called '{kernel.name}': that is a keyword of Python's",
            where=kernel.kernel.location,
            remedy=f"kernel.copy(name='{kernel.name}_')",
        )
    if kernel.name in sys.stdlib_module_names or kernel.name in _names_in_modules():
        raise CannotEmit(
            f"the module of kernel '{kernel.name}' would hide something of Python's or of NumPy's "
            "that has its name",
            where=kernel.kernel.location,
            remedy=f"kernel.copy(name='{kernel.name}_')",
        )
    for arg in kernel.arguments:
        if dtype_name(arg.dtype) == "bfloat16":
            raise CannotEmit(
                f"'{arg.name}' of kernel '{kernel.name}' is of type bfloat16, which NumPy does not "
                "have by itself",
                where=kernel.kernel.location,
                remedy="use float16 or float32",
            )


def _names_in_modules() -> frozenset[str]:
    """Return what the text of modules has from outside, and calls by these names."""
    nodes = ast.walk(ast.parse(_COMMON.read_text(encoding="utf-8")))
    used = {node.id for node in nodes if isinstance(node, ast.Name)}
    return frozenset(["numpy", *used.intersection(vars(builtins))])


def _module(kernel: HostKernel) -> str:
    """Return the text of the module."""
    name = kernel.name
    version: str = importlib.import_module("polygen").__version__  # it imports this module
    _, _, common = _COMMON.read_text(encoding="utf-8").partition('"""\n\n')
    arguments = [_argument(arg) for arg in kernel.arguments]
    about = f"Kernel '{name}', compiled by polygen {version}: needs NumPy, and lib{name}.so."
    return "\n".join(
        [
            f'"""{about}"""',
            "",
            common,
            "",
            "_KERNEL = _Kernel(",
            f'    _pathlib.Path(__file__).with_name("lib{name}.so"),',
            f'    "{name}",',
            f"    {pprint.pformat(arguments, width=90, sort_dicts=False)},",
            ")",
            "",
            "",
            f"def {name}(**arguments: _Any) -> tuple[_Any, ...]:",
            *_docstring(kernel),
            "    return _KERNEL(arguments)",
            "",
        ]
    )


def _docstring(kernel: HostKernel) -> list[str]:
    lines = ["Run the kernel; return the arrays that it writes.", "", "Parameters, by name:"]
    for arg in kernel.arguments:
        what = dtype_name(arg.dtype)
        if isinstance(arg, HostArray):
            shape = ", ".join(map(show_expression, arg.shape))
            what = f"array of {what}, shape ({shape}), {arg.direction}"
        elif arg.is_size:
            what += ", found from arrays if left out"
        lines.append(f"    {arg.name}: {what}.")
    outputs = ", ".join(array.name for array in kernel.arrays if array.writes)
    lines += ["", f"Returns: a tuple: {outputs or 'of nothing'}."]
    text = "\n".join(f"    {line}".rstrip() for line in lines)
    return [f'    r"""{text.strip()}', '    """']


def _argument(arg: HostArray | HostScalar) -> dict[str, Any]:
    """Return what the module knows of an argument."""
    found: dict[str, Any] = {"name": arg.name, "type": dtype_name(arg.dtype)}
    if isinstance(arg, HostScalar):
        return {**found, "size": arg.is_size}
    return {
        **found,
        "reads": arg.reads,
        "writes": arg.writes,
        "all_written": arg.all_written,
        "may_alias": arg.may_alias,
        "alignment": arg.alignment or arg.dtype.alignment,
        "shape": [linear_terms(extent) for extent in arg.shape],
        "strides": [linear_terms(stride) for stride in arg.strides],
        "offset": linear_terms(arg.offset),
        "shape_text": [show_expression(extent) for extent in arg.shape],
        "strides_text": [show_expression(stride) for stride in arg.strides],
    }
