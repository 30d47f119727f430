"""What a kernel for C needs beside its code: a file that checks, provides memory, and runs it."""

from __future__ import annotations

from collections.abc import Iterator

from polygen.emission.c_text import element_type, number_type
from polygen.emission.header import definitions, parameters
from polygen.emission.host_kernel import HostArray, HostKernel


def c_library(kernel: HostKernel) -> str:
    """Return the text of ``NAME_run.c``."""
    name = kernel.name
    lines = [
        f"/* Checks sizes, provides memory for temporaries, and runs kernel '{name}'. */",
        "#include <stdlib.h>",
        "",
        f'#include "{name}.h"',
        "",
        *definitions(kernel, ""),
        "/* Under a name that no argument has. */",
        f"static void (*const pg_kernel)({', '.join(_types(kernel)) or 'void'}) = {name};",
        "",
        *_run(kernel),
    ]
    return "\n".join([*lines, ""])


def _types(kernel: HostKernel) -> Iterator[str]:
    for arg in (*kernel.arguments, *kernel.temporaries):
        if isinstance(arg, HostArray):
            yield f"{element_type(arg.dtype)} {'' if arg.writes else 'const '}*"
        else:
            yield number_type(arg.dtype)


def _run(kernel: HostKernel) -> Iterator[str]:
    name = kernel.name
    yield f"int {name}_run("
    yield "    " + (",\n    ".join(parameters(kernel)) or "void") + ")"
    yield "{"
    sizes = ", ".join(size.name for size in kernel.sizes)
    yield f"    int pg_status = {name}_check({sizes});"
    yield "    if (pg_status)"
    yield "        return pg_status;"
    for array in kernel.temporaries:
        yield from _allocated(array, f"{name}_elements_{array.name}({sizes})")
    given = ", ".join(a.name for a in (*kernel.arguments, *kernel.temporaries))
    if not kernel.temporaries:
        yield f"    pg_kernel({given});"
        yield "    return 0;"
        yield "}"
        return
    there = " && ".join(f"pg_memory_{t.name}" for t in kernel.temporaries)
    yield f"    if ({there})"
    yield f"        pg_kernel({given});"
    yield "    else"
    yield "        pg_status = -1;"
    yield from (f"    free(pg_memory_{t.name});" for t in kernel.temporaries)
    yield "    return pg_status;"
    yield "}"


def _allocated(array: HostArray, count: str) -> Iterator[str]:
    kind, alignment = element_type(array.dtype), array.alignment or 64
    rounded = f"((size_t) {count} * sizeof({kind}) + {alignment - 1}) / {alignment} * {alignment}"
    yield f"    void *pg_memory_{array.name} = aligned_alloc({alignment}, {rounded});"
    yield f"    {kind} *{array.name} = pg_memory_{array.name};"
